// One head of one token into out; `head` counts the heads before it, over all tokens.

fn store_line(at: u32, line: Line) {
    out[at] = line.a;
    out[at + 1u] = line.b;
    out[at + 2u] = line.c;
    out[at + 3u] = line.d;
}

fn store(head: u32, rows: Rows, r: u32) {
    store_line(head * D4, line_of(rows.q0, r));
    if (D > 16u) { store_line(head * D4 + 4u, line_of(rows.q1, r)); }
    if (D > 32u) { store_line(head * D4 + 8u, line_of(rows.q2, r)); }
    if (D > 48u) { store_line(head * D4 + 12u, line_of(rows.q3, r)); }
}
