// Gradient of the router's logits: dlogits[e] = w_e dw_e - s_e (the sum of w dw over the chosen).
// For a chosen expert w is its weight and dw its gradient; for others both are zero; s_e is the
// softmax over the chosen where their weights were normalized, else the softmax over all.
// binding 0 dlogits read_write f32 (N, E) accumulate  gradient of the logits
// binding 1 logits  read f32 (N, E)         the forward's input
// binding 2 log_sum read f32 (N)            the forward's log-sum-exp
// binding 3 experts read u32 (N, TOP) < E   the chosen experts
// binding 4 weights read f32 (N, TOP)       their weights
// binding 5 place   read u32 (N, TOP) < P   where their gradients are
// binding 6 dweight read f32 (P)            gradients of the weights
// size N u32 rows
// size E u32 experts
// size TOP u32 experts chosen for a row
// size P u32 positions
// size NORMALIZE u32 1 where the weights were divided by their sum
// size ACCUMULATE u32 1 adds to dlogits, 0 writes it
// dispatch (ceil(N * E / 64), 1, 1)
// oracle reference.moe.moe_route_backward rtol 1e-4 atol 1e-5
// check N=1 E=3 TOP=1 P=4 NORMALIZE=0 ACCUMULATE=0
// check N=7 E=5 TOP=2 P=28 NORMALIZE=1 ACCUMULATE=1
// check N=33 E=37 TOP=8 P=301 NORMALIZE=0 ACCUMULATE=0
// needs -

override N: u32;
override E: u32;
override TOP: u32;
override P: u32;
override NORMALIZE: u32;
override ACCUMULATE: u32;

@group(0) @binding(0) var<storage, read_write> dlogits: array<f32>;
@group(0) @binding(1) var<storage, read> logits: array<f32>;
@group(0) @binding(2) var<storage, read> log_sum: array<f32>;
@group(0) @binding(3) var<storage, read> experts: array<u32>;
@group(0) @binding(4) var<storage, read> weights: array<f32>;
@group(0) @binding(5) var<storage, read> place: array<u32>;
@group(0) @binding(6) var<storage, read> dweight: array<f32>;

@compute @workgroup_size(64)
fn moe_route_backward(@builtin(global_invocation_id) thread: vec3<u32>) {
    let i = thread.x;
    if (i >= N * E) { return; }
    let n = i / E;
    let e = i % E;
    var own = 0.0;     // w dw of this expert
    var weight = 0.0;  // w of this expert
    var base = 0.0;    // the sum of w dw over the chosen
    for (var pair = n * TOP; pair < (n + 1u) * TOP; pair++) {
        let part = weights[pair] * dweight[place[pair]];
        base += part;
        if (experts[pair] == e) {
            own += part;
            weight += weights[pair];
        }
    }
    var share = weight;
    if (NORMALIZE == 0u) { share = exp(logits[i] - log_sum[n]); }
    let gradient = own - share * base;
    dlogits[i] = gradient + select(0.0, dlogits[i], ACCUMULATE == 1u);
}
