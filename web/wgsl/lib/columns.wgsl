// A workgroup of COLUMNS x LANES threads takes COLUMNS neighbouring columns, so that each row is
// read in whole cache lines; LANES threads share the rows of one column and add up their parts in
// a fixed order. The kernel declares the consts. All threads must call. One lane needs no barrier,
// which is dear on CPU adapters (with one, column_sum was a fifth of a step on SwiftShader).

var<workgroup> column_parts: array<vec2<f32>, COLUMNS * LANES>;

fn column_total(thread: u32, part: vec2<f32>) -> vec2<f32> {
    if (LANES == 1u) { return part; }
    column_parts[thread] = part;
    workgroupBarrier();
    var total = vec2<f32>();
    for (var i = thread % COLUMNS; i < COLUMNS * LANES; i += COLUMNS) { total += column_parts[i]; }
    return total;
}
