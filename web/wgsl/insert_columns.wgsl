// Columns of a matrix from a narrower one: out[m, FIRST + n] = x[m, n]; the others stay.
// binding 0 out read_write f32 (M, STRIDE) updated  the wide matrix
// binding 1 x   read       f32 (M, N)
// size M u32 rows
// size N u32 columns of x
// size STRIDE u32 columns of out
// size FIRST u32 the column of out where x begins
// dispatch (ceil(N / 64), M, 1)
// oracle reference.insert_columns.insert_columns rtol 0 atol 0
// check M=1 N=1 STRIDE=1 FIRST=0
// check M=7 N=13 STRIDE=31 FIRST=18
// check M=3 N=130 STRIDE=257 FIRST=64
// needs -

@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@group(0) @binding(1) var<storage, read> x: array<f32>;

override M: u32;
override N: u32;
override STRIDE: u32;
override FIRST: u32;

@compute @workgroup_size(64)
fn insert_columns(@builtin(global_invocation_id) place: vec3<u32>) {
    let n = place.x;
    let m = place.y;
    if (n < N) { out[m * STRIDE + FIRST + n] = x[m * N + n]; }
}
