// A lane's share of the channels of up to four rows (heads or queries; the const HEADS says how
// many), unrolled by hand: channels c, c + LANES, c + 2 LANES, ... of LANES * SHARE channels. The
// kernel declares D, HEADS, LANES, SHARE, P and SCALE, and the buffers cache and qkv;
// lib/attention_lane_steps.wgsl has partials, scores and totals.

struct Part {
    a: vec4<f32>,
    b: vec4<f32>,
    c: vec4<f32>,
    d: vec4<f32>,
}

struct Parts {
    h0: Part,
    h1: Part,
    h2: Part,
    h3: Part,
}

// The four indices of vector i of a part that begins at `at`.
fn indices(at: u32, i: u32) -> vec4<u32> {
    return vec4<u32>(at) + (vec4<u32>(0u, 1u, 2u, 3u) + 4u * i) * LANES;
}

fn cached_vector(i: vec4<u32>) -> vec4<f32> {
    return vec4<f32>(cache[i.x], cache[i.y], cache[i.z], cache[i.w]);
}

fn load_cached(at: u32) -> Part {
    var part = Part();
    part.a = cached_vector(indices(at, 0u));
    if (SHARE > 4u) { part.b = cached_vector(indices(at, 1u)); }
    if (SHARE > 8u) { part.c = cached_vector(indices(at, 2u)); }
    if (SHARE > 12u) { part.d = cached_vector(indices(at, 3u)); }
    return part;
}

fn new_vector(i: vec4<u32>) -> vec4<f32> {
    return vec4<f32>(qkv[i.x], qkv[i.y], qkv[i.z], qkv[i.w]);
}

fn load_new(at: u32) -> Part {
    var part = Part();
    part.a = new_vector(indices(at, 0u));
    if (SHARE > 4u) { part.b = new_vector(indices(at, 1u)); }
    if (SHARE > 8u) { part.c = new_vector(indices(at, 2u)); }
    if (SHARE > 12u) { part.d = new_vector(indices(at, 3u)); }
    return part;
}

fn load_queries(at: vec4<u32>) -> Parts {
    var parts = Parts();
    parts.h0 = load_new(at.x);
    if (HEADS > 1u) { parts.h1 = load_new(at.y); }
    if (HEADS > 2u) { parts.h2 = load_new(at.z); }
    if (HEADS > 3u) { parts.h3 = load_new(at.w); }
    return scale_parts(parts, vec4<f32>(SCALE));
}

fn total_vector(i: vec4<u32>) -> vec4<f32> {
    return vec4<f32>(totals[i.x], totals[i.y], totals[i.z], totals[i.w]);
}

fn load_total(at: u32) -> Part {
    var part = Part();
    part.a = total_vector(indices(at, 0u));
    if (SHARE > 4u) { part.b = total_vector(indices(at, 1u)); }
    if (SHARE > 8u) { part.c = total_vector(indices(at, 2u)); }
    if (SHARE > 12u) { part.d = total_vector(indices(at, 3u)); }
    return part;
}

fn load_totals(at: u32) -> Parts {
    var parts = Parts();
    parts.h0 = load_total(at);
    if (HEADS > 1u) { parts.h1 = load_total(at + D); }
    if (HEADS > 2u) { parts.h2 = load_total(at + 2u * D); }
    if (HEADS > 3u) { parts.h3 = load_total(at + 3u * D); }
    return parts;
}

fn store_vector(i: vec4<u32>, v: vec4<f32>) {
    totals[i.x] = v.x;
    totals[i.y] = v.y;
    totals[i.z] = v.z;
    totals[i.w] = v.w;
}

fn store_total(at: u32, part: Part) {
    store_vector(indices(at, 0u), part.a);
    if (SHARE > 4u) { store_vector(indices(at, 1u), part.b); }
    if (SHARE > 8u) { store_vector(indices(at, 2u), part.c); }
    if (SHARE > 12u) { store_vector(indices(at, 3u), part.d); }
}

fn store_totals(at: u32, parts: Parts) {
    store_total(at, parts.h0);
    if (HEADS > 1u) { store_total(at + D, parts.h1); }
    if (HEADS > 2u) { store_total(at + 2u * D, parts.h2); }
    if (HEADS > 3u) { store_total(at + 3u * D, parts.h3); }
}

