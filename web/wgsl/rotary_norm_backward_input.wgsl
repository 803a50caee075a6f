// Gradient of normalised and turned heads for what they were before; value heads pass it on.
// binding 0 dqkv       read_write f32 (B, T, (HQ + 2 * HK) * D) accumulate  gradient of qkv
// binding 1 dout       read f32 (B, T, (HQ + 2 * HK) * D)  gradient of the result
// binding 2 qkv        read f32 (B, T, (HQ + 2 * HK) * D)  the forward's input
// binding 3 rstd       read f32 (B, T, HQ + HK) positive   the forward's 1 / sqrt(mean(x²) + EPS)
// binding 4 table      read f32 (R, RD)   RD / 2 cosines, then RD / 2 sines, of each position
// binding 5 span       read u32 (1) < R   position of t = 0
// binding 6 query_norm read f32 (D)       gain of query heads, less OFFSET
// binding 7 key_norm   read f32 (D)       gain of key heads, less OFFSET
// size B u32 sequences
// size T u32 positions
// size HQ u32 query heads
// size HK u32 key heads, and value heads
// size D u32 channels of a head
// size R u32 positions of the table; those beyond take its last row
// size RD u32 channels of a head that turn; even, at most D
// size OFFSET f32 added to the gains
// size ACCUMULATE u32 1 adds to dqkv, 0 writes it
// const LANES u32 1 threads of one head
// dispatch (ceil(T * (HQ + 2 * HK) * LANES / 64), B, 1)
// oracle reference.rotary.rotary_norm_backward_input rtol 1e-4 atol 1e-4
// check B=1 T=1 HQ=1 HK=1 D=4 R=1 RD=2 OFFSET=0 ACCUMULATE=0
// check B=2 T=13 HQ=4 HK=2 D=20 R=31 RD=10 OFFSET=1 ACCUMULATE=1
// check B=1 T=7 HQ=3 HK=1 D=64 R=9 RD=64 OFFSET=0 ACCUMULATE=0 LANES=16
// uses rotary lanes
// needs -

override B: u32;
override T: u32;
override HQ: u32;
override HK: u32;
override D: u32;
override R: u32;
override RD: u32;
override OFFSET: f32;
override ACCUMULATE: u32;

@group(0) @binding(0) var<storage, read_write> dqkv: array<f32>;
@group(0) @binding(1) var<storage, read> dout: array<f32>;
@group(0) @binding(2) var<storage, read> qkv: array<f32>;
@group(0) @binding(3) var<storage, read> rstd: array<f32>;
@group(0) @binding(4) var<storage, read> table: array<f32>;
@group(0) @binding(5) var<storage, read> span: array<u32>;
@group(0) @binding(6) var<storage, read> query_norm: array<f32>;
@group(0) @binding(7) var<storage, read> key_norm: array<f32>;

@compute @workgroup_size(64)
fn rotary_norm_backward_input(@builtin(workgroup_id) group: vec3<u32>,
                              @builtin(local_invocation_index) thread: u32) {
    let heads = HQ + 2u * HK;
    let item = group.x * (64u / LANES) + thread / LANES;  // head item % heads of position t
    let lane = thread % LANES;
    let source = min(item, T * heads - 1u);
    let head = source % heads;
    let start = (group.y * T * heads + source) * D;
    let row = table_row(source / heads);
    let is_value = head >= HQ + HK;
    let r = rstd[(group.y * T + source / heads) * (HQ + HK) + min(head, HQ + HK - 1u)];

    // Sum of g xhat, where g is the gradient of xhat = x r.
    var sum = 0.0;
    for (var c = lane; c < D; c += LANES) {
        sum = fma(gained(start, row, head, c), qkv[start + c] * r, sum);
    }
    let along = lane_sum(thread, vec2<f32>(sum, 0.0)).x / f32(D);

    if (item >= T * heads || group.y >= B) { return; }
    for (var c = lane; c < D; c += LANES) {
        var gradient = dout[start + c];
        if (!is_value) {
            gradient = r * (gained(start, row, head, c) - qkv[start + c] * r * along);
        }
        if (ACCUMULATE == 1u) {
            dqkv[start + c] += gradient;
        } else {
            dqkv[start + c] = gradient;
        }
    }
}

fn gained(start: u32, row: u32, head: u32, c: u32) -> f32 {
    var value = dout[start + c];
    if (c < RD) { value = turn(row, c, value, dout[start + partner(c)], -1.0); }
    return value * (OFFSET + select(key_norm[c], query_norm[c], head < HQ));
}
