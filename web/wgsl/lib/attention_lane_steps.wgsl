// The steps of attention by lanes (lib/attention_lanes.wgsl) over `count` keys, the first of which
// lies in `row` of the cache: parts of scores, scores, their exponentials, values. A barrier comes
// after multiply_keys and after exponentiate. The kernel declares R and HK, and uses
// attention_lanes and attention_mask.

const BLOCK = LANES * SHARE;
const SCORES = HEADS * P;
const PARTIALS = SCORES * LANES;
const TOTALS = HEADS * D;

var<workgroup> partials: array<f32, PARTIALS>;
var<workgroup> scores: array<f32, SCORES>;
var<workgroup> totals: array<f32, TOTALS>;
var<workgroup> of_lane: array<vec4<f32>, LANES>;

// Each lane's part of the scores of `count` keys.
fn multiply_keys(queries: vec4<u32>, head: u32, row: u32, count: u32, lane: u32) {
    for (var c = lane; c < D; c += BLOCK) {
        let q = load_queries(queries + c);
        var at = row;
        for (var i = 0u; i < count; i++) {
            let product = dot_parts(q, load_cached((at * 2u * HK + head) * D + c));
            store_partials(i * LANES + lane, product, c > lane);
            at = select(at + 1u, 0u, at + 1u == R);
        }
    }
}

// Scores of `count` keys from s on from the lanes' parts, for queries at the positions `now`; the
// largest of them and of the peak.
fn add_partials(peak: vec4<f32>, now: vec4<u32>, s: u32, count: u32, lane: u32) -> vec4<f32> {
    var top = peak;
    for (var i = lane; i < count; i += LANES) {
        let seen = see(now, vec4<u32>(s + i));
        let score = select(vec4<f32>(-1e30), sum_partials(i * LANES), seen);
        top = max(top, score);
        store_scores(i, score);
    }
    of_lane[lane] = top;
    workgroupBarrier();
    for (var i = 0u; i < LANES; i++) { top = max(top, of_lane[i]); }
    return top;
}

// exp(score - top) in place of the scores; this lane's sum of them.
fn exponentiate(top: vec4<f32>, count: u32, lane: u32) -> vec4<f32> {
    var weight = vec4<f32>();
    for (var i = lane; i < count; i += LANES) {
        let p = exp(load_scores(i) - top);
        weight += p;
        store_scores(i, p);
    }
    return weight;
}

fn add_values(shrink: vec4<f32>, head: u32, row: u32, count: u32, lane: u32) {
    for (var c = lane; c < D; c += BLOCK) {
        var total = scale_parts(load_totals(c), shrink);
        var at = row;
        for (var i = 0u; i < count; i++) {
            let v = load_cached((at * 2u * HK + HK + head) * D + c);
            total = add_parts(total, load_scores(i), v);
            at = select(at + 1u, 0u, at + 1u == R);
        }
        store_totals(c, total);
    }
}

fn sum_of_lanes(x: vec4<f32>, lane: u32) -> vec4<f32> {
    workgroupBarrier();
    of_lane[lane] = x;
    workgroupBarrier();
    var sum = vec4<f32>();
    for (var i = 0u; i < LANES; i++) { sum += of_lane[i]; }
    workgroupBarrier();
    return sum;
}
