// Finds thresholds for sample_draw, which declares the bindings: the least key that is kept, and
// among equal keys the least complement of the id, so that lower ids come first. 256 threads.

const SELECTS = 24u;
const LAST_BIN = 1023u;

var<workgroup> bytes_low: array<atomic<u32>, 256>;   // sums for each value of a byte
var<workgroup> bytes_high: array<atomic<u32>, 256>;
var<workgroup> parts: array<vec2<u32>, 256>;
var<workgroup> listed: array<vec2<u32>, 256>;
var<workgroup> least: vec2<u32>;        // key, ~id: what is kept is at least this
var<workgroup> edge: u32;               // the bin that the threshold lies in
var<workgroup> target_sum: vec2<u32>;   // the threshold is where the sum from the top reaches it
var<workgroup> sum_before: vec2<u32>;   // of everything above what was found so far
var<workgroup> kept_mass: vec2<u32>;
var<workgroup> bests: array<vec2<u32>, 256>;
var<workgroup> best: vec2<u32>;         // key, ~id

fn bin_of(y: f32) -> u32 { return min(distance_below(peak.y, y, numbers[0]) >> 20u, LAST_BIN); }

fn is_kept(i: u32) -> bool {
    let key = order_key(adjusted[i]);
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
    var four = vec2<u32>();
    for (var i = 0u; i < 4u; i++) {
        four = wide_add(four, bin_sum(4u * thread + i, by_count, blocks));
    }
    parts[thread] = four;
    workgroupBarrier();
    if (thread == 0u) {
        var before = vec2<u32>();
        var bin = 0u;
        for (var i = 0u; i < 256u; i++) {
            let after = wide_add(before, parts[i]);
            if (!wide_less(after, target_sum)) { break; }
            before = after;
            bin += 4u;
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

// Fixes one byte of the key (or, among equal keys, of ~id) of the threshold.
// Turns 0 to 3 count keys, 4 to 7 add up masses by key, 8 to 10 by id: V has at most 24 bits.
fn find_byte(turn: u32, blocks: u32, thread: u32) {
    let by_count = turn < 4u;
    let ids = turn >= 8u;
    let shift = select(24u - 8u * (turn & 3u), 80u - 8u * turn, ids);
    if (thread == 0u && turn == 8u) { least.y = 0xff000000u; }
    atomicStore(&bytes_low[thread], 0u);
    atomicStore(&bytes_high[thread], 0u);
    workgroupBarrier();
    // The bytes above; a shift by 32 is not defined, hence two.
    let known = ((0xffffffffu << shift) << 7u) << 1u;
    for (var b = 0u; b < blocks; b++) {
        if (bin_of(peaks[b].y) > edge) { continue; }
        for (var i = b * BLOCK + thread; i < min(b * BLOCK + BLOCK, V); i += 256u) {
            let key = order_key(adjusted[i]);
            let part = select(key, ~i, ids);
            let fixed = select(least.x, least.y, ids);
            let belongs = (part & known) == (fixed & known) && (!ids || key == least.x);
            if (!belongs || bin_of(adjusted[i]) != edge) { continue; }
            let mass = mass_at(distance_below(peak.y, adjusted[i], numbers[0]));
            let amount = select(mass, vec2<u32>(1u, 0u), by_count);
            add_to_byte((part >> shift) & 255u, amount);
        }
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

// Whoever sees the low word pass 2^32 carries; every passing is seen by exactly one.
fn add_to_byte(byte: u32, amount: vec2<u32>) {
    let before = atomicAdd(&bytes_low[byte], amount.x);
    let carry = u32(before + amount.x < before);
    if (amount.y + carry > 0u) { atomicAdd(&bytes_high[byte], amount.y + carry); }
}

fn byte_sum(byte: u32) -> vec2<u32> {
    return vec2<u32>(atomicLoad(&bytes_low[byte]), atomicLoad(&bytes_high[byte]));
}

// What each block keeps that is no further below the peak than `reach`, in the place of its byte;
// and the sum of all: `kept_mass`.
fn sum_blocks(reach: u32, blocks: u32, thread: u32) {
    if ((words[0] & SELECTS) == 0u) { return; }
    atomicStore(&bytes_low[thread], 0u);
    atomicStore(&bytes_high[thread], 0u);
    workgroupBarrier();
    for (var b = 0u; b < blocks; b++) {
        if (bin_of(peaks[b].y) > edge) { continue; }
        var mine = vec2<u32>();
        for (var i = b * BLOCK + thread; i < min(b * BLOCK + BLOCK, V); i += 256u) {
            mine = wide_add(mine, mass_kept(i, reach));
        }
        if (any(mine != vec2<u32>())) { add_to_byte(b, mine); }
    }
    workgroupBarrier();
    if (thread == 0u) {
        kept_mass = vec2<u32>();
        for (var b = 0u; b < blocks; b++) { kept_mass = wide_add(kept_mass, byte_sum(b)); }
    }
}

fn block_mass(b: u32) -> vec2<u32> {
    if ((words[0] & SELECTS) != 0u) { return byte_sum(b); }
    return vec2<u32>(sums[4u * b + 2u], sums[4u * b + 3u]);
}

fn mass_kept(i: u32, reach: u32) -> vec2<u32> {
    let distance = distance_below(peak.y, adjusted[i], numbers[0]);
    if (distance > reach || !is_kept(i)) { return vec2<u32>(); }
    return mass_at(distance);
}

// The largest logit of a block (given, or adjusted) that comes after `bound`: `best`.
fn find_best(block: u32, given: bool, bound: vec2<u32>, thread: u32) {
    var mine = vec2<u32>();
    for (var i = block * BLOCK + thread; i < min(block * BLOCK + BLOCK, V); i += 256u) {
        let mark = vec2<u32>(order_key(value_of(i, given)), ~i);
        if (is_before(mark, bound) && is_before(mine, mark)) { mine = mark; }
    }
    bests[thread] = mine;
    workgroupBarrier();
    if (thread < 16u) {
        for (var i = thread; i < 256u; i += 16u) {
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
