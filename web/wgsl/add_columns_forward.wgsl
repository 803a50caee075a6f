// Adds a narrower matrix to some columns: out = y, and there y + scale[0] * delta.
// binding 0 out   read_write f32 (R, M)  sums
// binding 1 y     read       f32 (R, M)  the wide matrix
// binding 2 delta read       f32 (R, N)  what is added to columns FIRST to FIRST + N - 1
// binding 3 scale read       f32 (1)     what delta is multiplied by
// size R u32 rows
// size M u32 columns of y
// size N u32 columns of delta
// size FIRST u32 the column of y where delta begins
// dispatch (ceil(R * M / 1024), 1, 1)  four elements an invocation
// oracle reference.add_columns.add_columns_forward rtol 1e-6 atol 1e-6
// check R=1 M=1 N=1 FIRST=0
// check R=7 M=31 N=13 FIRST=18
// check R=33 M=67 N=67 FIRST=0
// check R=5 M=257 N=30 FIRST=64
// needs -

@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@group(0) @binding(1) var<storage, read> y: array<f32>;
@group(0) @binding(2) var<storage, read> delta: array<f32>;
@group(0) @binding(3) var<storage, read> scale: array<f32>;

override R: u32;
override M: u32;
override N: u32;
override FIRST: u32;

@compute @workgroup_size(256)
fn add_columns_forward(@builtin(workgroup_id) group: vec3<u32>,
                       @builtin(local_invocation_index) local: u32) {
    for (var lane = 0u; lane < 4u; lane++) {
        let i = group.x * 1024u + lane * 256u + local;
        if (i >= R * M) { return; }
        let column = i % M;
        var sum = y[i];
        if (column >= FIRST && column < FIRST + N) {
            sum += scale[0] * delta[i / M * N + column - FIRST];
        }
        out[i] = sum;
    }
}
