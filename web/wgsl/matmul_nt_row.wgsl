// Matrix product for few rows: a (M, K) times the transpose of b (N, K).
// binding 0 out read_write f32 (M, N) accumulate  product
// binding 1 a   read       f32 (M, K)
// binding 2 b   read       stored (N, K)
// size M u32 rows of out
// size N u32 columns of out
// size K u32 inputs of a row, a multiple of four; of eight where b has 16 bits
// size ACCUMULATE u32 1 adds to out, 0 writes it
// const COLUMNS u32 8 columns that one invocation computes: 4 or 8
// const LANES u32 1 invocations that share the columns, a divisor of 64
// const GROUP u32 8 such teams in a workgroup
// const STORED u32 0 how b lies in memory: 0 float32, 1 bfloat16, 2 float16
// dispatch (ceil(N / (COLUMNS * GROUP)), M, 1)
// oracle reference.matmul.matmul_nt rtol 2e-5 atol 2e-5
// check M=1 N=1 K=4 ACCUMULATE=0
// check M=3 N=13 K=20 ACCUMULATE=1 LANES=4
// check M=1 N=100 K=68 ACCUMULATE=0 COLUMNS=4 LANES=32 GROUP=2
// check M=3 N=67 K=40 ACCUMULATE=1 STORED=1
// check M=1 N=100 K=136 ACCUMULATE=0 COLUMNS=4 LANES=16 GROUP=4 STORED=1
// check M=1 N=20 K=8 ACCUMULATE=0 LANES=4 STORED=2
// uses row_product, rows_in_order, store_out
// needs -

@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@group(0) @binding(1) var<storage, read> a: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> b: array<stored_block>;

override M: u32;
override N: u32;
override K: u32;
override ACCUMULATE: u32;

@compute @workgroup_size(GROUP * LANES)
fn matmul_nt_row(@builtin(workgroup_id) group: vec3<u32>,
                 @builtin(local_invocation_index) thread: u32) {
    multiply_row(group, thread);
}