fn scale_part(m: Part, w: f32) -> Part {
    return Part(m.a * w, m.b * w, m.c * w, m.d * w);
}

fn scale_parts(m: Parts, w: vec4<f32>) -> Parts {
    return Parts(scale_part(m.h0, w.x), scale_part(m.h1, w.y), scale_part(m.h2, w.z),
                 scale_part(m.h3, w.w));
}

fn dot_part(m: Part, v: Part) -> f32 {
    var sum = m.a * v.a;
    if (SHARE > 4u) { sum = fma(m.b, v.b, sum); }
    if (SHARE > 8u) { sum = fma(m.c, v.c, sum); }
    if (SHARE > 12u) { sum = fma(m.d, v.d, sum); }
    return dot(sum, vec4<f32>(1.0));
}

fn dot_parts(m: Parts, v: Part) -> vec4<f32> {
    var sums = vec4<f32>();
    sums.x = dot_part(m.h0, v);
    if (HEADS > 1u) { sums.y = dot_part(m.h1, v); }
    if (HEADS > 2u) { sums.z = dot_part(m.h2, v); }
    if (HEADS > 3u) { sums.w = dot_part(m.h3, v); }
    return sums;
}

fn add_part(m: Part, w: f32, v: Part) -> Part {
    let weight = vec4<f32>(w);
    var sum = m;
    sum.a = fma(v.a, weight, m.a);
    if (SHARE > 4u) { sum.b = fma(v.b, weight, m.b); }
    if (SHARE > 8u) { sum.c = fma(v.c, weight, m.c); }
    if (SHARE > 12u) { sum.d = fma(v.d, weight, m.d); }
    return sum;
}

fn add_parts(m: Parts, w: vec4<f32>, v: Part) -> Parts {
    var sum = m;
    sum.h0 = add_part(m.h0, w.x, v);
    if (HEADS > 1u) { sum.h1 = add_part(m.h1, w.y, v); }
    if (HEADS > 2u) { sum.h2 = add_part(m.h2, w.z, v); }
    if (HEADS > 3u) { sum.h3 = add_part(m.h3, w.w, v); }
    return sum;
}

fn store_partial(at: u32, x: f32, more: bool) {
    if (D > LANES * SHARE && more) { partials[at] += x; } else { partials[at] = x; }
}

fn store_partials(at: u32, x: vec4<f32>, more: bool) {
    store_partial(at, x.x, more);
    if (HEADS > 1u) { store_partial(at + LANES * P, x.y, more); }
    if (HEADS > 2u) { store_partial(at + 2u * LANES * P, x.z, more); }
    if (HEADS > 3u) { store_partial(at + 3u * LANES * P, x.w, more); }
}

fn sum_partial(at: u32) -> f32 {
    var sum = 0.0;
    for (var i = 0u; i < LANES; i++) { sum += partials[at + i]; }
    return sum;
}

fn sum_partials(at: u32) -> vec4<f32> {
    var x = vec4<f32>();
    x.x = sum_partial(at);
    if (HEADS > 1u) { x.y = sum_partial(at + LANES * P); }
    if (HEADS > 2u) { x.z = sum_partial(at + 2u * LANES * P); }
    if (HEADS > 3u) { x.w = sum_partial(at + 3u * LANES * P); }
    return x;
}

fn store_scores(at: u32, x: vec4<f32>) {
    scores[at] = x.x;
    if (HEADS > 1u) { scores[at + P] = x.y; }
    if (HEADS > 2u) { scores[at + 2u * P] = x.z; }
    if (HEADS > 3u) { scores[at + 3u * P] = x.w; }
}

fn load_scores(at: u32) -> vec4<f32> {
    var x = vec4<f32>();
    x.x = scores[at];
    if (HEADS > 1u) { x.y = scores[at + P]; }
    if (HEADS > 2u) { x.z = scores[at + 2u * P]; }
    if (HEADS > 3u) { x.w = scores[at + 3u * P]; }
    return x;
}
