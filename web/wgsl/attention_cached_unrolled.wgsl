// Causal attention of new positions against a cache as in attention_cached, four queries for a
// thread and unrolled by hand: for CPU adapters.
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
// const D u32 32 channels of a head: 16, 32, 48 or 64
// dispatch (ceil(HQ * ceil(T / 4) / 32), 1, 1)
// oracle reference.attention_cached.attention_cached rtol 1e-4 atol 1e-5
// check T=1 R=1 HQ=1 HK=1 SCALE=0.1767767 WINDOW=0
// check T=37 R=128 HQ=4 HK=2 SCALE=0.1767767 WINDOW=0
// check T=67 R=140 HQ=2 HK=2 SCALE=0.125 WINDOW=70 D=64
// check T=14 R=21 HQ=3 HK=1 SCALE=0.25 WINDOW=5 D=16
// uses attention, attention_mask, attention_out, attention_rows
// needs -
//
// Measured on two shared CPU cores, T=256 D=64. Chromium on SwiftShader, HQ=9 HK=3: 27 ms at
// position 0 (attention_cached: 4.5 times that), 68 at position 256, 296 at position 1792; HQ=4
// HK=2 at position 0: 13. Native lavapipe: 12.6, 24, 127; 4.9. Eight queries for a thread: 0.77 of
// the time on SwiftShader, but twice the time to compile.

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

@compute @workgroup_size(32)
fn attention_cached_unrolled(@builtin(global_invocation_id) id: vec3<u32>) {
    let blocks = (T + 3u) / 4u;
    if (id.x >= HQ * blocks) { return; }
    let first = (id.x % blocks) * 4u;
    let h = id.x / blocks;
    let rows = min(span[1], T);
    // A block may reach past the rows that count; its extra rows repeat the last one.
    let at = min(vec4<u32>(first) + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(max(rows, 1u) - 1u));
    let end = span[0] + rows;
    let now = span[0] + at;
    let begin = min(max(oldest(now.x), end - min(end, R)), now.x);

    let queries = (at * (HQ + 2u * HK) + h) * D4;
    let loaded = join_rows(load(queries.x), load(queries.y), load(queries.z), load(queries.w));
    let q = scale_rows(loaded, vec4<f32>(SCALE));
    var total = Rows();
    var peak = vec4<f32>(-1e30);
    var weight = vec4<f32>();
    var row = begin % R;
    let stop = select(now.w + 1u, begin, first >= rows);
    for (var s = begin; s < stop; s++) {
        let key = (row * 2u * HK + h / (HQ / HK)) * D4;
        let products = dot_rows(q, load_cached(key));
        let score = select(vec4<f32>(-1e30), products, see(now, vec4<u32>(s)));
        let top = max(peak, score);
        let shrink = exp(peak - top);
        let p = exp(score - top);
        peak = top;
        weight = fma(weight, shrink, p);
        total = add_rows(scale_rows(total, shrink), p, load_cached(key + HK * D4));
        row = select(row + 1u, 0u, row + 1u == R);
    }

    let counts = vec4<u32>(first) + vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(rows);
    let mean = scale_rows(total, select(vec4<f32>(), 1.0 / weight, counts));
    for (var r = 0u; r < min(4u, T - first); r++) { store((first + r) * HQ + h, mean, r); }
}

fn load_cached_line(at: u32) -> Line {
    return Line(cache[at], cache[at + 1u], cache[at + 2u], cache[at + 3u]);
}

fn load_cached(at: u32) -> Row {
    var row = Row();
    row.l0 = load_cached_line(at);
    if (D > 16u) { row.l1 = load_cached_line(at + 4u); }
    if (D > 32u) { row.l2 = load_cached_line(at + 8u); }
    if (D > 48u) { row.l3 = load_cached_line(at + 12u); }
    return row;
}
