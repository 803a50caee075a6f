// Rows of a part of a table, by ids of the whole: out[n] = weight[ids[n] - FIRST] where the part
// has that row; the other rows of out stay.
// binding 0 out    read_write f32 (N, C) updated
// binding 1 ids    read       u32 (N) < V
// binding 2 weight read       stored (R, C)  rows FIRST to FIRST + R - 1 of the table
// size N u32 ids
// size V u32 rows of the whole table
// size R u32 rows of the part
// size FIRST u32 the part's first row
// size C u32 columns
// const STORED u32 0 how the table lies in memory: 0 float32, 1 bfloat16, 2 float16
// dispatch (ceil(C / 64), N, 1)
// oracle reference.embedding.embedding_range_forward rtol 0 atol 0
// check N=1 V=1 R=1 FIRST=0 C=1
// check N=37 V=31 R=7 FIRST=11 C=129
// check N=300 V=257 R=57 FIRST=200 C=32
// check N=37 V=31 R=7 FIRST=11 C=129 STORED=1
// check N=37 V=5 R=2 FIRST=3 C=7 STORED=2
// needs -

override N: u32;
override V: u32;
override R: u32;
override FIRST: u32;
override C: u32;

@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@group(0) @binding(1) var<storage, read> ids: array<u32>;
@group(0) @binding(2) var<storage, read> weight: array<stored_word>;

@compute @workgroup_size(64)
fn embedding_range_forward(@builtin(global_invocation_id) place: vec3<u32>) {
    let c = place.x;
    let n = place.y;
    // Below FIRST this wraps to a large number, which is no row of the part either.
    let row = ids[n] - FIRST;
    if (c >= C || row >= R) { return; }
    let i = row * C + c;
    out[n * C + c] = stored_at(weight[word_of(i)], i);
}
