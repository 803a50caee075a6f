// Matrices cut, or filled up with zeros, to other sizes: out[a, i, j] = x[a, i, j] where x has it.
// It is its own backward, with the sizes exchanged.
// binding 0 out read_write f32 (A, I, J) accumulate  the new size
// binding 1 x   read       stored (A, R, C)           the old size
// size A u32 matrices
// size I u32 rows of out
// size J u32 columns of out
// size R u32 rows of x
// size C u32 columns of x
// size ACCUMULATE u32 1 adds to out, 0 writes it
// const STORED u32 0 how x lies in memory: 0 float32, 1 bfloat16, 2 float16
// dispatch (ceil(J / 64), I, A)
// oracle reference.fit.fit rtol 1e-6 atol 1e-6
// check A=1 I=1 J=1 R=1 C=1 ACCUMULATE=0
// check A=3 I=8 J=68 R=7 C=65 ACCUMULATE=0 STORED=1
// check A=3 I=7 J=65 R=8 C=68 ACCUMULATE=1
// check A=2 I=4 J=3 R=3 C=5 ACCUMULATE=0 STORED=2
// needs -

override A: u32;
override I: u32;
override J: u32;
override R: u32;
override C: u32;
override ACCUMULATE: u32;

@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@group(0) @binding(1) var<storage, read> x: array<stored_word>;

@compute @workgroup_size(64)
fn fit(@builtin(global_invocation_id) place: vec3<u32>) {
    if (place.x >= J) { return; }
    var value = 0.0;
    if (place.x < C && place.y < R) {
        let source = (place.z * R + place.y) * C + place.x;
        value = stored_at(x[word_of(source)], source);
    }
    let i = (place.z * I + place.y) * J + place.x;
    out[i] = value + select(0.0, out[i], ACCUMULATE == 1u);
}
