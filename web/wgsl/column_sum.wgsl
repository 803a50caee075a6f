// Sum over the rows, for each column: the gradient of a bias.
// binding 0 out read_write f32 (C) accumulate  sums
// binding 1 x   read       f32 (R, C)
// size R u32 rows
// size C u32 columns
// size FACTOR f32 multiplies each sum
// size ACCUMULATE u32 1 adds to out, 0 writes it
// dispatch (ceil(C / 16), 1, 1)  one workgroup per 16 columns, 16 invocations to each
// oracle reference.sum.column_sum rtol 1e-5 atol 2e-5
// check R=1 C=1 FACTOR=1 ACCUMULATE=0
// check R=101 C=37 FACTOR=-1 ACCUMULATE=1
// check R=16 C=64 FACTOR=0.5 ACCUMULATE=0
// needs -

@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@group(0) @binding(1) var<storage, read> x: array<f32>;

override R: u32;
override C: u32;
override FACTOR: f32;
override ACCUMULATE: u32;

var<workgroup> partial: array<f32, 256>;

@compute @workgroup_size(16, 16)
fn column_sum(@builtin(workgroup_id) group: vec3<u32>,
              @builtin(local_invocation_id) local: vec3<u32>) {
    let c = group.x * 16u + local.x;
    var total = 0.0;
    if (c < C) {
        for (var r = local.y; r < R; r += 16u) { total += x[r * C + c]; }
    }
    partial[local.y * 16u + local.x] = total;
    workgroupBarrier();
    if (local.y == 0u && c < C) {
        var sum = 0.0;
        for (var lane = 0u; lane < 16u; lane++) { sum += partial[lane * 16u + local.x]; }
        out[c] = FACTOR * sum + select(0.0, out[c], ACCUMULATE == 1u);
    }
}
