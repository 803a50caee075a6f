// Where the view of a position ends when a row holds several documents: the kernel declares the
// const PACKED, the size T and the buffer starts, and uses attention_mask. starts do not fall along
// a row. With PACKED 0 nothing of it is left in the loops.

// The first position of row b that position t sees.
fn begin_of(b: u32, t: u32) -> u32 {
    if (PACKED == 0u) { return oldest(t); }
    return max(oldest(t), min(starts[b * T + t], t));
}

fn begins_of(b: u32, t: vec4<u32>) -> vec4<u32> {
    return vec4<u32>(begin_of(b, t.x), begin_of(b, t.y), begin_of(b, t.z), begin_of(b, t.w));
}

// Whether positions t see positions s, where begin has the first that each t sees.
fn see_inside(t: vec4<u32>, s: vec4<u32>, begin: vec4<u32>) -> vec4<bool> {
    if (PACKED == 0u) { return see(t, s); }
    return (s <= t) & (begin <= s);
}
