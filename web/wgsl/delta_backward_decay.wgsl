// Gradient of a delta rule's decays. A decay is part of the sums G of its own row and of all later
// rows of its document in the chunk, and it scales what is in the state by then: what earlier rows
// of the chunk wrote, and exp(G of the end) S . dS' of the state before; rows of other documents
// than the last wrote nothing into it. LANES invocations share a chunk.
// binding 0 ddecay read_write f32 (B, T, HV) accumulate  gradient of the decays
// binding 1 dsums  read f32 (B, HV, ceil(T / 4) * 4, 2)  of the summed decay; into the state
// binding 2 state  read f32 (1 + ceil(T / CHUNK), B, HV, DK, DV)
// binding 3 dstate read f32 (1 + ceil(T / CHUNK), B, HV, DK, DV)
// binding 4 rates  read f32 (B, HV, ceil(T / 4) * 4, 4) within 0 1  as delta_products has them
// binding 5 starts read u32 (1 + PACKED * (B - 1), 1 + PACKED * (T - 1)) < T sorted
// size B u32 sequences
// size T u32 positions
// size HV u32 value heads
// size DK u32 channels of a query or key head
// size DV u32 channels of a value head
// size ACCUMULATE u32 1 adds to ddecay, 0 writes it
// const CHUNK u32 32 rows of a chunk; a multiple of 4
// const LANES u32 1 invocations of one chunk
// const PACKED u32 0 1: rows hold several documents; starts has the first position of each
// dispatch (ceil(B * HV * ceil(T / CHUNK) * LANES / 64), 1, 1)
// oracle reference.delta_backward.delta_backward_decay rtol 1e-4 atol 1e-4
// check B=1 T=1 HV=1 DK=4 DV=4 ACCUMULATE=0
// check B=2 T=37 HV=3 DK=20 DV=8 ACCUMULATE=1
// check B=1 T=70 HV=2 DK=16 DV=36 ACCUMULATE=0 CHUNK=16 LANES=64
// check B=2 T=70 HV=2 DK=16 DV=8 ACCUMULATE=1 CHUNK=16 LANES=1 PACKED=1
// uses lanes, documents
// needs -

override B: u32;
override T: u32;
override HV: u32;
override DK: u32;
override DV: u32;
override ACCUMULATE: u32;

@group(0) @binding(0) var<storage, read_write> ddecay: array<f32>;
@group(0) @binding(1) var<storage, read> dsums: array<vec2<f32>>;
@group(0) @binding(2) var<storage, read> state: array<f32>;
@group(0) @binding(3) var<storage, read> dstate: array<f32>;
@group(0) @binding(4) var<storage, read> rates: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read> starts: array<u32>;

@compute @workgroup_size(64)
fn delta_backward_decay(@builtin(workgroup_id) group: vec3<u32>,
                        @builtin(local_invocation_index) thread: u32) {
    let chunks = (T + CHUNK - 1u) / CHUNK;
    let index = group.x * (64u / LANES) + thread / LANES;
    let lane = thread % LANES;
    let place = min(index, B * HV * chunks - 1u);
    let slot = place % chunks;
    let h = (place / chunks) % HV;
    let b = place / (chunks * HV);

    var part = 0.0;
    let before = ((slot * B + b) * HV + h) * DK * DV;
    let after = before + B * HV * DK * DV;
    for (var i = lane; i < DK * DV; i += LANES) {
        part = fma(state[before + i], dstate[after + i], part);
    }
    let product = lane_sum(thread, vec2<f32>(part, 0.0)).x;
    if (index >= B * HV * chunks || lane > 0u) { return; }

    let lines = (T + 3u) / 4u * 4u;
    let rows = (b * HV + h) * lines;
    let start = slot * CHUNK;
    var scaled = product * rates[rows + min(start + CHUNK, lines) - 1u].x;
    for (var t = start; t < min(start + CHUNK, T); t++) {
        let i = (b * T + t) * HV + h;
        ddecay[i] = scaled + select(0.0, ddecay[i], ACCUMULATE == 1u);
        scaled += dsums[rows + t].y;
    }
    var later = 0.0;
    for (var t = min(start + CHUNK, T); t > start; t--) {
        later += dsums[rows + t - 1u].x;
        ddecay[(b * T + t - 1u) * HV + h] += later;
        if (begins_at(b, t - 1u)) { later = 0.0; }
    }
}
