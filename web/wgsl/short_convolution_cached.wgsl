// Causal depthwise convolution and SiLU of rows that follow earlier ones, whose last K - 1 are the
// state; at the end the state holds the last K - 1 of all. Rows from span[1] on are padding: their
// results mean nothing, and the state does not see them. One row always counts.
// binding 0 out    read_write f32 (T, C)              activations
// binding 1 state  read_write f32 (K - 1, C) updated  the rows before x, oldest first
// binding 2 x      read       f32 (T, C)
// binding 3 weight read       f32 (C, K)              taps of each channel, the newest last
// binding 4 span   read       u32 (2) < T             position of row 0; rows that count
// size T u32 rows
// size C u32 channels
// size K u32 taps, at least 2
// dispatch (ceil(C / 32), 1, 1)  one invocation per channel: nobody else needs its state
// oracle reference.short_convolution.short_convolution_cached rtol 1e-5 atol 1e-5
// check T=1 C=1 K=4
// check T=37 C=41 K=4
// check T=2 C=8 K=7
// check T=9 C=8 K=2
// uses silu
// needs -
//
// Measured, T=256 C=6144 K=4, two shared CPU cores: Chromium on SwiftShader 18 ms; with four taps
// read anew for each row, 109 ms.

override T: u32;
override C: u32;
override K: u32;

@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@group(0) @binding(1) var<storage, read_write> state: array<f32>;
@group(0) @binding(2) var<storage, read> x: array<f32>;
@group(0) @binding(3) var<storage, read> weight: array<f32>;
@group(0) @binding(4) var<storage, read> span: array<u32>;

// Row i of state and x, one after the other.
fn joined(i: u32, c: u32) -> f32 {
    if (i < K - 1u) { return state[i * C + c]; }
    return x[(i - (K - 1u)) * C + c];
}

// All models have four taps: weights and the last rows stay in registers, each row is read once.
fn four_taps(c: u32) {
    let taps = vec4<f32>(weight[c * 4u], weight[c * 4u + 1u], weight[c * 4u + 2u],
                         weight[c * 4u + 3u]);
    var recent = vec4<f32>(0.0, state[c], state[C + c], state[2u * C + c]);
    for (var i = c; i < T * C; i += C) {
        recent = vec4<f32>(recent.yzw, x[i]);
        out[i] = silu(dot(taps, recent));
    }
}

@compute @workgroup_size(32)
fn short_convolution_cached(@builtin(global_invocation_id) id: vec3<u32>) {
    let c = id.x;
    if (c >= C) { return; }
    var count = 1u;
    if (T > 1u) { count = min(span[1], T); }
    if (K == 4u) {
        four_taps(c);
    } else {
        for (var t = 0u; t < T; t++) {
            var sum = 0.0;
            for (var tap = 0u; tap < K; tap++) {
                sum = fma(weight[c * K + tap], joined(t + tap, c), sum);
            }
            out[t * C + c] = silu(sum);
        }
    }
    // Ascending, so that each row is read before it is overwritten.
    for (var i = 0u; i < K - 1u; i++) { state[i * C + c] = joined(i + count, c); }
}
