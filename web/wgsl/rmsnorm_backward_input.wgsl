// Gradient of RMS normalisation for its input.
// binding 0 dx     read_write f32 (R, C) accumulate  gradient of x
// binding 1 dout   read       f32 (R, C)           gradient of the output
// binding 2 x      read       f32 (R, C)           the forward's input
// binding 3 weight read       f32 (C)              gain, less OFFSET
// binding 4 rstd   read       f32 (R) positive     the forward's 1 / sqrt(mean(x²) + EPS)
// size R u32 rows
// size C u32 columns
// size OFFSET f32 added to the gain
// size ACCUMULATE u32 1 adds to dx, 0 writes it
// const LANES u32 1 threads of one row
// dispatch (ceil(R * LANES / 64), 1, 1)
// oracle reference.rmsnorm.rmsnorm_backward_input rtol 1e-4 atol 1e-4
// check R=1 C=1 OFFSET=0 ACCUMULATE=0
// check R=7 C=129 OFFSET=1 ACCUMULATE=1
// check R=67 C=31 OFFSET=0 LANES=4 ACCUMULATE=0
// check R=5 C=256 OFFSET=1 LANES=64 ACCUMULATE=1
// uses lanes
// needs -

override R: u32;
override C: u32;
override OFFSET: f32;
override ACCUMULATE: u32;

@group(0) @binding(0) var<storage, read_write> dx: array<f32>;
@group(0) @binding(1) var<storage, read> dout: array<f32>;
@group(0) @binding(2) var<storage, read> x: array<f32>;
@group(0) @binding(3) var<storage, read> weight: array<f32>;
@group(0) @binding(4) var<storage, read> rstd: array<f32>;

@compute @workgroup_size(64)
fn rmsnorm_backward_input(@builtin(workgroup_id) group: vec3<u32>,
                          @builtin(local_invocation_index) thread: u32) {
    let row = group.x * (64u / LANES) + thread / LANES;
    let lane = thread % LANES;
    let source = min(row, R - 1u);
    let start = source * C;
    let r = rstd[source];

    // Sum of g xhat, where g = dout (OFFSET + weight) and xhat = x r.
    var sum = 0.0;
    for (var c = lane; c < C; c += LANES) {
        sum = fma(dout[start + c] * (OFFSET + weight[c]), x[start + c] * r, sum);
    }
    let along = lane_sum(thread, vec2<f32>(sum, 0.0)).x / f32(C);

    if (row >= R) { return; }
    for (var c = lane; c < C; c += LANES) {
        let gradient = r * (dout[start + c] * (OFFSET + weight[c]) - x[start + c] * r * along);
        if (ACCUMULATE == 1u) {
            dx[start + c] += gradient;
        } else {
            dx[start + c] = gradient;
        }
    }
}
