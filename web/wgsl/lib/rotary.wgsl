// Turning a head: pair (i, i + RD / 2) of the first RD channels goes through the angle whose cosine
// and sine are in the table's row. The kernel declares R, T, HQ, HK, D, RD, `table` and `span`.

// Where the table's row of position span[0] + t begins.
fn table_row(t: u32) -> u32 {
    return min(span[0] + t, R - 1u) * RD;
}

// The other channel of the pair.
fn partner(c: u32) -> u32 {
    return select(c - RD / 2u, c + RD / 2u, c < RD / 2u);
}

// Channel c of the turned head from itself and its partner; DIRECTION -1 turns it back.
fn turn(row: u32, c: u32, value: f32, other: f32, direction: f32) -> f32 {
    let i = c % (RD / 2u);
    let sine = select(direction, -direction, c < RD / 2u) * table[row + RD / 2u + i];
    return fma(value, table[row + i], other * sine);
}
