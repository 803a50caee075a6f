// Columns are exp(G), exp(end - G), beta, counts of four rows of rates (B, HV, lines, 4).

fn rates_tile(b: u32, h: u32, t: u32) -> mat4x4<f32> {
    let at = (b * HV + h) * ((T + 3u) / 4u * 4u) + t;
    return transpose(mat4x4<f32>(rates[at], rates[at + 1u], rates[at + 2u], rates[at + 3u]));
}
