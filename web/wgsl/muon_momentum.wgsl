// The moment of a run of matrices, and what Muon makes orthogonal: zeros once halted.
// binding 0 update    read_write f32 (COUNT)  the moment, or Nesterov's look ahead
// binding 1 first     read_write f32 (COUNT) updated  running mean of the gradients
// binding 2 gradients read       f32 (COUNT)  d(loss)/d(weights)
// binding 3 norm      read       f32 (2)      norm of the gradients; the factor for each of them
// binding 4 halted    read       u32 (1) < 1  1 once a gradient or a loss was not finite
// size COUNT u32 elements
// size MOMENTUM f32 memory of the moment
// size GAIN f32 1 - MOMENTUM, rounded once: in f32 the difference would lose digits
// size NESTEROV u32 1 looks ahead, 0 takes the moment
// dispatch (ceil(COUNT / 1024), 1, 1)  four elements a thread
// oracle reference.muon.muon_momentum rtol 1e-5 atol 1e-6
// check COUNT=1 MOMENTUM=0.95 GAIN=0.05 NESTEROV=1
// check COUNT=1031 MOMENTUM=0.9 GAIN=0.1 NESTEROV=0
// check COUNT=2048 MOMENTUM=0.9 GAIN=0.1 NESTEROV=1
// needs -

@group(0) @binding(0) var<storage, read_write> update: array<f32>;
@group(0) @binding(1) var<storage, read_write> first: array<f32>;
@group(0) @binding(2) var<storage, read> gradients: array<f32>;
@group(0) @binding(3) var<storage, read> norm: array<f32>;
@group(0) @binding(4) var<storage, read> halted: array<u32>;

override COUNT: u32;
override MOMENTUM: f32;
override GAIN: f32;
override NESTEROV: u32;

@compute @workgroup_size(256)
fn muon_momentum(@builtin(workgroup_id) group: vec3<u32>,
                 @builtin(local_invocation_index) local: u32) {
    let stays = halted[0] != 0u;
    let factor = norm[1];
    for (var lane = 0u; lane < 4u; lane++) {
        let i = group.x * 1024u + lane * 256u + local;
        if (i >= COUNT) { return; }
        if (stays) {
            update[i] = 0.0;
            continue;
        }
        let gradient = gradients[i] * factor;
        let m = MOMENTUM * first[i] + GAIN * gradient;
        first[i] = m;
        update[i] = select(m, GAIN * gradient + MOMENTUM * m, NESTEROV == 1u);
    }
}
