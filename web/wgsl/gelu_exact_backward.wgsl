// Gradient of GELU with the normal distribution's own integral: dx = dout * gelu'(x).
// binding 0 dx   read_write f32 (COUNT) accumulate  gradient of x
// binding 1 x    read       f32 (COUNT)  what the forward read
// binding 2 dout read       f32 (COUNT)  gradient of the activations
// size COUNT u32 elements
// size ACCUMULATE u32 1 adds to dx, 0 writes it
// dispatch (ceil(COUNT / 1024), 1, 1)  four elements an invocation
// oracle reference.gelu_exact.gelu_exact_backward rtol 1e-5 atol 1e-6
// check COUNT=1 ACCUMULATE=0
// check COUNT=1031 ACCUMULATE=1
// check COUNT=2048 ACCUMULATE=0
// uses gelu_exact
// needs -

@group(0) @binding(0) var<storage, read_write> dx: array<f32>;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> dout: array<f32>;

override COUNT: u32;
override ACCUMULATE: u32;

@compute @workgroup_size(256)
fn gelu_exact_backward(@builtin(workgroup_id) group: vec3<u32>,
                      @builtin(local_invocation_index) local: u32) {
    for (var lane = 0u; lane < 4u; lane++) {
        let i = group.x * 1024u + lane * 256u + local;
        if (i >= COUNT) { return; }
        let value = dout[i] * gelu_exact_slope(x[i]);
        dx[i] = value + select(0.0, dx[i], ACCUMULATE == 1u);
    }
}
