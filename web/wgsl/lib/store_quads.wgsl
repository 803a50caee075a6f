// The end of a plain matrix product whose N is a multiple of four: out (M, N) in vectors, added to
// when ACCUMULATE is 1. One branch for four outputs instead of one for each: on SwiftShader a block
// of 16 x 8 compiles in 0.6 to 0.7 of the time, and runs as fast.

fn finish_row(m: u32, n: u32, row: vec4<f32>) {
    if (m >= M || n >= N) { return; }
    let i = (m * N + n) / 4u;
    out[i] = row + select(vec4<f32>(), out[i], ACCUMULATE == 1u);
}
