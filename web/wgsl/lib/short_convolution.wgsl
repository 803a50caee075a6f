// The causal depthwise convolution of x (B, T, C) with weight (C, K) at element i; uses documents.

fn convolved(i: u32) -> f32 {
    let c = i % C;
    let t = (i / C) % T;
    let begin = begin_of(i / (C * T), t);
    var sum = 0.0;
    for (var back = 0u; back < min(K, t + 1u - begin); back++) {
        sum = fma(weight[c * K + K - 1u - back], x[i - back * C], sum);
    }
    return sum;
}
