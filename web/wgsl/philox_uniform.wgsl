// Uniform random numbers in [0, 1) from a seed and a counter (Philox 4x32-10).
// binding 0 out   read_write f32 (N)  multiples of 2^-24
// binding 1 state read       u32 (4)  seed low, seed high, counter low, counter high
// size N u32 how many numbers
// dispatch (ceil(ceil(N / 4) / 64), 1, 1)  one thread per four numbers
// oracle reference.philox.philox_uniform rtol 0 atol 0
// check N=1
// check N=7
// check N=1030
// uses philox
// needs -

override N: u32;

@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@group(0) @binding(1) var<storage, read> state: array<u32>;

@compute @workgroup_size(64)
fn philox_uniform(@builtin(global_invocation_id) id: vec3<u32>) {
  let block = id.x;
  if (block >= (N + 3u) / 4u) { return; }
  let words = philox(vec4<u32>(block, 0u, state[2], state[3]), vec2<u32>(state[0], state[1]));
  for (var i = 0u; i < min(4u, N - 4u * block); i++) {
    out[4u * block + i] = unit(words[i]);
  }
}
