// A matrix over its Frobenius norm, so that no singular value is above 1.
// binding 0 out  read_write f32 (COUNT)
// binding 1 x    read       f32 (COUNT)  the matrix
// binding 2 sums read       f32 (GROUPS) positive  sums of squares of its stretches
// size COUNT u32 elements of the matrix
// size GROUPS u32 sums
// size SMALLEST f32 a smaller norm counts as this one
// dispatch (ceil(COUNT / 1024), 1, 1)  four elements a thread
// oracle reference.muon.muon_normalise rtol 1e-5 atol 1e-6
// check COUNT=1 GROUPS=1 SMALLEST=1e-7
// check COUNT=1031 GROUPS=3 SMALLEST=1e-7
// check COUNT=5000 GROUPS=300 SMALLEST=100
// needs -
//
// Every workgroup adds up the few sums itself: that is faster than a dispatch that does it once.

@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> sums: array<f32>;

override COUNT: u32;
override GROUPS: u32;
override SMALLEST: f32;

var<workgroup> partial: array<f32, 256>;

@compute @workgroup_size(256)
fn muon_normalise(@builtin(workgroup_id) group: vec3<u32>,
                  @builtin(local_invocation_index) local: u32) {
    var total = 0.0;
    for (var i = local; i < GROUPS; i += 256u) { total += sums[i]; }
    partial[local] = total;
    workgroupBarrier();
    for (var half = 128u; half > 0u; half /= 2u) {
        if (local < half) { partial[local] += partial[local + half]; }
        workgroupBarrier();
    }
    let norm = max(sqrt(partial[0]), SMALLEST);
    for (var lane = 0u; lane < 4u; lane++) {
        let i = group.x * 1024u + lane * 256u + local;
        if (i < COUNT) { out[i] = x[i] / norm; }
    }
}
