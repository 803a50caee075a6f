// Gradient of a sigmoid from its result: db = dbeta beta (1 - beta).
// binding 0 db    read_write f32 (COUNT) accumulate  gradient of b
// binding 1 dbeta read       f32 (COUNT)             gradient of beta
// binding 2 beta  read       f32 (COUNT) within 0 1  the forward's result
// size COUNT u32 elements
// size ACCUMULATE u32 1 adds to db, 0 writes it
// dispatch (ceil(COUNT / 1024), 1, 1)  four elements an invocation
// oracle reference.delta_gates.delta_gates_backward_beta rtol 1e-5 atol 1e-6
// check COUNT=1 ACCUMULATE=0
// check COUNT=1031 ACCUMULATE=1
// needs -

override COUNT: u32;
override ACCUMULATE: u32;

@group(0) @binding(0) var<storage, read_write> db: array<f32>;
@group(0) @binding(1) var<storage, read> dbeta: array<f32>;
@group(0) @binding(2) var<storage, read> beta: array<f32>;

@compute @workgroup_size(256)
fn delta_gates_backward_beta(@builtin(workgroup_id) group: vec3<u32>,
                             @builtin(local_invocation_index) local: u32) {
    for (var lane = 0u; lane < 4u; lane++) {
        let i = group.x * 1024u + lane * 256u + local;
        if (i >= COUNT) { return; }
        let value = dbeta[i] * beta[i] * (1.0 - beta[i]);
        db[i] = value + select(0.0, db[i], ACCUMULATE == 1u);
    }
}
