// Sum of squares of each stretch of 4096 elements: the first half of the gradients' norm.
// binding 0 out read_write f32 (ceil(COUNT / 4096))  one sum for each stretch
// binding 1 x   read       f32 (COUNT)
// size COUNT u32 elements
// const LANES u32 1 threads of one stretch
// dispatch (ceil(ceil(COUNT / 4096) * LANES / 64), 1, 1)
// oracle reference.adamw.sum_squares rtol 1e-5 atol 1e-6
// check COUNT=1
// check COUNT=4096 LANES=64
// check COUNT=9001
// check COUNT=9001 LANES=16
// uses finite, lanes
// needs -
//
// Runs of 64 are summed apart, so that rounding grows with 64 additions and not with 4096.
// A compiler may take every number for finite, so whether one is not is seen from its bits; then
// the sum is NaN.

@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@group(0) @binding(1) var<storage, read> x: array<f32>;

override COUNT: u32;

@compute @workgroup_size(64)
fn sum_squares(@builtin(workgroup_id) group: vec3<u32>,
               @builtin(local_invocation_index) thread: u32) {
    let stretch = group.x * (64u / LANES) + thread / LANES;
    let end = min(COUNT, (stretch + 1u) * 4096u);
    var part = 0.0;
    var lost = 0.0;
    for (var start = stretch * 4096u; start < end; start += 64u) {
        let stop = min(end, start + 64u);
        var run = 0.0;
        for (var i = start + thread % LANES; i < stop; i += LANES) {
            run += x[i] * x[i];
            if (!is_finite(x[i])) { lost = 1.0; }
        }
        part += run;
    }
    let total = lane_sum(thread, vec2<f32>(part, lost));
    if (thread % LANES == 0u && stretch * 4096u < COUNT) {
        out[stretch] = nan_where(total.y > 0.0, total.x);
    }
}
