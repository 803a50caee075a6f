// Gradient of causal attention for the queries, and delta, which the keys and values need next.
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
// const D u32 32 channels of a head; a multiple of 4
// const PACKED u32 0 1: rows hold several documents, starts has the first position that each sees
// dispatch (ceil(B * HQ * T / 64), 1, 1)  one thread per query
// oracle reference.attention.attention_backward_query rtol 1e-4 atol 2e-4
// check B=1 T=1 HQ=1 HK=1 SCALE=0.5 WINDOW=0 D=4 ACCUMULATE=0
// check B=2 T=37 HQ=4 HK=2 SCALE=0.35 WINDOW=0 D=8 ACCUMULATE=1
// check B=1 T=67 HQ=2 HK=2 SCALE=0.125 WINDOW=9 D=64 ACCUMULATE=0
// check B=3 T=13 HQ=3 HK=1 SCALE=0.2236 WINDOW=1 D=20 ACCUMULATE=1
// check B=2 T=37 HQ=4 HK=2 SCALE=0.35 WINDOW=0 D=8 ACCUMULATE=1 PACKED=1
// check B=3 T=67 HQ=2 HK=1 SCALE=0.2 WINDOW=5 D=20 ACCUMULATE=0 PACKED=1
// uses attention_mask, attention_documents
// needs -

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

@compute @workgroup_size(64)
fn attention_backward_query(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x >= B * HQ * T) { return; }
    let t = id.x % T;
    let h = (id.x / T) % HQ;
    let b = id.x / (T * HQ);
    let stride = (HQ + 2u * HK) * D4;
    let keys = b * T * stride + (HQ + h / (HQ / HK)) * D4;
    let values = keys + HK * D4;
    let row = (b * T + t) * stride + h * D4;
    let row_out = ((b * T + t) * HQ + h) * D4;

    var q = array<vec4<f32>, D4>();
    var g = array<vec4<f32>, D4>();
    var dq = array<vec4<f32>, D4>();
    var inner = vec4<f32>();
    for (var c = 0u; c < D4; c++) {
        q[c] = qkv[row + c] * SCALE;
        g[c] = dout[row_out + c];
        inner = fma(g[c], out[row_out + c], inner);
    }
    let drift = dot(inner, vec4<f32>(1.0));
    delta[id.x] = drift;

    for (var s = begin_of(b, t); s <= t; s++) {
        var score = vec4<f32>();
        var dp = vec4<f32>();
        for (var c = 0u; c < D4; c++) {
            score = fma(q[c], qkv[keys + s * stride + c], score);
            dp = fma(g[c], qkv[values + s * stride + c], dp);
        }
        let p = exp(dot(score, vec4<f32>(1.0)) - lse[id.x]);
        let ds = p * (dot(dp, vec4<f32>(1.0)) - drift);
        for (var c = 0u; c < D4; c++) {
            dq[c] = fma(qkv[keys + s * stride + c], vec4<f32>(ds), dq[c]);
        }
    }

    for (var c = 0u; c < D4; c++) {
        var before = vec4<f32>();
        if (ACCUMULATE == 1u) { before = dqkv[row + c]; }
        dqkv[row + c] = fma(dq[c], vec4<f32>(SCALE), before);
    }
}
