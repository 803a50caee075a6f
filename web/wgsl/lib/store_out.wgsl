// The end of a plain matrix product: out (M, N), added to when ACCUMULATE is 1.

fn finish(m: u32, n: u32, value: f32) {
    let i = m * N + n;
    out[i] = value + select(0.0, out[i], ACCUMULATE == 1u);
}

fn finish_row(m: u32, n: u32, row: vec4<f32>) {
    if (m >= M) { return; }
    if (n < N) { finish(m, n, row.x); }
    if (n + 1u < N) { finish(m, n + 1u, row.y); }
    if (n + 2u < N) { finish(m, n + 2u, row.z); }
    if (n + 3u < N) { finish(m, n + 3u, row.w); }
}
