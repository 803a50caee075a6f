// Sum of each stretch of 4096 elements, times FACTOR.
// Launched again on its own output until one number is left.
// binding 0 out read_write f32 (ceil(COUNT / 4096))  one sum for each stretch
// binding 1 x   read       f32 (COUNT)
// size COUNT u32 elements
// size FACTOR f32 multiplies each sum: 1, or 1 / n for a mean
// dispatch (ceil(COUNT / 4096), 1, 1)  one workgroup per stretch
// oracle reference.sum.sum_stretches rtol 1e-5 atol 2e-5
// check COUNT=1 FACTOR=1
// check COUNT=4096 FACTOR=0.5
// check COUNT=9001 FACTOR=1
// needs -

@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@group(0) @binding(1) var<storage, read> x: array<f32>;

override COUNT: u32;
override FACTOR: f32;

var<workgroup> partial: array<f32, 256>;

@compute @workgroup_size(256)
fn sum(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    var total = 0.0;
    for (var lane = 0u; lane < 16u; lane++) {
        let i = group.x * 4096u + lane * 256u + local;
        if (i < COUNT) { total += x[i]; }
    }
    partial[local] = total;
    workgroupBarrier();
    for (var half = 128u; half > 0u; half /= 2u) {
        if (local < half) { partial[local] += partial[local + half]; }
        workgroupBarrier();
    }
    if (local == 0u) { out[group.x] = FACTOR * partial[0]; }
}
