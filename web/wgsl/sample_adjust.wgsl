// Logits with penalties and banned tokens, and the peak of each block: the first step of a draw.
// A token that was seen has a negative logit multiplied, another divided by the repetition penalty;
// then come the frequency penalty, times how often the token was drawn, and the presence penalty.
// binding 0 adjusted read_write f32 (V)
// binding 1 peaks    read_write f32 (ceil(V / BLOCK), 2)  largest logit of a block: given, adjusted
// binding 2 sums     read_write u32 (4 * ceil(V / BLOCK) + 3072)  zeros, for sample_sums to add to
// binding 3 logits   read       f32 (V)
// binding 4 counts   read       u32 (V) < V  bit 0: in the prompt; above it: how often drawn
// binding 5 banned   read       u32 (ceil(V / 32))  a bit for each token, lowest first
// binding 6 numbers  read       f32 (6) positive  as ops/sample.py lists them
// binding 7 words    read       u32 (9)  as ops/sample.py lists them
// size V u32 vocabulary
// const BLOCK u32 4096 logits of a workgroup
// dispatch (ceil(V / BLOCK), 1, 1)
// oracle reference.sample.sample_adjust rtol 1e-6 atol 1e-6
// check V=1
// check V=33
// check V=771 BLOCK=256
// check V=4099
// needs -

override V: u32;

const PENALTIES = 2u;
const BANNED = 4u;
// Every product stays exact up to here, so that no compiler's fused multiply-add can differ.
const MOST_COUNTED = 4095u;

@group(0) @binding(0) var<storage, read_write> adjusted: array<f32>;
@group(0) @binding(1) var<storage, read_write> peaks: array<vec2<f32>>;
@group(0) @binding(2) var<storage, read_write> sums: array<u32>;
@group(0) @binding(3) var<storage, read> logits: array<f32>;
@group(0) @binding(4) var<storage, read> counts: array<u32>;
@group(0) @binding(5) var<storage, read> banned: array<u32>;
@group(0) @binding(6) var<storage, read> numbers: array<f32>;
@group(0) @binding(7) var<storage, read> words: array<u32>;

var<workgroup> tops: array<vec2<f32>, 64>;

// Few threads with much to do each, and one barrier: both are dear on CPU adapters.
@compute @workgroup_size(64)
fn sample_adjust(@builtin(workgroup_id) group: vec3<u32>,
                 @builtin(local_invocation_index) thread: u32) {
    let blocks = (V + BLOCK - 1u) / BLOCK;
    for (var i = group.x * 64u + thread; i < 4u * blocks + 3072u; i += 64u * blocks) {
        sums[i] = 0u;
    }
    let flags = words[0];
    var top = vec2<f32>(-3e38);
    let end = min(group.x * BLOCK + BLOCK, V);
    for (var i = group.x * BLOCK + thread; i < end; i += 64u) {
        let x = logits[i];
        var y = x;
        if ((flags & PENALTIES) != 0u) { y = penalise(x, counts[i]); }
        if ((flags & BANNED) != 0u && ((banned[i / 32u] >> (i & 31u)) & 1u) == 1u) { y = -1e30; }
        adjusted[i] = y;
        top = max(top, vec2<f32>(x, y));
    }
    tops[thread] = top;
    workgroupBarrier();
    if (thread == 0u) {
        for (var i = 1u; i < 64u; i++) { top = max(top, tops[i]); }
        peaks[group.x] = top;
    }
}

fn penalise(x: f32, seen: u32) -> f32 {
    if (seen == 0u) { return x; }
    let drawn = f32(min(seen >> 1u, MOST_COUNTED));
    var y = select(x * numbers[2], x * numbers[1], x < 0.0);
    y = (y - drawn * numbers[3]) - drawn * numbers[4];
    return y - select(0.0, numbers[5], drawn > 0.0);
}
