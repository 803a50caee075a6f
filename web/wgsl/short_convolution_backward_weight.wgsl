// Gradient of a causal depthwise convolution for its taps: sums over the rows, in a fixed order.
// binding 0 dweight read_write f32 (C, K) accumulate  gradient of the taps
// binding 1 dsum    read       f32 (B, T, C)  gradient of the convolution's sums
// binding 2 x       read       f32 (B, T, C)  the forward's input
// binding 3 starts  read u32 (1 + PACKED * (B - 1), 1 + PACKED * (T - 1)) < T sorted
// size B u32 sequences
// size T u32 positions
// size C u32 channels
// size K u32 taps
// size ACCUMULATE u32 1 adds to dweight, 0 writes it
// const PACKED u32 0 1: rows hold several documents; starts has the first position of each
// const COLUMNS u32 32 taps and channels of a workgroup
// const LANES u32 1 threads of one of them
// dispatch (ceil(C * K / COLUMNS), 1, 1)
// oracle reference.short_convolution.short_convolution_backward_weight rtol 1e-4 atol 1e-4
// check B=1 T=1 C=1 K=4 ACCUMULATE=0
// check B=2 T=37 C=29 K=4 ACCUMULATE=1
// check B=2 T=67 C=31 K=3 COLUMNS=8 LANES=16 ACCUMULATE=0
// check B=2 T=67 C=31 K=3 ACCUMULATE=1 PACKED=1
// uses columns, documents
// needs -

override B: u32;
override T: u32;
override C: u32;
override K: u32;
override ACCUMULATE: u32;

@group(0) @binding(0) var<storage, read_write> dweight: array<f32>;
@group(0) @binding(1) var<storage, read> dsum: array<f32>;
@group(0) @binding(2) var<storage, read> x: array<f32>;
@group(0) @binding(3) var<storage, read> starts: array<u32>;

@compute @workgroup_size(COLUMNS * LANES)
fn short_convolution_backward_weight(@builtin(workgroup_id) group: vec3<u32>,
                                     @builtin(local_invocation_index) thread: u32) {
    // Neighbouring threads have neighbouring channels, which lie together in a row of x.
    let column = group.x * COLUMNS + thread % COLUMNS;
    let c = column % C;
    let tap = min(column / C, K - 1u);
    let back = K - 1u - tap;

    var sum = 0.0;
    for (var row = thread / COLUMNS; row < B * T; row += LANES) {
        if (row % T >= back + begin_of(row / T, row % T)) {
            sum = fma(dsum[row * C + c], x[(row - back) * C + c], sum);
        }
    }
    let total = column_total(thread, vec2<f32>(sum, 0.0)).x;
    if (thread >= COLUMNS || column >= C * K) { return; }
    let i = c * K + tap;
    dweight[i] = total + select(0.0, dweight[i], ACCUMULATE == 1u);
}
