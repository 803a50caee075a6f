// Mean of the rows' losses, added up in a fixed order by one workgroup.
// binding 0 out    read_write f32 (1)
// binding 1 losses read       f32 (N)
// size N u32 rows
// dispatch (1, 1, 1)
// oracle reference.cross_entropy.cross_entropy_mean rtol 1e-5 atol 1e-6
// check N=1
// check N=67
// check N=4099
// needs -

override N: u32;

@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@group(0) @binding(1) var<storage, read> losses: array<f32>;

var<workgroup> parts: array<f32, 64>;

@compute @workgroup_size(64)
fn cross_entropy_mean(@builtin(local_invocation_index) thread: u32) {
    var sum = 0.0;
    for (var row = thread; row < N; row += 64u) { sum += losses[row]; }
    parts[thread] = sum;
    workgroupBarrier();
    if (thread == 0u) {
        var total = 0.0;
        for (var i = 0u; i < 64u; i++) { total += parts[i]; }
        out[0] = total / f32(N);
    }
}
