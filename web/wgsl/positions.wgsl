// Positions of a run of rows: start, start + 1, ..., none above LIMIT - 1.
// binding 0 out   read_write u32 (COUNT)
// binding 1 start read       u32 (1) < LIMIT  position of the first row
// size COUNT u32 rows
// size LIMIT u32 positions that there are
// dispatch (ceil(COUNT / 64), 1, 1)
// oracle reference.positions.positions rtol 0 atol 0
// check COUNT=1 LIMIT=1
// check COUNT=67 LIMIT=40
// check COUNT=130 LIMIT=1031
// needs -

override COUNT: u32;
override LIMIT: u32;

@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@group(0) @binding(1) var<storage, read> start: array<u32>;

@compute @workgroup_size(64)
fn positions(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x < COUNT) { out[id.x] = min(start[0] + id.x, LIMIT - 1u); }
}
