// Draws a token: narrows the choice by top-k, then top-p, then min-p, and inverts the cumulative
// mass in the order of ids at a Philox number; or takes the largest logit. Moves on by a position.
// A threshold is found in two steps: the bin of the histogram in which it lies, whose members one
// pass over the blocks that reach so far gathers; then its bytes, largest first.
// binding 0 state    read_write u32 (176) updated  token at 0; position at 64; record from 128
// binding 1 counts   read_write u32 (V) < V updated  bit 0: in the prompt; above: times drawn
// binding 2 sums     read       u32 (4 * ceil(V / BLOCK) + 3072) < 1000  of sample_sums
// binding 3 peaks    read       f32 (ceil(V / BLOCK), 2)  of sample_adjust
// binding 4 logits   read       f32 (V)
// binding 5 adjusted read       f32 (V)
// binding 6 numbers  read       f32 (6) positive  as ops/sample.py lists them
// binding 7 words    read       u32 (9)  as ops/sample.py lists them
// size V u32 vocabulary, at most 128 BLOCK
// const BLOCK u32 4096 logits of a block, a multiple of 256
// const THREADS u32 256 threads, a power of two: 16 to 256
// dispatch (1, 1, 1)
// oracle reference.sample.sample_draw rtol 0 atol 0
// check V=1
// check V=33
// check V=772 BLOCK=256
// check V=774 BLOCK=256
// check V=1000 BLOCK=256
// check V=1042 BLOCK=256
// check V=1042 BLOCK=256 THREADS=16
// check V=4099
// check V=4099 THREADS=16
// uses philox mass sample_search
// needs -
//
// record: token, its logit, the largest logit, mass of all logits (low, high), alternatives, the
// position drawn at, 0; then id and logit of each alternative, the likeliest first.
//
// On a CPU every thread makes each barrier dearer, and there is one workgroup. Milliseconds with
// 256, 64 and 16 threads on two shared cores:
//   V       settings            SwiftShader        lavapipe
//   4096    greedy              4.0   1.0   0.3    0.5  0.4  0.4
//   4096    top_k 50 top_p 0.9  5.4   2.0   1.7    0.9  0.8  0.9
//   49152   greedy             12.2   1.1   0.4    0.6  1.4  0.3
//   49152   top_k 50 top_p 0.9 28.1   7.7  10.6    2.5  2.3  1.5

override V: u32;

const GREEDY = 1u;
const PENALTIES = 2u;
const TOP_K = 8u;
const TOP_P = 16u;
const POSITION = 64u;
const RECORD = 128u;

@group(0) @binding(0) var<storage, read_write> state: array<u32>;
@group(0) @binding(1) var<storage, read_write> counts: array<u32>;
@group(0) @binding(2) var<storage, read> sums: array<u32>;
@group(0) @binding(3) var<storage, read> peaks: array<vec2<f32>>;
@group(0) @binding(4) var<storage, read> logits: array<f32>;
@group(0) @binding(5) var<storage, read> adjusted: array<f32>;
@group(0) @binding(6) var<storage, read> numbers: array<f32>;
@group(0) @binding(7) var<storage, read> words: array<u32>;

var<workgroup> peak: vec2<f32>;
var<workgroup> chosen_block: u32;
var<workgroup> goal: vec2<u32>;    // the drawn token is the first whose cumulative mass passes it
var<workgroup> owner: u32;         // the thread in whose stretch of ids it lies
var<workgroup> token: u32;

@compute @workgroup_size(THREADS)
fn sample_draw(@builtin(local_invocation_index) thread: u32) {
    let blocks = (V + BLOCK - 1u) / BLOCK;
    if (thread == 0u) {
        peak = peaks[0];
        chosen_block = 0u;
        for (var b = 1u; b < blocks; b++) {
            if (peaks[b].y > peak.y) { chosen_block = b; }
            peak = max(peak, peaks[b]);
        }
        least = vec2<u32>();
        edge = LAST_BIN;
    }
    workgroupBarrier();
    if ((words[0] & GREEDY) != 0u) {
        find_best(chosen_block, false, vec2<u32>(0xffffffffu), thread);
        if (thread == 0u) { token = ~best.y; }
    } else {
        narrow(blocks, thread);
        draw(blocks, thread);
    }
    workgroupBarrier();
    list_alternatives(blocks, thread);
    if (thread == 0u) { finish(blocks); }
}

