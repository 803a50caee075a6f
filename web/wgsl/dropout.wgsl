// Dropout: sets a random part of the elements to 0 and scales up the others. Which ones is said by
// the seed, the stream and the element alone, so the backward is the same kernel on the gradient.
// binding 0 out  read_write f32 (COUNT) accumulate  kept elements / (1 - P), and zeros
// binding 1 x    read       f32 (COUNT)
// binding 2 seed read       u32 (2)  low and high word
// size COUNT u32 elements
// size P f32 the part that is set to 0, in [0, 1)
// size STREAM u32 different for each place of a model that drops
// size ACCUMULATE u32 1 adds to out, 0 writes it
// dispatch (ceil(COUNT / 1024), 1, 1)  one thread per four elements
// oracle reference.dropout.dropout rtol 1e-6 atol 1e-6
// check COUNT=1 P=0.5 STREAM=0 ACCUMULATE=0
// check COUNT=1031 P=0.1 STREAM=7 ACCUMULATE=1
// check COUNT=2050 P=0.75 STREAM=4294967295 ACCUMULATE=0
// uses philox
// needs -

@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> seed: array<u32>;

override COUNT: u32;
override P: f32;
override STREAM: u32;
override ACCUMULATE: u32;

const PURPOSE = 0x64726f70u;  // upper word of the stream, as reference/dropout.py has it

@compute @workgroup_size(256)
fn dropout(@builtin(global_invocation_id) id: vec3<u32>) {
    let block = id.x;
    if (4u * block >= COUNT) { return; }
    let words = philox(vec4<u32>(block, 0u, STREAM, PURPOSE), vec2<u32>(seed[0], seed[1]));
    for (var lane = 0u; lane < min(4u, COUNT - 4u * block); lane++) {
        let i = 4u * block + lane;
        let value = select(0.0, x[i] / (1.0 - P), unit(words[lane]) >= P);
        out[i] = value + select(0.0, out[i], ACCUMULATE == 1u);
    }
}
