// Adds what the products of different rows of a chunk hand to its queries and keys: dq += dattend k
// and dread += derase k for the rows, the second dwrite += deraseᵀ k + dattendᵀ q for the columns.
// A row's product with itself does not decay: delta_backward_input adds it.
// binding 0 dheads  read_write f32 (B, HV, ceil(T / 4) * 4, 4, DK) updated  the third one stays
// binding 1 unit    read f32 (B, ceil(T / 4) * 4, 2 * HK, DK)         query heads, key heads
// binding 2 erase   read f32 (B, HV, ceil(T / 4) * 4, CHUNK)          derase
// binding 3 attend  read f32 (B, HV, ceil(T / 4) * 4, CHUNK)          dattend
// size B u32 sequences
// size T u32 positions
// size HK u32 query heads, and as many key heads
// size HV u32 value heads; a multiple of HK
// size DK u32 channels of a query or key head; a multiple of 4
// const CHUNK u32 32 rows of a chunk; a multiple of 4
// dispatch (ceil(B * HV * ceil(T / 4) * (DK // 4) / 64), 1, 1)  four rows by four channels each
// oracle reference.delta_backward.delta_backward_triangles rtol 1e-4 atol 1e-4
// check B=1 T=1 HK=1 HV=1 DK=4
// check B=2 T=37 HK=3 HV=6 DK=20
// check B=1 T=70 HK=2 HV=2 DK=16 CHUNK=16
// uses tile, delta_unit, delta_triangles
// needs -

override B: u32;
override T: u32;
override HK: u32;
override HV: u32;
override DK: u32;

@group(0) @binding(0) var<storage, read_write> dheads: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> unit: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> erase: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> attend: array<vec4<f32>>;

// Of a tile on the diagonal, what lies below it; everywhere else, all of the tile.
fn masked(a: mat4x4<f32>, diagonal: bool) -> mat4x4<f32> {
    if (!diagonal) { return a; }
    return mat4x4<f32>(vec4<f32>(), vec4<f32>(a[1].x, 0.0, 0.0, 0.0),
                       vec4<f32>(a[2].xy, 0.0, 0.0), vec4<f32>(a[3].xyz, 0.0));
}

@compute @workgroup_size(64)
fn delta_backward_triangles(@builtin(global_invocation_id) id: vec3<u32>) {
    let quads = DK / 4u;
    let blocks = (T + 3u) / 4u;
    if (id.x >= B * HV * blocks * quads) { return; }
    let d = id.x % quads;
    let t = (id.x / quads) % blocks * 4u;
    let h = (id.x / (quads * blocks)) % HV;
    let b = id.x / (quads * blocks * HV);
    let start = t / CHUNK * CHUNK;
    let i = (t - start) / 4u;
    let head = h / (HV / HK);

    var query = mat4x4<f32>();
    var read = mat4x4<f32>();
    for (var j = 0u; j <= i; j++) {
        let k = unit_tile(b, start + 4u * j, HK + head, d);
        query = tile_add(query, masked(attend_tile(b, h, t, j), j == i), k);
        read = tile_add(read, masked(erase_tile(b, h, t, j), j == i), k);
    }
    var written = mat4x4<f32>();
    for (var later = t; later < min(start + CHUNK, lines()); later += 4u) {
        let diagonal = later == t;
        written = tile_add(written, transpose(masked(erase_tile(b, h, later, i), diagonal)),
                           unit_tile(b, later, HK + head, d));
        written = tile_add(written, transpose(masked(attend_tile(b, h, later, i), diagonal)),
                           unit_tile(b, later, head, d));
    }
    for (var r = 0u; r < 4u; r++) {
        let to = ((b * HV + h) * lines() + t + r) * 4u * quads + d;
        dheads[to] += query[r];
        dheads[to + quads] += read[r];
        dheads[to + 3u * quads] += written[r];
    }
}
