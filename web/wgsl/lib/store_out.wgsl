// The end of a plain matrix product: out (M, N), added to when ACCUMULATE is 1.

fn finish(m: u32, n: u32, value: f32) {
    let i = m * N + n;
    out[i] = value + select(0.0, out[i], ACCUMULATE == 1u);
}
