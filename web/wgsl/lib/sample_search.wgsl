// Finds thresholds for sample_draw, which declares the bindings: the least key that is kept, and
// among equal keys the least complement of the id, so that lower ids come first. THREADS threads,
// 16 to 256.

const SELECTS = 24u;
const LAST_BIN = 1023u;
const MOST_MEMBERS = 1024u;

var<workgroup> bytes_low: array<atomic<u32>, 256>;    // sums for each value of a byte
var<workgroup> bytes_high: array<atomic<u32>, 256>;
var<workgroup> blocks_low: array<atomic<u32>, 128>;   // masses that each block keeps
var<workgroup> blocks_high: array<atomic<u32>, 128>;
var<workgroup> members: array<u32, MOST_MEMBERS>;     // ids in the bin of the threshold
var<workgroup> member_count: atomic<u32>;
var<workgroup> parts: array<vec2<u32>, 256>;
var<workgroup> listed: array<vec2<u32>, 128>;
var<workgroup> bests: array<vec2<u32>, THREADS>;
var<workgroup> best: vec2<u32>;         // key, ~id
var<workgroup> least: vec2<u32>;        // key, ~id: what is kept is at least this
var<workgroup> edge: u32;               // the bin that the threshold lies in
var<workgroup> target_sum: vec2<u32>;   // the threshold is where the sum from the top reaches it
var<workgroup> sum_before: vec2<u32>;   // of everything above what was found so far
var<workgroup> kept_mass: vec2<u32>;

fn is_kept(key: u32, i: u32) -> bool {
    return key > least.x || (key == least.x && ~i >= least.y);
}

fn bin_sum(bin: u32, by_count: bool, blocks: u32) -> vec2<u32> {
    if (bin >= LAST_BIN) { return vec2<u32>(); }
    let place = 4u * blocks + 3u * bin;
    if (by_count) { return vec2<u32>(sums[place], 0u); }
    return vec2<u32>(sums[place + 1u], sums[place + 2u]);
}

// The bin in which the sum from the peak down reaches the target: `edge`, with `sum_before` it.
fn find_bin(by_count: bool, blocks: u32, thread: u32) {
    let share = 1024u / THREADS;  // bins of a thread
    var mine = vec2<u32>();
    for (var i = 0u; i < share; i++) {
        mine = wide_add(mine, bin_sum(share * thread + i, by_count, blocks));
    }
    parts[thread] = mine;
    workgroupBarrier();
    if (thread == 0u) {
        var before = vec2<u32>();
        var bin = 0u;
        for (var i = 0u; i < THREADS; i++) {
            let after = wide_add(before, parts[i]);
            if (!wide_less(after, target_sum)) { break; }
            before = after;
            bin += share;
        }
        for (; bin < LAST_BIN; bin++) {
            let after = wide_add(before, bin_sum(bin, by_count, blocks));
            if (!wide_less(after, target_sum)) { break; }
            before = after;
        }
        edge = min(bin, LAST_BIN);
        sum_before = before;
        least = vec2<u32>();
    }
    workgroupBarrier();
}

// One pass over the blocks that reach to the edge: lists the members of its bin, and adds up what
// each block has above it, no further below the peak than `reach`.
fn gather(reach: u32, blocks: u32, thread: u32) {
    for (var b = thread; b < 128u; b += THREADS) {
        atomicStore(&blocks_low[b], 0u);
        atomicStore(&blocks_high[b], 0u);
    }
    if (thread == 0u) { atomicStore(&member_count, 0u); }
    workgroupBarrier();
    let octaves = numbers[0];
    let top = peak.y;
    let bin = edge;
    for (var b = 0u; b < blocks; b++) {
        if (min(distance_below(top, peaks[b].y, octaves) >> 20u, LAST_BIN) > bin) { continue; }
        var mine = vec2<u32>();
        for (var i = b * BLOCK + thread; i < min(b * BLOCK + BLOCK, V); i += THREADS) {
            let distance = distance_below(top, adjusted[i], octaves);
            let here = min(distance >> 20u, LAST_BIN);
            if (here > bin) { continue; }
            if (here == bin) {
                let slot = atomicAdd(&member_count, 1u);
                if (slot < MOST_MEMBERS) { members[slot] = i; }
            } else if (distance <= reach) {
                mine = wide_add(mine, mass_at(distance));
            }
        }
        if (any(mine != vec2<u32>())) { add_to_block(b, mine); }
    }
    workgroupBarrier();
}

// How many ids to look at for the members of the bin: those listed, or all where they are too many.
fn member_limit() -> u32 {
    let count = atomicLoad(&member_count);
    return select(V, count, count <= MOST_MEMBERS);
}

