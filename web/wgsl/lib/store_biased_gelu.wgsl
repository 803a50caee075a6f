// How a product is stored with a bias and its activation: pre = product + bias, out = gelu(pre).
// The kernel declares M, N, `out`, `pre` and `bias`, all four columns wide, and uses gelu.

fn finish_row(m: u32, n: u32, product: vec4<f32>) {
    if (m >= M || n >= N) { return; }
    let i = (m * N + n) / 4u;
    let sum = product + bias[n / 4u];
    pre[i] = sum;
    out[i] = vec4<f32>(gelu(sum.x), gelu(sum.y), gelu(sum.z), gelu(sum.w));
}
