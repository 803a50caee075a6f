// Linear layer without bias added to the residual stream: out = a bᵀ + residual.
// binding 0 out      read_write f32 (M, N)  results
// binding 1 a        read       f32 (M, K)  inputs, a row each
// binding 2 b        read       stored (N, K)  weights, a row for each output
// binding 3 residual read       f32 (M, N)  what the layer adds to
// size M u32 rows
// size N u32 outputs of a row, a multiple of four
// size K u32 inputs of a row, a multiple of four
// const BLOCK_M u32 8 rows that one invocation computes: 1, 4, 8 or 16
// const BLOCK_N u32 8 columns that one invocation computes: 4, 8 or 16
// const GROUP u32 8 a workgroup has GROUP x GROUP invocations
// const STORED u32 0 how b lies in memory: 0 float32, 1 bfloat16, 2 float16
// dispatch (ceil(N / (BLOCK_N * GROUP)), ceil(M / (BLOCK_M * GROUP)), 1)
// oracle reference.linear.matmul_residual_forward rtol 2e-5 atol 2e-5
// check M=1 N=4 K=4
// check M=7 N=12 K=20
// check M=33 N=20 K=64 BLOCK_M=16 BLOCK_N=8 GROUP=4
// check M=33 N=20 K=64 BLOCK_M=8 BLOCK_N=16 GROUP=4
// check M=1 N=20 K=32 BLOCK_M=1 BLOCK_N=4
// check M=7 N=12 K=20 STORED=1
// check M=33 N=36 K=64 BLOCK_M=16 BLOCK_N=16 GROUP=4 STORED=1
// check M=1 N=20 K=32 BLOCK_M=1 BLOCK_N=4 STORED=2
// uses matmul, quads, tiles_nt, store_residual
// needs -

@group(0) @binding(0) var<storage, read_write> out: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> a: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> b: array<stored4>;
@group(0) @binding(3) var<storage, read> residual: array<vec4<f32>>;

override M: u32;
override N: u32;
override K: u32;

@compute @workgroup_size(GROUP, GROUP)
fn matmul_residual_forward(@builtin(global_invocation_id) block: vec3<u32>) {
    multiply_block(block);
}
