// Brings the positions back to their rows: out[n] = the sum of x over the TOP positions of row n,
// in the order of its slots. C is a multiple of four.
// binding 0 out   read_write f32 (N, C) accumulate  a row each
// binding 1 x     read f32 (P, C)         a row for each position
// binding 2 place read u32 (N, TOP) < P   the positions of each row
// size N u32 rows
// size TOP u32 positions of a row
// size P u32 positions
// size C u32 channels
// size ACCUMULATE u32 1 adds to out, 0 writes it
// dispatch (ceil(C / 256), N, 1)
// oracle reference.moe_groups.moe_sum rtol 1e-5 atol 1e-6
// check N=1 TOP=1 P=4 C=4 ACCUMULATE=0
// check N=7 TOP=2 P=28 C=20 ACCUMULATE=1
// check N=3 TOP=8 P=37 C=516 ACCUMULATE=0
// needs -

override N: u32;
override TOP: u32;
override P: u32;
override C: u32;
override ACCUMULATE: u32;

@group(0) @binding(0) var<storage, read_write> out: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> place: array<u32>;

@compute @workgroup_size(64)
fn moe_sum(@builtin(global_invocation_id) thread: vec3<u32>) {
    let quads = C / 4u;
    if (thread.x >= quads) { return; }
    var total = vec4<f32>();
    for (var slot = 0u; slot < TOP; slot++) {
        total += x[place[thread.y * TOP + slot] * quads + thread.x];
    }
    let i = thread.y * quads + thread.x;
    out[i] = total + select(vec4<f32>(), out[i], ACCUMULATE == 1u);
}
