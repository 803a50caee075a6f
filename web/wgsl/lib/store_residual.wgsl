// How a product is stored with what it is added to: out = product + residual. The kernel declares
// M, N, `out` and `residual`, all four columns wide.

fn finish_row(m: u32, n: u32, product: vec4<f32>) {
    if (m >= M || n >= N) { return; }
    let i = (m * N + n) / 4u;
    out[i] = product + residual[i];
}
