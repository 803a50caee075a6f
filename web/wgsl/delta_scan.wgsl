// The gated delta rule, chunk after chunk, as matrix products; needs delta_normalise and
// delta_products. With S the state before the chunk, G the summed decays, delta = beta error:
// error = v - exp(G) k S - erase delta (row after row), out = exp(G) q S + attend delta,
// new S = exp(G of the end) S + (exp(G of the end - G) k) transposed delta.
// An invocation owns four columns of one head's state: they need nothing from the others.
// binding 0 out    read_write f32 (B, T, HV * DV)
// binding 1 errors read_write f32 (B, HV, ceil(T / 4) * 4, DV)  what the state did not know of v
// binding 2 state  read_write f32 (1 + KEEP * ceil(T / CHUNK), B, HV, DK, DV) updated
// binding 3 unit   read f32 (B, ceil(T / 4) * 4, 2 * HK, DK) within -0.3 0.3  queries, keys
// binding 4 qkv    read f32 (B, T, 2 * HK * DK + HV * DV)  of it, the value heads
// binding 5 rates  read f32 (B, HV, ceil(T / 4) * 4, 4) within 0 1  as delta_products has them
// binding 6 erase  read f32 (B, HV, ceil(T / 4) * 4, CHUNK) within -0.1 0.1
// binding 7 attend read f32 (B, HV, ceil(T / 4) * 4, CHUNK)
// size B u32 sequences
// size T u32 positions
// size HK u32 query heads, and as many key heads
// size HV u32 value heads; a multiple of HK
// size DK u32 channels of a query or key head; a multiple of 4
// size DV u32 channels of a value head; a multiple of 4
// size KEEP u32 1 keeps the state before each chunk and adds the last, 0 updates it in place
// const CHUNK u32 32 rows of a chunk; a multiple of 4
// dispatch (ceil(B * HV * (DV // 4) / 32), 1, 1)
// oracle reference.delta_chunks.delta_scan rtol 1e-4 atol 1e-4
// check B=1 T=1 HK=1 HV=1 DK=4 DV=4 KEEP=0
// check B=2 T=37 HK=3 HV=6 DK=20 DV=8 KEEP=1
// check B=1 T=70 HK=2 HV=2 DK=16 DV=36 KEEP=0 CHUNK=16
// uses tile, delta_place, delta_unit, delta_triangles, delta_rates
// needs -
//
// Measured, T=256 HK=HV=16 DK=DV=128, on two shared CPU cores: Chromium on SwiftShader 228 ms, with
// delta_products 20 ms and delta_normalise 5 ms; native lavapipe 76, 13 and 3 ms. delta_step takes
// 1.5 and 2.5 ms for one position.

override B: u32;
override T: u32;
override HK: u32;
override HV: u32;
override DK: u32;
override DV: u32;
override KEEP: u32;

@group(0) @binding(0) var<storage, read_write> out: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> errors: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> state: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> unit: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> qkv: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read> rates: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read> erase: array<vec4<f32>>;
@group(0) @binding(7) var<storage, read> attend: array<vec4<f32>>;

fn state_tile(p: Place, slot: u32, d: u32) -> mat4x4<f32> {
    let at = state_at(p, slot, d);
    let stride = DV / 4u;
    return mat4x4<f32>(state[at], state[at + stride], state[at + 2u * stride],
                       state[at + 3u * stride]);
}

fn errors_tile(p: Place, t: u32) -> mat4x4<f32> {
    let stride = DV / 4u;
    let at = ((p.b * HV + p.h) * lines() + t) * stride + p.v;
    return mat4x4<f32>(errors[at], errors[at + stride], errors[at + 2u * stride],
                       errors[at + 3u * stride]);
}

fn values_at(p: Place, t: u32) -> vec4<f32> {
    let row = (p.b * T + min(t, T - 1u)) * (2u * HK * DK + HV * DV) / 4u;
    let value = qkv[row + 2u * HK * (DK / 4u) + p.h * (DV / 4u) + p.v];
    return select(vec4<f32>(), value, t < T);
}

