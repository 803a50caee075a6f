// A few rows of a (M, K) times the transpose of b (N, K): what a decoder needs for one position.
// An invocation computes COLUMNS (4 or 8) neighbouring columns of one row; LANES neighbouring
// invocations share them, each taking every LANES-th block of K, and add up their parts in order.
// A workgroup has GROUP such teams. The kernel gives finish_row(m, n, row): out[m, n..n+3], called
// once for all, and for some outside out; and row_of_b(n): where the rows of b for n..n+3 begin.
//
// Milliseconds with b in bfloat16, against the blocks of lib/matmul.wgsl with one row; each the
// best of nine rounds, taken in turns (2 cores, other work on them):
//   N x K          lavapipe: blocks  8 columns   SwiftShader: blocks  8 columns
//   576 x 576                  0.17       0.11                  0.51       0.42
//   1536 x 576                 0.39       0.27                  1.33       0.98
//   576 x 1536                 0.41       0.28                  1.24       1.02
//   49152 x 576                14.2        8.2                  41.9       33.0
// Fewer columns read `a` too often; 16 columns, or two blocks at a time, spill. Lanes that read
// whole cache lines are what a graphics card wants, and half as fast on both of these.

// Four sums of a row of K, one for each place in a vector.
struct Columns {
    s0: vec4<f32>,
    s1: vec4<f32>,
    s2: vec4<f32>,
    s3: vec4<f32>,
}

fn block_add(sum: vec4<f32>, low: vec4<f32>, high: vec4<f32>, q: stored_block) -> vec4<f32> {
    let first = fma(low, block_low(q), sum);
    if (STORED_BLOCK == 4u) { return first; }
    return fma(high, block_high(q), first);
}

fn columns_add(sum: Columns, low: vec4<f32>, high: vec4<f32>, i: u32, stride: u32) -> Columns {
    return Columns(block_add(sum.s0, low, high, b[i]),
                   block_add(sum.s1, low, high, b[i + stride]),
                   block_add(sum.s2, low, high, b[i + 2u * stride]),
                   block_add(sum.s3, low, high, b[i + 3u * stride]));
}

fn columns_total(sum: Columns) -> vec4<f32> {
    let rows = transpose(mat4x4<f32>(sum.s0, sum.s1, sum.s2, sum.s3));
    return (rows[0] + rows[1]) + (rows[2] + rows[3]);
}

var<workgroup> row_parts: array<vec4<f32>, GROUP * LANES * 2u>;

// The parts of all lanes; the first lane finishes. All invocations must call.
fn finish_lanes(thread: u32, m: u32, n: u32, first: vec4<f32>, second: vec4<f32>) {
    row_parts[2u * thread] = first;
    row_parts[2u * thread + 1u] = second;
    workgroupBarrier();
    if (thread % LANES != 0u) { return; }
    var total = row_parts[2u * thread];
    var total_2 = row_parts[2u * thread + 1u];
    for (var lane = 1u; lane < LANES; lane++) {
        total += row_parts[2u * (thread + lane)];
        total_2 += row_parts[2u * (thread + lane) + 1u];
    }
    finish_row(m, n, total);
    if (COLUMNS > 4u) { finish_row(m, n + 4u, total_2); }
}

fn multiply_row(group: vec3<u32>, thread: u32) {
    let m = group.y;
    let n = (group.x * GROUP + thread / LANES) * COLUMNS;
    let stride = K / STORED_BLOCK;
    var first: Columns;
    var second: Columns;
    for (var k = thread % LANES; k < stride; k += LANES) {
        let at = (m * K + k * STORED_BLOCK) / 4u;
        let low = a[at];
        var high: vec4<f32>;
        if (STORED_BLOCK > 4u) { high = a[at + 1u]; }
        first = columns_add(first, low, high, row_of_b(n) * stride + k, stride);
        if (COLUMNS > 4u) {
            second = columns_add(second, low, high, row_of_b(n + 4u) * stride + k, stride);
        }
    }
    if (LANES > 1u) {
        finish_lanes(thread, m, n, columns_total(first), columns_total(second));
        return;
    }
    finish_row(m, n, columns_total(first));
    if (COLUMNS > 4u) { finish_row(m, n + 4u, columns_total(second)); }
}
