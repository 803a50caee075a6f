// Sum over the rows, for each column: the gradient of a bias.
// binding 0 out read_write f32 (C) accumulate  sums
// binding 1 x   read       f32 (R, C)
// size R u32 rows
// size C u32 columns
// size FACTOR f32 multiplies each sum
// size ACCUMULATE u32 1 adds to out, 0 writes it
// const COLUMNS u32 32 columns of a workgroup
// const LANES u32 1 threads of one column
// dispatch (ceil(C / COLUMNS), 1, 1)
// oracle reference.sum.column_sum rtol 1e-5 atol 2e-5
// check R=1 C=1 FACTOR=1 ACCUMULATE=0
// check R=101 C=37 FACTOR=-1 ACCUMULATE=1
// check R=16 C=64 FACTOR=0.5 ACCUMULATE=0 LANES=8
// check R=101 C=37 FACTOR=-1 ACCUMULATE=1 COLUMNS=16 LANES=16
// uses columns
// needs -

@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@group(0) @binding(1) var<storage, read> x: array<f32>;

override R: u32;
override C: u32;
override FACTOR: f32;
override ACCUMULATE: u32;

@compute @workgroup_size(COLUMNS * LANES)
fn column_sum(@builtin(workgroup_id) group: vec3<u32>,
              @builtin(local_invocation_index) thread: u32) {
    let column = group.x * COLUMNS + thread % COLUMNS;
    let c = min(column, C - 1u);
    var part = 0.0;
    for (var r = thread / COLUMNS; r < R; r += LANES) { part += x[r * C + c]; }
    let total = column_total(thread, vec2<f32>(part, 0.0)).x;
    if (thread < COLUMNS && column < C) {
        out[c] = FACTOR * total + select(0.0, out[c], ACCUMULATE == 1u);
    }
}
