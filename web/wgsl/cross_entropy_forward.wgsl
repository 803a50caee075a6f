// Softmax cross-entropy of each row of logits: loss = lse - logits[target].
// binding 0 losses  read_write f32 (N)         loss of each row
// binding 1 lse     read_write f32 (N)         log-sum-exp of each row, saved for the backward
// binding 2 logits  read       f32 (N, V)
// binding 3 targets read       u32 (N) < (V + V * IGNORES)  the right column of each row
// size N u32 rows
// size V u32 vocabulary
// const LANES u32 1 threads of one row
// const IGNORES u32 0 1: a row whose target is no column does not count, its loss is 0
// dispatch (ceil(N * LANES / 64), 1, 1)
// oracle reference.cross_entropy.cross_entropy_forward rtol 1e-5 atol 1e-5
// check N=1 V=1
// check N=7 V=257
// check N=67 V=31 LANES=4
// check N=3 V=5003 LANES=64
// check N=67 V=31 LANES=4 IGNORES=1
// uses lanes
// needs -
//
// Measured, N=256 V=256, LANES 1, 4, 16, 64: Chromium on SwiftShader 0.8, 1.5, 3.0, 11.6 ms; native
// lavapipe 0.3, 0.4, 0.6, 5.3 ms.

override N: u32;
override V: u32;

@group(0) @binding(0) var<storage, read_write> losses: array<f32>;
@group(0) @binding(1) var<storage, read_write> lse: array<f32>;
@group(0) @binding(2) var<storage, read> logits: array<f32>;
@group(0) @binding(3) var<storage, read> targets: array<u32>;

@compute @workgroup_size(64)
fn cross_entropy_forward(@builtin(workgroup_id) group: vec3<u32>,
                         @builtin(local_invocation_index) thread: u32) {
    let row = group.x * (64u / LANES) + thread / LANES;
    let lane = thread % LANES;
    let start = min(row, N - 1u) * V;

    var top = -1e30;
    for (var c = lane; c < V; c += LANES) { top = max(top, logits[start + c]); }
    let peak = lane_max(thread, top);

    var sum = 0.0;
    for (var c = lane; c < V; c += LANES) { sum += exp(logits[start + c] - peak); }
    let total = peak + log(lane_sum(thread, vec2<f32>(sum, 0.0)).x);

    if (row < N && lane == 0u) {
        lse[row] = total;
        let counts = IGNORES == 0u || targets[row] < V;
        losses[row] = select(0.0, total - logits[start + select(0u, targets[row], counts)], counts);
    }
}
