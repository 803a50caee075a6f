// Gradient of the gain of the query heads or of the key heads, in a fixed order.
// binding 0 dgain read_write f32 (D) accumulate  gradient of the gain
// binding 1 dout  read f32 (B, T, (HQ + 2 * HK) * D)  gradient of the result
// binding 2 qkv   read f32 (B, T, (HQ + 2 * HK) * D)  the forward's input
// binding 3 rstd  read f32 (B, T, HQ + HK) positive   the forward's 1 / sqrt(mean(x²) + EPS)
// binding 4 table read f32 (R, RD)   RD / 2 cosines, then RD / 2 sines, of each position
// binding 5 span  read u32 (1) < R   position of t = 0
// size B u32 sequences
// size T u32 positions
// size HQ u32 query heads
// size HK u32 key heads, and value heads
// size D u32 channels of a head
// size R u32 positions of the table; those beyond take its last row
// size RD u32 channels of a head that turn; even, at most D
// size KEYS u32 1 for the gain of the keys, 0 for that of the queries
// size ACCUMULATE u32 1 adds to dgain, 0 writes it
// const COLUMNS u32 32 channels of a workgroup
// const LANES u32 1 threads of one channel
// dispatch (ceil(D / COLUMNS), 1, 1)
// oracle reference.rotary.rotary_norm_backward_gain rtol 1e-4 atol 1e-4
// check B=1 T=1 HQ=1 HK=1 D=4 R=1 RD=2 KEYS=0 ACCUMULATE=0
// check B=2 T=13 HQ=4 HK=2 D=20 R=31 RD=10 KEYS=1 ACCUMULATE=1
// check B=1 T=37 HQ=3 HK=1 D=64 R=40 RD=64 KEYS=0 ACCUMULATE=0 LANES=8
// uses rotary columns
// needs -

override B: u32;
override T: u32;
override HQ: u32;
override HK: u32;
override D: u32;
override R: u32;
override RD: u32;
override KEYS: u32;
override ACCUMULATE: u32;

@group(0) @binding(0) var<storage, read_write> dgain: array<f32>;
@group(0) @binding(1) var<storage, read> dout: array<f32>;
@group(0) @binding(2) var<storage, read> qkv: array<f32>;
@group(0) @binding(3) var<storage, read> rstd: array<f32>;
@group(0) @binding(4) var<storage, read> table: array<f32>;
@group(0) @binding(5) var<storage, read> span: array<u32>;

@compute @workgroup_size(COLUMNS * LANES)
fn rotary_norm_backward_gain(@builtin(workgroup_id) group: vec3<u32>,
                             @builtin(local_invocation_index) thread: u32) {
    let column = group.x * COLUMNS + thread % COLUMNS;
    let c = min(column, D - 1u);
    let heads = select(HQ, HK, KEYS == 1u);
    let first = select(0u, HQ, KEYS == 1u);

    // Sum of the gradient before the turn, times xhat = x r, over the heads of all positions.
    var sum = 0.0;
    for (var item = thread / COLUMNS; item < B * T * heads; item += LANES) {
        let position = item / heads;
        let head = first + item % heads;
        let start = (position * (HQ + 2u * HK) + head) * D;
        var value = dout[start + c];
        if (c < RD) {
            value = turn(table_row(position % T), c, value, dout[start + partner(c)], -1.0);
        }
        sum = fma(value, qkv[start + c] * rstd[position * (HQ + HK) + head], sum);
    }
    let total = column_total(thread, vec2<f32>(sum, 0.0)).x;
    if (thread >= COLUMNS || column >= D) { return; }
    dgain[c] = total + select(0.0, dgain[c], ACCUMULATE == 1u);
}
