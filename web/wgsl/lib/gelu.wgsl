// GELU in its tanh form, and its slope.

const GELU_ROOT: f32 = 0.7978845608028654;  // sqrt(2 / pi)
const GELU_CUBIC: f32 = 0.044715;

fn gelu_tanh(x: f32) -> f32 {
    // Beyond 10 the result is 1 in f32, and some compilers' tanh overflows far out.
    return tanh(clamp(GELU_ROOT * (x + GELU_CUBIC * x * x * x), -10.0, 10.0));
}

fn gelu(x: f32) -> f32 {
    return 0.5 * x * (1.0 + gelu_tanh(x));
}

fn gelu_slope(x: f32) -> f32 {
    let t = gelu_tanh(x);
    let inner = GELU_ROOT * (1.0 + 3.0 * GELU_CUBIC * x * x);
    return 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * inner;
}
