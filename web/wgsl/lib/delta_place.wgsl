// What an invocation of a delta rule's scans owns: four columns of one head's state.

// One head of one sequence, and four columns of it.
struct Place {
    b: u32,
    h: u32,
    v: u32,
}

fn state_at(p: Place, slot: u32, d: u32) -> u32 {
    return (((slot * B + p.b) * HV + p.h) * DK + d * 4u) * (DV / 4u) + p.v;
}

fn place_of(index: u32) -> Place {
    let strips = DV / 4u;
    return Place(index / (strips * HV), (index / strips) % HV, index % strips);
}
