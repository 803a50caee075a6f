// Which positions a position sees: itself and those before it, and with a WINDOW above 0 only that
// many of them. The kernel declares the size WINDOW; at 0 nothing is left of it in the loops.

// The first position that position t sees.
fn oldest(t: u32) -> u32 {
    if (WINDOW == 0u || t < WINDOW) { return 0u; }
    return t + 1u - WINDOW;
}

// The first position after s that does not see s.
fn seen_until(s: u32) -> u32 {
    if (WINDOW == 0u) { return 0xffffffffu; }
    return s + WINDOW;
}

fn sees(t: u32, s: u32) -> bool {
    return s <= t && (WINDOW == 0u || t < s + WINDOW);
}

fn see(t: vec4<u32>, s: vec4<u32>) -> vec4<bool> {
    if (WINDOW == 0u) { return s <= t; }
    return (s <= t) & (t < s + vec4<u32>(WINDOW));
}
