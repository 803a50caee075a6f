// Attention of one new position: appends its keys and values to the cache, then attends to all.
// A workgroup owns one key and value head, so that nobody else reads what it appends. Its threads
// take every SPLITS-th position with a softmax of their own; at the end the parts are joined.
// binding 0 out      read_write f32 (HQ * D)             weighted values, heads side by side
// binding 1 cache    read_write f32 (R, 2 * HK * D) updated  keys, then values, of each position
// binding 2 qkv      read f32 ((HQ + 2 * HK) * D)        query, key and value heads
// binding 3 span     read u32 (1) < 199                  the new position
// size R u32 positions that the cache, a ring, holds
// size HQ u32 query heads
// size HK u32 key and value heads; divides HQ
// size SCALE f32 of the scores
// size WINDOW u32 positions that one sees, itself with them; 0 all that the cache holds
// const D u32 32 channels of a head; a multiple of 4
// const SPLITS u32 8 threads of one head; SPLITS * D is at most 3840
// dispatch (HK, 1, 1)
// oracle reference.attention_cached.attention_decode rtol 1e-4 atol 1e-5
// check R=1 HQ=1 HK=1 SCALE=0.5 WINDOW=0 D=4
// check R=67 HQ=4 HK=2 SCALE=0.1767767 WINDOW=0 D=32
// check R=131 HQ=3 HK=3 SCALE=0.125 WINDOW=100 D=64 SPLITS=16
// check R=300 HQ=6 HK=1 SCALE=0.2236 WINDOW=0 D=20 SPLITS=64
// check R=30 HQ=2 HK=1 SCALE=0.0625 WINDOW=30 D=256
// uses attention_mask
// needs -
//
// Measured, R=256 HQ=HK=4 D=32, SPLITS 8 and 32: Chromium on SwiftShader 0.26 and 0.50 ms; native
// lavapipe 0.06 and 0.16 ms (at a random position).
// R=2048 HQ=9 HK=3 D=64, SPLITS 8, at position 127 and 2047: SwiftShader 0.62 and 8.6 ms (there
// attention_decode_lanes is used), lavapipe 0.29 and 2.0 ms.

override R: u32;
override HQ: u32;
override HK: u32;
override SCALE: f32;
override WINDOW: u32;

const D4 = D / 4u;
const PARTS = SPLITS * D4;

@group(0) @binding(0) var<storage, read_write> out: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> cache: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> qkv: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> span: array<u32>;

var<workgroup> peaks: array<f32, SPLITS>;
var<workgroup> weights: array<f32, SPLITS>;
var<workgroup> totals: array<vec4<f32>, PARTS>;

@compute @workgroup_size(SPLITS)
fn attention_decode(@builtin(workgroup_id) group: vec3<u32>,
                    @builtin(local_invocation_index) thread: u32) {
    let head = group.x;
    let now = span[0];
    let row = now % R * 2u * HK * D4;
    for (var c = thread; c < D4; c += SPLITS) {
        cache[row + head * D4 + c] = qkv[(HQ + head) * D4 + c];
        cache[row + (HK + head) * D4 + c] = qkv[(HQ + HK + head) * D4 + c];
    }
    storageBarrier();

    let heads = HQ / HK;
    for (var h = head * heads; h < (head + 1u) * heads; h++) {
        attend(h, head * D4, now, thread);
        workgroupBarrier();
        join(h, thread);
        workgroupBarrier();
    }
}

// This thread's share of the positions: an online softmax over them.
fn attend(h: u32, first: u32, now: u32, thread: u32) {
    var q = array<vec4<f32>, D4>();
    var total = array<vec4<f32>, D4>();
    for (var c = 0u; c < D4; c++) { q[c] = qkv[h * D4 + c] * SCALE; }
    var peak = -1e30;
    var weight = 0.0;
    let begin = max(oldest(now), now + 1u - min(now + 1u, R));
    for (var s = begin + thread; s <= now; s += SPLITS) {
        let key = s % R * 2u * HK * D4 + first;
        let value = key + HK * D4;
        var products = vec4<f32>();
        for (var c = 0u; c < D4; c++) { products = fma(q[c], cache[key + c], products); }
        let score = dot(products, vec4<f32>(1.0));
        let top = max(peak, score);
        let shrink = exp(peak - top);
        let p = exp(score - top);
        peak = top;
        weight = weight * shrink + p;
        for (var c = 0u; c < D4; c++) {
            total[c] = fma(cache[value + c], vec4<f32>(p), total[c] * shrink);
        }
    }
    peaks[thread] = peak;
    weights[thread] = weight;
    for (var c = 0u; c < D4; c++) { totals[thread * D4 + c] = total[c]; }
}

// Adds up the threads' parts, each shrunk from its own peak to the common one.
fn join(h: u32, thread: u32) {
    var top = peaks[0];
    for (var i = 1u; i < SPLITS; i++) { top = max(top, peaks[i]); }
    for (var c = thread; c < D4; c += SPLITS) {
        var total = vec4<f32>();
        var weight = 0.0;
        for (var i = 0u; i < SPLITS; i++) {
            let shrink = exp(peaks[i] - top);
            total = fma(totals[i * D4 + c], vec4<f32>(shrink), total);
            weight = fma(weights[i], shrink, weight);
        }
        out[h * D4 + c] = total / weight;
    }
}
