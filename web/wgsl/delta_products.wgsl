// What the rows of one chunk of a delta rule are to each other: products of keys with keys and of
// queries with keys, decayed over the time between them, and the rates of every row, whose last is
// 0 where the row does not count. With G the sum of the decays from the chunk's first row on:
// erase[i, j] = exp(G[i] - G[j]) k[i] . k[j] for j < i, and attend[i, j] with q[i] for j <= i.
// G begins anew with a document. Rows of two documents are nothing to each other: their products
// are 0, exp(G) is 0 where the document began in the chunk, so that the state before the chunk does
// not reach it, and exp(G at end - G) is 0 where the document is over before the chunk is.
// binding 0 erase  read_write f32 (B, HV, ceil(T / 4) * 4, CHUNK)  of keys with keys before
// binding 1 attend read_write f32 (B, HV, ceil(T / 4) * 4, CHUNK)  of queries with keys
// binding 2 rates  read_write f32 (B, HV, ceil(T / 4) * 4, 4)  exp(G), exp(G at end - G), beta, 1
// binding 3 unit   read f32 (B, ceil(T / 4) * 4, 2 * HK, DK) within -0.5 0.5  queries, keys
// binding 4 decay  read f32 (B, T, HV) within -2 0                 log of what the state keeps
// binding 5 beta   read f32 (B, T, HV) within 0 1
// binding 6 span   read u32 (2) < T                                [1]: rows that count
// binding 7 starts read u32 (1 + PACKED * (B - 1), 1 + PACKED * (T - 1)) < T sorted
// size B u32 sequences
// size T u32 positions
// size HK u32 query heads, and as many key heads
// size HV u32 value heads; a multiple of HK
// size DK u32 channels of a query or key head; a multiple of 4
// const CHUNK u32 32 rows of a chunk; a multiple of 4
// const PACKED u32 0 1: rows hold several documents; starts has the first position of each
// dispatch (ceil(B * HV * ceil(T / 4) * (CHUNK // 4) / 64), 1, 1)  one invocation per 4 by 4 tile
// oracle reference.delta_chunks.delta_products rtol 1e-5 atol 1e-5
// check B=1 T=1 HK=1 HV=1 DK=4
// check B=2 T=37 HK=3 HV=6 DK=20
// check B=1 T=70 HK=2 HV=2 DK=16 CHUNK=16
// check B=2 T=70 HK=2 HV=4 DK=16 CHUNK=16 PACKED=1
// uses tile, delta_unit, delta_fade, documents
// needs -

override B: u32;
override T: u32;
override HK: u32;
override HV: u32;
override DK: u32;

@group(0) @binding(0) var<storage, read_write> erase: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> attend: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> rates: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> unit: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> decay: array<f32>;
@group(0) @binding(5) var<storage, read> beta: array<f32>;
@group(0) @binding(6) var<storage, read> span: array<u32>;
@group(0) @binding(7) var<storage, read> starts: array<u32>;

fn counts(t: u32) -> bool { return t < min(span[1], T); }

fn store_rates(b: u32, h: u32, start: u32, first: u32, sums: vec4<f32>) {
    let last = min(start + CHUNK, lines()) - 1u;
    let begin = begin_of(b, last);
    var end = sums.w;
    for (var t = first + 4u; t <= last; t++) { end = sum_with(end, b, t, h); }
    for (var r = 0u; r < 4u; r++) {
        let t = first + r;
        let reached = PACKED == 0u || begin_of(b, t) < start;
        let keep = select(0.0, exp(sums[r]), reached);
        let fade = select(0.0, exp(end - sums[r]), begin <= t);
        let weight = select(0.0, beta[(b * T + min(t, T - 1u)) * HV + h], counts(t));
        rates[(b * HV + h) * lines() + t] = vec4<f32>(keep, fade, weight,
                                                    select(0.0, 1.0, counts(t)));
    }
}

@compute @workgroup_size(64)
fn delta_products(@builtin(global_invocation_id) id: vec3<u32>) {
    let tiles = CHUNK / 4u;
    let blocks = (T + 3u) / 4u;
    if (id.x >= B * HV * blocks * tiles) { return; }
    let column = id.x % tiles;
    let block = (id.x / tiles) % blocks;
    let h = (id.x / (tiles * blocks)) % HV;
    let b = id.x / (tiles * blocks * HV);
    let row = block % tiles;
    let start = (block - row) * 4u;

    var keys = mat4x4<f32>();
    var queries = mat4x4<f32>();
    if (column <= row) {
        let first = block * 4u;
        let other = start + column * 4u;
        let head = h / (HV / HK);
        for (var d = 0u; d < DK / 4u; d++) {
            let turned = transpose(unit_tile(b, other, HK + head, d));
            queries = tile_add(queries, unit_tile(b, first, head, d), turned);
            keys = tile_add(keys, unit_tile(b, first, HK + head, d), turned);
        }
        let later = sums_from(start, first, b, h);
        let fade = fade_tile(later, sums_from(start, other, b, h), first - other,
                             seen_rows(b, first));
        queries = tile_times(queries, fade);
        keys = tile_times(keys, fade);
        if (column == row) { keys = without_diagonal(keys); }
        if (column == 0u) { store_rates(b, h, start, first, later); }
    }
    let to = ((b * HV + h) * blocks + block) * 4u * tiles + column;
    for (var r = 0u; r < 4u; r++) {
        attend[to + r * tiles] = queries[r];
        erase[to + r * tiles] = keys[r];
    }
}
