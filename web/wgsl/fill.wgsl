// Gives every element the same number: out = FACTOR * value.
// binding 0 out   read_write f32 (COUNT) accumulate  the gradient of a sum or a mean
// binding 1 value read       f32 (1)
// size COUNT u32 elements
// size FACTOR f32 multiplies the number
// size ACCUMULATE u32 1 adds to out, 0 writes it
// dispatch (ceil(COUNT / 1024), 1, 1)  four elements an invocation
// oracle reference.sum.fill rtol 1e-6 atol 1e-6
// check COUNT=1 FACTOR=1 ACCUMULATE=0
// check COUNT=1031 FACTOR=0.125 ACCUMULATE=1
// needs -

@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@group(0) @binding(1) var<storage, read> value: array<f32>;

override COUNT: u32;
override FACTOR: f32;
override ACCUMULATE: u32;

@compute @workgroup_size(256)
fn fill(@builtin(workgroup_id) group: vec3<u32>,
       @builtin(local_invocation_index) local: u32) {
    for (var lane = 0u; lane < 4u; lane++) {
        let i = group.x * 1024u + lane * 256u + local;
        if (i >= COUNT) { return; }
        let value = FACTOR * value[0];
        out[i] = value + select(0.0, out[i], ACCUMULATE == 1u);
    }
}
