// The norm of all gradients, and the factor that brings it down to MAX_NORM.
// binding 0 out     read_write f32 (2)      norm; factor
// binding 1 sums    read       f32 (GROUPS) positive  sums of squares
// binding 2 scalars read       f32 (4) positive  rate, 1 - beta1^t, sqrt(1 - beta2^t), scale
// size GROUPS u32 sums
// size MAX_NORM f32 the largest norm; 0 never clips
// dispatch (1, 1, 1)
// oracle reference.adamw.clip_factor rtol 1e-5 atol 1e-6
// check GROUPS=1 MAX_NORM=1
// check GROUPS=997 MAX_NORM=0.5
// check GROUPS=300 MAX_NORM=0
// check GROUPS=3 MAX_NORM=1e6
// needs -

@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@group(0) @binding(1) var<storage, read> sums: array<f32>;
@group(0) @binding(2) var<storage, read> scalars: array<f32>;

override GROUPS: u32;
override MAX_NORM: f32;

var<workgroup> partial: array<f32, 256>;

@compute @workgroup_size(256)
fn clip_factor(@builtin(local_invocation_index) local: u32) {
    var total = 0.0;
    for (var i = local; i < GROUPS; i += 256u) { total += sums[i]; }
    partial[local] = total;
    workgroupBarrier();
    for (var half = 128u; half > 0u; half /= 2u) {
        if (local < half) { partial[local] += partial[local + half]; }
        workgroupBarrier();
    }
    if (local == 0u) {
        let norm = scalars[3] * sqrt(partial[0]);
        // The 1e-6 is that of torch.nn.utils.clip_grad_norm_.
        let clip = select(1.0, min(1.0, MAX_NORM / (norm + 1e-6)), MAX_NORM > 0.0);
        out[0] = norm;
        out[1] = scalars[3] * clip;
    }
}
