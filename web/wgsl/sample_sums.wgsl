// Masses of each block, and a histogram of counts and masses near the peak, for a draw.
// All are whole numbers (lib/mass.wgsl), so that atomics add up to the same bits in any order.
// binding 0 sums     read_write u32 (4 * ceil(V / BLOCK) + 3072) < 1000 updated  see below
// binding 1 logits   read       f32 (V)
// binding 2 adjusted read       f32 (V)
// binding 3 peaks    read       f32 (ceil(V / BLOCK), 2)  of sample_adjust
// binding 4 numbers  read       f32 (6) positive  as ops/sample.py lists them
// binding 5 words    read       u32 (9)  as ops/sample.py lists them
// size V u32 vocabulary
// const BLOCK u32 4096 logits of a workgroup
// dispatch (ceil(V / BLOCK), 1, 1)
// oracle reference.sample.sample_sums rtol 0 atol 0
// check V=1
// check V=33
// check V=771 BLOCK=256
// check V=772 BLOCK=256
// check V=773 BLOCK=256
// check V=4099
// uses philox mass
// needs -
//
// sums: for each block the mass of the logits, then of the adjusted ones, low word first. Then for
// each of 1024 bins of 1/64 octave: count, mass low, mass high; the last bin has all that lies
// deeper and is not counted. With top_k or top_p the adjusted mass is of all tokens and the
// histogram is made; else the mass is of those that min_p keeps.

override V: u32;

const GREEDY = 1u;
const SELECTS = 24u;
const LAST_BIN = 1023u;

@group(0) @binding(0) var<storage, read_write> sums: array<atomic<u32>>;
@group(0) @binding(1) var<storage, read> logits: array<f32>;
@group(0) @binding(2) var<storage, read> adjusted: array<f32>;
@group(0) @binding(3) var<storage, read> peaks: array<vec2<f32>>;
@group(0) @binding(4) var<storage, read> numbers: array<f32>;
@group(0) @binding(5) var<storage, read> words: array<u32>;

// No barrier: every thread finds the peak itself, which CPU adapters do faster.
@compute @workgroup_size(64)
fn sample_sums(@builtin(workgroup_id) group: vec3<u32>,
               @builtin(local_invocation_index) thread: u32) {
    let blocks = (V + BLOCK - 1u) / BLOCK;
    var peak = peaks[0];
    for (var b = 1u; b < blocks; b++) { peak = max(peak, peaks[b]); }
    let selects = (words[0] & SELECTS) != 0u;
    let greedy = (words[0] & GREEDY) != 0u;
    let octaves = numbers[0];
    let reach = words[3];
    var given = vec2<u32>();
    var mine = vec2<u32>();
    let end = min(group.x * BLOCK + BLOCK, V);
    for (var i = group.x * BLOCK + thread; i < end; i += 64u) {
        // 1 / ln 2: a nat is so many octaves.
        given = wide_add(given, mass_at(distance_below(peak.x, logits[i], 1.4426950408889634f)));
        if (greedy) { continue; }
        let distance = distance_below(peak.y, adjusted[i], octaves);
        let mass = mass_at(distance);
        if (selects || distance <= reach) { mine = wide_add(mine, mass); }
        let bin = distance >> 20u;
        if (selects && bin < LAST_BIN) {
            let place = 4u * blocks + 3u * bin;
            atomicAdd(&sums[place], 1u);
            add_mass(place + 1u, mass);
        }
    }
    add_mass(4u * group.x, given);
    if (!greedy) { add_mass(4u * group.x + 2u, mine); }
}

// Whoever sees the low word pass 2^32 carries; every passing is seen by exactly one.
fn add_mass(place: u32, mass: vec2<u32>) {
    let before = atomicAdd(&sums[place], mass.x);
    let carry = u32(before + mass.x < before);
    if (mass.y + carry > 0u) { atomicAdd(&sums[place + 1u], mass.y + carry); }
}
