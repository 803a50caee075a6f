// Rows that were kept in 16 bits, as float32 again: out = x 2^(exponent - 127).
// binding 0 out      read_write f32 (R, C)
// binding 1 exponent read       u32 (R) < 241 positive  of each row, see halves_exponent
// binding 2 x        read       stored (R, C)
// size R u32 rows
// size C u32 columns
// const STORED u32 0 how x lies in memory: 0 float32, 1 bfloat16, 2 float16
// dispatch (ceil(R * C / 1024), 1, 1)  four numbers an invocation
// oracle reference.halves.halves_unpack rtol 0 atol 1e-37
// check R=1 C=1 STORED=1
// check R=17 C=31 STORED=1
// check R=17 C=31 STORED=2
// check R=64 C=48 STORED=2
// needs -

@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@group(0) @binding(1) var<storage, read> exponent: array<u32>;
@group(0) @binding(2) var<storage, read> x: array<stored_word>;

override R: u32;
override C: u32;

@compute @workgroup_size(256)
fn halves_unpack(@builtin(workgroup_id) group: vec3<u32>,
                 @builtin(local_invocation_index) thread: u32) {
    for (var step = 0u; step < 4u; step++) {
        let i = group.x * 1024u + step * 256u + thread;
        if (i >= R * C) { return; }
        out[i] = stored_at(x[word_of(i)], i) * bitcast<f32>(exponent[i / C] << 23u);
    }
}
