// Causal attention of new positions against a cache, a ring of R rows that already holds theirs;
// grouped queries, online softmax. Rows that do not count are padding: their results are zero.
// binding 0 out   read_write f32 (T, HQ * D)        weighted values, heads side by side
// binding 1 cache read f32 (R, 2 * HK * D)          keys, then values, of each position
// binding 2 qkv   read f32 (T, (HQ + 2 * HK) * D)   query heads; its keys and values are not read
// binding 3 span  read u32 (2) < 99                 position of row 0, rows that count
// size T u32 rows
// size R u32 positions that the cache holds
// size HQ u32 query heads
// size HK u32 key and value heads; divides HQ
// size SCALE f32 of the scores
// size WINDOW u32 positions that one sees, itself with them; 0 all that the cache holds
// const D u32 32 channels of a head; a multiple of 4
// dispatch (ceil(HQ * T / 64), 1, 1)  one thread per query
// oracle reference.attention_cached.attention_cached rtol 1e-4 atol 1e-5
// check T=1 R=1 HQ=1 HK=1 SCALE=0.5 WINDOW=0 D=4
// check T=37 R=128 HQ=4 HK=2 SCALE=0.35 WINDOW=0 D=8
// check T=7 R=11 HQ=3 HK=1 SCALE=0.2236 WINDOW=5 D=20
// check T=5 R=40 HQ=2 HK=2 SCALE=0.0625 WINDOW=36 D=256
// uses attention_mask
// needs -

override T: u32;
override R: u32;
override HQ: u32;
override HK: u32;
override SCALE: f32;
override WINDOW: u32;

const D4 = D / 4u;

@group(0) @binding(0) var<storage, read_write> out: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> cache: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> qkv: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> span: array<u32>;

@compute @workgroup_size(64)
fn attention_cached(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x >= HQ * T) { return; }
    let t = id.x % T;
    let h = id.x / T;
    let rows = min(span[1], T);
    let row_out = (t * HQ + h) * D4;
    if (t >= rows) {
        for (var c = 0u; c < D4; c++) { out[row_out + c] = vec4<f32>(); }
        return;
    }
    let end = span[0] + rows;
    let now = span[0] + t;
    let begin = min(max(oldest(now), end - min(end, R)), now);

    var q = array<vec4<f32>, D4>();
    var total = array<vec4<f32>, D4>();
    let query = (t * (HQ + 2u * HK) + h) * D4;
    for (var c = 0u; c < D4; c++) { q[c] = qkv[query + c] * SCALE; }
    var peak = -1e30;
    var weight = 0.0;
    var row = begin % R;
    for (var s = begin; s <= now; s++) {
        let key = (row * 2u * HK + h / (HQ / HK)) * D4;
        let value = key + HK * D4;
        var products = vec4<f32>();
        for (var c = 0u; c < D4; c++) { products = fma(q[c], cache[key + c], products); }
        let score = dot(products, vec4<f32>(1.0));
        let top = max(peak, score);
        let shrink = exp(peak - top);
        let p = exp(score - top);
        peak = top;
        weight = fma(weight, shrink, p);
        for (var c = 0u; c < D4; c++) {
            total[c] = fma(cache[value + c], vec4<f32>(p), total[c] * shrink);
        }
        row = select(row + 1u, 0u, row + 1u == R);
    }
    for (var c = 0u; c < D4; c++) { out[row_out + c] = total[c] / weight; }
}
