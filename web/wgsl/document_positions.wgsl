// Positions inside the documents of packed rows: how far each is from where its document begins.
// binding 0 out    read_write u32 (B, T)
// binding 1 starts read       u32 (B, T) < T  first position of each one's document
// size B u32 sequences
// size T u32 positions
// dispatch (ceil(B * T / 64), 1, 1)
// oracle reference.positions.document_positions rtol 0 atol 0
// check B=1 T=1
// check B=3 T=67
// needs -

override B: u32;
override T: u32;

@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@group(0) @binding(1) var<storage, read> starts: array<u32>;

@compute @workgroup_size(64)
fn document_positions(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x >= B * T) { return; }
    let t = id.x % T;
    out[id.x] = t - min(starts[id.x], t);
}
