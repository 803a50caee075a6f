// One head of one token of dout in, and of dqkv out, added to when ACCUMULATE is 1.

fn load_dout_line(at: u32) -> Line {
    return Line(dout[at], dout[at + 1u], dout[at + 2u], dout[at + 3u]);
}

fn load_dout(at: u32) -> Row {
    var row = Row();
    row.l0 = load_dout_line(at);
    if (D > 16u) { row.l1 = load_dout_line(at + 4u); }
    if (D > 32u) { row.l2 = load_dout_line(at + 8u); }
    if (D > 48u) { row.l3 = load_dout_line(at + 12u); }
    return row;
}

fn store_vector(at: u32, v: vec4<f32>) {
    var before = vec4<f32>();
    if (ACCUMULATE == 1u) { before = dqkv[at]; }
    dqkv[at] = before + v;
}

fn store_line(at: u32, line: Line) {
    store_vector(at, line.a);
    store_vector(at + 1u, line.b);
    store_vector(at + 2u, line.c);
    store_vector(at + 3u, line.d);
}

fn store(at: u32, rows: Rows, r: u32) {
    store_line(at, line_of(rows.q0, r));
    if (D > 16u) { store_line(at + 4u, line_of(rows.q1, r)); }
    if (D > 32u) { store_line(at + 8u, line_of(rows.q2, r)); }
    if (D > 48u) { store_line(at + 12u, line_of(rows.q3, r)); }
}
