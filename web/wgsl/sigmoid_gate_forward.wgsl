// A gate: out = x sigmoid(gate). On dout it is the gradient for x.
// binding 0 out  read_write f32 (COUNT) accumulate  what the gate lets through
// binding 1 x    read       f32 (COUNT)
// binding 2 gate read       f32 (COUNT)
// size COUNT u32 elements
// size ACCUMULATE u32 1 adds to out, 0 writes it
// dispatch (ceil(COUNT / 1024), 1, 1)  four elements an invocation
// oracle reference.sigmoid_gate.sigmoid_gate_forward rtol 1e-5 atol 1e-6
// check COUNT=1 ACCUMULATE=0
// check COUNT=1031 ACCUMULATE=1
// check COUNT=2048 ACCUMULATE=0
// uses silu
// needs -

@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> gate: array<f32>;

override COUNT: u32;
override ACCUMULATE: u32;

@compute @workgroup_size(256)
fn sigmoid_gate_forward(@builtin(workgroup_id) group: vec3<u32>,
                        @builtin(local_invocation_index) local: u32) {
    for (var lane = 0u; lane < 4u; lane++) {
        let i = group.x * 1024u + lane * 256u + local;
        if (i >= COUNT) { return; }
        let value = x[i] * sigmoid(gate[i]);
        out[i] = value + select(0.0, out[i], ACCUMULATE == 1u);
    }
}
