// Backwards through the chunks of a gated delta rule: the gradients of the states and of delta =
// beta error. With S the state before a chunk and S' the one after it, G the summed decays:
// ddelta = attendᵀ dout + exp(G of the end - G) k dS' - eraseᵀ (beta ddelta), from the last row up,
// dS = exp(G of the end) dS' + (exp(G) q)ᵀ dout - (exp(G) k)ᵀ (beta ddelta).
// An invocation owns four columns of one head's state.
// binding 0 ddelta read_write f32 (B, HV, ceil(T / 4) * 4, DV)
// binding 1 dstate read_write f32 (1 + ceil(T / CHUNK), B, HV, DK, DV) updated  from the last on
// binding 2 unit   read f32 (B, ceil(T / 4) * 4, 2 * HK, DK) within -0.3 0.3  queries, keys
// binding 3 rates  read f32 (B, HV, ceil(T / 4) * 4, 4) within 0 1  as delta_products has them
// binding 4 erase  read f32 (B, HV, ceil(T / 4) * 4, CHUNK) within -0.1 0.1
// binding 5 attend read f32 (B, HV, ceil(T / 4) * 4, CHUNK)
// binding 6 dout   read f32 (B, T, HV * DV)  gradient of the output
// size B u32 sequences
// size T u32 positions
// size HK u32 query heads, and as many key heads
// size HV u32 value heads; a multiple of HK
// size DK u32 channels of a query or key head; a multiple of 4
// size DV u32 channels of a value head; a multiple of 4
// const CHUNK u32 32 rows of a chunk; a multiple of 4
// dispatch (ceil(B * HV * (DV // 4) / 32), 1, 1)
// oracle reference.delta_backward.delta_backward_scan rtol 1e-4 atol 1e-4
// check B=1 T=1 HK=1 HV=1 DK=4 DV=4
// check B=2 T=37 HK=3 HV=6 DK=20 DV=8
// check B=1 T=70 HK=2 HV=2 DK=16 DV=36 CHUNK=16
// uses tile, delta_place, delta_unit, delta_triangles, delta_rates, delta_dout
// needs -

override B: u32;
override T: u32;
override HK: u32;
override HV: u32;
override DK: u32;
override DV: u32;

@group(0) @binding(0) var<storage, read_write> ddelta: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> dstate: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> unit: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> rates: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> erase: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read> attend: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read> dout: array<vec4<f32>>;

fn state_tile(p: Place, slot: u32, d: u32) -> mat4x4<f32> {
    let at = state_at(p, slot, d);
    let stride = DV / 4u;
    return mat4x4<f32>(dstate[at], dstate[at + stride], dstate[at + 2u * stride],
                       dstate[at + 3u * stride]);
}

fn delta_at(p: Place, t: u32) -> u32 {
    return ((p.b * HV + p.h) * lines() + t) * (DV / 4u) + p.v;
}

// beta ddelta of four rows, which are done already.
fn scaled_tile(p: Place, t: u32) -> mat4x4<f32> {
    let at = delta_at(p, t);
    let stride = DV / 4u;
    return tile_scale(rates_tile(p.b, p.h, t)[2],
                      mat4x4<f32>(ddelta[at], ddelta[at + stride], ddelta[at + 2u * stride],
                                  ddelta[at + 3u * stride]));
}

// Takes off what the rows of a tile hand to the rows before them in it, from the last up.
fn solved(given: mat4x4<f32>, n: mat4x4<f32>, beta: vec4<f32>) -> mat4x4<f32> {
    var g = given;
    let d3 = beta.w * g[3];
    g[2] -= n[3].z * d3;
    let d2 = beta.z * g[2];
    g[1] -= n[2].y * d2 + n[3].y * d3;
    let d1 = beta.y * g[1];
    g[0] -= n[1].x * d1 + n[2].x * d2 + n[3].x * d3;
    return g;
}

// ddelta of the rows `start` + 4 i and the three after it; `slot` is the state after the chunk.
fn four_rows(p: Place, slot: u32, start: u32, i: u32, blocks: u32) {
    let t = start + 4u * i;
    let head = HK + p.h / (HV / HK);
    var sum = mat4x4<f32>();
    for (var d = 0u; d < DK / 4u; d++) {
        sum = tile_add(sum, unit_tile(p.b, t, head, d), state_tile(p, slot, d));
    }
    let rate = rates_tile(p.b, p.h, t);
    sum = tile_scale(rate[1], sum);
    let diagonal = transpose(lower(attend_tile(p.b, p.h, t, i)));
    sum = tile_add(sum, diagonal, dout_tile(p.b, p.h, t, p.v));
    for (var l = i + 1u; l < blocks; l++) {
        let later = start + 4u * l;
        sum = tile_add(sum, transpose(attend_tile(p.b, p.h, later, i)),
                       dout_tile(p.b, p.h, later, p.v));
        sum = tile_add(sum, -1.0 * transpose(erase_tile(p.b, p.h, later, i)),
                       scaled_tile(p, later));
    }
    let result = solved(sum, erase_tile(p.b, p.h, t, i), rate[2]);
    for (var r = 0u; r < 4u; r++) { ddelta[delta_at(p, t + r)] = result[r]; }
}

// The gradient of the state before the chunk, from that of the one after it.
fn retreat(p: Place, slot: u32, start: u32, rows: u32) {
    let head = p.h / (HV / HK);
    let keep = rates_tile(p.b, p.h, start + rows - 4u)[0].w;
    for (var d = 0u; d < DK / 4u; d++) {
        var s = keep * state_tile(p, slot, d);
        for (var t = start; t < start + rows; t += 4u) {
            let rate = rates_tile(p.b, p.h, t);
            let query = tile_scale(rate[0], unit_tile(p.b, t, head, d));
            let key = tile_scale(-1.0 * rate[0], unit_tile(p.b, t, HK + head, d));
            s = tile_add(s, transpose(query), dout_tile(p.b, p.h, t, p.v));
            s = tile_add(s, transpose(key), scaled_tile(p, t));
        }
        let at = state_at(p, slot - 1u, d);
        for (var r = 0u; r < 4u; r++) { dstate[at + r * (DV / 4u)] = s[r]; }
    }
}

@compute @workgroup_size(32)
fn delta_backward_scan(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x >= B * HV * (DV / 4u)) { return; }
    let p = place_of(id.x);
    for (var slot = (T + CHUNK - 1u) / CHUNK; slot > 0u; slot--) {
        let start = (slot - 1u) * CHUNK;
        let rows = min(CHUNK, lines() - start);
        for (var i = rows / 4u; i > 0u; i--) { four_rows(p, slot, start, i - 1u, rows / 4u); }
        retreat(p, slot, start, rows);
    }
}
