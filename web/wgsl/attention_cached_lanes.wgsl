// Causal attention of new positions against a cache as in attention_cached, for SwiftShader and
// heads that attention_cached_unrolled does not take: the lanes of a workgroup share the channels
// of a head, and four queries share what is loaded, as four heads do in attention_decode_lanes.
// binding 0 out   read_write f32 (T, HQ * D)        weighted values, heads side by side
// binding 1 cache read f32 (R, 2 * HK * D)          keys, then values, of each position
// binding 2 qkv   read f32 (T, (HQ + 2 * HK) * D)   query heads; its keys and values are not read
// binding 3 span  read u32 (2) < 99                 position of row 0, rows that count
// size T u32 rows
// size R u32 positions that the cache holds
// size HQ u32 query heads
// size HK u32 key and value heads; divides HQ
// size SCALE f32 of the scores
// size WINDOW u32 positions that one sees, itself with them; 0 all that the cache holds
// const D u32 32 channels of a head; a multiple of LANES * SHARE
// const HEADS u32 4 queries of a workgroup, no other number
// const LANES u32 4 threads of a workgroup
// const SHARE u32 8 channels of a lane at a time: 4, 8, 12 or 16
// const P u32 64 positions between two barriers
// dispatch (ceil(T / 4), HQ, 1)
// oracle reference.attention_cached.attention_cached rtol 1e-4 atol 1e-5
// check T=1 R=1 HQ=1 HK=1 SCALE=0.1767767 WINDOW=0
// check T=37 R=128 HQ=4 HK=2 SCALE=0.1767767 WINDOW=0
// check T=67 R=140 HQ=2 HK=2 SCALE=0.125 WINDOW=70 D=64 SHARE=16
// check T=14 R=21 HQ=3 HK=1 SCALE=0.25 WINDOW=5 D=16 SHARE=4
// check T=9 R=30 HQ=2 HK=1 SCALE=0.0625 WINDOW=0 D=256 SHARE=16
// uses attention_lane_steps, attention_lanes, attention_mask
// needs -
//
// Measured on two shared CPU cores, T=256 at position 0, beside attention_cached: Chromium on
// SwiftShader, HQ=16 HK=8 D=128: 124 ms against 613; HQ=4 HK=1 D=256: 96 against 320. Native
// lavapipe: 270 against 167; 162 against 81. With HQ=9 HK=3 D=64 on SwiftShader,
// attention_cached_unrolled takes two thirds of its time.

override T: u32;
override R: u32;
override HQ: u32;
override HK: u32;
override SCALE: f32;
override WINDOW: u32;

@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@group(0) @binding(1) var<storage, read> cache: array<f32>;
@group(0) @binding(2) var<storage, read> qkv: array<f32>;
@group(0) @binding(3) var<storage, read> span: array<u32>;

@compute @workgroup_size(LANES)
fn attention_cached_lanes(@builtin(workgroup_id) group: vec3<u32>,
                          @builtin(local_invocation_index) lane: u32) {
    let first = group.x * 4u;
    let h = group.y;
    let head = h / (HQ / HK);
    let rows = min(span[1], T);
    // A block may reach past the rows that count; its extra rows repeat the last one.
    let block = vec4<u32>(first) + vec4<u32>(0u, 1u, 2u, 3u);
    let at = min(block, vec4<u32>(max(rows, 1u) - 1u));
    let queries = (at * (HQ + 2u * HK) + h) * D;
    let end = span[0] + rows;
    let now = span[0] + at;
    let begin = min(max(oldest(now.x), end - min(end, R)), now.x);
    let stop = select(now.w + 1u, begin, first >= rows);

    for (var c = lane; c < D; c += BLOCK) { store_totals(c, Parts()); }
    var peak = vec4<f32>(-1e30);
    var weight = vec4<f32>();
    for (var s = begin; s < stop; s += P) {
        let row = s % R;
        let count = min(P, stop - s);
        multiply_keys(queries, head, row, count, lane);
        workgroupBarrier();
        let top = add_partials(peak, now, s, count, lane);
        let shrink = exp(peak - top);
        peak = top;
        weight = fma(weight, shrink, exponentiate(top, count, lane));
        workgroupBarrier();
        add_values(shrink, head, row, count, lane);
    }

    let total = sum_of_lanes(weight, lane);
    for (var r = 0u; r < min(4u, T - first); r++) {
        for (var c = lane; c < D; c += LANES) {
            let mean = totals[r * D + c] / total[r];
            out[((first + r) * HQ + h) * D + c] = select(0.0, mean, first + r < rows);
        }
    }
}
