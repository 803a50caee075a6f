// Rows of a table by their ids: out[n] = weight[ids[n]].
// binding 0 out    read_write f32 (N, C)
// binding 1 ids    read       u32 (N) < V
// binding 2 weight read       stored (V, C)
// size N u32 ids
// size V u32 rows of the table
// size C u32 columns
// const STORED u32 0 how the table lies in memory: 0 float32, 1 bfloat16, 2 float16
// dispatch (ceil(C / 64), N, 1)
// oracle reference.embedding.embedding_forward rtol 0 atol 0
// check N=1 V=1 C=1
// check N=7 V=31 C=129
// check N=300 V=257 C=32
// check N=7 V=31 C=129 STORED=1
// check N=5 V=3 C=7 STORED=2
// needs -

override N: u32;
override V: u32;
override C: u32;

@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@group(0) @binding(1) var<storage, read> ids: array<u32>;
@group(0) @binding(2) var<storage, read> weight: array<stored_word>;

@compute @workgroup_size(64)
fn embedding_forward(@builtin(global_invocation_id) place: vec3<u32>) {
    let c = place.x;
    let n = place.y;
    if (c >= C) { return; }
    let i = ids[n] * C + c;
    out[n * C + c] = stored_at(weight[word_of(i)], i);
}
