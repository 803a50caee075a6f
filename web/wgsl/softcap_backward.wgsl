// Gradient of the soft cap, from its result: dx = dout (1 - (out / CAP)²).
// binding 0 dx   read_write f32 (COUNT) accumulate  gradient of x
// binding 1 out  read       f32 (COUNT)  what the forward gave
// binding 2 dout read       f32 (COUNT)  gradient of it
// size COUNT u32 elements
// size CAP f32 what the result stays below
// size ACCUMULATE u32 1 adds to dx, 0 writes it
// dispatch (ceil(COUNT / 1024), 1, 1)  four elements an invocation
// oracle reference.softcap.softcap_backward rtol 1e-5 atol 1e-5
// check COUNT=1 CAP=30 ACCUMULATE=0
// check COUNT=1031 CAP=0.5 ACCUMULATE=1
// check COUNT=2048 CAP=2 ACCUMULATE=0
// needs -

@group(0) @binding(0) var<storage, read_write> dx: array<f32>;
@group(0) @binding(1) var<storage, read> out: array<f32>;
@group(0) @binding(2) var<storage, read> dout: array<f32>;

override COUNT: u32;
override CAP: f32;
override ACCUMULATE: u32;

@compute @workgroup_size(256)
fn softcap_backward(@builtin(workgroup_id) group: vec3<u32>,
                    @builtin(local_invocation_index) local: u32) {
    for (var lane = 0u; lane < 4u; lane++) {
        let i = group.x * 1024u + lane * 256u + local;
        if (i >= COUNT) { return; }
        let t = out[i] / CAP;
        let value = dout[i] * (1.0 - t * t);
        dx[i] = value + select(0.0, dx[i], ACCUMULATE == 1u);
    }
}
