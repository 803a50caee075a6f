// Muon's step of one matrix, with decoupled weight decay; nothing once halted.
// binding 0 weights read_write f32 (COUNT) updated  the matrix
// binding 1 step    read       f32 (COUNT)  the orthogonal update
// binding 2 halted  read       u32 (1) < 1  1 once a gradient or a loss was not finite
// binding 3 scalars read       f32 (4) positive  the first is the learning rate
// size COUNT u32 elements
// size RATIO f32 multiplies the rate, so that steps are as large as AdamW's
// size WEIGHT_DECAY f32 part of a weight that decays in a step of rate 1
// dispatch (ceil(COUNT / 1024), 1, 1)  four elements a thread
// oracle reference.muon.muon_update rtol 1e-5 atol 1e-6
// check COUNT=1 RATIO=1 WEIGHT_DECAY=0
// check COUNT=1031 RATIO=1.6 WEIGHT_DECAY=0.1
// check COUNT=2048 RATIO=0.5 WEIGHT_DECAY=0.1
// needs -

@group(0) @binding(0) var<storage, read_write> weights: array<f32>;
@group(0) @binding(1) var<storage, read> step: array<f32>;
@group(0) @binding(2) var<storage, read> halted: array<u32>;
@group(0) @binding(3) var<storage, read> scalars: array<f32>;

override COUNT: u32;
override RATIO: f32;
override WEIGHT_DECAY: f32;

@compute @workgroup_size(256)
fn muon_update(@builtin(workgroup_id) group: vec3<u32>,
               @builtin(local_invocation_index) local: u32) {
    if (halted[0] != 0u) { return; }
    let rate = scalars[0];
    let decay = 1.0 - rate * WEIGHT_DECAY;
    for (var lane = 0u; lane < 4u; lane++) {
        let i = group.x * 1024u + lane * 256u + local;
        if (i >= COUNT) { return; }
        weights[i] = weights[i] * decay - rate * RATIO * step[i];
    }
}
