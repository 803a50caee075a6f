// Gradient of a delta rule for its packed queries, keys and values. A value's gradient is beta
// ddelta. Queries and keys sum over the value heads that read them, and then go back through the
// division by their length r: dx = (dy - y (y . dy)) / r, with y = x / r; queries by sqrt(DK) too.
// binding 0 dqkv   read_write f32 (B, T, 2 * HK * DK + HV * DV) accumulate
// binding 1 qkv    read f32 (B, T, 2 * HK * DK + HV * DV)       query, key and value heads
// binding 2 dheads read f32 (B, HV, ceil(T / 4) * 4, 4, DK)     dq, dread, dwrite twice
// binding 3 ddelta read f32 (B, HV, ceil(T / 4) * 4, DV)
// binding 4 beta   read f32 (B, T, HV) within 0 1
// binding 5 unit    read f32 (B, ceil(T / 4) * 4, 2 * HK, DK)   query heads, key heads
// binding 6 dattend read f32 (B, HV, ceil(T / 4) * 4, CHUNK)    of it, each row with itself
// size B u32 sequences
// size T u32 positions
// size HK u32 query heads, and as many key heads
// size HV u32 value heads; a multiple of HK
// size DK u32 channels of a query or key head; a multiple of 4
// size DV u32 channels of a value head; a multiple of 4
// size ACCUMULATE u32 1 adds to dqkv, 0 writes it
// const CHUNK u32 32 rows of a chunk; a multiple of 4
// dispatch (ceil(B * T * (2 * HK + HV) / 64), 1, 1)  one invocation per head of a row
// oracle reference.delta_backward.delta_backward_input rtol 1e-4 atol 1e-4
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

@group(0) @binding(0) var<storage, read_write> dqkv: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> qkv: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> dheads: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> ddelta: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> beta: array<f32>;
@group(0) @binding(5) var<storage, read> unit: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read> dattend: array<f32>;

fn store(at: u32, value: vec4<f32>) {
    dqkv[at] = value + select(vec4<f32>(), dqkv[at], ACCUMULATE == 1u);
}

// The gradient of four channels of a query (its own), or of a key (as it reads and as it writes).
fn unit_gradient(b: u32, t: u32, head: u32, d: u32) -> vec4<f32> {
    let lines = (T + 3u) / 4u * 4u;
    let quads = DK / 4u;
    let values = HV / HK;
    let other = unit[((b * lines + t) * 2u * HK + (head + HK) % (2u * HK)) * quads + d];
    var sum = vec4<f32>();
    for (var h = head % HK * values; h < (head % HK + 1u) * values; h++) {
        let row = (b * HV + h) * lines + t;
        let at = row * 4u * quads + d;
        sum = fma(vec4<f32>(dattend[row * CHUNK + t % CHUNK]), other, sum);
        if (head < HK) {
            sum += dheads[at];
        } else {
            sum += dheads[at + quads] + dheads[at + 2u * quads] + dheads[at + 3u * quads];
        }
    }
    return sum;
}

fn back_through_length(b: u32, t: u32, head: u32, at: u32) {
    var squares = vec4<f32>();
    var along = vec4<f32>();
    for (var d = 0u; d < DK / 4u; d++) {
        let x = qkv[at + d];
        squares = fma(x, x, squares);
        along = fma(x, unit_gradient(b, t, head, d), along);
    }
    let inverse = inverseSqrt(dot(squares, vec4<f32>(1.0)) + 1e-6);
    let factor = inverse * select(1.0, inverseSqrt(f32(DK)), head < HK);
    let share = inverse * inverse * dot(along, vec4<f32>(1.0));
    for (var d = 0u; d < DK / 4u; d++) {
        store(at + d, factor * (unit_gradient(b, t, head, d) - share * qkv[at + d]));
    }
}

@compute @workgroup_size(64)
fn delta_backward_input(@builtin(global_invocation_id) id: vec3<u32>) {
    let heads = 2u * HK + HV;
    if (id.x >= B * T * heads) { return; }
    let head = id.x % heads;
    let t = (id.x / heads) % T;
    let b = id.x / (heads * T);
    let row = (b * T + t) * (2u * HK * DK + HV * DV) / 4u;
    if (head < 2u * HK) {
        back_through_length(b, t, head, row + head * (DK / 4u));
        return;
    }
    let h = head - 2u * HK;
    let lines = (T + 3u) / 4u * 4u;
    for (var v = 0u; v < DV / 4u; v++) {
        store(row + 2u * HK * (DK / 4u) + h * (DV / 4u) + v,
              beta[(b * T + t) * HV + h] * ddelta[((b * HV + h) * lines + t) * (DV / 4u) + v]);
    }
}
