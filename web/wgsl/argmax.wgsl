// The column of the largest number of each row; of equal ones the first.
// binding 0 out read_write u32 (R)     columns
// binding 1 x   read       f32 (R, C)  rows
// size R u32 rows
// size C u32 columns, at most 2^24
// const LANES u32 1 threads of one row
// dispatch (ceil(R * LANES / 64), 1, 1)
// oracle reference.argmax.argmax rtol 0 atol 0
// check R=1 C=1
// check R=7 C=257
// check R=67 C=31 LANES=4
// check R=3 C=5003 LANES=64
// uses lanes
// needs -

override R: u32;
override C: u32;

@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@group(0) @binding(1) var<storage, read> x: array<f32>;

@compute @workgroup_size(64)
fn argmax(@builtin(workgroup_id) group: vec3<u32>,
          @builtin(local_invocation_index) thread: u32) {
    let row = group.x * (64u / LANES) + thread / LANES;
    let lane = thread % LANES;
    let start = min(row, R - 1u) * C;

    var top = -1e30;
    var column = lane;
    for (var c = lane; c < C; c += LANES) {
        let value = x[start + c];
        if (value > top) {
            top = value;
            column = c;
        }
    }
    let peak = lane_max(thread, top);
    // Whole numbers up to 2^24 are exact in f32: the largest negated column is the first one.
    let first = -lane_max(thread, select(-16777216.0, -f32(column), top == peak));
    if (row < R && lane == 0u) { out[row] = min(u32(first), C - 1u); }
}
