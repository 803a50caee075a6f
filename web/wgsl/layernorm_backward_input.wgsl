// Gradient of layer normalisation for its input.
// binding 0 dx     read_write f32 (R, C) accumulate  gradient of x
// binding 1 dout   read       f32 (R, C)           gradient of the output
// binding 2 x      read       f32 (R, C)           the forward's input
// binding 3 weight read       f32 (C)              gain
// binding 4 mean   read       f32 (R)              the forward's row means
// binding 5 rstd   read       f32 (R) positive     the forward's 1 / sqrt(variance + EPS)
// size R u32 rows
// size C u32 columns
// size ACCUMULATE u32 1 adds to dx, 0 writes it
// const LANES u32 1 threads of one row
// dispatch (ceil(R * LANES / 64), 1, 1)
// oracle reference.layernorm.layernorm_backward_input rtol 1e-4 atol 1e-4
// check R=1 C=1 ACCUMULATE=0
// check R=7 C=129 ACCUMULATE=1
// check R=67 C=31 LANES=4 ACCUMULATE=0
// check R=5 C=256 LANES=64 ACCUMULATE=1
// uses lanes
// needs -

override R: u32;
override C: u32;
override ACCUMULATE: u32;

@group(0) @binding(0) var<storage, read_write> dx: array<f32>;
@group(0) @binding(1) var<storage, read> dout: array<f32>;
@group(0) @binding(2) var<storage, read> x: array<f32>;
@group(0) @binding(3) var<storage, read> weight: array<f32>;
@group(0) @binding(4) var<storage, read> mean: array<f32>;
@group(0) @binding(5) var<storage, read> rstd: array<f32>;

@compute @workgroup_size(64)
fn layernorm_backward_input(@builtin(workgroup_id) group: vec3<u32>,
                            @builtin(local_invocation_index) thread: u32) {
    let row = group.x * (64u / LANES) + thread / LANES;
    let lane = thread % LANES;
    let source = min(row, R - 1u);
    let start = source * C;
    let m = mean[source];
    let r = rstd[source];

    // x: sum of g, y: sum of g xhat, where g = dout weight.
    var sums = vec2<f32>();
    for (var c = lane; c < C; c += LANES) {
        let g = dout[start + c] * weight[c];
        sums = fma(vec2<f32>(g), vec2<f32>(1.0, (x[start + c] - m) * r), sums);
    }
    let means = lane_sum(thread, sums) / f32(C);

    if (row >= R) { return; }
    for (var c = lane; c < C; c += LANES) {
        let xhat = (x[start + c] - m) * r;
        let gradient = r * (dout[start + c] * weight[c] - means.x - xhat * means.y);
        if (ACCUMULATE == 1u) {
            dx[start + c] += gradient;
        } else {
            dx[start + c] = gradient;
        }
    }
}
