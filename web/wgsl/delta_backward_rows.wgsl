// For each row of a delta rule: the gradient of beta, ddelta . error, and what its own rates hand
// to the summed decay, q . dq + k . (dread - dwrite in the chunk): queries and reading keys come
// with exp(G), writing keys with exp(-G). Apart from it, k . dwrite into the state, which every
// later decay of the chunk scales.
// binding 0 dbeta  read_write f32 (B, T, HV) accumulate  gradient of beta
// binding 1 dsums  read_write f32 (B, HV, ceil(T / 4) * 4, 2)  of the summed decay; into the state
// binding 2 dheads read f32 (B, HV, ceil(T / 4) * 4, 4, DK)  dq, dread, dwrite twice
// binding 3 unit   read f32 (B, ceil(T / 4) * 4, 2 * HK, DK)  query heads, key heads
// binding 4 errors read f32 (B, HV, ceil(T / 4) * 4, DV)
// binding 5 ddelta read f32 (B, HV, ceil(T / 4) * 4, DV)
// size B u32 sequences
// size T u32 positions
// size HK u32 query heads, and as many key heads
// size HV u32 value heads; a multiple of HK
// size DK u32 channels of a query or key head; a multiple of 4
// size DV u32 channels of a value head; a multiple of 4
// size ACCUMULATE u32 1 adds to dbeta, 0 writes it
// dispatch (ceil(B * HV * ceil(T / 4) * 4 / 64), 1, 1)  one invocation per row of a head
// oracle reference.delta_backward.delta_backward_rows rtol 1e-4 atol 1e-4
// check B=1 T=1 HK=1 HV=1 DK=4 DV=4 ACCUMULATE=0
// check B=2 T=37 HK=3 HV=6 DK=20 DV=8 ACCUMULATE=1
// needs -

override B: u32;
override T: u32;
override HK: u32;
override HV: u32;
override DK: u32;
override DV: u32;
override ACCUMULATE: u32;

@group(0) @binding(0) var<storage, read_write> dbeta: array<f32>;
@group(0) @binding(1) var<storage, read_write> dsums: array<vec2<f32>>;
@group(0) @binding(2) var<storage, read> dheads: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> unit: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> errors: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read> ddelta: array<vec4<f32>>;

@compute @workgroup_size(64)
fn delta_backward_rows(@builtin(global_invocation_id) id: vec3<u32>) {
    let lines = (T + 3u) / 4u * 4u;
    if (id.x >= B * HV * lines) { return; }
    let t = id.x % lines;
    let h = (id.x / lines) % HV;
    let b = id.x / (lines * HV);
    let quads = DK / 4u;
    let query = ((b * lines + t) * 2u * HK + h / (HV / HK)) * quads;
    let gradient = id.x * 4u * quads;

    var sum = vec4<f32>();
    var kept = vec4<f32>();
    for (var d = 0u; d < quads; d++) {
        let k = unit[query + HK * quads + d];
        sum = fma(unit[query + d], dheads[gradient + d], sum);
        sum = fma(k, dheads[gradient + quads + d] - dheads[gradient + 3u * quads + d], sum);
        kept = fma(k, dheads[gradient + 2u * quads + d], kept);
    }
    dsums[id.x] = vec2<f32>(dot(sum, vec4<f32>(1.0)), dot(kept, vec4<f32>(1.0)));
    if (t >= T) { return; }

    var product = vec4<f32>();
    for (var v = 0u; v < DV / 4u; v++) {
        let at = id.x * (DV / 4u) + v;
        product = fma(ddelta[at], errors[at], product);
    }
    let i = (b * T + t) * HV + h;
    dbeta[i] = dot(product, vec4<f32>(1.0)) + select(0.0, dbeta[i], ACCUMULATE == 1u);
}
