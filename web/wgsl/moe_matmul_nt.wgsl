// Rows times the transpose of their expert's matrix: out[p] = a[row of p] b[expert of p]ᵀ.
// The expert of a position is that of its tile, a block of BLOCK_M positions. Sizes are
// multiples of four.
// binding 0 out         read_write f32 (M, N) accumulate  products; of unused tiles, undefined
// binding 1 a           read f32 (GATHER * R + (1 - GATHER) * M, K)
// binding 2 b           read stored (COUNT, N, K)  matrices of the experts from FIRST on
// binding 3 rows        read u32 (M) < R           the row of each position
// binding 4 tile_expert read u32 (M // BLOCK_M) < E  the expert of each tile; E where not used
// size M u32 positions, a multiple of BLOCK_M
// size N u32 columns of out
// size K u32 length of the summed axis
// size R u32 rows that positions can have
// size E u32 experts
// size FIRST u32 the first expert of the range; those outside it count as zero
// size COUNT u32 experts of the range
// size ACCUMULATE u32 1 adds to out, 0 writes it
// const BLOCK_M u32 8 positions of a tile, which one invocation computes: 4, 8 or 16
// const BLOCK_N u32 8 columns that one invocation computes: 4, 8 or 16
// const GROUP u32 8 a workgroup has GROUP x GROUP invocations
// const GATHER u32 0 1 where position p takes row rows[p] of a, 0 where it takes row p
// const STORED u32 0 how b lies in memory: 0 float32, 1 bfloat16, 2 float16
// dispatch (ceil(N / (BLOCK_N * GROUP)), ceil(M / (BLOCK_M * GROUP)), 1)
// oracle reference.moe_groups.moe_matmul_nt rtol 2e-5 atol 2e-5
// check M=16 N=4 K=4 R=1 E=1 FIRST=0 COUNT=1 ACCUMULATE=0
// check M=48 N=12 K=20 R=7 E=5 FIRST=0 COUNT=5 ACCUMULATE=1 BLOCK_M=4 GATHER=1 STORED=1
// check M=112 N=20 K=12 R=33 E=7 FIRST=2 COUNT=3 ACCUMULATE=0 GATHER=1
// check M=48 N=36 K=64 R=3 E=3 FIRST=1 COUNT=2 ACCUMULATE=1 BLOCK_M=16 GROUP=4 STORED=2
// uses matmul, moe_rows, store_quads
// needs -

@group(0) @binding(0) var<storage, read_write> out: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> a: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> b: array<stored4>;
@group(0) @binding(3) var<storage, read> rows: array<u32>;
@group(0) @binding(4) var<storage, read> tile_expert: array<u32>;

override M: u32;
override N: u32;
override K: u32;
override R: u32;
override E: u32;
override FIRST: u32;
override COUNT: u32;
override ACCUMULATE: u32;

fn tile_b(k: u32, n: u32) -> mat4x4<f32> { return transpose(quad_of_expert(n, k, K)); }

@compute @workgroup_size(GROUP, GROUP)
fn moe_matmul_nt(@builtin(global_invocation_id) block: vec3<u32>) {
    multiply_with_expert(block);
}
