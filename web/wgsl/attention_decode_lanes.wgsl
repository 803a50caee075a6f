// Attention of one new position as in attention_decode, for SwiftShader: each load costs it as much
// as ten products, so the lanes of a workgroup share the channels of a head, and up to four query
// heads of one key head share what is loaded. Every key gives each lane a part of its score; P keys
// later the parts are added up. The new position is not read from the cache, since another
// workgroup may append it: the softmax begins with it.
// binding 0 out   read_write f32 (HQ * D)                weighted values, heads side by side
// binding 1 cache read_write f32 (R, 2 * HK * D) updated  keys, then values, of each position
// binding 2 qkv   read f32 ((HQ + 2 * HK) * D)           query, key and value heads
// binding 3 span  read u32 (1) < 199                     the new position
// size R u32 positions that the cache, a ring, holds
// size HQ u32 query heads
// size HK u32 key and value heads; divides HQ
// size SCALE f32 of the scores
// size WINDOW u32 positions that one sees, itself with them; 0 all that the cache holds
// const D u32 32 channels of a head; a multiple of LANES * SHARE
// const HEADS u32 1 query heads of a workgroup: 1 to 4
// const LANES u32 4 threads of a workgroup
// const SHARE u32 8 channels of a lane at a time: 4, 8, 12 or 16
// const P u32 64 positions between two barriers
// dispatch (HK * ceil(HQ // HK / HEADS), 1, 1)
// oracle reference.attention_cached.attention_decode rtol 1e-4 atol 1e-5
// check R=1 HQ=1 HK=1 SCALE=0.1767767 WINDOW=0
// check R=67 HQ=4 HK=2 SCALE=0.1767767 WINDOW=0 HEADS=2
// check R=131 HQ=3 HK=3 SCALE=0.125 WINDOW=100 D=64 LANES=8
// check R=300 HQ=6 HK=1 SCALE=0.25 WINDOW=0 D=16 HEADS=4 SHARE=4
// check R=30 HQ=3 HK=1 SCALE=0.0625 WINDOW=30 D=256 HEADS=3 SHARE=16
// check R=90 HQ=2 HK=1 SCALE=0.1 WINDOW=0 D=96 HEADS=2 SHARE=12
// uses attention_lane_steps, attention_lanes, attention_mask
// needs -
//
// Measured on two shared CPU cores, R=2048 HQ=9 HK=3 D=64, beside attention_decode with SPLITS=8:
// Chromium on SwiftShader, position 127: 0.23 ms against 0.62; position 2047: 2.8 against 8.6.
// Native lavapipe, position 127: 0.46 against 0.29; position 2047: 4.1 against 2.0.

override R: u32;
override HQ: u32;
override HK: u32;
override SCALE: f32;
override WINDOW: u32;

@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@group(0) @binding(1) var<storage, read_write> cache: array<f32>;
@group(0) @binding(2) var<storage, read> qkv: array<f32>;
@group(0) @binding(3) var<storage, read> span: array<u32>;

@compute @workgroup_size(LANES)
fn attention_decode_lanes(@builtin(workgroup_id) group: vec3<u32>,
                          @builtin(local_invocation_index) lane: u32) {
    let heads = HQ / HK;
    let groups = (heads + HEADS - 1u) / HEADS;
    let head = group.x / groups;
    // Heads past the last of the group repeat it.
    let first = head * heads + group.x % groups * HEADS;
    let h = min(vec4<u32>(first) + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>((head + 1u) * heads - 1u));
    let now = span[0];
    if (group.x % groups == 0u) { append(head, now, lane); }

    var peak = begin_with_new(h, head, lane);
    var weight = select(vec4<f32>(), vec4<f32>(1.0), lane == 0u);
    let begin = max(oldest(now), now + 1u - min(now + 1u, R));
    for (var s = begin; s < now; s += P) {
        let row = s % R;
        let count = min(P, now - s);
        multiply_keys(h * D, head, row, count, lane);
        workgroupBarrier();
        let top = add_partials(peak, vec4<u32>(now), s, count, lane);
        let shrink = exp(peak - top);
        peak = top;
        weight = fma(weight, shrink, exponentiate(top, count, lane));
        workgroupBarrier();
        add_values(shrink, head, row, count, lane);
    }

    weight = sum_of_lanes(weight, lane);
    for (var c = lane; c < D; c += LANES) {
        out[h.x * D + c] = totals[c] / weight.x;
        if (HEADS > 1u) { out[h.y * D + c] = totals[D + c] / weight.y; }
        if (HEADS > 2u) { out[h.z * D + c] = totals[2u * D + c] / weight.z; }
        if (HEADS > 3u) { out[h.w * D + c] = totals[3u * D + c] / weight.w; }
    }
}

fn append(head: u32, now: u32, lane: u32) {
    let row = now % R * 2u * HK * D;
    for (var c = lane; c < D; c += LANES) {
        cache[row + head * D + c] = qkv[(HQ + head) * D + c];
        cache[row + (HK + head) * D + c] = qkv[(HQ + HK + head) * D + c];
    }
}

// The new position alone: its values are the totals, its scores are the result.
fn begin_with_new(h: vec4<u32>, head: u32, lane: u32) -> vec4<f32> {
    var sum = vec4<f32>();
    for (var c = lane; c < D; c += BLOCK) {
        let v = load_new((HQ + HK + head) * D + c);
        sum += dot_parts(load_queries(h * D + c), load_new((HQ + head) * D + c));
        store_totals(c, Parts(v, v, v, v));
    }
    return sum_of_lanes(sum, lane);
}
