// Activations of the experts: out = weight silu(gate) * up, where a row holds the gates, then the
// ups. Sizes are multiples of four.
// binding 0 out     read_write f32 (P, F)  weighted activations
// binding 1 gate_up read f32 (P, 2 * F)
// binding 2 weight  read f32 (P)           the weight of each position
// size P u32 positions
// size F u32 width inside an expert
// dispatch (ceil(F / 256), P, 1)
// oracle reference.moe_groups.moe_gated_forward rtol 1e-5 atol 1e-6
// check P=1 F=4
// check P=7 F=20
// check P=5 F=516
// needs -

override P: u32;
override F: u32;

@group(0) @binding(0) var<storage, read_write> out: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> gate_up: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> weight: array<f32>;

@compute @workgroup_size(64)
fn moe_gated_forward(@builtin(global_invocation_id) place: vec3<u32>) {
    let quads = F / 4u;
    if (place.x >= quads) { return; }
    let i = place.y * 2u * quads + place.x;
    let gate = gate_up[i];
    let silu = gate / (1.0 + exp(-gate));
    out[place.y * quads + place.x] = weight[place.y] * silu * gate_up[i + quads];
}
