// Causal attention with grouped queries as in attention_forward, four queries for a thread and
// unrolled by hand: for CPU adapters, which keep them in registers and on their stack.
// binding 0 out read_write f32 (B, T, HQ * D)            weighted values, heads side by side
// binding 1 lse read_write f32 (B, HQ, T)                log-sum-exp of each row of scores
// binding 2 qkv read       f32 (B, T, (HQ + 2 * HK) * D) query heads, key heads, value heads
// binding 3 starts read u32 (1 + PACKED * (B - 1), 1 + PACKED * (T - 1)) < (T + 1 - T // 2) sorted
// size B u32 sequences
// size T u32 positions
// size HQ u32 query heads
// size HK u32 key and value heads; divides HQ
// size SCALE f32 of the scores
// size WINDOW u32 positions that one sees, itself with them; 0 all before it
// const D u32 32 channels of a head: 16, 32, 48 or 64
// const PACKED u32 0 1: rows hold several documents, starts has the first position that each sees
// dispatch (ceil(B * HQ * ceil(T / 4) / 32), 1, 1)
// oracle reference.attention.attention_forward rtol 1e-4 atol 1e-5
// check B=1 T=1 HQ=1 HK=1 SCALE=0.1767767 WINDOW=0
// check B=2 T=37 HQ=4 HK=2 SCALE=0.1767767 WINDOW=0
// check B=1 T=67 HQ=2 HK=2 SCALE=0.125 WINDOW=9 D=64
// check B=3 T=14 HQ=3 HK=1 SCALE=0.25 WINDOW=1 D=16
// check B=2 T=41 HQ=3 HK=1 SCALE=0.25 WINDOW=5 D=16 PACKED=1
// uses attention, attention_documents, attention_mask, attention_out, attention_rows
// needs -
//
// Measured on two shared CPU cores with HQ = HK = 4, D = 32, beside attention_forward:
// Chromium on SwiftShader, B=4 T=64: 1.7 ms against 11.5; B=16 T=128: 44 against 308.
// Native lavapipe, B=4 T=64: 0.9 against 3.3; B=16 T=128: 10.7 against 45.

override B: u32;
override T: u32;
override HQ: u32;
override HK: u32;
override SCALE: f32;
override WINDOW: u32;

const D4 = D / 4u;

@group(0) @binding(0) var<storage, read_write> out: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> lse: array<f32>;
@group(0) @binding(2) var<storage, read> qkv: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> starts: array<u32>;

@compute @workgroup_size(32)
fn attention_forward_unrolled(@builtin(global_invocation_id) id: vec3<u32>) {
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

    let loaded = join_rows(load(rows.x), load(rows.y), load(rows.z), load(rows.w));
    let q = scale_rows(loaded, vec4<f32>(SCALE));
    var total = Rows();
    var peak = vec4<f32>(-1e30);
    var weight = vec4<f32>();
    let begin = begins_of(b, at);
    for (var s = begin.x; s <= at.w; s++) {
        let products = dot_rows(q, load(keys + s * stride));
        let score = select(vec4<f32>(-1e30), products, see_inside(at, vec4<u32>(s), begin));
        let top = max(peak, score);
        let shrink = exp(peak - top);
        let p = exp(score - top);
        peak = top;
        weight = fma(weight, shrink, p);
        total = add_rows(scale_rows(total, shrink), p, load(values + s * stride));
    }

    let mean = scale_rows(total, 1.0 / weight);
    let logs = peak + log(weight);
    for (var r = 0u; r < min(4u, T - first); r++) {
        store((b * T + first + r) * HQ + h, mean, r);
        lse[(b * HQ + h) * T + first + r] = logs[r];
    }
}
