// How a product is stored with a bias: out = product + bias. The kernel declares M, N, `out` and
// `bias`, all four columns wide.

fn finish_row(m: u32, n: u32, product: vec4<f32>) {
    if (m >= M || n >= N) { return; }
    out[(m * N + n) / 4u] = product + bias[n / 4u];
}
