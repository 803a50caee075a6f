// The power of two by which each row is divided before it is kept in 16 bits, as the exponent bits
// of a float32 (127 is 1).
// binding 0 out read_write u32 (R)     exponents, 1 to 240
// binding 1 x   read       f32 (R, C)  rows
// size R u32 rows
// size C u32 columns
// size FORMAT u32 1 bfloat16, 2 float16
// const LANES u32 1 threads of one row
// dispatch (ceil(R * LANES / 64), 1, 1)
// oracle reference.halves.halves_exponent rtol 0 atol 0
// check R=1 C=1 FORMAT=2
// check R=7 C=129 FORMAT=2
// check R=67 C=31 FORMAT=2 LANES=4
// check R=5 C=256 FORMAT=1 LANES=64
// uses lanes
// needs -
//
// bfloat16 has the exponents of float32 and needs no other. In float16 the largest number of a row
// comes to lie between 2^14 and 2^15: nothing overflows, and 38 octaves below it are kept.

@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@group(0) @binding(1) var<storage, read> x: array<f32>;

override R: u32;
override C: u32;
override FORMAT: u32;

@compute @workgroup_size(64)
fn halves_exponent(@builtin(workgroup_id) group: vec3<u32>,
                   @builtin(local_invocation_index) thread: u32) {
    let row = group.x * (64u / LANES) + thread / LANES;
    let lane = thread % LANES;
    let start = min(row, R - 1u) * C;
    // Threads beyond the last row only keep the barriers company.
    let end = select(0u, C, row < R && FORMAT == 2u);
    var largest = 0.0;
    for (var c = lane; c < end; c += LANES) { largest = max(largest, abs(x[start + c])); }
    largest = lane_max(thread, largest);
    if (row < R && lane == 0u) {
        let exponent = (bitcast<u32>(largest) >> 23u) & 0xffu;
        out[row] = select(127u, clamp(exponent, 15u, 254u) - 14u, FORMAT == 2u && largest > 0.0);
    }
}
