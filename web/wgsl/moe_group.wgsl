// Groups the pairs of a row and one of its experts by expert: a counting sort into tiles of T
// positions that each belong to one expert, pairs of an expert in the order of their rows.
// Positions that no pair takes have row 0 and weight 0, so that what they give counts for nothing.
// One workgroup does it all: every expert has one thread, which goes through all pairs twice.
// binding 0 rows        read_write u32 (TILES * T)  the row of each position
// binding 1 weight      read_write f32 (TILES * T)  the weight of each position
// binding 2 place       read_write u32 (A)      the position of each pair
// binding 3 tile_expert read_write u32 (TILES)  the expert of each tile, E where it is not used
// binding 4 first_tile  read_write u32 (E + 1)  each expert's first tile, then the tiles used
// binding 5 experts     read u32 (A) < E        the expert of each pair
// binding 6 weights     read f32 (A)            the weight of each pair
// size A u32 pairs; pair a belongs to row a / TOP
// size TOP u32 experts of a row
// size T u32 positions of a tile
// size TILES u32 at least (A + min(A, E) (T - 1)) / T
// size E u32 experts, at most 4000
// dispatch (1, 1, 1)
// oracle reference.moe_groups.moe_group rtol 0 atol 0
// check A=1 TOP=1 T=4 TILES=1 E=3
// check A=14 TOP=2 T=4 TILES=7 E=5
// check A=67 TOP=1 T=8 TILES=140 E=131
// check A=300 TOP=3 T=16 TILES=21 E=3
// needs -

override A: u32;
override TOP: u32;
override T: u32;
override TILES: u32;
override E: u32;

@group(0) @binding(0) var<storage, read_write> rows: array<u32>;
@group(0) @binding(1) var<storage, read_write> weight: array<f32>;
@group(0) @binding(2) var<storage, read_write> place: array<u32>;
@group(0) @binding(3) var<storage, read_write> tile_expert: array<u32>;
@group(0) @binding(4) var<storage, read_write> first_tile: array<u32>;
@group(0) @binding(5) var<storage, read> experts: array<u32>;
@group(0) @binding(6) var<storage, read> weights: array<f32>;

const THREADS = 128u;
var<workgroup> tiles: array<u32, E + 1u>;  // of each expert; then each expert's first

fn leave_empty(position: u32) {
    rows[position] = 0u;
    weight[position] = 0.0;
}

fn place_pairs(e: u32) {
    var position = tiles[e] * T;
    for (var a = 0u; a < A; a++) {
        if (experts[a] == e) {
            place[a] = position;
            rows[position] = a / TOP;
            weight[position] = weights[a];
            position++;
        }
    }
    while (position < tiles[e + 1u] * T) {
        leave_empty(position);
        position++;
    }
    for (var tile = tiles[e]; tile < tiles[e + 1u]; tile++) { tile_expert[tile] = e; }
}

@compute @workgroup_size(THREADS)
fn moe_group(@builtin(local_invocation_index) thread: u32) {
    for (var e = thread; e < E; e += THREADS) {
        var count = 0u;
        for (var a = 0u; a < A; a++) { count += select(0u, 1u, experts[a] == e); }
        tiles[e] = (count + T - 1u) / T;
    }
    workgroupBarrier();
    if (thread == 0u) {
        var total = 0u;
        for (var e = 0u; e < E; e++) {
            let own = tiles[e];
            tiles[e] = total;
            total += own;
        }
        tiles[E] = total;
    }
    workgroupBarrier();
    for (var e = thread; e < E; e += THREADS) { place_pairs(e); }
    for (var e = thread; e <= E; e += THREADS) { first_tile[e] = tiles[e]; }
    for (var tile = tiles[E] + thread; tile < TILES; tile += THREADS) { tile_expert[tile] = E; }
    for (var p = tiles[E] * T + thread; p < TILES * T; p += THREADS) { leave_empty(p); }
}
