// Probability as whole numbers: equal in every order of adding and on every adapter, where the
// last bits of exp differ. A logit's distance below the peak is counted in octaves (halvings), as a
// u32 with 26 fractional bits; its mass is 2^44 * 2^-distance as 64 bits: vec2(low, high).
// reference/mass.py says the same in NumPy. Wants lib/philox for multiply_high.

// A u32 that orders like the float.
fn order_key(x: f32) -> u32 {
    let bits = bitcast<u32>(select(x, 0.0, x == 0.0));
    return select(bits | 0x80000000u, ~bits, (bits >> 31u) == 1u);
}

fn distance_below(peak: f32, x: f32, octaves: f32) -> u32 {
    return u32(min(max(peak - x, 0.0) * octaves, 63.5) * 0x1p26f);
}

// 2^-f by a polynomial of least relative error (2^-29) in fixed point, then shifts.
fn mass_at(distance: u32) -> vec2<u32> {
    let f = distance << 6u;
    var m = 2733858u - multiply_high(f, 233026u);
    m = 20566476u - multiply_high(f, m);
    m = 119162627u - multiply_high(f, m);
    m = 515877041u - multiply_high(f, m);
    m = 1488521876u - multiply_high(f, m);
    m = 2147483648u - multiply_high(f, m);
    let octave = distance >> 26u;
    if (octave <= 13u) {
        let left = 13u - octave;
        // A shift by 32 is not defined, hence two.
        return vec2<u32>(m << left, (m >> 1u) >> (31u - left));
    }
    return vec2<u32>(select(0u, m >> ((octave - 13u) & 31u), octave < 45u), 0u);
}

fn wide_add(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let low = a.x + b.x;
    return vec2<u32>(low, a.y + b.y + u32(low < a.x));
}

fn wide_less(a: vec2<u32>, b: vec2<u32>) -> bool {
    return a.y < b.y || (a.y == b.y && a.x < b.x);
}

// a - b, or zero where b is larger.
fn wide_subtract(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    if (wide_less(a, b)) { return vec2<u32>(); }
    return vec2<u32>(a.x - b.x, a.y - b.y - u32(a.x < b.x));
}

// mass * fraction / 2^32, rounded down.
fn wide_share(mass: vec2<u32>, fraction: u32) -> vec2<u32> {
    let high = vec2<u32>(mass.y * fraction, multiply_high(mass.y, fraction));
    return wide_add(high, vec2<u32>(multiply_high(mass.x, fraction), 0u));
}
