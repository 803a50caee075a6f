// Four rows by four columns of a row-major matrix whose width is a multiple of four.
// Rows past the end read whatever WGSL's bounds rule gives; nobody stores what comes of them.
// b is an array of stored4: the library lib/stored_*.wgsl unpacks it.

fn quad_a(row: u32, column: u32, width: u32) -> mat4x4<f32> {
    let stride = width / 4u;
    let i = row * stride + column / 4u;
    return mat4x4<f32>(a[i], a[i + stride], a[i + 2u * stride], a[i + 3u * stride]);
}

fn quad_b(row: u32, column: u32, width: u32) -> mat4x4<f32> {
    let stride = width / 4u;
    let i = row * stride + column / 4u;
    return mat4x4<f32>(unpack4(b[i]), unpack4(b[i + stride]), unpack4(b[i + 2u * stride]),
                       unpack4(b[i + 3u * stride]));
}
