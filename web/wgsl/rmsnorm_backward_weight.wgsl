// Gradient of RMS normalisation for its gain: sums over the rows, in a fixed order.
// binding 0 dweight read_write f32 (C) accumulate     gradient of the gain
// binding 1 dout    read       f32 (R, C)           gradient of the output
// binding 2 x       read       f32 (R, C)           the forward's input
// binding 3 rstd    read       f32 (R) positive     the forward's 1 / sqrt(mean(x²) + EPS)
// size R u32 rows
// size C u32 columns
// size ACCUMULATE u32 1 adds to dweight, 0 writes it
// const COLUMNS u32 32 columns of a workgroup
// const LANES u32 1 threads of one column
// dispatch (ceil(C / COLUMNS), 1, 1)
// oracle reference.rmsnorm.rmsnorm_backward_weight rtol 1e-4 atol 1e-4
// check R=1 C=1 ACCUMULATE=0
// check R=7 C=129 ACCUMULATE=1
// check R=301 C=31 COLUMNS=8 LANES=16 ACCUMULATE=0
// check R=128 C=64 LANES=8 ACCUMULATE=1
// uses columns
// needs -

override R: u32;
override C: u32;
override ACCUMULATE: u32;

@group(0) @binding(0) var<storage, read_write> dweight: array<f32>;
@group(0) @binding(1) var<storage, read> dout: array<f32>;
@group(0) @binding(2) var<storage, read> x: array<f32>;
@group(0) @binding(3) var<storage, read> rstd: array<f32>;

@compute @workgroup_size(COLUMNS * LANES)
fn rmsnorm_backward_weight(@builtin(workgroup_id) group: vec3<u32>,
                           @builtin(local_invocation_index) thread: u32) {
    let column = group.x * COLUMNS + thread % COLUMNS;
    let c = min(column, C - 1u);

    var sum = 0.0;
    for (var row = thread / COLUMNS; row < R; row += LANES) {
        sum = fma(dout[row * C + c], x[row * C + c] * rstd[row], sum);
    }
    let total = column_total(thread, vec2<f32>(sum, 0.0)).x;
    if (thread >= COLUMNS || column >= C) { return; }
    dweight[c] = total + select(0.0, dweight[c], ACCUMULATE == 1u);
}
