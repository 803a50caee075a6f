// The logistic function, SiLU and its slope.

fn sigmoid(x: f32) -> f32 {
    // Beyond 80 the result is 1 or next to 0, and exp stays far from what f32 can hold.
    return 1.0 / (1.0 + exp(clamp(-x, -80.0, 80.0)));
}

fn silu(x: f32) -> f32 {
    // Where the sigmoid no longer falls, x must not grow.
    return max(x, -80.0) * sigmoid(x);
}

fn silu_slope(x: f32) -> f32 {
    let s = sigmoid(x);
    return s * (1.0 + max(x, -80.0) * (1.0 - s));
}