// Fixes one byte of the threshold: in turns 0 to 3 of the key, in 4 to 6 of ~id, among equal keys.
fn find_byte(turn: u32, by_count: bool, thread: u32) {
    let ids = turn >= 4u;
    let shift = select(24u - 8u * turn, 48u - 8u * turn, ids);
    if (thread == 0u && turn == 4u) { least.y = 0xff000000u; }  // ids have at most 24 bits
    for (var byte = thread; byte < 256u; byte += THREADS) {
        atomicStore(&bytes_low[byte], 0u);
        atomicStore(&bytes_high[byte], 0u);
    }
    workgroupBarrier();
    let limit = member_limit();
    let octaves = numbers[0];
    // The bytes above; a shift by 32 is not defined, hence two.
    let known = ((0xffffffffu << shift) << 7u) << 1u;
    let fixed = select(least.x, least.y, ids) & known;
    for (var j = thread; j < limit; j += THREADS) {
        var i = j;
        if (limit < V) { i = members[j]; }
        let y = adjusted[i];
        let distance = distance_below(peak.y, y, octaves);
        let key = order_key(y);
        let part = select(key, ~i, ids);
        let belongs = (part & known) == fixed && (!ids || key == least.x);
        if (!belongs || min(distance >> 20u, LAST_BIN) != edge) { continue; }
        add_to_byte((part >> shift) & 255u, select(mass_at(distance), vec2<u32>(1u, 0u), by_count));
    }
    workgroupBarrier();
    if (thread == 0u) {
        var byte = 255u;
        var after = wide_add(sum_before, byte_sum(byte));
        while (byte > 0u && wide_less(after, target_sum)) {
            sum_before = after;
            byte--;
            after = wide_add(sum_before, byte_sum(byte));
        }
        if (ids) { least.y |= byte << shift; } else { least.x |= byte << shift; }
    }
    workgroupBarrier();
}

// Adds the members that are kept to their blocks, and all blocks to `kept_mass`.
fn settle(reach: u32, blocks: u32, thread: u32) {
    let limit = member_limit();
    let octaves = numbers[0];
    for (var j = thread; j < limit; j += THREADS) {
        var i = j;
        if (limit < V) { i = members[j]; }
        let y = adjusted[i];
        let distance = distance_below(peak.y, y, octaves);
        if (min(distance >> 20u, LAST_BIN) != edge || distance > reach) { continue; }
        if (is_kept(order_key(y), i)) { add_to_block(i / BLOCK, mass_at(distance)); }
    }
    workgroupBarrier();
    if (thread == 0u) {
        kept_mass = vec2<u32>();
        for (var b = 0u; b < blocks; b++) { kept_mass = wide_add(kept_mass, block_mass(b)); }
    }
}

// Whoever sees the low word pass 2^32 carries; every passing is seen by exactly one.
fn add_to_byte(byte: u32, amount: vec2<u32>) {
    let before = atomicAdd(&bytes_low[byte], amount.x);
    let carry = u32(before + amount.x < before);
    if (amount.y + carry > 0u) { atomicAdd(&bytes_high[byte], amount.y + carry); }
}

fn add_to_block(b: u32, amount: vec2<u32>) {
    let before = atomicAdd(&blocks_low[b], amount.x);
    let carry = u32(before + amount.x < before);
    if (amount.y + carry > 0u) { atomicAdd(&blocks_high[b], amount.y + carry); }
}

fn byte_sum(byte: u32) -> vec2<u32> {
    return vec2<u32>(atomicLoad(&bytes_low[byte]), atomicLoad(&bytes_high[byte]));
}

fn block_mass(b: u32) -> vec2<u32> {
    if ((words[0] & SELECTS) != 0u) {
        return vec2<u32>(atomicLoad(&blocks_low[b]), atomicLoad(&blocks_high[b]));
    }
    return vec2<u32>(sums[4u * b + 2u], sums[4u * b + 3u]);
}

// The largest logit of a block (given, or adjusted) that comes after `bound`: `best`.
fn find_best(block: u32, given: bool, bound: vec2<u32>, thread: u32) {
    var mine = vec2<u32>();
    for (var i = block * BLOCK + thread; i < min(block * BLOCK + BLOCK, V); i += THREADS) {
        let mark = vec2<u32>(order_key(value_of(i, given)), ~i);
        if (is_before(mark, bound) && is_before(mine, mark)) { mine = mark; }
    }
    bests[thread] = mine;
    workgroupBarrier();
    if (thread < 16u) {
        for (var i = thread; i < THREADS; i += 16u) {
            if (is_before(mine, bests[i])) { mine = bests[i]; }
        }
        bests[thread] = mine;
    }
    workgroupBarrier();
    if (thread == 0u) {
        for (var i = 1u; i < 16u; i++) {
            if (is_before(mine, bests[i])) { mine = bests[i]; }
        }
        best = mine;
    }
    workgroupBarrier();
}

fn is_before(a: vec2<u32>, b: vec2<u32>) -> bool { return a.x < b.x || (a.x == b.x && a.y < b.y); }

fn value_of(i: u32, given: bool) -> f32 {
    if (given) { return logits[i]; }
    return adjusted[i];
}
