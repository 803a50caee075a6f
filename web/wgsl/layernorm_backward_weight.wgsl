// Gradient of layer normalisation for its gain and shift: sums over the rows, in a fixed order.
// binding 0 dweight read_write f32 (C) accumulate     gradient of the gain
// binding 1 dbias   read_write f32 (C) accumulate     gradient of the shift
// binding 2 dout    read       f32 (R, C)           gradient of the output
// binding 3 x       read       f32 (R, C)           the forward's input
// binding 4 mean    read       f32 (R)              the forward's row means
// binding 5 rstd    read       f32 (R) positive     the forward's 1 / sqrt(variance + EPS)
// size R u32 rows
// size C u32 columns
// size ACCUMULATE u32 1 adds to dweight and dbias, 0 writes them
// const COLUMNS u32 32 columns of a workgroup
// const LANES u32 1 threads of one column
// dispatch (ceil(C / COLUMNS), 1, 1)
// oracle reference.layernorm.layernorm_backward_weight rtol 1e-4 atol 1e-4
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
@group(0) @binding(1) var<storage, read_write> dbias: array<f32>;
@group(0) @binding(2) var<storage, read> dout: array<f32>;
@group(0) @binding(3) var<storage, read> x: array<f32>;
@group(0) @binding(4) var<storage, read> mean: array<f32>;
@group(0) @binding(5) var<storage, read> rstd: array<f32>;

@compute @workgroup_size(COLUMNS * LANES)
fn layernorm_backward_weight(@builtin(workgroup_id) group: vec3<u32>,
                             @builtin(local_invocation_index) thread: u32) {
    let column = group.x * COLUMNS + thread % COLUMNS;
    let c = min(column, C - 1u);

    // x: sum of dout xhat, y: sum of dout.
    var sums = vec2<f32>();
    for (var row = thread / COLUMNS; row < R; row += LANES) {
        let xhat = (x[row * C + c] - mean[row]) * rstd[row];
        sums = fma(vec2<f32>(dout[row * C + c]), vec2<f32>(xhat, 1.0), sums);
    }
    var total = column_total(thread, sums);
    if (thread >= COLUMNS || column >= C) { return; }
    if (ACCUMULATE == 1u) { total += vec2<f32>(dweight[c], dbias[c]); }
    dweight[c] = total.x;
    dbias[c] = total.y;
}
