// Four rows of a head in registers, everything unrolled by hand: a local array indexed by a loop
// costs SwiftShader a factor of six, and a load from a buffer far more than an fma, so each load
// serves four rows. The kernel declares the const D: 16, 32, 48 or 64.

// 16 channels of four rows: column i of `a` is channel i, a number for each row.
struct Quad {
    a: mat4x4<f32>,
    b: mat4x4<f32>,
    c: mat4x4<f32>,
    d: mat4x4<f32>,
}

struct Rows {
    q0: Quad,
    q1: Quad,
    q2: Quad,
    q3: Quad,
}

// 16 channels of one row.
struct Line {
    a: vec4<f32>,
    b: vec4<f32>,
    c: vec4<f32>,
    d: vec4<f32>,
}

struct Row {
    l0: Line,
    l1: Line,
    l2: Line,
    l3: Line,
}

fn dot_matrix(sum: vec4<f32>, m: mat4x4<f32>, v: vec4<f32>) -> vec4<f32> {
    let half = fma(m[1], vec4<f32>(v.y), fma(m[0], vec4<f32>(v.x), sum));
    return fma(m[3], vec4<f32>(v.w), fma(m[2], vec4<f32>(v.z), half));
}

fn dot_quad(sum: vec4<f32>, m: Quad, v: Line) -> vec4<f32> {
    let half = dot_matrix(dot_matrix(sum, m.a, v.a), m.b, v.b);
    return dot_matrix(dot_matrix(half, m.c, v.c), m.d, v.d);
}

// The products of four rows with one.
fn dot_rows(m: Rows, v: Row) -> vec4<f32> {
    var sum = dot_quad(vec4<f32>(), m.q0, v.l0);
    if (D > 16u) { sum = dot_quad(sum, m.q1, v.l1); }
    if (D > 32u) { sum = dot_quad(sum, m.q2, v.l2); }
    if (D > 48u) { sum = dot_quad(sum, m.q3, v.l3); }
    return sum;
}

fn add_matrix(m: mat4x4<f32>, w: vec4<f32>, v: vec4<f32>) -> mat4x4<f32> {
    return mat4x4<f32>(fma(w, vec4<f32>(v.x), m[0]), fma(w, vec4<f32>(v.y), m[1]),
                       fma(w, vec4<f32>(v.z), m[2]), fma(w, vec4<f32>(v.w), m[3]));
}

fn add_quad(m: Quad, w: vec4<f32>, v: Line) -> Quad {
    return Quad(add_matrix(m.a, w, v.a), add_matrix(m.b, w, v.b),
                add_matrix(m.c, w, v.c), add_matrix(m.d, w, v.d));
}

// Adds one row to four, with a weight for each.
fn add_rows(m: Rows, w: vec4<f32>, v: Row) -> Rows {
    var sum = m;
    sum.q0 = add_quad(m.q0, w, v.l0);
    if (D > 16u) { sum.q1 = add_quad(m.q1, w, v.l1); }
    if (D > 32u) { sum.q2 = add_quad(m.q2, w, v.l2); }
    if (D > 48u) { sum.q3 = add_quad(m.q3, w, v.l3); }
    return sum;
}

fn scale_matrix(m: mat4x4<f32>, w: vec4<f32>) -> mat4x4<f32> {
    return mat4x4<f32>(m[0] * w, m[1] * w, m[2] * w, m[3] * w);
}

fn scale_quad(m: Quad, w: vec4<f32>) -> Quad {
    return Quad(scale_matrix(m.a, w), scale_matrix(m.b, w), scale_matrix(m.c, w),
                scale_matrix(m.d, w));
}

// Multiplies each of four rows by its weight.
fn scale_rows(m: Rows, w: vec4<f32>) -> Rows {
    var product = m;
    product.q0 = scale_quad(m.q0, w);
    if (D > 16u) { product.q1 = scale_quad(m.q1, w); }
    if (D > 32u) { product.q2 = scale_quad(m.q2, w); }
    if (D > 48u) { product.q3 = scale_quad(m.q3, w); }
    return product;
}

fn turn_lines(r0: Line, r1: Line, r2: Line, r3: Line) -> Quad {
    return Quad(transpose(mat4x4<f32>(r0.a, r1.a, r2.a, r3.a)),
                transpose(mat4x4<f32>(r0.b, r1.b, r2.b, r3.b)),
                transpose(mat4x4<f32>(r0.c, r1.c, r2.c, r3.c)),
                transpose(mat4x4<f32>(r0.d, r1.d, r2.d, r3.d)));
}

// Four rows side by side.
fn join_rows(r0: Row, r1: Row, r2: Row, r3: Row) -> Rows {
    return Rows(turn_lines(r0.l0, r1.l0, r2.l0, r3.l0), turn_lines(r0.l1, r1.l1, r2.l1, r3.l1),
                turn_lines(r0.l2, r1.l2, r2.l2, r3.l2), turn_lines(r0.l3, r1.l3, r2.l3, r3.l3));
}

fn line_of(m: Quad, r: u32) -> Line {
    return Line(transpose(m.a)[r], transpose(m.b)[r], transpose(m.c)[r], transpose(m.d)[r]);
}
