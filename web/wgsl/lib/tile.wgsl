// Products of tiles of four rows by four columns. Column r of a mat4x4 holds row r of the tile.

// sum + a b, for one row a.
fn tile_row(sum: vec4<f32>, a: vec4<f32>, b: mat4x4<f32>) -> vec4<f32> {
    let first = fma(vec4<f32>(a.y), b[1], fma(vec4<f32>(a.x), b[0], sum));
    return fma(vec4<f32>(a.w), b[3], fma(vec4<f32>(a.z), b[2], first));
}

// sum + a b.
fn tile_add(sum: mat4x4<f32>, a: mat4x4<f32>, b: mat4x4<f32>) -> mat4x4<f32> {
    return mat4x4<f32>(tile_row(sum[0], a[0], b), tile_row(sum[1], a[1], b),
                       tile_row(sum[2], a[2], b), tile_row(sum[3], a[3], b));
}

// Each row times its weight.
fn tile_scale(weights: vec4<f32>, a: mat4x4<f32>) -> mat4x4<f32> {
    return mat4x4<f32>(weights.x * a[0], weights.y * a[1], weights.z * a[2], weights.w * a[3]);
}
