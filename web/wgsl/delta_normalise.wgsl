// Queries and keys of a delta rule at length one: q / |q| / sqrt(DK), k / |k|. Rows that do not
// count become zeros, whatever they hold, and so do those that fill up the last four.
// binding 0 unit read_write f32 (B, ceil(T / 4) * 4, 2 * HK, DK)  query heads, then key heads
// binding 1 qkv  read       f32 (B, T, 2 * HK * DK + HV * DV)     query, key and value heads
// binding 2 span read       u32 (2) < T                           [1]: rows that count
// size B u32 sequences
// size T u32 positions
// size HK u32 query heads, and as many key heads
// size HV u32 value heads
// size DK u32 channels of a query or key head; a multiple of 4
// size DV u32 channels of a value head; a multiple of 4
// dispatch (ceil(B * ceil(T / 4) * 4 * 2 * HK / 64), 1, 1)  one invocation per head of a row
// oracle reference.delta_chunks.delta_normalise rtol 1e-5 atol 1e-6
// check B=1 T=1 HK=1 HV=1 DK=4 DV=4
// check B=2 T=37 HK=3 HV=6 DK=20 DV=8
// check B=1 T=32 HK=2 HV=2 DK=128 DV=128
// needs -

override B: u32;
override T: u32;
override HK: u32;
override HV: u32;
override DK: u32;
override DV: u32;

@group(0) @binding(0) var<storage, read_write> unit: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> qkv: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> span: array<u32>;

@compute @workgroup_size(64)
fn delta_normalise(@builtin(global_invocation_id) id: vec3<u32>) {
    let lines = (T + 3u) / 4u * 4u;
    if (id.x >= B * lines * 2u * HK) { return; }
    let head = id.x % (2u * HK);
    let t = (id.x / (2u * HK)) % lines;
    let b = id.x / (2u * HK * lines);
    let quads = DK / 4u;
    let source = (b * T + min(t, T - 1u)) * (2u * HK * DK + HV * DV) / 4u + head * quads;

    var squares = vec4<f32>();
    for (var d = 0u; d < quads; d++) {
        squares = fma(qkv[source + d], qkv[source + d], squares);
    }
    // 1e-6 under the root as the models were trained; it keeps a zero row zero.
    var factor = inverseSqrt(dot(squares, vec4<f32>(1.0)) + 1e-6);
    if (head < HK) { factor *= inverseSqrt(f32(DK)); }
    let counts = t < min(span[1], T);
    for (var d = 0u; d < quads; d++) {
        unit[id.x * quads + d] = select(vec4<f32>(), factor * qkv[source + d], counts);
    }
}
