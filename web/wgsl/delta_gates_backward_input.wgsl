// Gradient of the decay of a delta rule for a: da = -ddecay exp(A_log) sigmoid(a + dt_bias).
// binding 0 da      read_write f32 (R, H) accumulate  gradient of a
// binding 1 ddecay  read       f32 (R, H)  gradient of the decay
// binding 2 a       read       f32 (R, H)
// binding 3 A_log   read       f32 (H)
// binding 4 dt_bias read       f32 (H)
// size R u32 rows
// size H u32 heads
// size ACCUMULATE u32 1 adds to da, 0 writes it
// dispatch (ceil(R * H / 1024), 1, 1)  four elements an invocation
// oracle reference.delta_gates.delta_gates_backward_input rtol 1e-5 atol 1e-6
// check R=1 H=1 ACCUMULATE=0
// check R=37 H=5 ACCUMULATE=1
// uses silu
// needs -

override R: u32;
override H: u32;
override ACCUMULATE: u32;

@group(0) @binding(0) var<storage, read_write> da: array<f32>;
@group(0) @binding(1) var<storage, read> ddecay: array<f32>;
@group(0) @binding(2) var<storage, read> a: array<f32>;
@group(0) @binding(3) var<storage, read> A_log: array<f32>;
@group(0) @binding(4) var<storage, read> dt_bias: array<f32>;

@compute @workgroup_size(256)
fn delta_gates_backward_input(@builtin(workgroup_id) group: vec3<u32>,
                              @builtin(local_invocation_index) local: u32) {
    for (var lane = 0u; lane < 4u; lane++) {
        let i = group.x * 1024u + lane * 256u + local;
        if (i >= R * H) { return; }
        let value = -ddecay[i] * exp(A_log[i % H]) * sigmoid(a[i] + dt_bias[i % H]);
        da[i] = value + select(0.0, da[i], ACCUMULATE == 1u);
    }
}
