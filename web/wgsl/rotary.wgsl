// Turns the first RD channels of each query and key head by its position; values stay.
// Turned back (DIRECTION -1), it is its own backward.
// binding 0 out   read_write f32 (B, T, (HQ + 2 * HK) * D) accumulate  turned heads
// binding 1 qkv   read f32 (B, T, (HQ + 2 * HK) * D)  query, key and value heads
// binding 2 table read f32 (R, RD)   RD / 2 cosines, then RD / 2 sines, of each position
// binding 3 span  read u32 (1) < R   position of t = 0
// size B u32 sequences
// size T u32 positions
// size HQ u32 query heads
// size HK u32 key heads, and value heads
// size D u32 channels of a head
// size R u32 positions of the table; those beyond take its last row
// size RD u32 channels of a head that turn; even, at most D
// size DIRECTION f32 1, or -1 to turn back
// size ACCUMULATE u32 1 adds to out, 0 writes it
// const LANES u32 1 threads of one head
// dispatch (ceil(T * (HQ + 2 * HK) * LANES / 64), B, 1)
// oracle reference.rotary.rotary rtol 1e-5 atol 1e-5
// check B=1 T=1 HQ=1 HK=1 D=4 R=1 RD=2 DIRECTION=1 ACCUMULATE=0
// check B=2 T=13 HQ=4 HK=2 D=20 R=31 RD=10 DIRECTION=-1 ACCUMULATE=1
// check B=1 T=7 HQ=3 HK=1 D=64 R=9 RD=64 DIRECTION=1 ACCUMULATE=0 LANES=16
// uses rotary
// needs -

override B: u32;
override T: u32;
override HQ: u32;
override HK: u32;
override D: u32;
override R: u32;
override RD: u32;
override DIRECTION: f32;
override ACCUMULATE: u32;

@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@group(0) @binding(1) var<storage, read> qkv: array<f32>;
@group(0) @binding(2) var<storage, read> table: array<f32>;
@group(0) @binding(3) var<storage, read> span: array<u32>;

@compute @workgroup_size(64)
fn rotary(@builtin(workgroup_id) group: vec3<u32>,
          @builtin(local_invocation_index) thread: u32) {
    let heads = HQ + 2u * HK;
    let item = group.x * (64u / LANES) + thread / LANES;  // head item % heads of position t
    if (item >= T * heads || group.y >= B) { return; }
    let row = table_row(item / heads);
    let start = (group.y * T * heads + item) * D;
    let turning = select(0u, RD, item % heads < HQ + HK);
    for (var c = thread % LANES; c < D; c += LANES) {
        var value = qkv[start + c];
        if (c < turning) { value = turn(row, c, value, qkv[start + partner(c)], DIRECTION); }
        out[start + c] = value + select(0.0, out[start + c], ACCUMULATE == 1u);
    }
}
