// Four rows by four channels of one head of dout (B, T, HV * DV); zeros after the last row.

fn dout_row(b: u32, h: u32, t: u32, v: u32) -> vec4<f32> {
    let value = dout[((b * T + min(t, T - 1u)) * HV + h) * (DV / 4u) + v];
    return select(vec4<f32>(), value, t < T);
}

fn dout_tile(b: u32, h: u32, t: u32, v: u32) -> mat4x4<f32> {
    return mat4x4<f32>(dout_row(b, h, t, v), dout_row(b, h, t + 1u, v), dout_row(b, h, t + 2u, v),
                       dout_row(b, h, t + 3u, v));
}
