// Transposes a matrix of 16-bit numbers, two in each word, low half first: out[c, r] = x[r, c].
// binding 0 out read_write u32 (ceil(R * C / 2))  the transpose, (C, R)
// binding 1 x   read       u32 (ceil(R * C / 2))  a matrix, (R, C)
// size R u32 rows of x
// size C u32 columns of x
// dispatch (ceil(R * C / 32768), 256, 1)
// oracle reference.transpose.transpose_halves rtol 0 atol 0
// check R=1 C=1
// check R=17 C=31
// check R=64 C=16
// needs -
//
// The 16 bits are moved, never read as numbers. A word belongs to one invocation, so that no two
// write into the same one.

@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@group(0) @binding(1) var<storage, read> x: array<u32>;

override R: u32;
override C: u32;

fn half_of_transpose(i: u32) -> u32 {
    let source = i % R * C + i / R;
    return select(x[source / 2u] & 0xffffu, x[source / 2u] >> 16u, source % 2u == 1u);
}

@compute @workgroup_size(64)
fn transpose_halves(@builtin(workgroup_id) group: vec3<u32>,
                    @builtin(local_invocation_index) thread: u32) {
    let word = (group.x * 256u + group.y) * 64u + thread;
    if (2u * word >= R * C) { return; }
    let low = half_of_transpose(2u * word);
    var high = 0u;
    if (2u * word + 1u < R * C) { high = half_of_transpose(2u * word + 1u); }
    out[word] = low | (high << 16u);
}
