// Weights stored in float16: two in a word, the first in its low half. Needs no `shader-f16`.
// SwiftShader unpacks slowly: one row times a matrix takes up to twice as long as in bfloat16.

alias stored4 = vec2<u32>;
alias stored_word = u32;
alias stored_block = vec4<u32>;

const STORED_BLOCK: u32 = 8u;  // numbers in a block, which is one load

fn unpack4(q: stored4) -> vec4<f32> {
    return vec4<f32>(unpack2x16float(q.x), unpack2x16float(q.y));
}

fn word_of(index: u32) -> u32 { return index / 2u; }

fn stored_at(word: stored_word, index: u32) -> f32 {
    let both = unpack2x16float(word);
    return select(both.x, both.y, (index & 1u) == 1u);
}

fn block_low(q: stored_block) -> vec4<f32> { return unpack4(q.xy); }

fn block_high(q: stored_block) -> vec4<f32> { return unpack4(q.zw); }
