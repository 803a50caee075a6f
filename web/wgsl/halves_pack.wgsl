// Keeps rows in 16 bits: x / 2^(exponent - 127), rounded to the nearest, ties to even; two in each
// word, low half first.
// binding 0 out      read_write u32 (ceil(R * C / 2))
// binding 1 exponent read       u32 (R) < 241 positive  of each row, see halves_exponent
// binding 2 x        read       f32 (R, C)
// size R u32 rows
// size C u32 columns
// size FORMAT u32 1 bfloat16, 2 float16
// dispatch (ceil(R * C / 2048), 1, 1)  four words an invocation
// oracle reference.halves.halves_pack rtol 0 atol 0
// check R=1 C=1 FORMAT=1
// check R=17 C=31 FORMAT=1
// check R=17 C=31 FORMAT=2
// check R=64 C=48 FORMAT=2
// needs -
//
// All in integers: WGSL leaves it to the device how pack2x16float rounds, and these bits shall be
// the same everywhere. A word belongs to one invocation, so that no two write into the same one.

@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@group(0) @binding(1) var<storage, read> exponent: array<u32>;
@group(0) @binding(2) var<storage, read> x: array<f32>;

override R: u32;
override C: u32;
override FORMAT: u32;

fn bfloat16_bits(bits: u32) -> u32 {
    if ((bits & 0x7fffffffu) > 0x7f800000u) { return (bits >> 16u) | 0x40u; }
    return (bits + 0x7fffu + ((bits >> 16u) & 1u)) >> 16u;
}

fn float16_bits(bits: u32) -> u32 {
    let sign = (bits >> 16u) & 0x8000u;
    let size = bits & 0x7fffffffu;
    if (size >= 0x47800000u) { return sign | select(0x7c00u, 0x7e00u, size > 0x7f800000u); }
    if (size >= 0x38800000u) {
        return sign | ((size - 0x38000000u + 0xfffu + ((size >> 13u) & 1u)) >> 13u);
    }
    // Below 2^-14 the steps are all 2^-24.
    let shift = min(126u - (size >> 23u), 25u);
    let digits = (size & 0x7fffffu) | 0x800000u;
    let whole = digits >> shift;
    let rest = digits & ((1u << shift) - 1u);
    let middle = 1u << (shift - 1u);
    return sign | (whole + select(0u, 1u, rest > middle || (rest == middle && (whole & 1u) == 1u)));
}

fn half_at(i: u32) -> u32 {
    let divided = x[i] * bitcast<f32>((254u - exponent[i / C]) << 23u);
    let bits = bitcast<u32>(divided);
    if (FORMAT == 1u) { return bfloat16_bits(bits); }
    return float16_bits(bits);
}

@compute @workgroup_size(256)
fn halves_pack(@builtin(workgroup_id) group: vec3<u32>,
               @builtin(local_invocation_index) thread: u32) {
    for (var step = 0u; step < 4u; step++) {
        let word = group.x * 1024u + step * 256u + thread;
        if (2u * word >= R * C) { return; }
        let low = half_at(2u * word);
        var high = 0u;
        if (2u * word + 1u < R * C) { high = half_at(2u * word + 1u); }
        out[word] = low | (high << 16u);
    }
}
