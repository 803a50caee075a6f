// The norm of all gradients, the factor that brings it down to MAX_NORM, and the sentinel.
// binding 0 out     read_write f32 (2)      norm, NaN where a gradient is not finite; factor
// binding 1 halted  read_write u32 (1) updated < 1  becomes 1 where a number is not finite
// binding 2 sums    read       f32 (GROUPS) positive  sums of squares
// binding 3 losses  read       f32 (LOSSES)  of the micro-batches
// binding 4 scalars read       f32 (4) positive  rate, 1 - beta1^t, sqrt(1 - beta2^t), scale
// size GROUPS u32 sums
// size LOSSES u32 losses
// size MAX_NORM f32 the largest norm; 0 never clips
// dispatch (1, 1, 1)
// oracle reference.adamw.clip_factor rtol 1e-5 atol 1e-6
// check GROUPS=1 LOSSES=1 MAX_NORM=1
// check GROUPS=997 LOSSES=3 MAX_NORM=0.5
// check GROUPS=300 LOSSES=300 MAX_NORM=0
// check GROUPS=3 LOSSES=1 MAX_NORM=1e6
// uses finite
// needs -
//
// `halted` is never set back: steps that were sent ahead find it and leave the weights alone.

@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@group(0) @binding(1) var<storage, read_write> halted: array<u32>;
@group(0) @binding(2) var<storage, read> sums: array<f32>;
@group(0) @binding(3) var<storage, read> losses: array<f32>;
@group(0) @binding(4) var<storage, read> scalars: array<f32>;

override GROUPS: u32;
override LOSSES: u32;
override MAX_NORM: f32;

var<workgroup> partial: array<f32, 256>;
var<workgroup> lost_sums: array<u32, 256>;
var<workgroup> lost_losses: array<u32, 256>;

@compute @workgroup_size(256)
fn clip_factor(@builtin(local_invocation_index) local: u32) {
    var total = 0.0;
    var lost = vec2<u32>();
    for (var i = local; i < GROUPS; i += 256u) {
        total += sums[i];
        if (!is_finite(sums[i])) { lost.x = 1u; }
    }
    for (var i = local; i < LOSSES; i += 256u) {
        if (!is_finite(losses[i])) { lost.y = 1u; }
    }
    partial[local] = total;
    lost_sums[local] = lost.x;
    lost_losses[local] = lost.y;
    workgroupBarrier();
    for (var half = 128u; half > 0u; half /= 2u) {
        if (local < half) {
            partial[local] += partial[local + half];
            lost_sums[local] |= lost_sums[local + half];
            lost_losses[local] |= lost_losses[local + half];
        }
        workgroupBarrier();
    }
    if (local == 0u) {
        let norm = scalars[3] * sqrt(partial[0]);
        // The 1e-6 is that of torch.nn.utils.clip_grad_norm_.
        let clip = select(1.0, min(1.0, MAX_NORM / (norm + 1e-6)), MAX_NORM > 0.0);
        let bad = lost_sums[0] != 0u || !is_finite(partial[0]);
        out[0] = nan_where(bad, norm);
        out[1] = scalars[3] * clip;
        if (bad || lost_losses[0] != 0u) { halted[0] = 1u; }
    }
}
