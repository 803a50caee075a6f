// One head of one token from the packed qkv of vec4; `at` is its first vector.

fn load_line(at: u32) -> Line {
    return Line(qkv[at], qkv[at + 1u], qkv[at + 2u], qkv[at + 3u]);
}

fn load(at: u32) -> Row {
    var row = Row();
    row.l0 = load_line(at);
    if (D > 16u) { row.l1 = load_line(at + 4u); }
    if (D > 32u) { row.l2 = load_line(at + 8u); }
    if (D > 48u) { row.l3 = load_line(at + 12u); }
    return row;
}
