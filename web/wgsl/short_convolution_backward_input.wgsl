// Gradient of a causal depthwise convolution for its input: each position goes into the K sums
// from itself on, as far as its document goes.
// binding 0 dx     read_write f32 (B, T, C) accumulate  gradient of x
// binding 1 dsum   read       f32 (B, T, C)  gradient of the convolution's sums
// binding 2 weight read       f32 (C, K)     taps of each channel, the newest last
// binding 3 starts read u32 (1 + PACKED * (B - 1), 1 + PACKED * (T - 1)) < T sorted
// size B u32 sequences
// size T u32 positions
// size C u32 channels
// size K u32 taps
// size ACCUMULATE u32 1 adds to dx, 0 writes it
// const PACKED u32 0 1: rows hold several documents; starts has the first position of each
// dispatch (ceil(B * T * C / 1024), 1, 1)  four elements an invocation
// oracle reference.short_convolution.short_convolution_backward_input rtol 1e-5 atol 1e-5
// check B=1 T=1 C=1 K=4 ACCUMULATE=0
// check B=2 T=37 C=29 K=4 ACCUMULATE=1
// check B=3 T=37 C=5 K=7 ACCUMULATE=0 PACKED=1
// uses documents
// needs -

override B: u32;
override T: u32;
override C: u32;
override K: u32;
override ACCUMULATE: u32;

@group(0) @binding(0) var<storage, read_write> dx: array<f32>;
@group(0) @binding(1) var<storage, read> dsum: array<f32>;
@group(0) @binding(2) var<storage, read> weight: array<f32>;
@group(0) @binding(3) var<storage, read> starts: array<u32>;

@compute @workgroup_size(256)
fn short_convolution_backward_input(@builtin(workgroup_id) group: vec3<u32>,
                                    @builtin(local_invocation_index) local: u32) {
    for (var lane = 0u; lane < 4u; lane++) {
        let i = group.x * 1024u + lane * 256u + local;
        if (i >= B * T * C) { return; }
        let c = i % C;
        let t = (i / C) % T;
        var sum = select(0.0, dx[i], ACCUMULATE == 1u);
        let b = i / (C * T);
        for (var ahead = 0u; ahead < min(K, T - t); ahead++) {
            if (begin_of(b, t + ahead) > t) { break; }
            sum = fma(weight[c * K + K - 1u - ahead], dsum[i + ahead * C], sum);
        }
        dx[i] = sum;
    }
}
