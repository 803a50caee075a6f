// Gradient of causal attention for the queries and delta, as in attention_backward_query, four
// queries for a thread and unrolled by hand: for CPU adapters.
// binding 0 dqkv  read_write f32 (B, T, (HQ + 2 * HK) * D) accumulate only the query heads
// binding 1 delta read_write f32 (B, HQ, T)            dout . out of each row
// binding 2 qkv   read f32 (B, T, (HQ + 2 * HK) * D)   query heads, key heads, value heads
// binding 3 out   read f32 (B, T, HQ * D)              the forward's output
// binding 4 lse   read f32 (B, HQ, T) positive         the forward's log-sum-exp
// binding 5 dout  read f32 (B, T, HQ * D)              gradient of the output
// binding 6 starts read u32 (1 + PACKED * (B - 1), 1 + PACKED * (T - 1)) < (T + 1 - T // 2) sorted
// size B u32 sequences
// size T u32 positions
// size HQ u32 query heads
// size HK u32 key and value heads; divides HQ
// size SCALE f32 of the scores
// size WINDOW u32 positions that one sees, itself with them; 0 all before it
// size ACCUMULATE u32 1 adds to dqkv, 0 writes it
// const D u32 32 channels of a head: 16, 32, 48 or 64
// const PACKED u32 0 1: rows hold several documents, starts has the first position that each sees
// dispatch (ceil(B * HQ * ceil(T / 4) / 32), 1, 1)
// oracle reference.attention.attention_backward_query rtol 1e-4 atol 2e-4
// check B=1 T=1 HQ=1 HK=1 SCALE=0.1767767 WINDOW=0 ACCUMULATE=0
// check B=2 T=37 HQ=4 HK=2 SCALE=0.1767767 WINDOW=0 ACCUMULATE=1
// check B=1 T=67 HQ=2 HK=2 SCALE=0.125 WINDOW=9 D=64 ACCUMULATE=0
// check B=3 T=14 HQ=3 HK=1 SCALE=0.25 WINDOW=1 D=16 ACCUMULATE=1
// check B=2 T=41 HQ=3 HK=1 SCALE=0.25 WINDOW=5 D=16 ACCUMULATE=0 PACKED=1
// uses attention, attention_documents, attention_mask, attention_rows, attention_gradients
// needs -
//
// Measured on two shared CPU cores with HQ = HK = 4, D = 32, beside attention_backward_query:
// Chromium on SwiftShader, B=4 T=64: 3.8 ms against 11.6; B=16 T=128: 49 against 216.
// Native lavapipe, B=4 T=64: 1.1 against 2.6; B=16 T=128: 14.2 against 38.

override B: u32;
override T: u32;
override HQ: u32;
override HK: u32;
override SCALE: f32;
override WINDOW: u32;
override ACCUMULATE: u32;

const D4 = D / 4u;

@group(0) @binding(0) var<storage, read_write> dqkv: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> delta: array<f32>;
@group(0) @binding(2) var<storage, read> qkv: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> out: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> lse: array<f32>;
@group(0) @binding(5) var<storage, read> dout: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read> starts: array<u32>;

@compute @workgroup_size(32)
fn attention_backward_query_unrolled(@builtin(global_invocation_id) id: vec3<u32>) {
    let blocks = (T + 3u) / 4u;
    if (id.x >= B * HQ * blocks) { return; }
    let first = (id.x % blocks) * 4u;
    let h = (id.x / blocks) % HQ;
    let b = id.x / (blocks * HQ);
    let stride = (HQ + 2u * HK) * D4;
    let keys = b * T * stride + (HQ + h / (HQ / HK)) * D4;
    let values = keys + HK * D4;
    // A block may reach past the end; its extra rows repeat the last one and are not stored.
    let at = min(vec4<u32>(first) + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(T - 1u));
    let rows = (b * T + at) * stride + h * D4;
    let outs = ((b * T + at) * HQ + h) * D4;
    let sums = (b * HQ + h) * T + at;

    let loaded = join_rows(load(rows.x), load(rows.y), load(rows.z), load(rows.w));
    let q = scale_rows(loaded, vec4<f32>(SCALE));
    let g = join_rows(load_dout(outs.x), load_dout(outs.y), load_dout(outs.z), load_dout(outs.w));
    let drift = vec4<f32>(inner(outs.x), inner(outs.y), inner(outs.z), inner(outs.w));
    let total = vec4<f32>(lse[sums.x], lse[sums.y], lse[sums.z], lse[sums.w]);
    var dq = Rows();
    let begin = begins_of(b, at);
    for (var s = begin.x; s <= at.w; s++) {
        let k = load(keys + s * stride);
        let dp = dot_rows(g, load(values + s * stride));
        let seen = see_inside(at, vec4<u32>(s), begin);
        let score = select(vec4<f32>(-1e30), dot_rows(q, k), seen);
        dq = add_rows(dq, exp(score - total) * (dp - drift), k);
    }

    let gradient = scale_rows(dq, vec4<f32>(SCALE));
    for (var r = 0u; r < min(4u, T - first); r++) {
        store(rows[r], gradient, r);
        delta[sums[r]] = drift[r];
    }
}

// dout . out of one row and head.
fn inner(at: u32) -> f32 {
    var sum = vec4<f32>();
    for (var c = 0u; c < D4; c++) { sum = fma(dout[at + c], out[at + c], sum); }
    return dot(sum, vec4<f32>(1.0));
}
