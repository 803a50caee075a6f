// Gradient of causal attention for the keys and values, as in attention_backward_key_value, four
// keys for a thread and unrolled by hand: for CPU adapters.
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
// const D u32 32 channels of a head: 16, 32, 48 or 64
// const PACKED u32 0 1: rows hold several documents, starts has the first position that each sees
// dispatch (ceil(B * HK * ceil(T / 4) / 32), 1, 1)
// oracle reference.attention.attention_backward_key_value rtol 1e-4 atol 2e-4
// check B=1 T=1 HQ=1 HK=1 SCALE=0.1767767 WINDOW=0 ACCUMULATE=0
// check B=2 T=37 HQ=4 HK=2 SCALE=0.1767767 WINDOW=0 ACCUMULATE=1
// check B=1 T=67 HQ=2 HK=2 SCALE=0.125 WINDOW=9 D=64 ACCUMULATE=0
// check B=3 T=14 HQ=3 HK=1 SCALE=0.25 WINDOW=1 D=16 ACCUMULATE=1
// check B=2 T=41 HQ=3 HK=1 SCALE=0.25 WINDOW=5 D=16 ACCUMULATE=0 PACKED=1
// uses attention, attention_documents, attention_mask, attention_rows, attention_gradients
// needs -
//
// Measured on two shared CPU cores with HQ = HK = 4, D = 32, beside attention_backward_key_value:
// Chromium on SwiftShader, B=4 T=64: 5.1 ms against 17.4; B=16 T=128: 32 against 252.
// Native lavapipe, B=4 T=64: 1.3 against 3.9; B=16 T=128: 14.2 against 56.

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

@compute @workgroup_size(32)
fn attention_backward_key_value_unrolled(@builtin(global_invocation_id) id: vec3<u32>) {
    let blocks = (T + 3u) / 4u;
    if (id.x >= B * HK * blocks) { return; }
    let first = (id.x % blocks) * 4u;
    let head = (id.x / blocks) % HK;
    let b = id.x / (blocks * HK);
    let stride = (HQ + 2u * HK) * D4;
    // A block may reach past the end; its extra rows repeat the last one and are not stored.
    let at = min(vec4<u32>(first) + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(T - 1u));
    let keys = (b * T + at) * stride + (HQ + head) * D4;
    let values = keys + HK * D4;

    let loaded = join_rows(load(keys.x), load(keys.y), load(keys.z), load(keys.w));
    let k = scale_rows(loaded, vec4<f32>(SCALE));
    let v = join_rows(load(values.x), load(values.y), load(values.z), load(values.w));
    var dk = Rows();
    var dv = Rows();
    let group = HQ / HK;
    for (var h = head * group; h < (head + 1u) * group; h++) {
        for (var t = first; t < min(seen_until(at.w), T); t++) {
            let begin = begin_of(b, t);
            if (PACKED == 1u && begin > at.w) { break; }
            let q = load((b * T + t) * stride + h * D4);
            let g = load_dout(((b * T + t) * HQ + h) * D4);
            let sums = (b * HQ + h) * T + t;
            let seen = see_inside(vec4<u32>(t), at, vec4<u32>(begin));
            let score = select(vec4<f32>(-1e30), dot_rows(k, q), seen);
            let p = exp(score - lse[sums]);
            dk = add_rows(dk, p * (dot_rows(v, g) - delta[sums]), q);
            dv = add_rows(dv, p, g);
        }
    }

    let gradient = scale_rows(dk, vec4<f32>(SCALE));
    for (var r = 0u; r < min(4u, T - first); r++) {
        store(keys[r], gradient, r);
        store(values[r], dv, r);
    }
}
