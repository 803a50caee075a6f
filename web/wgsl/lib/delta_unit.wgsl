// Four rows by four channels of unit (B, lines, 2 HK, DK), whose rows fill up a multiple of four.

fn lines() -> u32 { return (T + 3u) / 4u * 4u; }

fn unit_tile(b: u32, t: u32, head: u32, d: u32) -> mat4x4<f32> {
    let stride = 2u * HK * (DK / 4u);
    let at = (b * lines() + t) * stride + head * (DK / 4u) + d;
    return mat4x4<f32>(unit[at], unit[at + stride], unit[at + 2u * stride],
                       unit[at + 3u * stride]);
}
