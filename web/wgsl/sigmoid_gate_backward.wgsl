// Gradient of a gate for the gate: dgate = dout x s (1 - s), with s = sigmoid(gate).
// The gradient for x is the forward again, on dout.
// binding 0 dgate read_write f32 (COUNT) accumulate  gradient of the gate
// binding 1 x     read       f32 (COUNT)  what the forward read
// binding 2 gate  read       f32 (COUNT)  what the forward read
// binding 3 dout  read       f32 (COUNT)  gradient of the result
// size COUNT u32 elements
// size ACCUMULATE u32 1 adds to dgate, 0 writes it
// dispatch (ceil(COUNT / 1024), 1, 1)  four elements an invocation
// oracle reference.sigmoid_gate.sigmoid_gate_backward rtol 1e-5 atol 1e-6
// check COUNT=1 ACCUMULATE=0
// check COUNT=1031 ACCUMULATE=1
// check COUNT=2048 ACCUMULATE=0
// uses silu
// needs -

@group(0) @binding(0) var<storage, read_write> dgate: array<f32>;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> gate: array<f32>;
@group(0) @binding(3) var<storage, read> dout: array<f32>;

override COUNT: u32;
override ACCUMULATE: u32;

@compute @workgroup_size(256)
fn sigmoid_gate_backward(@builtin(workgroup_id) group: vec3<u32>,
                         @builtin(local_invocation_index) local: u32) {
    for (var lane = 0u; lane < 4u; lane++) {
        let i = group.x * 1024u + lane * 256u + local;
        if (i >= COUNT) { return; }
        let s = sigmoid(gate[i]);
        let value = dout[i] * x[i] * s * (1.0 - s);
        dgate[i] = value + select(0.0, dgate[i], ACCUMULATE == 1u);
    }
}
