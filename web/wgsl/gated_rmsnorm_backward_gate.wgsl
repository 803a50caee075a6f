// Gradients of a gated RMS normalisation for its gate and for the normalised rows; with the second,
// the kernels of rmsnorm go on.
// binding 0 dgate  read_write f32 (R, C) accumulate  dout x rstd weight silu'(gate)
// binding 1 dnorm  read_write f32 (R, C)             dout silu(gate)
// binding 2 dout   read       f32 (R, C)           gradient of the output
// binding 3 x      read       f32 (R, C)           the forward's input
// binding 4 gate   read       f32 (R, C)           the forward's gate
// binding 5 weight read       f32 (C)              gain
// binding 6 rstd   read       f32 (R) positive     the forward's 1 / sqrt(mean(x²) + EPS)
// size R u32 rows
// size C u32 columns
// size ACCUMULATE u32 1 adds to dgate, 0 writes it
// dispatch (ceil(R * C / 1024), 1, 1)  four elements an invocation
// oracle reference.gated_rmsnorm.gated_rmsnorm_backward_gate rtol 1e-5 atol 1e-5
// check R=1 C=1 ACCUMULATE=0
// check R=7 C=129 ACCUMULATE=1
// check R=67 C=31 ACCUMULATE=0
// uses silu
// needs -

override R: u32;
override C: u32;
override ACCUMULATE: u32;

@group(0) @binding(0) var<storage, read_write> dgate: array<f32>;
@group(0) @binding(1) var<storage, read_write> dnorm: array<f32>;
@group(0) @binding(2) var<storage, read> dout: array<f32>;
@group(0) @binding(3) var<storage, read> x: array<f32>;
@group(0) @binding(4) var<storage, read> gate: array<f32>;
@group(0) @binding(5) var<storage, read> weight: array<f32>;
@group(0) @binding(6) var<storage, read> rstd: array<f32>;

@compute @workgroup_size(256)
fn gated_rmsnorm_backward_gate(@builtin(workgroup_id) group: vec3<u32>,
                               @builtin(local_invocation_index) local: u32) {
    for (var lane = 0u; lane < 4u; lane++) {
        let i = group.x * 1024u + lane * 256u + local;
        if (i >= R * C) { return; }
        let value = dout[i] * x[i] * rstd[i / C] * weight[i % C] * silu_slope(gate[i]);
        dgate[i] = value + select(0.0, dgate[i], ACCUMULATE == 1u);
        dnorm[i] = dout[i] * silu(gate[i]);
    }
}
