// GELU with the normal distribution's own integral: out = x / 2 (1 + erf(x / sqrt(2))).
// binding 0 out read_write f32 (COUNT)  activations
// binding 1 x   read       f32 (COUNT)
// size COUNT u32 elements
// dispatch (ceil(COUNT / 1024), 1, 1)  four elements an invocation
// oracle reference.gelu_exact.gelu_exact_forward rtol 1e-5 atol 1e-6
// check COUNT=1
// check COUNT=1031
// check COUNT=2048
// uses gelu_exact
// needs -

@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@group(0) @binding(1) var<storage, read> x: array<f32>;

override COUNT: u32;

@compute @workgroup_size(256)
fn gelu_exact_forward(@builtin(workgroup_id) group: vec3<u32>,
                     @builtin(local_invocation_index) local: u32) {
    for (var lane = 0u; lane < 4u; lane++) {
        let i = group.x * 1024u + lane * 256u + local;
        if (i >= COUNT) { return; }
        out[i] = gelu_exact(x[i]);
    }
}
