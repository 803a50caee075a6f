// Gated activation: out = activation(gate) up; each row holds its gates, then its ups.
// binding 0 out     read_write f32 (R, F)      activations
// binding 1 gate_up read       f32 (R, 2 * F)  gates, then what they let through
// size R u32 rows
// size F u32 width inside the MLP
// const ACTIVATION u32 0  of the gate: 0 SiLU, 1 GELU in its tanh form
// dispatch (ceil(R * F / 1024), 1, 1)  four elements an invocation
// oracle reference.gated.gated_forward rtol 1e-5 atol 1e-6
// check R=1 F=1
// check R=1 F=1 ACTIVATION=1
// check R=7 F=149
// check R=16 F=128 ACTIVATION=1
// uses silu gelu
// needs -

@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@group(0) @binding(1) var<storage, read> gate_up: array<f32>;

override R: u32;
override F: u32;

@compute @workgroup_size(256)
fn gated_forward(@builtin(workgroup_id) group: vec3<u32>,
                 @builtin(local_invocation_index) local: u32) {
    for (var lane = 0u; lane < 4u; lane++) {
        let i = group.x * 1024u + lane * 256u + local;
        if (i >= R * F) { return; }
        let at = i + i / F * F;  // row i / F has 2 F numbers
        let gate = gate_up[at];
        if (ACTIVATION == 0u) {
            out[i] = silu(gate) * gate_up[at + F];
        } else {
            out[i] = gelu(gate) * gate_up[at + F];
        }
    }
}
