// Register-blocked matrix multiplication without shared memory: one invocation computes a block of
// BLOCK_M x BLOCK_N outputs, four by four at a time. The kernel that uses it declares the sizes
// M, N, K and the consts BLOCK_M (1, 4, 8 or 16) and BLOCK_N (4, 8 or 16), and gives three
// functions:
//   tile_a(m, k)  columns are rows m..m+3 of a, each holding a[., k..k+3]
//   tile_b(k, n)  columns are rows k..k+3 of b, each holding b[., n..n+3]
//   finish_row(m, n, row)  takes out[m, n..n+3]; called once for all, and for some outside out
// All is unrolled by hand: a local array indexed by a loop makes SwiftShader six times slower.

// Four rows of the block: up to sixteen columns of it.
struct Strip {
    t0: mat4x4<f32>,
    t1: mat4x4<f32>,
    t2: mat4x4<f32>,
    t3: mat4x4<f32>,
}

fn row_add(sum: vec4<f32>, a: vec4<f32>, b: mat4x4<f32>) -> vec4<f32> {
    // `fma` written out: it is 1.1 to 1.4 times as fast here as the product of two matrices.
    let first = fma(vec4<f32>(a.y), b[1], fma(vec4<f32>(a.x), b[0], sum));
    return fma(vec4<f32>(a.w), b[3], fma(vec4<f32>(a.z), b[2], first));
}

fn tile_add(sum: mat4x4<f32>, a: mat4x4<f32>, b: mat4x4<f32>) -> mat4x4<f32> {
    return mat4x4<f32>(row_add(sum[0], a[0], b), row_add(sum[1], a[1], b),
                       row_add(sum[2], a[2], b), row_add(sum[3], a[3], b));
}

fn load_strip(k: u32, n: u32) -> Strip {
    var b: Strip;
    b.t0 = tile_b(k, n);
    if (BLOCK_N > 4u) { b.t1 = tile_b(k, n + 4u); }
    if (BLOCK_N > 8u) {
        b.t2 = tile_b(k, n + 8u);
        b.t3 = tile_b(k, n + 12u);
    }
    return b;
}

fn strip_add(sum: Strip, a: mat4x4<f32>, b: Strip) -> Strip {
    var out: Strip;
    out.t0 = tile_add(sum.t0, a, b.t0);
    if (BLOCK_N > 4u) { out.t1 = tile_add(sum.t1, a, b.t1); }
    if (BLOCK_N > 8u) {
        out.t2 = tile_add(sum.t2, a, b.t2);
        out.t3 = tile_add(sum.t3, a, b.t3);
    }
    return out;
}

fn finish_tile(m: u32, n: u32, tile: mat4x4<f32>) {
    finish_row(m, n, tile[0]);
    finish_row(m + 1u, n, tile[1]);
    finish_row(m + 2u, n, tile[2]);
    finish_row(m + 3u, n, tile[3]);
}

fn finish_strip(m: u32, n: u32, strip: Strip) {
    finish_tile(m, n, strip.t0);
    if (BLOCK_N > 4u) { finish_tile(m, n + 4u, strip.t1); }
    if (BLOCK_N > 8u) {
        finish_tile(m, n + 8u, strip.t2);
        finish_tile(m, n + 12u, strip.t3);
    }
}

// One row, four columns: what a decoder needs for a single position.
fn multiply_row(m: u32, n: u32) {
    var sum = vec4<f32>();
    for (var k = 0u; k < K; k += 4u) { sum = row_add(sum, tile_a(m, k)[0], tile_b(k, n)); }
    finish_row(m, n, sum);
}

fn multiply_block(block: vec3<u32>) {
    let m = block.y * BLOCK_M;
    let n = block.x * BLOCK_N;
    if (m >= M || n >= N) { return; }
    if (BLOCK_M == 1u) {
        multiply_row(m, n);
        return;
    }
    var s0: Strip;
    var s1: Strip;
    var s2: Strip;
    var s3: Strip;
    for (var k = 0u; k < K; k += 4u) {
        let b = load_strip(k, n);
        s0 = strip_add(s0, tile_a(m, k), b);
        if (BLOCK_M > 4u) { s1 = strip_add(s1, tile_a(m + 4u, k), b); }
        if (BLOCK_M > 8u) {
            s2 = strip_add(s2, tile_a(m + 8u, k), b);
            s3 = strip_add(s3, tile_a(m + 12u, k), b);
        }
    }
    finish_strip(m, n, s0);
    if (BLOCK_M > 4u) { finish_strip(m + 4u, n, s1); }
    if (BLOCK_M > 8u) {
        finish_strip(m + 8u, n, s2);
        finish_strip(m + 12u, n, s3);
    }
}
