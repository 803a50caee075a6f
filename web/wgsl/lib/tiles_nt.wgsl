// Tiles of a (M, K) and of the transpose of b (N, K), for lib/matmul.wgsl; K is a multiple of four.

fn tile_a(m: u32, k: u32) -> mat4x4<f32> { return quad_a(m, k, K); }

fn tile_b(k: u32, n: u32) -> mat4x4<f32> { return transpose(quad_b(n, k, K)); }
