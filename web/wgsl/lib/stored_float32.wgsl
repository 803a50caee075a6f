// Weights stored in float32: nothing to unpack.

alias stored4 = vec4<f32>;
alias stored_word = f32;
alias stored_block = vec4<f32>;

const STORED_BLOCK: u32 = 4u;  // numbers in a block, which is one load

fn unpack4(q: stored4) -> vec4<f32> { return q; }

fn word_of(index: u32) -> u32 { return index; }

fn stored_at(word: stored_word, index: u32) -> f32 { return word; }

fn block_low(q: stored_block) -> vec4<f32> { return q; }

fn block_high(q: stored_block) -> vec4<f32> { return vec4<f32>(); }
