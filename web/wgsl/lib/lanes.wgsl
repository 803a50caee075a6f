// LANES neighbouring threads of a 64-thread workgroup work on one row and share their partial
// results. Every lane adds them up in the same order, so all lanes get the same bits with two
// barriers; a tree would need a barrier for each halving, and barriers are dear on CPU adapters.
// The kernel declares the const LANES, a divisor of 64. All 64 threads must call.

var<workgroup> lane_values: array<vec2<f32>, 64>;

fn lane_sum(thread: u32, value: vec2<f32>) -> vec2<f32> {
    if (LANES == 1u) { return value; }
    workgroupBarrier();
    lane_values[thread] = value;
    workgroupBarrier();
    let first = thread / LANES * LANES;
    var total = vec2<f32>();
    for (var i = 0u; i < LANES; i++) { total += lane_values[first + i]; }
    return total;
}

fn lane_max(thread: u32, value: f32) -> f32 {
    if (LANES == 1u) { return value; }
    workgroupBarrier();
    lane_values[thread] = vec2<f32>(value, 0.0);
    workgroupBarrier();
    let first = thread / LANES * LANES;
    var top = lane_values[first].x;
    for (var i = 1u; i < LANES; i++) { top = max(top, lane_values[first + i].x); }
    return top;
}
