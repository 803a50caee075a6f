// Gated linear layer for few rows: out = activation(a gateᵀ) * (a upᵀ); what the MLP of a decoder
// does for one position, in one launch instead of two.
// binding 0 out read_write f32 (M, F)  results
// binding 1 a   read       f32 (M, K)  inputs, a row each
// binding 2 b   read       stored (2 * F, K)  F rows of gate, then F rows of up
// size M u32 rows
// size F u32 results of a row, a multiple of four
// size K u32 inputs of a row, a multiple of four; of eight where b has 16 bits
// const ACTIVATION u32 0  of the gate: 0 SiLU, 1 GELU in its tanh form
// const COLUMNS u32 8 sums of one invocation: four of gate, four of up
// const LANES u32 1 invocations that share the columns, a divisor of 64
// const GROUP u32 8 such teams in a workgroup
// const STORED u32 0 how b lies in memory: 0 float32, 1 bfloat16, 2 float16
// dispatch (ceil(F / (4 * GROUP)), M, 1)
// oracle reference.gated.linear_gated_forward rtol 2e-5 atol 2e-5
// check M=1 F=4 K=4
// check M=3 F=12 K=20 ACTIVATION=1 LANES=4
// check M=1 F=100 K=136 LANES=16 GROUP=4 STORED=1
// check M=2 F=20 K=8 ACTIVATION=1 STORED=2
// uses row_product, silu, gelu
// needs -

@group(0) @binding(0) var<storage, read_write> out: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> a: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> b: array<stored_block>;

override M: u32;
override F: u32;
override K: u32;

var<private> gates: vec4<f32>;

fn activation(x: f32) -> f32 {
    if (ACTIVATION == 0u) { return silu(x); }
    return gelu(x);
}

// Columns 8 c .. 8 c + 3 of lib/row_product.wgsl are of gate, the next four of up.
fn row_of_b(n: u32) -> u32 {
    return n / 8u * 4u + select(0u, F, n % 8u != 0u);
}

fn finish_row(m: u32, n: u32, product: vec4<f32>) {
    if (n % 8u == 0u) {
        gates = product;
        return;
    }
    let column = n / 8u * 4u;
    if (column >= F) { return; }
    let open = vec4<f32>(activation(gates.x), activation(gates.y), activation(gates.z),
                         activation(gates.w));
    out[(m * F + column) / 4u] = open * product;
}

@compute @workgroup_size(GROUP * LANES)
fn linear_gated_row_forward(@builtin(workgroup_id) group: vec3<u32>,
                            @builtin(local_invocation_index) thread: u32) {
    multiply_row(group, thread);
}
