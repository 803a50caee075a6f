// First half of a few rows' experts: out = weight silu(gate) * up, for each row and slot, where
// gate and up are the row times the two halves of its expert's matrix. Sizes are multiples of four.
// Experts may lie in ranges: what lies in another range counts as zero.
// binding 0 out     read_write f32 (N * TOP, F) accumulate  weighted activations
// binding 1 x       read f32 (N, C)               rows
// binding 2 gate_up read stored (COUNT, 2 * F, C)  matrices of the experts from FIRST on
// binding 3 experts read u32 (N * TOP) < E         of each row and slot
// binding 4 weights read f32 (N * TOP)
// size N u32 rows
// size TOP u32 experts of a row
// size E u32 experts
// size C u32 channels
// size F u32 width inside an expert
// size FIRST u32 the first expert of the range
// size COUNT u32 experts of the range
// size ACCUMULATE u32 1 adds to out, 0 writes it
// const LANES u32 1 threads of one output
// const STORED u32 0 how gate_up lies in memory: 0 float32, 1 bfloat16, 2 float16
// dispatch (ceil(F * LANES / 64), N * TOP, 1)
// oracle reference.moe.moe_row_gate_up rtol 2e-5 atol 2e-5
// check N=1 TOP=1 E=3 C=4 F=4 FIRST=0 COUNT=3 ACCUMULATE=0
// check N=1 TOP=2 E=5 C=12 F=20 FIRST=0 COUNT=5 ACCUMULATE=0 LANES=4 STORED=1
// check N=3 TOP=2 E=7 C=68 F=12 FIRST=2 COUNT=3 ACCUMULATE=0 LANES=16
// check N=3 TOP=3 E=7 C=20 F=132 FIRST=4 COUNT=3 ACCUMULATE=1 STORED=2
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
@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> gate_up: array<stored4>;
@group(0) @binding(3) var<storage, read> experts: array<u32>;
@group(0) @binding(4) var<storage, read> weights: array<f32>;

@compute @workgroup_size(64)
fn moe_row_gate_up(@builtin(workgroup_id) group: vec3<u32>,
                   @builtin(local_invocation_index) thread: u32) {
    let pair = group.y;
    let expert = experts[pair];
    let inside = expert >= FIRST && expert < FIRST + COUNT;
    if (!inside && ACCUMULATE == 1u) { return; }
    let column = group.x * (64u / LANES) + thread / LANES;
    let f = min(column, F - 1u);
    let quads = C / 4u;

    var products = vec2<f32>();
    if (inside) {
        let row = pair / TOP * quads;
        let gate = ((expert - FIRST) * 2u * F + f) * quads;
        let up = gate + F * quads;
        var sums = array<vec4<f32>, 2>();
        for (var q = thread % LANES; q < quads; q += LANES) {
            let here = x[row + q];
            sums[0] = fma(here, unpack4(gate_up[gate + q]), sums[0]);
            sums[1] = fma(here, unpack4(gate_up[up + q]), sums[1]);
        }
        products = vec2<f32>(dot(sums[0], vec4<f32>(1.0)), dot(sums[1], vec4<f32>(1.0)));
    }
    let total = lane_sum(thread, products);
    if (thread % LANES != 0u || column >= F) { return; }
    let i = pair * F + f;
    let value = weights[pair] * total.x / (1.0 + exp(-total.x)) * total.y;
    out[i] = value + select(0.0, out[i], ACCUMULATE == 1u);
}
