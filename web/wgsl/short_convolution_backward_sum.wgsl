// Gradient of the sums under the SiLU of a short convolution; the sums are computed again.
// binding 0 dsum   read_write f32 (B, T, C)  gradient of the convolution's sums
// binding 1 x      read       f32 (B, T, C)  the forward's input
// binding 2 weight read       f32 (C, K)     taps of each channel, the newest last
// binding 3 dout   read       f32 (B, T, C)  gradient of the activations
// binding 4 starts read u32 (1 + PACKED * (B - 1), 1 + PACKED * (T - 1)) < T sorted
// size B u32 sequences
// size T u32 positions
// size C u32 channels
// size K u32 taps
// const PACKED u32 0 1: rows hold several documents; starts has the first position of each
// dispatch (ceil(B * T * C / 1024), 1, 1)  four elements an invocation
// oracle reference.short_convolution.short_convolution_backward_sum rtol 1e-5 atol 1e-5
// check B=1 T=1 C=1 K=4
// check B=2 T=37 C=29 K=4
// check B=3 T=37 C=5 K=7 PACKED=1
// uses silu, short_convolution, documents
// needs -

override B: u32;
override T: u32;
override C: u32;
override K: u32;

@group(0) @binding(0) var<storage, read_write> dsum: array<f32>;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> weight: array<f32>;
@group(0) @binding(3) var<storage, read> dout: array<f32>;
@group(0) @binding(4) var<storage, read> starts: array<u32>;

@compute @workgroup_size(256)
fn short_convolution_backward_sum(@builtin(workgroup_id) group: vec3<u32>,
                                  @builtin(local_invocation_index) local: u32) {
    for (var lane = 0u; lane < 4u; lane++) {
        let i = group.x * 1024u + lane * 256u + local;
        if (i >= B * T * C) { return; }
        dsum[i] = dout[i] * silu_slope(convolved(i));
    }
}
