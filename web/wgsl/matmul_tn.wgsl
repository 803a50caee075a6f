// Matrix product: the transpose of a (K, M) times b (K, N), where K, M and N are multiples of four.
// binding 0 out read_write f32 (M, N) accumulate  product
// binding 1 a   read       f32 (K, M)
// binding 2 b   read       f32 (K, N)
// size M u32 rows of out
// size N u32 columns of out
// size K u32 length of the summed axis
// size ACCUMULATE u32 1 adds to out, 0 writes it
// const BLOCK_M u32 8 rows that one invocation computes: 1, 4, 8 or 16
// const BLOCK_N u32 8 columns that one invocation computes: 4, 8 or 16
// const GROUP u32 8 a workgroup has GROUP x GROUP invocations
// dispatch (ceil(N / (BLOCK_N * GROUP)), ceil(M / (BLOCK_M * GROUP)), 1)
// oracle reference.matmul.matmul_tn rtol 2e-5 atol 2e-5
// check M=4 N=4 K=4 ACCUMULATE=0
// check M=8 N=12 K=20 ACCUMULATE=1
// check M=36 N=20 K=64 ACCUMULATE=0 BLOCK_M=16 BLOCK_N=8 GROUP=4
// check M=36 N=20 K=64 ACCUMULATE=0 BLOCK_M=8 BLOCK_N=16 GROUP=4
// check M=12 N=40 K=12 ACCUMULATE=1 BLOCK_M=4 BLOCK_N=8
// uses matmul, quads, store_quads, stored_float32
// needs -

@group(0) @binding(0) var<storage, read_write> out: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> a: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> b: array<vec4<f32>>;

override M: u32;
override N: u32;
override K: u32;
override ACCUMULATE: u32;

fn tile_a(m: u32, k: u32) -> mat4x4<f32> { return transpose(quad_a(k, m, M)); }

fn tile_b(k: u32, n: u32) -> mat4x4<f32> { return quad_b(k, n, N); }

@compute @workgroup_size(GROUP, GROUP)
fn matmul_tn(@builtin(global_invocation_id) block: vec3<u32>) {
    multiply_block(block);
}
