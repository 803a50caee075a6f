// Routing: the TOP experts with the largest logits of each row, best first, and their weights.
// Equal logits are taken in the order of their experts.
// binding 0 experts read_write u32 (N, TOP)  the chosen experts
// binding 1 weights read_write f32 (N, TOP)  softmax over all experts, or over the chosen
// binding 2 log_sum read_write f32 (N)       log of the sum of all exponentials, for the backward
// binding 3 logits  read       f32 (N, E)    the router's
// size N u32 rows
// size E u32 experts
// size TOP u32 experts chosen for a row
// size NORMALIZE u32 1 divides the weights by their sum
// const LANES u32 1 threads of one row
// dispatch (ceil(N * LANES / 64), 1, 1)
// oracle reference.moe.moe_route_forward rtol 1e-5 atol 1e-6
// check N=1 E=3 TOP=1 NORMALIZE=0
// check N=7 E=5 TOP=2 NORMALIZE=1
// check N=67 E=37 TOP=37 NORMALIZE=0 LANES=4
// check N=3 E=128 TOP=8 NORMALIZE=1 LANES=64
// uses lanes
// needs -

override N: u32;
override E: u32;
override TOP: u32;
override NORMALIZE: u32;

@group(0) @binding(0) var<storage, read_write> experts: array<u32>;
@group(0) @binding(1) var<storage, read_write> weights: array<f32>;
@group(0) @binding(2) var<storage, read_write> log_sum: array<f32>;
@group(0) @binding(3) var<storage, read> logits: array<f32>;

struct Choice {
    logit: f32,
    expert: u32,
}

var<workgroup> lane_logits: array<f32, 64>;
var<workgroup> lane_experts: array<u32, 64>;

fn comes_before(a: Choice, b: Choice) -> bool {
    return a.logit > b.logit || (a.logit == b.logit && a.expert < b.expert);
}

// The first of all choices that come after `last`, among this lane's experts.
fn next_of_lane(start: u32, lane: u32, last: Choice) -> Choice {
    var best = Choice(-3.0e38, E);
    for (var e = lane; e < E; e += LANES) {
        let here = Choice(logits[start + e], e);
        if (comes_before(last, here) && comes_before(here, best)) { best = here; }
    }
    return best;
}

// The first of the lanes' choices; every lane gets it.
fn first_of_lanes(thread: u32, choice: Choice) -> Choice {
    if (LANES == 1u) { return choice; }
    workgroupBarrier();
    lane_logits[thread] = choice.logit;
    lane_experts[thread] = choice.expert;
    workgroupBarrier();
    let first = thread / LANES * LANES;
    var best = Choice(lane_logits[first], lane_experts[first]);
    for (var i = first + 1u; i < first + LANES; i++) {
        let other = Choice(lane_logits[i], lane_experts[i]);
        if (comes_before(other, best)) { best = other; }
    }
    return best;
}

@compute @workgroup_size(64)
fn moe_route_forward(@builtin(workgroup_id) group: vec3<u32>,
                     @builtin(local_invocation_index) thread: u32) {
    let row = group.x * (64u / LANES) + thread / LANES;
    let lane = thread % LANES;
    let stores = lane == 0u && row < N;
    let n = min(row, N - 1u);

    var choice = Choice(3.0e38, 0u);
    var peak = 0.0;
    var chosen = 0.0;
    for (var slot = 0u; slot < TOP; slot++) {
        choice = first_of_lanes(thread, next_of_lane(n * E, lane, choice));
        if (slot == 0u) { peak = choice.logit; }
        let part = exp(choice.logit - peak);
        chosen += part;
        if (stores) {
            experts[n * TOP + slot] = min(choice.expert, E - 1u);
            weights[n * TOP + slot] = part;
        }
    }
    var part = 0.0;
    for (var e = lane; e < E; e += LANES) { part += exp(logits[n * E + e] - peak); }
    let total = lane_sum(thread, vec2<f32>(part, 0.0)).x;

    if (!stores) { return; }
    log_sum[n] = peak + log(total);
    let divisor = select(total, chosen, NORMALIZE == 1u);
    for (var slot = 0u; slot < TOP; slot++) { weights[n * TOP + slot] /= divisor; }
}