// The errors of four rows that follow each other, from what is left once all earlier rows are
// taken off; a row that does not count makes none, whatever its value is.
fn solved(left: mat4x4<f32>, n: mat4x4<f32>, beta: vec4<f32>, counts: vec4<f32>) -> mat4x4<f32> {
    var e = left;
    e[0] = select(vec4<f32>(), e[0], counts.x > 0.0);
    let d0 = beta.x * e[0];
    e[1] = select(vec4<f32>(), e[1] - n[1].x * d0, counts.y > 0.0);
    let d1 = beta.y * e[1];
    e[2] = select(vec4<f32>(), e[2] - n[2].x * d0 - n[2].y * d1, counts.z > 0.0);
    let d2 = beta.z * e[2];
    e[3] = select(vec4<f32>(), e[3] - n[3].x * d0 - n[3].y * d1 - n[3].z * d2, counts.w > 0.0);
    return e;
}

// Errors and results of the rows `start` + 4 i and the three after it.
fn four_rows(p: Place, slot: u32, start: u32, i: u32) {
    let t = start + 4u * i;
    let head = p.h / (HV / HK);
    var known = mat4x4<f32>();
    var answer = mat4x4<f32>();
    for (var d = 0u; d < DK / 4u; d++) {
        let s = state_tile(p, slot, d);
        known = tile_add(known, unit_tile(p.b, t, HK + head, d), s);
        answer = tile_add(answer, unit_tile(p.b, t, head, d), s);
    }
    let rate = rates_tile(p.b, p.h, t);
    let values = mat4x4<f32>(values_at(p, t), values_at(p, t + 1u), values_at(p, t + 2u),
                             values_at(p, t + 3u));
    var left = values - tile_scale(rate[0], known);
    answer = tile_scale(rate[0], answer);
    for (var j = 0u; j < i; j++) {
        let beta = rates_tile(p.b, p.h, start + 4u * j)[2];
        let delta = tile_scale(beta, errors_tile(p, start + 4u * j));
        left = tile_add(left, -1.0 * erase_tile(p.b, p.h, t, j), delta);
        answer = tile_add(answer, attend_tile(p.b, p.h, t, j), delta);
    }
    let error = solved(left, erase_tile(p.b, p.h, t, i), rate[2], rate[3]);
    answer = tile_add(answer, lower(attend_tile(p.b, p.h, t, i)), tile_scale(rate[2], error));
    for (var r = 0u; r < 4u; r++) {
        errors[((p.b * HV + p.h) * lines() + t + r) * (DV / 4u) + p.v] = error[r];
        if (t + r < T) { out[((p.b * T + t + r) * HV + p.h) * (DV / 4u) + p.v] = answer[r]; }
    }
}

// The state after the rows `start` to `start` + `rows` - 1.
fn advance(p: Place, slot: u32, start: u32, rows: u32) {
    let head = p.h / (HV / HK);
    let keep = rates_tile(p.b, p.h, start + rows - 4u)[0].w;
    for (var d = 0u; d < DK / 4u; d++) {
        var s = keep * state_tile(p, slot, d);
        for (var t = start; t < start + rows; t += 4u) {
            let rate = rates_tile(p.b, p.h, t);
            let written = tile_scale(rate[1] * rate[2], errors_tile(p, t));
            s = tile_add(s, transpose(unit_tile(p.b, t, HK + head, d)), written);
        }
        let at = state_at(p, slot + KEEP, d);
        for (var r = 0u; r < 4u; r++) { state[at + r * (DV / 4u)] = s[r]; }
    }
}

@compute @workgroup_size(32)
fn delta_scan(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x >= B * HV * (DV / 4u)) { return; }
    let p = place_of(id.x);
    for (var start = 0u; start < T; start += CHUNK) {
        let slot = KEEP * (start / CHUNK);
        let rows = min(CHUNK, lines() - start);
        for (var i = 0u; i < rows / 4u; i++) { four_rows(p, slot, start, i); }
        advance(p, slot, start, rows);
    }
}
