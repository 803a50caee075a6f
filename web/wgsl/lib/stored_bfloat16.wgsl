// Weights stored in bfloat16, the upper half of a float32: two in a word, the first in its low
// half.

alias stored4 = vec2<u32>;
alias stored_word = u32;
alias stored_block = vec4<u32>;

const STORED_BLOCK: u32 = 8u;  // numbers in a block, which is one load

fn unpack4(q: stored4) -> vec4<f32> {
    let low = q << vec2<u32>(16u);
    let high = q & vec2<u32>(0xffff0000u);
    return bitcast<vec4<f32>>(vec4<u32>(low.x, high.x, low.y, high.y));
}

fn word_of(index: u32) -> u32 { return index / 2u; }

fn stored_at(word: stored_word, index: u32) -> f32 {
    return bitcast<f32>(select(word << 16u, word & 0xffff0000u, (index & 1u) == 1u));
}

fn block_low(q: stored_block) -> vec4<f32> { return unpack4(q.xy); }

fn block_high(q: stored_block) -> vec4<f32> { return unpack4(q.zw); }
