// How much of what one row of a chunk wrote is left at a later one of its document; uses documents.
// The kernel says which rows count, counts(t); the others do not decay.

fn decay_at(b: u32, t: u32, h: u32) -> f32 {
    return select(0.0, decay[(b * T + min(t, T - 1u)) * HV + h], counts(t));
}

// A sum of decays with that of row t, which begins it anew where a document begins.
fn sum_with(sum: f32, b: u32, t: u32, h: u32) -> f32 {
    if (begins_at(b, t)) { return decay_at(b, t, h); }
    return sum + decay_at(b, t, h);
}

// The sums of the decays, from `start` or the begin of their document, up to each of the rows
// `first` to `first` + 3.
fn sums_from(start: u32, first: u32, b: u32, h: u32) -> vec4<f32> {
    var sum = 0.0;
    for (var t = start; t < first; t++) { sum = sum_with(sum, b, t, h); }
    let s0 = sum_with(sum, b, first, h);
    let s1 = sum_with(s0, b, first + 1u, h);
    let s2 = sum_with(s1, b, first + 2u, h);
    return vec4<f32>(s0, s1, s2, sum_with(s2, b, first + 3u, h));
}

// How many rows of its document the rows `first` to `first` + 3 see, themselves included.
fn seen_rows(b: u32, first: u32) -> vec4<u32> {
    let t = vec4<u32>(first) + vec4<u32>(0u, 1u, 2u, 3u);
    return t + 1u - vec4<u32>(begin_of(b, t.x), begin_of(b, t.y), begin_of(b, t.z),
                              begin_of(b, t.w));
}

// exp(later[r] - earlier[c]) for four rows and four columns of a chunk; zero where the row does not
// see the column, which may come after it. `ahead` is the first row less the first column.
fn fade_row(later: f32, earlier: vec4<f32>, ahead: u32, seen: u32) -> vec4<f32> {
    // An age below zero wraps around to a large number.
    let ages = vec4<u32>(ahead) - vec4<u32>(0u, 1u, 2u, 3u);
    return select(vec4<f32>(), exp(later - earlier), ages < vec4<u32>(seen));
}

fn fade_tile(later: vec4<f32>, earlier: vec4<f32>, ahead: u32, seen: vec4<u32>) -> mat4x4<f32> {
    return mat4x4<f32>(fade_row(later.x, earlier, ahead, seen.x),
                       fade_row(later.y, earlier, ahead + 1u, seen.y),
                       fade_row(later.z, earlier, ahead + 2u, seen.z),
                       fade_row(later.w, earlier, ahead + 3u, seen.w));
}

fn tile_times(a: mat4x4<f32>, b: mat4x4<f32>) -> mat4x4<f32> {
    return mat4x4<f32>(a[0] * b[0], a[1] * b[1], a[2] * b[2], a[3] * b[3]);
}

// The tile without its diagonal.
fn without_diagonal(a: mat4x4<f32>) -> mat4x4<f32> {
    return mat4x4<f32>(vec4<f32>(0.0, a[0].yzw), vec4<f32>(a[1].x, 0.0, a[1].zw),
                       vec4<f32>(a[2].xy, 0.0, a[2].w), vec4<f32>(a[3].xyz, 0.0));
}
