// Four rows by four columns of a row-major matrix of any size; zero outside it.
// b is an array of stored_word: the library lib/stored_*.wgsl unpacks it.

fn at_a(row: u32, column: u32, height: u32, width: u32) -> f32 {
    return select(0.0, a[row * width + column], (row < height) & (column < width));
}

fn row_a(row: u32, column: u32, height: u32, width: u32) -> vec4<f32> {
    return vec4<f32>(at_a(row, column, height, width), at_a(row, column + 1u, height, width),
                     at_a(row, column + 2u, height, width), at_a(row, column + 3u, height, width));
}

fn quad_a(row: u32, column: u32, height: u32, width: u32) -> mat4x4<f32> {
    return mat4x4<f32>(row_a(row, column, height, width), row_a(row + 1u, column, height, width),
                       row_a(row + 2u, column, height, width),
                       row_a(row + 3u, column, height, width));
}

fn at_b(row: u32, column: u32, height: u32, width: u32) -> f32 {
    let i = row * width + column;
    return select(0.0, stored_at(b[word_of(i)], i), (row < height) & (column < width));
}

fn row_b(row: u32, column: u32, height: u32, width: u32) -> vec4<f32> {
    return vec4<f32>(at_b(row, column, height, width), at_b(row, column + 1u, height, width),
                     at_b(row, column + 2u, height, width), at_b(row, column + 3u, height, width));
}

fn quad_b(row: u32, column: u32, height: u32, width: u32) -> mat4x4<f32> {
    return mat4x4<f32>(row_b(row, column, height, width), row_b(row + 1u, column, height, width),
                       row_b(row + 2u, column, height, width),
                       row_b(row + 3u, column, height, width));
}
