// Gradient of an embedding table: dweight[ids[n]] += dout[n], in the order of n.
// A thread owns one column of every PARTS-th table row and goes through all ids, so that nobody
// else adds to its numbers: no atomics, the same bits every time. Rows whose id does not occur
// stay as they are, so the work does not grow with the vocabulary.
// binding 0 dweight read_write f32 (V, C) updated  gradient of the table
// binding 1 dout    read       f32 (N, C)        gradient of the output
// binding 2 ids     read       u32 (N) < V
// size N u32 ids
// size V u32 rows of the table
// size C u32 columns
// const PARTS u32 1 threads of one column; thread p takes the ids with id % PARTS = p
// dispatch (ceil(C * PARTS / 32), 1, 1)
// oracle reference.embedding.embedding_backward rtol 1e-5 atol 1e-5
// check N=1 V=1 C=1
// check N=7 V=31 C=129
// check N=300 V=257 C=32
// check N=67 V=3 C=5 PARTS=8
// needs -
//
// Measured, N=256 V=256 C=128, PARTS 1, 2, 4, 8: Chromium on SwiftShader 0.5, 0.8, 1.6, 2.7 ms;
// native lavapipe 0.3, 0.5, 0.9, 1.7 ms.

override N: u32;
override V: u32;
override C: u32;

@group(0) @binding(0) var<storage, read_write> dweight: array<f32>;
@group(0) @binding(1) var<storage, read> dout: array<f32>;
@group(0) @binding(2) var<storage, read> ids: array<u32>;

@compute @workgroup_size(32)
fn embedding_backward(@builtin(global_invocation_id) place: vec3<u32>) {
    let c = place.x % C;
    let part = place.x / C;
    if (part >= PARTS) { return; }
    for (var n = 0u; n < N; n++) {
        let id = ids[n];
        if (id % PARTS == part) { dweight[id * C + c] += dout[n * C + c]; }
    }
}
