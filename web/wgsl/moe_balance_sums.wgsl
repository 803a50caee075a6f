// What each expert got of a layer: how many rows chose it, and the sum of its probabilities.
// binding 0 sums    read_write f32 (2, E) accumulate  rows that chose it; probabilities
// binding 1 logits  read f32 (N, E)        the router's
// binding 2 log_sum read f32 (N)           log-sum-exp of each row
// binding 3 experts read u32 (N, TOP) < E  the chosen experts
// size N u32 rows
// size E u32 experts
// size TOP u32 experts chosen for a row
// size ACCUMULATE u32 1 adds to sums, 0 writes them
// const LANES u32 1 threads of one expert
// dispatch (ceil(E * LANES / 64), 1, 1)
// oracle reference.moe_balance.moe_balance_sums rtol 1e-4 atol 1e-4
// check N=1 E=3 TOP=1 ACCUMULATE=0
// check N=67 E=5 TOP=2 ACCUMULATE=1 LANES=64
// check N=33 E=37 TOP=8 ACCUMULATE=1
// uses lanes
// needs -

override N: u32;
override E: u32;
override TOP: u32;
override ACCUMULATE: u32;

@group(0) @binding(0) var<storage, read_write> sums: array<f32>;
@group(0) @binding(1) var<storage, read> logits: array<f32>;
@group(0) @binding(2) var<storage, read> log_sum: array<f32>;
@group(0) @binding(3) var<storage, read> experts: array<u32>;

@compute @workgroup_size(64)
fn moe_balance_sums(@builtin(workgroup_id) group: vec3<u32>,
                    @builtin(local_invocation_index) thread: u32) {
    let expert = group.x * (64u / LANES) + thread / LANES;
    let e = min(expert, E - 1u);
    var part = vec2<f32>();
    for (var n = thread % LANES; n < N; n += LANES) {
        var chosen = 0.0;
        for (var pair = n * TOP; pair < (n + 1u) * TOP; pair++) {
            if (experts[pair] == e) { chosen += 1.0; }
        }
        part += vec2<f32>(chosen, exp(logits[n * E + e] - log_sum[n]));
    }
    let total = lane_sum(thread, part);
    if (thread % LANES != 0u || expert >= E) { return; }
    let adds = ACCUMULATE == 1u;
    sums[e] = total.x + select(0.0, sums[e], adds);
    sums[E + e] = total.y + select(0.0, sums[E + e], adds);
}
