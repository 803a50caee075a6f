// What the states hand to the queries and keys of a delta rule: with S the state before a row's
// chunk and S' the one after it, dq = exp(G) dout Sᵀ, dread = -exp(G) (beta ddelta) Sᵀ for the key
// that reads, and dwrite = exp(G of the end - G) delta dS'ᵀ for the key that writes.
// binding 0 dheads read_write f32 (B, HV, ceil(T / 4) * 4, 4, DK)  dq, dread, dwrite; zeros
// binding 1 state  read f32 (1 + ceil(T / CHUNK), B, HV, DK, DV)
// binding 2 dstate read f32 (1 + ceil(T / CHUNK), B, HV, DK, DV)
// binding 3 rates  read f32 (B, HV, ceil(T / 4) * 4, 4) within 0 1  as delta_products has them
// binding 4 errors read f32 (B, HV, ceil(T / 4) * 4, DV)
// binding 5 ddelta read f32 (B, HV, ceil(T / 4) * 4, DV)
// binding 6 dout   read f32 (B, T, HV * DV)  gradient of the output
// size B u32 sequences
// size T u32 positions
// size HV u32 value heads
// size DK u32 channels of a query or key head; a multiple of 4
// size DV u32 channels of a value head; a multiple of 4
// const CHUNK u32 32 rows of a chunk; a multiple of 4
// dispatch (ceil(B * HV * ceil(T / 4) * (DK // 4) / 64), 1, 1)  four rows by four channels each
// oracle reference.delta_backward.delta_backward_states rtol 1e-4 atol 1e-4
// check B=1 T=1 HV=1 DK=4 DV=4
// check B=2 T=37 HV=3 DK=20 DV=8
// check B=1 T=70 HV=2 DK=16 DV=36 CHUNK=16
// uses tile, delta_rates, delta_dout
// needs -

override B: u32;
override T: u32;
override HV: u32;
override DK: u32;
override DV: u32;

@group(0) @binding(0) var<storage, read_write> dheads: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> state: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> dstate: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> rates: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> errors: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read> ddelta: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read> dout: array<vec4<f32>>;

// Four channels of v by four rows of a state, from its first.
fn turned_state(at: u32) -> mat4x4<f32> {
    let stride = DV / 4u;
    return transpose(mat4x4<f32>(state[at], state[at + stride], state[at + 2u * stride],
                                 state[at + 3u * stride]));
}

fn turned_dstate(at: u32) -> mat4x4<f32> {
    let stride = DV / 4u;
    return transpose(mat4x4<f32>(dstate[at], dstate[at + stride], dstate[at + 2u * stride],
                                 dstate[at + 3u * stride]));
}

@compute @workgroup_size(64)
fn delta_backward_states(@builtin(global_invocation_id) id: vec3<u32>) {
    let quads = DK / 4u;
    let stride = DV / 4u;
    let blocks = (T + 3u) / 4u;
    if (id.x >= B * HV * blocks * quads) { return; }
    let d = id.x % quads;
    let t = (id.x / quads) % blocks * 4u;
    let h = (id.x / (quads * blocks)) % HV;
    let b = id.x / (quads * blocks * HV);
    let slot = t / CHUNK;
    let before = (((slot * B + b) * HV + h) * DK + d * 4u) * stride;
    let after = ((((slot + 1u) * B + b) * HV + h) * DK + d * 4u) * stride;
    let rows = ((b * HV + h) * blocks * 4u + t) * stride;

    var query = mat4x4<f32>();
    var read = mat4x4<f32>();
    var written = mat4x4<f32>();
    for (var v = 0u; v < stride; v++) {
        let at = rows + v;
        let s = turned_state(before + v);
        query = tile_add(query, dout_tile(b, h, t, v), s);
        read = tile_add(read, mat4x4<f32>(ddelta[at], ddelta[at + stride],
                                          ddelta[at + 2u * stride], ddelta[at + 3u * stride]), s);
        written = tile_add(written, mat4x4<f32>(errors[at], errors[at + stride],
                                                errors[at + 2u * stride],
                                                errors[at + 3u * stride]),
                           turned_dstate(after + v));
    }
    let rate = rates_tile(b, h, t);
    query = tile_scale(rate[0], query);
    read = tile_scale(-1.0 * rate[0] * rate[2], read);
    written = tile_scale(rate[1] * rate[2], written);
    for (var r = 0u; r < 4u; r++) {
        let to = ((b * HV + h) * blocks * 4u + t + r) * 4u * quads + d;
        dheads[to] = query[r];
        dheads[to + quads] = read[r];
        dheads[to + 2u * quads] = written[r];
        dheads[to + 3u * quads] = vec4<f32>();
    }
}
