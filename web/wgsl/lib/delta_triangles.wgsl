// Tiles of erase and attend (B, HV, lines, CHUNK): rows t to t + 3, columns 4 j to 4 j + 3 of the
// chunk; and of the rates of four rows.

fn triangle_at(b: u32, h: u32, t: u32, j: u32) -> u32 {
    return ((b * HV + h) * lines() + t) * (CHUNK / 4u) + j;
}

fn erase_tile(b: u32, h: u32, t: u32, j: u32) -> mat4x4<f32> {
    let at = triangle_at(b, h, t, j);
    let stride = CHUNK / 4u;
    return mat4x4<f32>(erase[at], erase[at + stride], erase[at + 2u * stride],
                       erase[at + 3u * stride]);
}

fn attend_tile(b: u32, h: u32, t: u32, j: u32) -> mat4x4<f32> {
    let at = triangle_at(b, h, t, j);
    let stride = CHUNK / 4u;
    return mat4x4<f32>(attend[at], attend[at + stride], attend[at + 2u * stride],
                       attend[at + 3u * stride]);
}

// The tile without what lies above its diagonal.
fn lower(a: mat4x4<f32>) -> mat4x4<f32> {
    return mat4x4<f32>(vec4<f32>(a[0].x, 0.0, 0.0, 0.0), vec4<f32>(a[1].xy, 0.0, 0.0),
                       vec4<f32>(a[2].xyz, 0.0), a[3]);
}
