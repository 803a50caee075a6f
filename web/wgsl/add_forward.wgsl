// Sum with a second operand that repeats: out = a + FACTOR * b.
// binding 0 out read_write f32 (COUNT)  sums
// binding 1 a   read       f32 (COUNT)
// binding 2 b   read       f32 (PERIOD)  the last axes of a; starts again after PERIOD elements
// size COUNT u32 elements
// size PERIOD u32 elements of b
// size FACTOR f32 1 adds, -1 subtracts
// dispatch (ceil(COUNT / 1024), 1, 1)  four elements an invocation
// oracle reference.add.add_forward rtol 1e-6 atol 1e-6
// check COUNT=1 PERIOD=1 FACTOR=1
// check COUNT=1031 PERIOD=1031 FACTOR=-1
// check COUNT=1001 PERIOD=13 FACTOR=1
// needs -

@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@group(0) @binding(1) var<storage, read> a: array<f32>;
@group(0) @binding(2) var<storage, read> b: array<f32>;

override COUNT: u32;
override PERIOD: u32;
override FACTOR: f32;

@compute @workgroup_size(256)
fn add_forward(@builtin(workgroup_id) group: vec3<u32>,
              @builtin(local_invocation_index) local: u32) {
    for (var lane = 0u; lane < 4u; lane++) {
        let i = group.x * 1024u + lane * 256u + local;
        if (i >= COUNT) { return; }
        out[i] = a[i] + FACTOR * b[i % PERIOD];
    }
}
