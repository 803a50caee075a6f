// Gradient of the experts' matrices: out[e] = the sum of a[p]ᵀ b[p] over the positions p of expert
// e, in their order. One of a and b has a row for each position, the other one for each row of x.
// Sizes are multiples of four.
// binding 0 out        read_write f32 (COUNT, M, N) accumulate  of the experts from FIRST on
// binding 1 a          read f32 (GATHER_A * R + (1 - GATHER_A) * TILES * T, M)
// binding 2 b          read f32 (GATHER_A * TILES * T + (1 - GATHER_A) * R, N)
// binding 3 rows       read u32 (TILES * T) < R   the row of each position
// binding 4 first_tile read u32 (E + 1) < TILES   each expert's first tile, then the tiles used
// size TILES u32 tiles
// size T u32 positions of a tile, a multiple of four
// size M u32 rows of a matrix
// size N u32 columns of a matrix
// size R u32 rows that positions can have
// size E u32 experts
// size FIRST u32 the first expert of the range
// size COUNT u32 experts of the range
// size ACCUMULATE u32 1 adds to out, 0 writes it
// const BLOCK_M u32 8 rows that one invocation computes: 4, 8 or 16
// const BLOCK_N u32 8 columns that one invocation computes: 4, 8 or 16
// const GROUP u32 8 a workgroup has GROUP x GROUP invocations
// const GATHER_A u32 0 1 where a has the rows of x, 0 where b has them
// dispatch (ceil(N / (BLOCK_N * GROUP)), ceil(M / (BLOCK_M * GROUP)), COUNT)
// oracle reference.moe_groups.moe_matmul_tn rtol 2e-5 atol 2e-5
// check TILES=1 T=4 M=4 N=4 R=1 E=1 FIRST=0 COUNT=1 ACCUMULATE=0
// check TILES=7 T=4 M=12 N=20 R=5 E=3 FIRST=0 COUNT=3 ACCUMULATE=1 GATHER_A=1
// check TILES=9 T=8 M=20 N=12 R=33 E=7 FIRST=3 COUNT=4 ACCUMULATE=0 BLOCK_M=4
// check TILES=5 T=16 M=36 N=20 R=7 E=5 FIRST=2 COUNT=2 ACCUMULATE=1 BLOCK_M=16 GROUP=4
// uses matmul
// needs -

@group(0) @binding(0) var<storage, read_write> out: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> a: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> b: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> rows: array<u32>;
@group(0) @binding(4) var<storage, read> first_tile: array<u32>;

override TILES: u32;
override T: u32;
override M: u32;
override N: u32;
override R: u32;
override E: u32;
override FIRST: u32;
override COUNT: u32;
override ACCUMULATE: u32;

var<private> start: u32;   // the expert's first position
var<private> K: u32;       // its positions: what lib/matmul.wgsl sums over
var<private> matrix: u32;  // where its gradient starts in out, in vectors

fn row_a(position: u32, column: u32) -> vec4<f32> {
    if (GATHER_A == 1u) { return a[rows[position] * (M / 4u) + column / 4u]; }
    return a[position * (M / 4u) + column / 4u];
}

fn row_b(position: u32, column: u32) -> vec4<f32> {
    if (GATHER_A == 1u) { return b[position * (N / 4u) + column / 4u]; }
    return b[rows[position] * (N / 4u) + column / 4u];
}

fn tile_a(m: u32, k: u32) -> mat4x4<f32> {
    let p = start + k;
    return transpose(mat4x4<f32>(row_a(p, m), row_a(p + 1u, m), row_a(p + 2u, m),
                                 row_a(p + 3u, m)));
}

fn tile_b(k: u32, n: u32) -> mat4x4<f32> {
    let p = start + k;
    return mat4x4<f32>(row_b(p, n), row_b(p + 1u, n), row_b(p + 2u, n), row_b(p + 3u, n));
}

fn finish_row(m: u32, n: u32, row: vec4<f32>) {
    if (m >= M || n >= N) { return; }
    let i = matrix + (m * N + n) / 4u;
    out[i] = row + select(vec4<f32>(), out[i], ACCUMULATE == 1u);
}

@compute @workgroup_size(GROUP, GROUP)
fn moe_matmul_tn(@builtin(global_invocation_id) block: vec3<u32>) {
    let expert = FIRST + block.z;
    let end = first_tile[expert + 1u];
    start = first_tile[expert] * T;
    K = max(end * T, start) - start;
    matrix = block.z * (M * N / 4u);
    multiply_block(block);
}
