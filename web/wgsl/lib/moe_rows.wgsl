// Products of rows with the matrix of their tile's expert, for lib/matmul.wgsl: a tile is a block
// of BLOCK_M positions. The kernel declares the bindings `a` (vectors of four), `rows`,
// `tile_expert` and `b` (COUNT matrices of N K numbers), the sizes E, FIRST and COUNT, and the
// const GATHER: 1 where position p takes row rows[p] of a, 0 where it takes row p.

var<private> matrix: u32;  // where the expert's matrix starts in b, in vectors

fn row_of(position: u32) -> u32 {
    if (GATHER == 1u) { return rows[position]; }
    return position;
}

fn tile_a(m: u32, k: u32) -> mat4x4<f32> {
    let stride = K / 4u;
    let q = k / 4u;
    return mat4x4<f32>(a[row_of(m) * stride + q], a[row_of(m + 1u) * stride + q],
                       a[row_of(m + 2u) * stride + q], a[row_of(m + 3u) * stride + q]);
}

// Four rows by four columns of the expert's matrix, which is `width` wide.
fn quad_of_expert(row: u32, column: u32, width: u32) -> mat4x4<f32> {
    let stride = width / 4u;
    let i = matrix + row * stride + column / 4u;
    return mat4x4<f32>(unpack4(b[i]), unpack4(b[i + stride]), unpack4(b[i + 2u * stride]),
                       unpack4(b[i + 3u * stride]));
}

fn clear_block(block: vec3<u32>) {
    for (var m = 0u; m < BLOCK_M; m++) {
        for (var n = 0u; n < BLOCK_N; n += 4u) {
            finish_row(block.y * BLOCK_M + m, block.x * BLOCK_N + n, vec4<f32>());
        }
    }
}

// Tiles that are not used stay as they are. Those of experts outside the range count as zero.
fn multiply_with_expert(block: vec3<u32>) {
    if (block.y * BLOCK_M >= M) { return; }
    let expert = tile_expert[block.y];
    if (expert >= E) { return; }
    if (expert < FIRST || expert >= FIRST + COUNT) {
        if (ACCUMULATE == 0u) { clear_block(block); }
        return;
    }
    matrix = (expert - FIRST) * (N * K / 4u);
    multiply_block(block);
}
