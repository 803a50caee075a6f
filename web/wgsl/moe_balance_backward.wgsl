// Gradient of the router's logits: what comes from the experts, and what balance adds.
// With f_e = sums[0, e] / ROWS and p_e a row's softmax, balance adds
// dloss FACTOR E / ROWS p_e (f_e - sum_j f_j p_j): how often experts are chosen has no gradient.
// binding 0 dlogits read_write f32 (N, E) accumulate
// binding 1 dout    read f32 (N, E)  gradient from the experts
// binding 2 logits  read f32 (N, E)  the router's
// binding 3 log_sum read f32 (N)     log-sum-exp of each row
// binding 4 sums    read f32 (2, E)  rows that chose an expert; its probabilities
// binding 5 dloss   read f32 (1)     gradient of the loss
// size N u32 rows
// size E u32 experts
// size ROWS u32 rows of all layers together
// size FACTOR f32 what balance is worth
// size ACCUMULATE u32 1 adds to dlogits, 0 writes it
// dispatch (ceil(N * E / 64), 1, 1)
// oracle reference.moe_balance.moe_balance_backward rtol 1e-4 atol 1e-5
// check N=1 E=3 ROWS=1 FACTOR=1 ACCUMULATE=0
// check N=7 E=5 ROWS=21 FACTOR=0.5 ACCUMULATE=1
// check N=33 E=37 ROWS=66 FACTOR=0.02 ACCUMULATE=0
// needs -

override N: u32;
override E: u32;
override ROWS: u32;
override FACTOR: f32;
override ACCUMULATE: u32;

@group(0) @binding(0) var<storage, read_write> dlogits: array<f32>;
@group(0) @binding(1) var<storage, read> dout: array<f32>;
@group(0) @binding(2) var<storage, read> logits: array<f32>;
@group(0) @binding(3) var<storage, read> log_sum: array<f32>;
@group(0) @binding(4) var<storage, read> sums: array<f32>;
@group(0) @binding(5) var<storage, read> dloss: array<f32>;

@compute @workgroup_size(64)
fn moe_balance_backward(@builtin(global_invocation_id) thread: vec3<u32>) {
    let i = thread.x;
    if (i >= N * E) { return; }
    let n = i / E;
    let rows = f32(ROWS);
    var mean = 0.0;
    for (var e = 0u; e < E; e++) {
        mean += (sums[e] / rows) * exp(logits[n * E + e] - log_sum[n]);
    }
    let share = exp(logits[i] - log_sum[n]) * (sums[i % E] / rows - mean);
    let gradient = dout[i] + dloss[0] * FACTOR * f32(E) / rows * share;
    dlogits[i] = gradient + select(0.0, dlogits[i], ACCUMULATE == 1u);
}
