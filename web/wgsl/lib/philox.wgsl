// Philox 4x32-10 (Salmon et al. 2011): random words as a pure function of a counter and a key.

// High 32 bits of a * b. WGSL has no 64-bit product, so it is put together from 16-bit pieces.
fn multiply_high(a: u32, b: u32) -> u32 {
  let a_low = a & 0xffffu;
  let a_high = a >> 16u;
  let b_low = b & 0xffffu;
  let b_high = b >> 16u;
  let low = a_low * b_low;
  let cross = a_high * b_low + (low >> 16u);
  let middle = a_low * b_high + (cross & 0xffffu);
  return a_high * b_high + (cross >> 16u) + (middle >> 16u);
}

fn philox(start: vec4<u32>, start_key: vec2<u32>) -> vec4<u32> {
  var counter = start;
  var key = start_key;
  for (var i = 0u; i < 10u; i++) {
    let high0 = multiply_high(0xd2511f53u, counter.x);
    let high1 = multiply_high(0xcd9e8d57u, counter.z);
    counter = vec4<u32>(high1 ^ counter.y ^ key.x, 0xcd9e8d57u * counter.z,
                        high0 ^ counter.w ^ key.y, 0xd2511f53u * counter.x);
    key += vec2<u32>(0x9e3779b9u, 0xbb67ae85u);
  }
  return counter;
}

// Upper 24 bits of a word as a float in [0, 1).
fn unit(word: u32) -> f32 {
  return f32(word >> 8u) * 0x1p-24f;
}
