// Causal attention with grouped queries; softmax is online, so no T x T matrix exists.
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
// const D u32 32 channels of a head; a multiple of 4
// const ROWS u32 2 queries of one thread: they share each load of a key and a value
// const PACKED u32 0 1: rows hold several documents, starts has the first position that each sees
// dispatch (ceil(B * HQ * ceil(T / ROWS) / 64), 1, 1)
// oracle reference.attention.attention_forward rtol 1e-4 atol 1e-5
// check B=1 T=1 HQ=1 HK=1 SCALE=0.5 WINDOW=0 D=4
// check B=2 T=37 HQ=4 HK=2 SCALE=0.35 WINDOW=0 D=8
// check B=1 T=67 HQ=2 HK=2 SCALE=0.125 WINDOW=9 D=64 ROWS=1
// check B=3 T=13 HQ=3 HK=1 SCALE=0.2236 WINDOW=1 D=20 ROWS=4
// check B=2 T=37 HQ=4 HK=2 SCALE=0.35 WINDOW=0 D=8 PACKED=1
// check B=3 T=67 HQ=2 HK=1 SCALE=0.2 WINDOW=5 D=20 ROWS=3 PACKED=1
// uses attention_mask, attention_documents
// needs -

override B: u32;
override T: u32;
override HQ: u32;
override HK: u32;
override SCALE: f32;
override WINDOW: u32;

const D4 = D / 4u;
const ROWS_D4 = ROWS * D4;

@group(0) @binding(0) var<storage, read_write> out: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> lse: array<f32>;
@group(0) @binding(2) var<storage, read> qkv: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> starts: array<u32>;

@compute @workgroup_size(64)
fn attention_forward(@builtin(global_invocation_id) id: vec3<u32>) {
    let blocks = (T + ROWS - 1u) / ROWS;
    if (id.x >= B * HQ * blocks) { return; }
    let first = (id.x % blocks) * ROWS;
    let h = (id.x / blocks) % HQ;
    let b = id.x / (blocks * HQ);
    let stride = (HQ + 2u * HK) * D4;
    let keys = b * T * stride + (HQ + h / (HQ / HK)) * D4;
    let values = keys + HK * D4;

    var q = array<vec4<f32>, ROWS_D4>();
    var total = array<vec4<f32>, ROWS_D4>();
    var peak = array<f32, ROWS>();
    var weight = array<f32, ROWS>();
    var begin = array<u32, ROWS>();
    for (var r = 0u; r < ROWS; r++) {
        // A block may reach past the end; its extra rows repeat the last one and are not stored.
        let row = (b * T + min(first + r, T - 1u)) * stride + h * D4;
        for (var c = 0u; c < D4; c++) { q[r * D4 + c] = qkv[row + c] * SCALE; }
        peak[r] = -1e30;
        begin[r] = begin_of(b, min(first + r, T - 1u));
    }

    for (var s = begin_of(b, first); s < min(first + ROWS, T); s++) {
        var score = array<vec4<f32>, ROWS>();
        for (var c = 0u; c < D4; c++) {
            let k = qkv[keys + s * stride + c];
            for (var r = 0u; r < ROWS; r++) { score[r] = fma(q[r * D4 + c], k, score[r]); }
        }
        var p = array<f32, ROWS>();
        for (var r = 0u; r < ROWS; r++) {
            let seen = sees(first + r, s) && (PACKED == 0u || begin[r] <= s);
            let x = select(-1e30, dot(score[r], vec4<f32>(1.0)), seen);
            let top = max(peak[r], x);
            let shrink = exp(peak[r] - top);
            p[r] = exp(x - top);
            peak[r] = top;
            weight[r] = weight[r] * shrink + p[r];
            for (var c = 0u; c < D4; c++) { total[r * D4 + c] *= shrink; }
        }
        for (var c = 0u; c < D4; c++) {
            let v = qkv[values + s * stride + c];
            for (var r = 0u; r < ROWS; r++) {
                total[r * D4 + c] = fma(v, vec4<f32>(p[r]), total[r * D4 + c]);
            }
        }
    }

    for (var r = 0u; r < min(ROWS, T - first); r++) {
        let t = first + r;
        for (var c = 0u; c < D4; c++) {
            out[((b * T + t) * HQ + h) * D4 + c] = total[r * D4 + c] / weight[r];
        }
        lse[(b * HQ + h) * T + t] = peak[r] + log(weight[r]);
    }
}
