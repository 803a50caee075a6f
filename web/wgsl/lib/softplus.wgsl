// log(1 + exp(x)), accurate at both ends.

fn softplus(x: f32) -> f32 {
    let e = exp(-abs(x));
    // 1 + e loses the digits of a small e: there, the first terms of log(1 + e).
    let small = e * (1.0 - e * (0.5 - e * (1.0 / 3.0 - e * 0.25)));
    return max(x, 0.0) + select(log(1.0 + e), small, e < 0.01);
}
