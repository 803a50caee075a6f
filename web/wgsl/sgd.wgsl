// One step of SGD with momentum over the flat arena; the first DECAYED elements decay.
// binding 0 weights   read_write f32 (COUNT) updated  parameters
// binding 1 first     read_write f32 (COUNT) updated  running sum of the gradients
// binding 2 gradients read       f32 (COUNT)  d(loss)/d(weights)
// binding 3 norm      read       f32 (2)      norm of the gradients; the factor for each of them
// binding 4 halted    read       u32 (1) < 1  1 once a gradient or a loss was not finite
// binding 5 scalars   read       f32 (4) positive  the first is the learning rate
// size COUNT u32 elements
// size DECAYED u32 elements with weight decay; they come first
// size MOMENTUM f32 memory of the running sum
// size NESTEROV u32 1 looks ahead along the sum
// size WEIGHT_DECAY f32 times the weight is added to the gradient
// dispatch (ceil(COUNT / 1024), 1, 1)  four elements a thread
// oracle reference.sgd.sgd rtol 1e-5 atol 1e-6
// check COUNT=1 DECAYED=1 MOMENTUM=0 NESTEROV=0 WEIGHT_DECAY=0
// check COUNT=1031 DECAYED=99 MOMENTUM=0.9 NESTEROV=0 WEIGHT_DECAY=0.1
// check COUNT=2048 DECAYED=2048 MOMENTUM=0.9 NESTEROV=1 WEIGHT_DECAY=0.1
// needs -

@group(0) @binding(0) var<storage, read_write> weights: array<f32>;
@group(0) @binding(1) var<storage, read_write> first: array<f32>;
@group(0) @binding(2) var<storage, read> gradients: array<f32>;
@group(0) @binding(3) var<storage, read> norm: array<f32>;
@group(0) @binding(4) var<storage, read> halted: array<u32>;
@group(0) @binding(5) var<storage, read> scalars: array<f32>;

override COUNT: u32;
override DECAYED: u32;
override MOMENTUM: f32;
override NESTEROV: u32;
override WEIGHT_DECAY: f32;

@compute @workgroup_size(256)
fn sgd(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    if (halted[0] != 0u) { return; }
    let rate = scalars[0];
    let factor = norm[1];
    for (var lane = 0u; lane < 4u; lane++) {
        let i = group.x * 1024u + lane * 256u + local;
        if (i >= COUNT) { return; }
        let decay = select(0.0, WEIGHT_DECAY, i < DECAYED);
        let gradient = gradients[i] * factor + decay * weights[i];
        let m = MOMENTUM * first[i] + gradient;
        first[i] = m;
        weights[i] = weights[i] - rate * select(m, gradient + MOMENTUM * m, NESTEROV == 1u);
    }
}
