// Gradient of the softmax cross-entropy: (softmax - onehot) dloss / N of its mean over the rows, or
// with IGNORES (softmax - onehot) dloss of its sum over the rows that count.
// binding 0 dlogits read_write f32 (N, V) accumulate  gradient of the logits
// binding 1 logits  read       f32 (N, V)
// binding 2 targets read       u32 (N) < (V + V * IGNORES)  the right column of each row
// binding 3 lse     read       f32 (N) positive     the forward's log-sum-exp
// binding 4 dloss   read       f32 (1)              gradient of the loss
// size N u32 rows
// size V u32 vocabulary
// size ACCUMULATE u32 1 adds to dlogits, 0 writes it
// const IGNORES u32 0 1: a row whose target is no column has the gradient 0
// dispatch (ceil(V / 256), N, 1)  four columns for a thread
// oracle reference.cross_entropy.cross_entropy_backward rtol 1e-5 atol 1e-5
// check N=1 V=1 ACCUMULATE=0
// check N=7 V=257 ACCUMULATE=1
// check N=67 V=31 ACCUMULATE=0
// check N=3 V=1024 ACCUMULATE=1
// check N=67 V=31 ACCUMULATE=1 IGNORES=1
// check N=5 V=300 ACCUMULATE=0 IGNORES=1
// needs -

override N: u32;
override V: u32;
override ACCUMULATE: u32;

@group(0) @binding(0) var<storage, read_write> dlogits: array<f32>;
@group(0) @binding(1) var<storage, read> logits: array<f32>;
@group(0) @binding(2) var<storage, read> targets: array<u32>;
@group(0) @binding(3) var<storage, read> lse: array<f32>;
@group(0) @binding(4) var<storage, read> dloss: array<f32>;

@compute @workgroup_size(64)
fn cross_entropy_backward(@builtin(workgroup_id) group: vec3<u32>,
                          @builtin(local_invocation_index) thread: u32) {
    let row = group.y;
    let target_column = targets[row];
    var factor = dloss[0] / f32(N);
    if (IGNORES == 1u) { factor = select(0.0, dloss[0], target_column < V); }
    let total = lse[row];
    let end = min(V, (group.x + 1u) * 256u);
    for (var c = group.x * 256u + thread; c < end; c += 64u) {
        let p = exp(logits[row * V + c] - total);
        let gradient = (p - select(0.0, 1.0, c == target_column)) * factor;
        if (ACCUMULATE == 1u) {
            dlogits[row * V + c] += gradient;
        } else {
            dlogits[row * V + c] = gradient;
        }
    }
}
