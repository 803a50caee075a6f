// Rounds float32 numbers to 16 bits, two in each word, the first in its low half; to the nearest
// number of the format, ties to the even one.
// binding 0 out read_write u32 (ceil(COUNT / 2))  words; the high half of a last odd one is 0
// binding 1 x   read       f32 (COUNT)
// size COUNT u32 numbers
// const FORMAT u32 1 1 bfloat16, 2 float16
// dispatch (ceil(COUNT / 16384), 64, 1)
// oracle reference.pack_halves.pack_halves rtol 0 atol 0
// check COUNT=1
// check COUNT=1031
// check COUNT=1031 FORMAT=2
// needs -
//
// Conversions of WGSL may round either way, so the bits are put together here.

@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@group(0) @binding(1) var<storage, read> x: array<f32>;

override COUNT: u32;

// `value >> shift`, rounded: half of the last place, less one unless the kept part is odd.
fn shifted(value: u32, shift: u32) -> u32 {
    return (value + (1u << (shift - 1u)) - 1u + ((value >> shift) & 1u)) >> shift;
}

fn bfloat16_of(bits: u32) -> u32 {
    if ((bits & 0x7fffffffu) > 0x7f800000u) { return (bits >> 16u) | 0x40u; }  // NaN stays NaN
    return shifted(bits, 16u);
}

fn float16_of(bits: u32) -> u32 {
    let sign = (bits >> 16u) & 0x8000u;
    let size = bits & 0x7fffffffu;
    if (size > 0x7f800000u) { return sign | 0x7e00u | ((size >> 13u) & 0x3ffu); }
    if (size >= 0x477ff000u) { return sign | 0x7c00u; }       // from 65520 on: infinity
    if (size >= 0x38800000u) { return sign | shifted(size - 0x38000000u, 13u); }
    if (size < 0x33000000u) { return sign; }                  // below half of the smallest
    let digits = (size & 0x7fffffu) | 0x800000u;
    return sign | shifted(digits, 126u - (size >> 23u));      // subnormal: multiples of 2^-24
}

fn half_of(i: u32) -> u32 {
    if (i >= COUNT) { return 0u; }
    let bits = bitcast<u32>(x[i]);
    if (FORMAT == 1u) { return bfloat16_of(bits); }
    return float16_of(bits);
}

@compute @workgroup_size(128)
fn pack_halves(@builtin(workgroup_id) group: vec3<u32>,
               @builtin(local_invocation_index) thread: u32) {
    let word = (group.x * 64u + group.y) * 128u + thread;
    if (2u * word >= COUNT) { return; }
    out[word] = half_of(2u * word) | (half_of(2u * word + 1u) << 16u);
}
