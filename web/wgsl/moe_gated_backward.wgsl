// Gradient of the experts' activations h = silu(gate) * up, of which weight * h went on.
// Sizes are multiples of four.
// binding 0 dgate_up read_write f32 (P, 2 * F)  gradient of the gates, then of the ups
// binding 1 dweight  read_write f32 (P)         gradient of each position's weight: dout · h
// binding 2 gate_up  read f32 (P, 2 * F)        what the forward read
// binding 3 dout     read f32 (P, F)            gradient of weight * h, before the weight
// binding 4 weight   read f32 (P)
// size P u32 positions
// size F u32 width inside an expert
// const LANES u32 1 threads of one position
// dispatch (ceil(P * LANES / 64), 1, 1)
// oracle reference.moe_groups.moe_gated_backward rtol 1e-5 atol 1e-5
// check P=1 F=4
// check P=7 F=20 LANES=4
// check P=67 F=12
// check P=5 F=516 LANES=64
// uses lanes
// needs -

override P: u32;
override F: u32;

@group(0) @binding(0) var<storage, read_write> dgate_up: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> dweight: array<f32>;
@group(0) @binding(2) var<storage, read> gate_up: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> dout: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> weight: array<f32>;

@compute @workgroup_size(64)
fn moe_gated_backward(@builtin(workgroup_id) group: vec3<u32>,
                      @builtin(local_invocation_index) thread: u32) {
    let position = group.x * (64u / LANES) + thread / LANES;
    let p = min(position, P - 1u);
    let quads = F / 4u;
    var sums = vec4<f32>();
    for (var q = thread % LANES; q < quads; q += LANES) {
        let i = p * 2u * quads + q;
        let gate = gate_up[i];
        let up = gate_up[i + quads];
        let d = dout[p * quads + q];
        let sigmoid = 1.0 / (1.0 + exp(-gate));
        let silu = gate * sigmoid;
        sums = fma(d, silu * up, sums);
        if (position < P) {
            dgate_up[i] = weight[p] * d * up * (sigmoid + silu * (1.0 - sigmoid));
            dgate_up[i + quads] = weight[p] * d * silu;
        }
    }
    let total = lane_sum(thread, vec2<f32>(dot(sums, vec4<f32>(1.0)), 0.0)).x;
    if (thread % LANES == 0u && position < P) { dweight[p] = total; }
}
