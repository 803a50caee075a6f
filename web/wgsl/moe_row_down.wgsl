// Second half of a few rows' experts: out[n] = the sum over the slots of h[n, slot] times the
// transpose of the expert's matrix. Sizes are multiples of four.
// Experts may lie in ranges: what lies in another range counts as zero.
// binding 0 out     read_write f32 (N, C) accumulate  what the experts give together
// binding 1 h       read f32 (N * TOP, F)       weighted activations
// binding 2 down    read stored (COUNT, C, F)   matrices of the experts from FIRST on
// binding 3 experts read u32 (N * TOP) < E      of each row and slot
// size N u32 rows
// size TOP u32 experts of a row
// size E u32 experts
// size C u32 channels
// size F u32 width inside an expert
// size FIRST u32 the first expert of the range
// size COUNT u32 experts of the range
// size ACCUMULATE u32 1 adds to out, 0 writes it
// const LANES u32 1 threads of one output
// const STORED u32 0 how down lies in memory: 0 float32, 1 bfloat16, 2 float16
// dispatch (ceil(C * LANES / 64), N, 1)
// oracle reference.moe.moe_row_down rtol 2e-5 atol 2e-5
// check N=1 TOP=1 E=3 C=4 F=4 FIRST=0 COUNT=3 ACCUMULATE=0
// check N=1 TOP=2 E=5 C=12 F=20 FIRST=0 COUNT=5 ACCUMULATE=0 LANES=4 STORED=1
// check N=3 TOP=2 E=7 C=68 F=12 FIRST=2 COUNT=3 ACCUMULATE=0 LANES=16
// check N=3 TOP=3 E=7 C=132 F=20 FIRST=4 COUNT=3 ACCUMULATE=1 STORED=2
// uses lanes
// needs -

override N: u32;
override TOP: u32;
override E: u32;
override C: u32;
override F: u32;
override FIRST: u32;
override COUNT: u32;
override ACCUMULATE: u32;

@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@group(0) @binding(1) var<storage, read> h: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> down: array<stored4>;
@group(0) @binding(3) var<storage, read> experts: array<u32>;

@compute @workgroup_size(64)
fn moe_row_down(@builtin(workgroup_id) group: vec3<u32>,
                @builtin(local_invocation_index) thread: u32) {
    let n = group.y;
    let column = group.x * (64u / LANES) + thread / LANES;
    let c = min(column, C - 1u);
    let quads = F / 4u;

    var sums = vec4<f32>();
    for (var pair = n * TOP; pair < (n + 1u) * TOP; pair++) {
        let expert = experts[pair];
        if (expert < FIRST || expert >= FIRST + COUNT) { continue; }
        let row = ((expert - FIRST) * C + c) * quads;
        for (var q = thread % LANES; q < quads; q += LANES) {
            sums = fma(h[pair * quads + q], unpack4(down[row + q]), sums);
        }
    }
    let total = lane_sum(thread, vec2<f32>(dot(sums, vec4<f32>(1.0)), 0.0)).x;
    if (thread % LANES != 0u || column >= C) { return; }
    let i = n * C + c;
    out[i] = total + select(0.0, out[i], ACCUMULATE == 1u);
}
