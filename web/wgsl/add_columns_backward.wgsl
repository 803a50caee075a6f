// Gradient of what was added to some columns: ddelta[r, n] = scale[0] * dout[r, FIRST + n].
// binding 0 ddelta read_write f32 (R, N) accumulate  gradient of delta
// binding 1 dout   read       f32 (R, M)  gradient of the sums
// binding 2 scale  read       f32 (1)     what delta was multiplied by
// size R u32 rows
// size M u32 columns of dout
// size N u32 columns of ddelta
// size FIRST u32 the column of dout where they begin
// size ACCUMULATE u32 1 adds to ddelta, 0 writes it
// dispatch (ceil(R * N / 1024), 1, 1)  four elements an invocation
// oracle reference.add_columns.add_columns_backward rtol 1e-6 atol 1e-6
// check R=1 M=1 N=1 FIRST=0 ACCUMULATE=0
// check R=7 M=31 N=13 FIRST=18 ACCUMULATE=1
// check R=33 M=67 N=67 FIRST=0 ACCUMULATE=0
// needs -

@group(0) @binding(0) var<storage, read_write> ddelta: array<f32>;
@group(0) @binding(1) var<storage, read> dout: array<f32>;
@group(0) @binding(2) var<storage, read> scale: array<f32>;

override R: u32;
override M: u32;
override N: u32;
override FIRST: u32;
override ACCUMULATE: u32;

@compute @workgroup_size(256)
fn add_columns_backward(@builtin(workgroup_id) group: vec3<u32>,
                        @builtin(local_invocation_index) local: u32) {
    for (var lane = 0u; lane < 4u; lane++) {
        let i = group.x * 1024u + lane * 256u + local;
        if (i >= R * N) { return; }
        let value = scale[0] * dout[i / N * M + FIRST + i % N];
        ddelta[i] = value + select(0.0, ddelta[i], ACCUMULATE == 1u);
    }
}
