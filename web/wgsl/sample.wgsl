// Chooses the next token from logits and moves on by one position, all on the GPU: a decode plan
// can be replayed many times with no data from the CPU. While the prompt lasts, its own token is
// taken instead of the chosen one.
// Greedy choice is top-k with k = 1. The k-th largest logit is found by radix selection: four
// passes, each counting one byte of the keys of the logits that still qualify.
// binding 0 next        read_write u32 (1)            the chosen token: the next step's input
// binding 1 tokens      read_write u32 (S) < V updated  prompt, then what was chosen
// binding 2 state       read_write u32 (7) < S updated  the words that are listed below
// binding 3 logits      read       f32 (V)
// binding 4 temperature read       f32 (1) positive   0 chooses the largest logit
// size S u32 positions that tokens holds
// size V u32 vocabulary
// dispatch (1, 1, 1)
// oracle reference.sample.sample rtol 0 atol 0
// check S=1 V=1
// check S=5 V=7
// check S=67 V=256
// check S=300 V=5003
// uses philox
// needs -
//
// state: position, prompt length, top_k (0 keeps all), seed low, seed high, counter low and high.

override S: u32;
override V: u32;

const THREADS = 256u;

@group(0) @binding(0) var<storage, read_write> next: array<u32>;
@group(0) @binding(1) var<storage, read_write> tokens: array<u32>;
@group(0) @binding(2) var<storage, read_write> state: array<u32>;
@group(0) @binding(3) var<storage, read> logits: array<f32>;
@group(0) @binding(4) var<storage, read> temperature: array<f32>;

var<workgroup> histogram: array<atomic<u32>, 256>;
var<workgroup> parts: array<f32, THREADS>;
var<workgroup> ties: array<u32, THREADS>;
var<workgroup> peak: f32;
var<workgroup> threshold: u32;   // the key of the k-th largest logit, one byte more each pass
var<workgroup> remaining: u32;   // how many logits with that key are kept, lowest index first

// A u32 that orders like the float.
fn order_key(x: f32) -> u32 {
    let bits = bitcast<u32>(select(x, 0.0, x == 0.0));
    return select(bits | 0x80000000u, ~bits, (bits >> 31u) == 1u);
}

@compute @workgroup_size(256)
fn sample(@builtin(local_invocation_index) thread: u32) {
    // Each thread has a contiguous stretch, so that index order is thread order.
    let length = (V + THREADS - 1u) / THREADS;
    let start = min(thread * length, V);
    let end = min(start + length, V);
    let heat = temperature[0];
    let greedy = heat <= 0.0;

    var top = -1e30;
    for (var i = start; i < end; i++) { top = max(top, logits[i]); }
    parts[thread] = top;
    workgroupBarrier();
    if (thread == 0u) {
        for (var i = 0u; i < THREADS; i++) { top = max(top, parts[i]); }
        peak = top;
        let k = select(state[2], 1u, greedy);
        remaining = select(min(k, V), V, k == 0u);
        threshold = 0u;
    }
    workgroupBarrier();

    for (var shift = 32u; shift > 0u; shift -= 8u) {
        select_byte(shift - 8u, start, end, thread);
    }

    var tied = 0u;
    for (var i = start; i < end; i++) { tied += u32(order_key(logits[i]) == threshold); }
    ties[thread] = tied;
    workgroupBarrier();
    if (thread == 0u) {
        var before = 0u;
        for (var i = 0u; i < THREADS; i++) {
            let count = ties[i];
            ties[i] = before;
            before += count;
        }
    }
    workgroupBarrier();

    let scale = 1.0 / select(heat, 1.0, greedy);
    var sum = 0.0;
    var rank = ties[thread];
    for (var i = start; i < end; i++) {
        if (kept(i, &rank)) { sum += exp((logits[i] - peak) * scale); }
    }
    parts[thread] = sum;
    workgroupBarrier();
    if (thread == 0u) { step(draw(length, scale)); }
}

// Narrows the threshold by the byte at `shift`, counting from the largest byte down.
fn select_byte(shift: u32, start: u32, end: u32, thread: u32) {
    atomicStore(&histogram[thread], 0u);
    workgroupBarrier();
    // The bytes above; a shift by 32 is not defined, hence two.
    let known = ((0xffffffffu << shift) << 7u) << 1u;
    for (var i = start; i < end; i++) {
        let key = order_key(logits[i]);
        if ((key & known) == (threshold & known)) {
            atomicAdd(&histogram[(key >> shift) & 255u], 1u);
        }
    }
    workgroupBarrier();
    if (thread == 0u) {
        var byte = 255u;
        var count = atomicLoad(&histogram[byte]);
        while (count < remaining && byte > 0u) {
            remaining -= count;
            byte--;
            count = atomicLoad(&histogram[byte]);
        }
        threshold |= byte << shift;
    }
    workgroupBarrier();
}

// Whether logit i is among the k largest; `rank` counts the ties with the k-th before it.
fn kept(i: u32, rank: ptr<function, u32>) -> bool {
    let key = order_key(logits[i]);
    if (key != threshold) { return key > threshold; }
    *rank += 1u;
    return *rank <= remaining;
}

// Inverts the cumulative distribution at a uniform number; by one thread, in index order.
fn draw(length: u32, scale: f32) -> u32 {
    var total = 0.0;
    for (var i = 0u; i < THREADS; i++) { total += parts[i]; }
    let words = philox(vec4<u32>(state[0], 0u, state[5], state[6]), vec2<u32>(state[3], state[4]));
    let goal = unit(words.x) * total;

    var before = 0.0;
    var chosen = 0u;
    var cumulative = 0.0;
    for (var i = 0u; i < THREADS; i++) {
        // Rounding can put the goal at the total; then the last stretch with weight is taken.
        if (parts[i] > 0.0) {
            chosen = i;
            before = cumulative;
        }
        cumulative += parts[i];
        if (cumulative > goal) { break; }
    }

    var token = chosen * length;
    var inside = 0.0;
    var rank = ties[chosen];
    for (var i = chosen * length; i < min(chosen * length + length, V); i++) {
        if (kept(i, &rank)) {
            let p = exp((logits[i] - peak) * scale);
            if (p > 0.0) { token = i; }
            inside += p;
            if (before + inside > goal) { break; }
        }
    }
    return token;
}

fn step(drawn: u32) {
    let place = state[0] + 1u;
    var token = drawn;
    if (place < min(state[1], S)) { token = tokens[place]; }
    next[0] = token;
    if (place < S) {
        tokens[place] = token;
        state[0] = place;
    }
}
