// Gradient of a gated activation: dgate = dout activation'(gate) up, dup = dout activation(gate).
// binding 0 dgate_up read_write f32 (R, 2 * F) accumulate  gradient of the gates, then of the ups
// binding 1 gate_up  read       f32 (R, 2 * F)  what the forward read
// binding 2 dout     read       f32 (R, F)      gradient of its result
// size R u32 rows
// size F u32 width inside the MLP
// size ACCUMULATE u32 1 adds to dgate_up, 0 writes it
// const ACTIVATION u32 0  of the gate: 0 SiLU, 1 GELU in its tanh form
// dispatch (ceil(R * F / 1024), 1, 1)  four elements an invocation
// oracle reference.gated.gated_backward rtol 1e-5 atol 1e-5
// check R=1 F=1 ACCUMULATE=0
// check R=1 F=1 ACCUMULATE=1 ACTIVATION=1
// check R=7 F=149 ACCUMULATE=1
// check R=16 F=128 ACCUMULATE=0 ACTIVATION=1
// uses silu gelu
// needs -

@group(0) @binding(0) var<storage, read_write> dgate_up: array<f32>;
@group(0) @binding(1) var<storage, read> gate_up: array<f32>;
@group(0) @binding(2) var<storage, read> dout: array<f32>;

override R: u32;
override F: u32;
override ACCUMULATE: u32;

@compute @workgroup_size(256)
fn gated_backward(@builtin(workgroup_id) group: vec3<u32>,
                  @builtin(local_invocation_index) local: u32) {
    for (var lane = 0u; lane < 4u; lane++) {
        let i = group.x * 1024u + lane * 256u + local;
        if (i >= R * F) { return; }
        let at = i + i / F * F;  // row i / F has 2 F numbers
        let gate = gate_up[at];
        var value = vec2<f32>();  // the activation and its slope
        if (ACTIVATION == 0u) {
            value = vec2<f32>(silu(gate), silu_slope(gate));
        } else {
            value = vec2<f32>(gelu(gate), gelu_slope(gate));
        }
        let dgate = dout[i] * value.y * gate_up[at + F];
        let dup = dout[i] * value.x;
        dgate_up[at] = dgate + select(0.0, dgate_up[at], ACCUMULATE == 1u);
        dgate_up[at + F] = dup + select(0.0, dgate_up[at + F], ACCUMULATE == 1u);
    }
}
