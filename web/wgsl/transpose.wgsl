// Transposes a matrix: out[c, r] = x[r, c]. It is its own backward.
// binding 0 out read_write f32 (C, R) accumulate  the transpose
// binding 1 x   read       f32 (R, C)
// size R u32 rows of x
// size C u32 columns of x
// size ACCUMULATE u32 1 adds to out, 0 writes it
// dispatch (ceil(R / 16), ceil(C / 16), 1)
// oracle reference.transpose.transpose rtol 1e-6 atol 1e-6
// check R=1 C=1 ACCUMULATE=0
// check R=17 C=31 ACCUMULATE=1
// check R=64 C=16 ACCUMULATE=0
// needs -

@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@group(0) @binding(1) var<storage, read> x: array<f32>;

override R: u32;
override C: u32;
override ACCUMULATE: u32;

@compute @workgroup_size(16, 16)
fn transpose(@builtin(global_invocation_id) thread: vec3<u32>) {
    let r = thread.x;
    let c = thread.y;
    if (r >= R || c >= C) { return; }
    let i = c * R + r;
    out[i] = x[r * C + c] + select(0.0, out[i], ACCUMULATE == 1u);
}
