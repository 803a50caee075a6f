// One step of AdamW over the flat arena: decoupled weight decay on its first DECAYED elements.
// binding 0 weights   read_write f32 (COUNT) updated  parameters
// binding 1 first     read_write f32 (COUNT) updated  running mean of the gradients
// binding 2 second    read_write f32 (COUNT) updated positive  running mean of their squares
// binding 3 gradients read       f32 (COUNT)  d(loss)/d(weights)
// binding 4 norm      read       f32 (2)      norm of the gradients; the factor for each of them
// binding 5 halted    read       u32 (1) < 1  1 once a gradient or a loss was not finite
// binding 6 scalars   read       f32 (4) positive  rate, 1 - beta1^t, sqrt(1 - beta2^t), scale
// size COUNT u32 elements
// size DECAYED u32 elements with weight decay; they come first
// size BETA1 f32 memory of the first moment
// size BETA2 f32 memory of the second moment
// size GAIN1 f32 1 - BETA1, rounded once: in f32 the difference would lose digits
// size GAIN2 f32 1 - BETA2
// size EPSILON f32 added to the denominator
// size WEIGHT_DECAY f32 part of a weight that decays in a step of rate 1
// dispatch (ceil(COUNT / 1024), 1, 1)  four elements a thread
// oracle reference.adamw.adamw rtol 1e-5 atol 1e-6
// check COUNT=1 DECAYED=0 BETA1=0.9 BETA2=0.95 GAIN1=0.1 GAIN2=0.05 EPSILON=1e-8 WEIGHT_DECAY=0.1
// check COUNT=1031 DECAYED=99 BETA1=0.9 BETA2=0.99 GAIN1=0.1 GAIN2=0.01 EPSILON=1e-6 WEIGHT_DECAY=1
// needs -

@group(0) @binding(0) var<storage, read_write> weights: array<f32>;
@group(0) @binding(1) var<storage, read_write> first: array<f32>;
@group(0) @binding(2) var<storage, read_write> second: array<f32>;
@group(0) @binding(3) var<storage, read> gradients: array<f32>;
@group(0) @binding(4) var<storage, read> norm: array<f32>;
@group(0) @binding(5) var<storage, read> halted: array<u32>;
@group(0) @binding(6) var<storage, read> scalars: array<f32>;

override COUNT: u32;
override DECAYED: u32;
override BETA1: f32;
override BETA2: f32;
override GAIN1: f32;
override GAIN2: f32;
override EPSILON: f32;
override WEIGHT_DECAY: f32;

@compute @workgroup_size(256)
fn adamw(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    if (halted[0] != 0u) { return; }
    // Read once: the compiler cannot know that the writes below leave them as they are.
    let rate = scalars[0];
    let step_size = rate / scalars[1];
    let root = scalars[2];
    let factor = norm[1];
    let decayed = 1.0 - rate * WEIGHT_DECAY;
    for (var lane = 0u; lane < 4u; lane++) {
        let i = group.x * 1024u + lane * 256u + local;
        if (i >= COUNT) { return; }
        let gradient = gradients[i] * factor;
        let m = BETA1 * first[i] + GAIN1 * gradient;
        let v = BETA2 * second[i] + GAIN2 * gradient * gradient;
        first[i] = m;
        second[i] = v;
        let decay = select(1.0, decayed, i < DECAYED);
        let denominator = sqrt(v) / root + EPSILON;
        weights[i] = weights[i] * decay - step_size * m / denominator;
    }
}
