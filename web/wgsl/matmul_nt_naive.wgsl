// Matrix product with one invocation per output: what the benchmark compares the others with.
// binding 0 out read_write f32 (M, N)  a bᵀ
// binding 1 a   read       f32 (M, K)
// binding 2 b   read       f32 (N, K)
// size M u32 rows of out
// size N u32 columns of out
// size K u32 length of the summed axis
// dispatch (ceil(N / 16), ceil(M / 16), 1)
// oracle reference.matmul.matmul_nt rtol 2e-5 atol 2e-5
// check M=1 N=1 K=1
// check M=17 N=19 K=23
// needs -

@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@group(0) @binding(1) var<storage, read> a: array<f32>;
@group(0) @binding(2) var<storage, read> b: array<f32>;

override M: u32;
override N: u32;
override K: u32;

@compute @workgroup_size(16, 16)
fn matmul_nt_naive(@builtin(global_invocation_id) thread: vec3<u32>) {
    let m = thread.y;
    let n = thread.x;
    if (m >= M || n >= N) { return; }
    var sum = 0.0;
    for (var k = 0u; k < K; k++) { sum += a[m * K + k] * b[n * K + k]; }
    out[m * N + n] = sum;
}
