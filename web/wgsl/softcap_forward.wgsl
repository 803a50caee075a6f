// Soft cap: out = CAP tanh(x / CAP).
// binding 0 out read_write f32 (COUNT)  within -CAP and CAP
// binding 1 x   read       f32 (COUNT)
// size COUNT u32 elements
// size CAP f32 what the result stays below
// dispatch (ceil(COUNT / 1024), 1, 1)  four elements an invocation
// oracle reference.softcap.softcap_forward rtol 1e-5 atol 1e-6
// check COUNT=1 CAP=30
// check COUNT=1031 CAP=0.5
// check COUNT=2048 CAP=2
// needs -

@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@group(0) @binding(1) var<storage, read> x: array<f32>;

override COUNT: u32;
override CAP: f32;

@compute @workgroup_size(256)
fn softcap_forward(@builtin(workgroup_id) group: vec3<u32>,
                   @builtin(local_invocation_index) local: u32) {
    for (var lane = 0u; lane < 4u; lane++) {
        let i = group.x * 1024u + lane * 256u + local;
        if (i >= COUNT) { return; }
        // Beyond 10 the result is 1 in f32, and some compilers' tanh overflows far out.
        out[i] = CAP * tanh(clamp(x[i] / CAP, -10.0, 10.0));
    }
}
