// 1 / sqrt(mean(x²) + EPS) of the row from `start` on; `end` is C, or 0 in threads without a row.
// The kernel declares the sizes C and EPS and the binding x, and uses lanes. All 64 threads call.

fn root_mean_square(thread: u32, start: u32, end: u32) -> f32 {
    var squares = 0.0;
    for (var c = thread % LANES; c < end; c += LANES) {
        squares = fma(x[start + c], x[start + c], squares);
    }
    return inverseSqrt(lane_sum(thread, vec2<f32>(squares, 0.0)).x / f32(C) + EPS);
}
