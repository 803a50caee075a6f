// The two gates of a delta rule: decay = -exp(A_log) softplus(a + dt_bias), beta = sigmoid(b).
// binding 0 decay   read_write f32 (R, H)  log of what a state keeps at a position
// binding 1 beta    read_write f32 (R, H)  how far a state moves to the new value
// binding 2 a       read       f32 (R, H)
// binding 3 b       read       f32 (R, H)
// binding 4 A_log   read       f32 (H)     log of the rate of decay
// binding 5 dt_bias read       f32 (H)     shift of a
// size R u32 rows
// size H u32 heads
// dispatch (ceil(R * H / 1024), 1, 1)  four elements an invocation
// oracle reference.delta_gates.delta_gates_forward rtol 1e-5 atol 1e-6
// check R=1 H=1
// check R=37 H=5
// check R=129 H=16
// uses silu, softplus
// needs -

override R: u32;
override H: u32;

@group(0) @binding(0) var<storage, read_write> decay: array<f32>;
@group(0) @binding(1) var<storage, read_write> beta: array<f32>;
@group(0) @binding(2) var<storage, read> a: array<f32>;
@group(0) @binding(3) var<storage, read> b: array<f32>;
@group(0) @binding(4) var<storage, read> A_log: array<f32>;
@group(0) @binding(5) var<storage, read> dt_bias: array<f32>;

@compute @workgroup_size(256)
fn delta_gates_forward(@builtin(workgroup_id) group: vec3<u32>,
                       @builtin(local_invocation_index) local: u32) {
    for (var lane = 0u; lane < 4u; lane++) {
        let i = group.x * 1024u + lane * 256u + local;
        if (i >= R * H) { return; }
        decay[i] = -exp(A_log[i % H]) * softplus(a[i] + dt_bias[i % H]);
        beta[i] = sigmoid(b[i]);
    }
}
