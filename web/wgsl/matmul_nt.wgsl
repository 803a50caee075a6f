// Matrix product: a (M, K) times the transpose of b (N, K), where K is a multiple of four.
// binding 0 out read_write f32 (M, N) accumulate  product
// binding 1 a   read       f32 (M, K)
// binding 2 b   read       stored (N, K)
// size M u32 rows of out
// size N u32 columns of out
// size K u32 length of the summed axis
// size ACCUMULATE u32 1 adds to out, 0 writes it
// const BLOCK_M u32 8 rows that one invocation computes: 1, 4, 8 or 16
// const BLOCK_N u32 8 columns that one invocation computes: 4, 8 or 16
// const GROUP u32 8 a workgroup has GROUP x GROUP invocations
// const STORED u32 0 how b lies in memory: 0 float32, 1 bfloat16, 2 float16
// dispatch (ceil(N / (BLOCK_N * GROUP)), ceil(M / (BLOCK_M * GROUP)), 1)
// oracle reference.matmul.matmul_nt rtol 2e-5 atol 2e-5
// check M=1 N=1 K=4 ACCUMULATE=0
// check M=7 N=13 K=20 ACCUMULATE=1
// check M=33 N=17 K=64 ACCUMULATE=0 BLOCK_M=16 BLOCK_N=8 GROUP=4
// check M=33 N=17 K=64 ACCUMULATE=0 BLOCK_M=8 BLOCK_N=16 GROUP=4
// check M=1 N=19 K=32 ACCUMULATE=0 BLOCK_M=1 BLOCK_N=4
// check M=9 N=40 K=12 ACCUMULATE=1 BLOCK_M=4 BLOCK_N=8
// check M=7 N=13 K=20 ACCUMULATE=1 STORED=1
// check M=33 N=36 K=64 ACCUMULATE=0 BLOCK_M=16 BLOCK_N=16 GROUP=4 STORED=1
// check M=1 N=19 K=32 ACCUMULATE=0 BLOCK_M=1 BLOCK_N=4 STORED=2
// uses matmul, quads, tiles_nt, store_out
// needs -

@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@group(0) @binding(1) var<storage, read> a: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> b: array<stored4>;

override M: u32;
override N: u32;
override K: u32;
override ACCUMULATE: u32;

@compute @workgroup_size(GROUP, GROUP)
fn matmul_nt(@builtin(global_invocation_id) block: vec3<u32>) {
    multiply_block(block);
}
