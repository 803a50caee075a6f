// RMS normalisation of each query and key head, then its turn by its position; values stay.
// binding 0 out        read_write f32 (B, T, (HQ + 2 * HK) * D)  normalised and turned heads
// binding 1 rstd       read_write f32 (B, T, HQ + HK)  1 / sqrt(mean(x²) + EPS), for the backward
// binding 2 qkv        read f32 (B, T, (HQ + 2 * HK) * D)  query, key and value heads
// binding 3 table      read f32 (R, RD)   RD / 2 cosines, then RD / 2 sines, of each position
// binding 4 span       read u32 (1) < R   position of t = 0
// binding 5 query_norm read f32 (D)       gain of query heads, less OFFSET
// binding 6 key_norm   read f32 (D)       gain of key heads, less OFFSET
// size B u32 sequences
// size T u32 positions
// size HQ u32 query heads
// size HK u32 key heads, and value heads
// size D u32 channels of a head
// size R u32 positions of the table; those beyond take its last row
// size RD u32 channels of a head that turn; even, at most D
// size EPS f32 added to the mean of the squares
// size OFFSET f32 added to the gains
// const LANES u32 1 threads of one head
// dispatch (ceil(T * (HQ + 2 * HK) * LANES / 64), B, 1)
// oracle reference.rotary.rotary_norm_forward rtol 1e-5 atol 1e-5
// check B=1 T=1 HQ=1 HK=1 D=4 R=1 RD=2 EPS=1e-6 OFFSET=0
// check B=2 T=13 HQ=4 HK=2 D=20 R=31 RD=10 EPS=1e-6 OFFSET=1
// check B=1 T=7 HQ=3 HK=1 D=64 R=9 RD=64 EPS=1e-3 OFFSET=0 LANES=16
// uses rotary lanes
// needs -

override B: u32;
override T: u32;
override HQ: u32;
override HK: u32;
override D: u32;
override R: u32;
override RD: u32;
override EPS: f32;
override OFFSET: f32;

@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@group(0) @binding(1) var<storage, read_write> rstd: array<f32>;
@group(0) @binding(2) var<storage, read> qkv: array<f32>;
@group(0) @binding(3) var<storage, read> table: array<f32>;
@group(0) @binding(4) var<storage, read> span: array<u32>;
@group(0) @binding(5) var<storage, read> query_norm: array<f32>;
@group(0) @binding(6) var<storage, read> key_norm: array<f32>;

@compute @workgroup_size(64)
fn rotary_norm_forward(@builtin(workgroup_id) group: vec3<u32>,
                       @builtin(local_invocation_index) thread: u32) {
    let heads = HQ + 2u * HK;
    let item = group.x * (64u / LANES) + thread / LANES;  // head item % heads of position t
    let lane = thread % LANES;
    let source = min(item, T * heads - 1u);
    let head = source % heads;
    let start = (group.y * T * heads + source) * D;

    var squares = 0.0;
    for (var c = lane; c < D; c += LANES) {
        squares = fma(qkv[start + c], qkv[start + c], squares);
    }
    let r = inverseSqrt(lane_sum(thread, vec2<f32>(squares, 0.0)).x / f32(D) + EPS);

    if (item >= T * heads || group.y >= B) { return; }
    if (head >= HQ + HK) {
        for (var c = lane; c < D; c += LANES) { out[start + c] = qkv[start + c]; }
        return;
    }
    let row = table_row(item / heads);
    for (var c = lane; c < D; c += LANES) {
        var value = normalised(start, head, c, r);
        if (c < RD) {
            value = turn(row, c, value, normalised(start, head, partner(c), r), 1.0);
        }
        out[start + c] = value;
    }
    if (lane == 0u) { rstd[(group.y * T + item / heads) * (HQ + HK) + head] = r; }
}

fn normalised(start: u32, head: u32, c: u32, r: f32) -> f32 {
    return qkv[start + c] * r * (OFFSET + select(key_norm[c], query_norm[c], head < HQ));
}
