// Layer normalisation over the last axis: out = (x - mean) rstd weight + bias.
// binding 0 out    read_write f32 (R, C)  normalised rows
// binding 1 mean   read_write f32 (R)     row means, saved for the backward
// binding 2 rstd   read_write f32 (R)     1 / sqrt(variance + EPS), saved for the backward
// binding 3 x      read       f32 (R, C)  rows to normalise
// binding 4 weight read       f32 (C)     gain
// binding 5 bias   read       f32 (C)     shift
// size R u32 rows
// size C u32 columns
// size EPS f32 added to the variance
// const LANES u32 1 threads of one row
// dispatch (ceil(R * LANES / 64), 1, 1)
// oracle reference.layernorm.layernorm_forward rtol 1e-5 atol 1e-5
// check R=1 C=2 EPS=1e-5
// check R=7 C=129 EPS=1e-5
// check R=67 C=31 EPS=1e-3 LANES=4
// check R=5 C=256 EPS=1e-5 LANES=64
// uses lanes
// needs -
//
// Measured, R=256 C=128, LANES 1, 4, 16, 64: Chromium on SwiftShader 0.8, 1.6, 3.4, 16.9 ms; native
// lavapipe 0.4, 0.6, 0.6, 3.4 ms.

override R: u32;
override C: u32;
override EPS: f32;

@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@group(0) @binding(1) var<storage, read_write> mean: array<f32>;
@group(0) @binding(2) var<storage, read_write> rstd: array<f32>;
@group(0) @binding(3) var<storage, read> x: array<f32>;
@group(0) @binding(4) var<storage, read> weight: array<f32>;
@group(0) @binding(5) var<storage, read> bias: array<f32>;

@compute @workgroup_size(64)
fn layernorm_forward(@builtin(workgroup_id) group: vec3<u32>,
                     @builtin(local_invocation_index) thread: u32) {
    let row = group.x * (64u / LANES) + thread / LANES;
    let lane = thread % LANES;
    let start = min(row, R - 1u) * C;
    // Threads beyond the last row only keep the barriers company.
    let end = select(0u, C, row < R);

    var sum = 0.0;
    for (var c = lane; c < end; c += LANES) { sum += x[start + c]; }
    let m = lane_sum(thread, vec2<f32>(sum, 0.0)).x / f32(C);

    var squares = 0.0;
    for (var c = lane; c < end; c += LANES) {
        let centred = x[start + c] - m;
        squares = fma(centred, centred, squares);
    }
    let r = inverseSqrt(lane_sum(thread, vec2<f32>(squares, 0.0)).x / f32(C) + EPS);

    if (row >= R) { return; }
    for (var c = lane; c < C; c += LANES) {
        out[start + c] = fma((x[start + c] - m) * r, weight[c], bias[c]);
    }
    if (lane == 0u) {
        mean[row] = m;
        rstd[row] = r;
    }
}
