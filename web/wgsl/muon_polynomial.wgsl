// What a Newton-Schulz step multiplies a matrix by: a I + b G + c G², from G and its square.
// binding 0 out  read_write f32 (S, S) updated  the square of G, then the polynomial
// binding 1 gram read       f32 (S, S)  G
// size S u32 rows of G
// dispatch (ceil(S * S / 1024), 1, 1)  four elements a thread
// oracle reference.muon.muon_polynomial rtol 1e-5 atol 1e-6
// check S=1
// check S=37
// check S=64
// needs -

@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@group(0) @binding(1) var<storage, read> gram: array<f32>;

override S: u32;

// Jordan's: steep at 0, so that small singular values come up in five steps.
const A = 3.4445;
const B = -4.775;
const C = 2.0315;

@compute @workgroup_size(256)
fn muon_polynomial(@builtin(workgroup_id) group: vec3<u32>,
                   @builtin(local_invocation_index) local: u32) {
    for (var lane = 0u; lane < 4u; lane++) {
        let i = group.x * 1024u + lane * 256u + local;
        if (i >= S * S) { return; }
        let diagonal = select(0.0, A, i / S == i % S);
        out[i] = diagonal + B * gram[i] + C * out[i];
    }
}
