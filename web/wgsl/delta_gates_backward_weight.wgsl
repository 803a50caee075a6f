// Gradient of the decay of a delta rule for A_log and dt_bias: sums over rows, in a fixed order.
// binding 0 dA_log   read_write f32 (H) accumulate  sum of ddecay decay
// binding 1 ddt_bias read_write f32 (H) accumulate  sum of the gradient of a
// binding 2 ddecay   read       f32 (R, H)  gradient of the decay
// binding 3 a        read       f32 (R, H)
// binding 4 A_log    read       f32 (H)
// binding 5 dt_bias  read       f32 (H)
// size R u32 rows
// size H u32 heads
// size ACCUMULATE u32 1 adds to dA_log and ddt_bias, 0 writes them
// const COLUMNS u32 32 heads of a workgroup
// const LANES u32 1 threads of one head
// dispatch (ceil(H / COLUMNS), 1, 1)
// oracle reference.delta_gates.delta_gates_backward_weight rtol 1e-4 atol 1e-4
// check R=1 H=1 ACCUMULATE=0
// check R=37 H=5 ACCUMULATE=1
// check R=129 H=11 COLUMNS=8 LANES=16 ACCUMULATE=0
// uses silu, softplus, columns
// needs -

override R: u32;
override H: u32;
override ACCUMULATE: u32;

@group(0) @binding(0) var<storage, read_write> dA_log: array<f32>;
@group(0) @binding(1) var<storage, read_write> ddt_bias: array<f32>;
@group(0) @binding(2) var<storage, read> ddecay: array<f32>;
@group(0) @binding(3) var<storage, read> a: array<f32>;
@group(0) @binding(4) var<storage, read> A_log: array<f32>;
@group(0) @binding(5) var<storage, read> dt_bias: array<f32>;

@compute @workgroup_size(COLUMNS * LANES)
fn delta_gates_backward_weight(@builtin(workgroup_id) group: vec3<u32>,
                               @builtin(local_invocation_index) thread: u32) {
    let column = group.x * COLUMNS + thread % COLUMNS;
    let h = min(column, H - 1u);

    // x: sum of ddecay softplus, y: sum of ddecay sigmoid.
    var sums = vec2<f32>();
    for (var row = thread / COLUMNS; row < R; row += LANES) {
        let shifted = a[row * H + h] + dt_bias[h];
        let slopes = vec2<f32>(softplus(shifted), sigmoid(shifted));
        sums = fma(vec2<f32>(ddecay[row * H + h]), slopes, sums);
    }
    var total = -exp(A_log[h]) * column_total(thread, sums);
    if (thread >= COLUMNS || column >= H) { return; }
    if (ACCUMULATE == 1u) { total += vec2<f32>(dA_log[h], ddt_bias[h]); }
    dA_log[h] = total.x;
    ddt_bias[h] = total.y;
}
