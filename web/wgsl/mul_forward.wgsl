// Product element by element: out = a * b. It is its own backward.
// binding 0 out read_write f32 (COUNT) accumulate  products
// binding 1 a   read       f32 (COUNT)
// binding 2 b   read       f32 (COUNT)
// size COUNT u32 elements
// size ACCUMULATE u32 1 adds to out, 0 writes it
// dispatch (ceil(COUNT / 1024), 1, 1)  four elements an invocation
// oracle reference.mul.mul_forward rtol 1e-6 atol 1e-6
// check COUNT=1 ACCUMULATE=0
// check COUNT=1031 ACCUMULATE=1
// check COUNT=2048 ACCUMULATE=0
// needs -

@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@group(0) @binding(1) var<storage, read> a: array<f32>;
@group(0) @binding(2) var<storage, read> b: array<f32>;

override COUNT: u32;
override ACCUMULATE: u32;

@compute @workgroup_size(256)
fn mul_forward(@builtin(workgroup_id) group: vec3<u32>,
              @builtin(local_invocation_index) local: u32) {
    for (var lane = 0u; lane < 4u; lane++) {
        let i = group.x * 1024u + lane * 256u + local;
        if (i >= COUNT) { return; }
        let value = a[i] * b[i];
        out[i] = value + select(0.0, out[i], ACCUMULATE == 1u);
    }
}