// Top-k, then top-p; then `block_mass` and `kept_mass` are of what both and min-p keep.
// One loop, so that drivers, which inline every call, have less to compile.
fn narrow(blocks: u32, thread: u32) {
    if (thread == 0u) {
        kept_mass = vec2<u32>();
        for (var b = 0u; b < blocks; b++) {
            kept_mass = wide_add(kept_mass, vec2<u32>(sums[4u * b + 2u], sums[4u * b + 3u]));
        }
    }
    for (var phase = 0u; phase < 2u; phase++) {
        let by_count = phase == 0u;
        if ((words[0] & select(TOP_P, TOP_K, by_count)) == 0u) { continue; }
        if (thread == 0u) { target_sum = first_target(by_count); }
        find_bin(by_count, blocks, thread);
        // The share of top-p is of all that top-k keeps; min-p comes last.
        let last = !by_count || (words[0] & TOP_P) == 0u;
        let reach = select(0xffffffffu, words[3], last);
        gather(reach, blocks, thread);
        for (var turn = 0u; turn < select(7u, 4u, by_count); turn++) {
            find_byte(turn, by_count, thread);
        }
        settle(reach, blocks, thread);
    }
}

fn first_target(by_count: bool) -> vec2<u32> {
    if (by_count) { return vec2<u32>(min(words[1], V), 0u); }
    let target_mass = wide_share(kept_mass, words[2]);
    // The likeliest token is always kept.
    return select(target_mass, vec2<u32>(1u, 0u), all(target_mass == vec2<u32>()));
}

fn draw(blocks: u32, thread: u32) {
    if (thread == 0u) {
        let place = vec4<u32>(state[POSITION], 0u, words[6], words[7]);
        goal = wide_share(kept_mass, philox(place, vec2<u32>(words[4], words[5])).x);
        chosen_block = blocks - 1u;
        var before = vec2<u32>();
        for (var b = 0u; b < blocks; b++) {
            let after = wide_add(before, block_mass(b));
            if (wide_less(goal, after)) { chosen_block = b; break; }
            before = after;
        }
        goal = wide_subtract(goal, before);
        owner = THREADS;
        token = V - 1u;
    }
    // First every thread adds up its stretch of ids; then the one that has the goal looks closer.
    for (var closer = 0u; closer < 2u; closer++) {
        workgroupBarrier();
        let stretch = BLOCK / THREADS;
        let start = chosen_block * BLOCK + thread * stretch;
        let end = select(min(start + stretch, V), start, closer == 1u && thread != owner);
        let octaves = numbers[0];
        let reach = words[3];
        var mine = vec2<u32>();
        for (var i = start; i < end; i++) {
            let y = adjusted[i];
            let distance = distance_below(peak.y, y, octaves);
            let near = distance <= reach && min(distance >> 20u, LAST_BIN) <= edge;
            if (!near || !is_kept(order_key(y), i)) { continue; }
            mine = wide_add(mine, mass_at(distance));
            if (closer == 1u && wide_less(goal, mine)) { token = i; break; }
        }
        parts[thread] = mine;
        workgroupBarrier();
        if (thread == 0u && closer == 0u) { find_owner(); }
    }
}

fn find_owner() {
    var before = vec2<u32>();
    for (var t = 0u; t < THREADS; t++) {
        let after = wide_add(before, parts[t]);
        if (wide_less(goal, after)) { owner = t; break; }
        before = after;
    }
    goal = wide_subtract(goal, before);
}

fn finish(blocks: u32) {
    var mass = vec2<u32>();
    for (var b = 0u; b < blocks; b++) {
        mass = wide_add(mass, vec2<u32>(sums[4u * b], sums[4u * b + 1u]));
    }
    state[RECORD] = token;
    state[RECORD + 1u] = bitcast<u32>(logits[token]);
    state[RECORD + 2u] = bitcast<u32>(peak.x);
    state[RECORD + 3u] = mass.x;
    state[RECORD + 4u] = mass.y;
    state[RECORD + 5u] = min(min(words[8], 20u), V);
    state[RECORD + 6u] = state[POSITION];
    state[RECORD + 7u] = 0u;
    state[0] = token;
    state[POSITION] += 1u;
    if ((words[0] & PENALTIES) != 0u) { counts[token] += 2u; }
}

// The likeliest tokens one by one: the block with the best candidate gives it, and its next one.
fn list_alternatives(blocks: u32, thread: u32) {
    let count = min(min(words[8], 20u), V);
    if (count == 0u) { return; }
    for (var b = thread; b < blocks; b += THREADS) {
        parts[b] = vec2<u32>(order_key(peaks[b].x), 0u);
        listed[b] = vec2<u32>(0xffffffffu);
    }
    for (var turn = 0u; turn < 2u * count; turn++) {
        workgroupBarrier();
        let takes = (turn & 1u) == 0u;
        if (thread == 0u && takes) {
            chosen_block = 0u;
            for (var b = 1u; b < blocks; b++) {
                if (parts[b].x > parts[chosen_block].x) { chosen_block = b; }
            }
        }
        workgroupBarrier();
        let b = chosen_block;
        find_best(b, true, listed[b], thread);
        if (thread == 0u && takes) {
            listed[b] = best;
            state[RECORD + 8u + turn] = ~best.y;
            state[RECORD + 9u + turn] = bitcast<u32>(logits[min(~best.y, V - 1u)]);
        }
        if (thread == 0u && !takes) { parts[b].x = best.x; }
    }
}
