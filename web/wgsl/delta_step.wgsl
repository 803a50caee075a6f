// The gated delta rule for one position: the state decays, learns what it did not know of v, and
// answers the query. SPLITS invocations share four columns of one head's state.
// binding 0 out   read_write f32 (HV * DV)
// binding 1 state read_write f32 (HV, DK, DV) updated
// binding 2 qkv   read f32 (2 * HK * DK + HV * DV)  query, key and value heads
// binding 3 decay read f32 (HV) within -2 0         log of what the state keeps
// binding 4 beta  read f32 (HV) within 0 1
// size HK u32 query heads, and as many key heads
// size HV u32 value heads; a multiple of HK
// size DK u32 channels of a query or key head; a multiple of 4
// size DV u32 channels of a value head; a multiple of 4
// const SPLITS u32 1 invocations of four columns; divides 64
// dispatch (ceil(HV * (DV // 4) * SPLITS / 64), 1, 1)
// oracle reference.delta_rule.delta_step rtol 1e-4 atol 1e-5
// check HK=1 HV=1 DK=4 DV=4
// check HK=3 HV=6 DK=20 DV=8
// check HK=2 HV=2 DK=128 DV=36 SPLITS=16
// check HK=1 HV=2 DK=4 DV=4 SPLITS=64
// needs -

override HK: u32;
override HV: u32;
override DK: u32;
override DV: u32;

@group(0) @binding(0) var<storage, read_write> out: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> state: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> qkv: array<f32>;
@group(0) @binding(3) var<storage, read> decay: array<f32>;
@group(0) @binding(4) var<storage, read> beta: array<f32>;

const STRIPS = 64u / SPLITS;

// What one pass over the state's rows gives: k S, q S, and k . k, q . q, k . q.
struct Sums {
    known: vec4<f32>,
    answer: vec4<f32>,
    products: vec4<f32>,
}

var<workgroup> parts: array<Sums, 64>;

// The sum of the SPLITS parts of a strip, in a fixed order. All invocations must call.
fn joined(thread: u32, part: Sums) -> Sums {
    if (SPLITS == 1u) { return part; }
    parts[thread] = part;
    workgroupBarrier();
    var total = Sums();
    for (var i = thread % STRIPS; i < 64u; i += STRIPS) {
        total.known += parts[i].known;
        total.answer += parts[i].answer;
        total.products += parts[i].products;
    }
    return total;
}

@compute @workgroup_size(64)
fn delta_step(@builtin(workgroup_id) group: vec3<u32>,
              @builtin(local_invocation_index) thread: u32) {
    let quads = DV / 4u;
    let strip = group.x * STRIPS + thread % STRIPS;
    let split = thread / STRIPS;
    let place = min(strip, HV * quads - 1u);
    let h = place / quads;
    let first = h * DK * quads + place % quads;
    let query = h / (HV / HK) * DK;
    let key = HK * DK + query;

    var part = Sums();
    for (var d = split; d < DK; d += SPLITS) {
        let k = qkv[key + d];
        let q = qkv[query + d];
        let s = state[first + d * quads];
        part.known = fma(vec4<f32>(k), s, part.known);
        part.answer = fma(vec4<f32>(q), s, part.answer);
        part.products = fma(vec4<f32>(k, q, k, 0.0), vec4<f32>(k, q, q, 0.0), part.products);
    }
    let sums = joined(thread, part);
    if (strip >= HV * quads) { return; }

    let k_factor = inverseSqrt(sums.products.x + 1e-6);
    let q_factor = inverseSqrt(sums.products.y + 1e-6) * inverseSqrt(f32(DK));
    let keep = exp(decay[h]);
    let at = 2u * HK * DK + place * 4u;
    let value = vec4<f32>(qkv[at], qkv[at + 1u], qkv[at + 2u], qkv[at + 3u]);
    let delta = beta[h] * (value - keep * k_factor * sums.known);
    for (var d = split; d < DK; d += SPLITS) {
        let i = first + d * quads;
        state[i] = fma(vec4<f32>(k_factor * qkv[key + d]), delta, keep * state[i]);
    }
    if (split == 0u) {
        let overlap = k_factor * sums.products.z;
        out[place] = q_factor * (keep * sums.answer + overlap * delta);
    }
}
