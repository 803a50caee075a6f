// Four rows by four columns of a row-major matrix whose width is a multiple of four.
// Rows past the end read whatever WGSL's bounds rule gives; nobody stores what comes of them.

fn quad_a(row: u32, column: u32, width: u32) -> mat4x4<f32> {
    let stride = width / 4u;
    let i = row * stride + column / 4u;
    return mat4x4<f32>(a[i], a[i + stride], a[i + 2u * stride], a[i + 3u * stride]);
}

fn quad_b(row: u32, column: u32, width: u32) -> mat4x4<f32> {
    let stride = width / 4u;
    let i = row * stride + column / 4u;
    return mat4x4<f32>(b[i], b[i + stride], b[i + 2u * stride], b[i + 3u * stride]);
}
