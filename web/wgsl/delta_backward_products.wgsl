// Gradients of the products of a delta rule's chunk, decayed like the products themselves:
// dattend = dout deltaᵀ and derase = -(beta ddelta) deltaᵀ, where delta = beta error.
// binding 0 derase  read_write f32 (B, HV, ceil(T / 4) * 4, CHUNK)  of keys with keys before
// binding 1 dattend read_write f32 (B, HV, ceil(T / 4) * 4, CHUNK)  of queries with keys
// binding 2 rates   read f32 (B, HV, ceil(T / 4) * 4, 4) within 0 1  as delta_products has them
// binding 3 errors  read f32 (B, HV, ceil(T / 4) * 4, DV)
// binding 4 ddelta  read f32 (B, HV, ceil(T / 4) * 4, DV)
// binding 5 decay   read f32 (B, T, HV) within -2 0
// binding 6 dout    read f32 (B, T, HV * DV)  gradient of the output
// binding 7 starts read u32 (1 + PACKED * (B - 1), 1 + PACKED * (T - 1)) < T sorted
// size B u32 sequences
// size T u32 positions
// size HV u32 value heads
// size DV u32 channels of a value head; a multiple of 4
// const CHUNK u32 32 rows of a chunk; a multiple of 4
// const PACKED u32 0 1: rows hold several documents; starts has the first position of each
// dispatch (ceil(B * HV * ceil(T / 4) * (CHUNK // 4) / 64), 1, 1)  one invocation per 4 by 4 tile
// oracle reference.delta_backward.delta_backward_products rtol 1e-4 atol 1e-4
// check B=1 T=1 HV=1 DV=4
// check B=2 T=37 HV=6 DV=20
// check B=1 T=70 HV=2 DV=16 CHUNK=16
// check B=2 T=70 HV=2 DV=16 CHUNK=16 PACKED=1
// uses tile, delta_fade, delta_rates, delta_dout, documents
// needs -

override B: u32;
override T: u32;
override HV: u32;
override DV: u32;

@group(0) @binding(0) var<storage, read_write> derase: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> dattend: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> rates: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> errors: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> ddelta: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read> decay: array<f32>;
@group(0) @binding(6) var<storage, read> dout: array<vec4<f32>>;
@group(0) @binding(7) var<storage, read> starts: array<u32>;

fn counts(t: u32) -> bool { return t < T; }

fn error_tile(at: u32) -> mat4x4<f32> {
    let stride = DV / 4u;
    return mat4x4<f32>(errors[at], errors[at + stride], errors[at + 2u * stride],
                       errors[at + 3u * stride]);
}

fn ddelta_tile(at: u32) -> mat4x4<f32> {
    let stride = DV / 4u;
    return mat4x4<f32>(ddelta[at], ddelta[at + stride], ddelta[at + 2u * stride],
                       ddelta[at + 3u * stride]);
}

@compute @workgroup_size(64)
fn delta_backward_products(@builtin(global_invocation_id) id: vec3<u32>) {
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
        let head = (b * HV + h) * blocks * 4u;
        let quads = DV / 4u;
        for (var v = 0u; v < quads; v++) {
            let turned = transpose(error_tile((head + other) * quads + v));
            queries = tile_add(queries, dout_tile(b, h, first, v), turned);
            keys = tile_add(keys, ddelta_tile((head + first) * quads + v), turned);
        }
        let betas = rates_tile(b, h, other)[2];
        let written = mat4x4<f32>(betas, betas, betas, betas);
        let fade = fade_tile(sums_from(start, first, b, h), sums_from(start, other, b, h),
                             first - other, seen_rows(b, first));
        queries = tile_times(tile_times(queries, written), fade);
        keys = tile_times(tile_times(keys, written), fade);
        keys = tile_scale(-1.0 * rates_tile(b, h, first)[2], keys);
        if (column == row) { keys = without_diagonal(keys); }
    }
    let to = ((b * HV + h) * blocks + block) * 4u * tiles + column;
    for (var r = 0u; r < 4u; r++) {
        dattend[to + r * tiles] = queries[r];
        derase[to + r * tiles] = keys[r];
    }
}
