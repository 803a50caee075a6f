// RMS normalisation over the last axis with a gate: out = x rstd weight silu(gate).
// binding 0 out    read_write f32 (R, C)  normalised and gated rows
// binding 1 rstd   read_write f32 (R)     1 / sqrt(mean(x²) + EPS), saved for the backward
// binding 2 x      read       f32 (R, C)  rows to normalise
// binding 3 gate   read       f32 (R, C)
// binding 4 weight read       f32 (C)     gain
// size R u32 rows
// size C u32 columns
// size EPS f32 added to the mean of the squares
// const LANES u32 1 threads of one row
// dispatch (ceil(R * LANES / 64), 1, 1)
// oracle reference.gated_rmsnorm.gated_rmsnorm_forward rtol 1e-5 atol 1e-5
// check R=1 C=1 EPS=1e-6
// check R=7 C=129 EPS=1e-6
// check R=67 C=31 EPS=1e-3 LANES=4
// uses lanes, root_mean_square, silu
// needs -

override R: u32;
override C: u32;
override EPS: f32;

@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@group(0) @binding(1) var<storage, read_write> rstd: array<f32>;
@group(0) @binding(2) var<storage, read> x: array<f32>;
@group(0) @binding(3) var<storage, read> gate: array<f32>;
@group(0) @binding(4) var<storage, read> weight: array<f32>;

@compute @workgroup_size(64)
fn gated_rmsnorm_forward(@builtin(workgroup_id) group: vec3<u32>,
                         @builtin(local_invocation_index) thread: u32) {
    let row = group.x * (64u / LANES) + thread / LANES;
    let lane = thread % LANES;
    let start = min(row, R - 1u) * C;
    // Threads beyond the last row only keep the barriers company.
    let end = select(0u, C, row < R);

    let r = root_mean_square(thread, start, end);

    if (row >= R) { return; }
    for (var c = lane; c < C; c += LANES) {
        out[start + c] = x[start + c] * r * weight[c] * silu(gate[start + c]);
    }
    if (lane == 0u) { rstd[row] = r; }
}
