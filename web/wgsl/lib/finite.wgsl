// Numbers that are none, by their bits: WGSL lets a compiler take every float for finite, and then
// a comparison that finds NaN may be left out.

const EXPONENT_BITS = 0x7f800000u;
const NAN_BITS = 0x7fc00000u;

fn is_finite(x: f32) -> bool { return (bitcast<u32>(x) & EXPONENT_BITS) != EXPONENT_BITS; }

fn nan_where(lost: bool, x: f32) -> f32 {
    return bitcast<f32>(select(bitcast<u32>(x), NAN_BITS, lost));
}
