// Linear layer for few rows: out = a bᵀ + bias.
// binding 0 out  read_write f32 (M, N)  results
// binding 1 a    read       f32 (M, K)  inputs, a row each
// binding 2 b    read       stored (N, K)  weights, a row for each output
// binding 3 bias read       f32 (N)  one for each output
// size M u32 rows
// size N u32 outputs of a row, a multiple of four
// size K u32 inputs of a row, a multiple of four; of eight where b has 16 bits
// const COLUMNS u32 8 columns that one invocation computes: 4 or 8
// const LANES u32 1 invocations that share the columns, a divisor of 64
// const GROUP u32 8 such teams in a workgroup
// const STORED u32 0 how b lies in memory: 0 float32, 1 bfloat16, 2 float16
// dispatch (ceil(N / (COLUMNS * GROUP)), M, 1)
// oracle reference.linear.linear_forward rtol 2e-5 atol 2e-5
// check M=1 N=4 K=4
// check M=3 N=12 K=20 LANES=4
// check M=1 N=100 K=68 COLUMNS=4 LANES=32 GROUP=2
// check M=3 N=68 K=40 STORED=1
// check M=1 N=100 K=136 COLUMNS=4 LANES=16 GROUP=4 STORED=1
// check M=1 N=20 K=8 LANES=4 STORED=2
// uses row_product, rows_in_order, store_biased
// needs -

@group(0) @binding(0) var<storage, read_write> out: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> a: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> b: array<stored_block>;
@group(0) @binding(3) var<storage, read> bias: array<vec4<f32>>;

override M: u32;
override N: u32;
override K: u32;

@compute @workgroup_size(GROUP * LANES)
fn linear_row_forward(@builtin(workgroup_id) group: vec3<u32>,
                      @builtin(local_invocation_index) thread: u32) {
    multiply_row(group, thread);
}
