// Gradient of causal attention for the keys and values.
// binding 0 dqkv  read_write f32 (B, T, (HQ + 2 * HK) * D) accumulate only key and value heads
// binding 1 qkv   read f32 (B, T, (HQ + 2 * HK) * D)   query heads, key heads, value heads
// binding 2 lse   read f32 (B, HQ, T) positive         the forward's log-sum-exp
// binding 3 delta read f32 (B, HQ, T)                  dout . out of each row
// binding 4 dout  read f32 (B, T, HQ * D)              gradient of the output
// binding 5 starts read u32 (1 + PACKED * (B - 1), 1 + PACKED * (T - 1)) < (T + 1 - T // 2) sorted
// size B u32 sequences
// size T u32 positions
// size HQ u32 query heads
// size HK u32 key and value heads; divides HQ
// size SCALE f32 of the scores
// size WINDOW u32 positions that one sees, itself with them; 0 all before it
// size ACCUMULATE u32 1 adds to dqkv, 0 writes it
// const D u32 32 channels of a head; a multiple of 4
// const PACKED u32 0 1: rows hold several documents, starts has the first position that each sees
// dispatch (ceil(B * HK * T / 64), 1, 1)  one thread per key
// oracle reference.attention.attention_backward_key_value rtol 1e-4 atol 2e-4
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
@group(0) @binding(1) var<storage, read> qkv: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> lse: array<f32>;
@group(0) @binding(3) var<storage, read> delta: array<f32>;
@group(0) @binding(4) var<storage, read> dout: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read> starts: array<u32>;

@compute @workgroup_size(64)
fn attention_backward_key_value(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x >= B * HK * T) { return; }
    let s = id.x % T;
    let head = (id.x / T) % HK;
    let b = id.x / (T * HK);
    let stride = (HQ + 2u * HK) * D4;
    let key = (b * T + s) * stride + (HQ + head) * D4;
    let value = key + HK * D4;
    let group = HQ / HK;

    var k = array<vec4<f32>, D4>();
    var v = array<vec4<f32>, D4>();
    var dk = array<vec4<f32>, D4>();
    var dv = array<vec4<f32>, D4>();
    for (var c = 0u; c < D4; c++) {
        k[c] = qkv[key + c] * SCALE;
        v[c] = qkv[value + c];
    }

    for (var h = head * group; h < (head + 1u) * group; h++) {
        for (var t = s; t < min(seen_until(s), T); t++) {
            if (PACKED == 1u && begin_of(b, t) > s) { break; }
            let row = (b * T + t) * stride + h * D4;
            let row_out = ((b * T + t) * HQ + h) * D4;
            let row_lse = (b * HQ + h) * T + t;
            var score = vec4<f32>();
            var dp = vec4<f32>();
            for (var c = 0u; c < D4; c++) {
                score = fma(k[c], qkv[row + c], score);
                dp = fma(v[c], dout[row_out + c], dp);
            }
            let p = exp(dot(score, vec4<f32>(1.0)) - lse[row_lse]);
            let ds = p * (dot(dp, vec4<f32>(1.0)) - delta[row_lse]);
            for (var c = 0u; c < D4; c++) {
                dk[c] = fma(qkv[row + c], vec4<f32>(ds), dk[c]);
                dv[c] = fma(dout[row_out + c], vec4<f32>(p), dv[c]);
            }
        }
    }

    for (var c = 0u; c < D4; c++) {
        var before_k = vec4<f32>();
        var before_v = vec4<f32>();
        if (ACCUMULATE == 1u) {
            before_k = dqkv[key + c];
            before_v = dqkv[value + c];
        }
        dqkv[key + c] = fma(dk[c], vec4<f32>(SCALE), before_k);
        dqkv[value + c] = before_v + dv[c];
    }
}
