// Where documents begin when a row holds several: the kernel declares the const PACKED, the size T
// and the buffer starts. With PACKED 0 nothing of it is left in the loops.

// The first position of t's document. Rows that fill up the last four belong to the last document.
fn begin_of(b: u32, t: u32) -> u32 {
    if (PACKED == 0u) { return 0u; }
    let row = min(t, T - 1u);
    return min(starts[b * T + row], row);
}

fn begins_at(b: u32, t: u32) -> bool { return PACKED == 1u && begin_of(b, t) == t; }
