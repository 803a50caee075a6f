// GELU with the normal distribution's own integral, and its slope. erf is Abramowitz and Stegun's
// 7.1.26, within 1.5e-7, which is about a bit of f32 near 1.

const ROOT_HALF: f32 = 0.70710678;      // sqrt(1 / 2)
const NORMAL_PEAK: f32 = 0.39894228;    // 1 / sqrt(2 pi)

// exp(-x² / 2); beyond 13 it is below what f32 holds, and x² must not overflow.
fn bell(x: f32) -> f32 {
    let near = clamp(x, -13.0, 13.0);
    return exp(-0.5 * near * near);
}

// The share of a normal distribution that lies below x.
fn normal_below(x: f32) -> f32 {
    let t = 1.0 / fma(0.3275911 * ROOT_HALF, abs(x), 1.0);
    let series = t * fma(t, fma(t, fma(t, fma(t, 1.061405429, -1.453152027), 1.421413741),
                                -0.284496736), 0.254829592);
    let tail = 0.5 * series * bell(x);
    return select(tail, 1.0 - tail, x > 0.0);
}

fn gelu_exact(x: f32) -> f32 {
    // Where the tail no longer falls, x must not grow.
    return max(x, -13.0) * normal_below(x);
}

fn gelu_exact_slope(x: f32) -> f32 {
    return fma(clamp(x, -13.0, 13.0) * NORMAL_PEAK, bell(x), normal_below(x));
}
