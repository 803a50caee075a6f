// Writes the keys and values of new positions into a cache, a ring of R rows. Only the rows that
// count are written; the rest is padding.
// binding 0 cache read_write f32 (R, 2 * HK * D) updated  keys, then values, of each position
// binding 1 qkv   read f32 (T, (HQ + 2 * HK) * D)         query, key and value heads
// binding 2 span  read u32 (2) < 99                       position of row 0, rows that count
// size T u32 rows
// size R u32 positions that the cache holds
// size HQ u32 query heads
// size HK u32 key and value heads
// size D u32 channels of a head; a multiple of 4
// dispatch (ceil(T * 2 * HK * D / 256), 1, 1)  a thread copies four numbers
// oracle reference.attention_cached.attention_append rtol 0 atol 0
// check T=1 R=1 HQ=1 HK=1 D=4
// check T=37 R=128 HQ=4 HK=2 D=8
// check T=7 R=11 HQ=3 HK=1 D=20
// check T=70 R=90 HQ=6 HK=2 D=64
// needs -

override T: u32;
override R: u32;
override HQ: u32;
override HK: u32;
override D: u32;

@group(0) @binding(0) var<storage, read_write> cache: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> qkv: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> span: array<u32>;

@compute @workgroup_size(64)
fn attention_append(@builtin(global_invocation_id) id: vec3<u32>) {
    let width = 2u * HK * D / 4u;
    let t = id.x / width;
    let c = id.x % width;
    let rows = min(span[1], T);
    // Of more than R rows only the last R are written: no two threads write one place.
    if (t >= rows || t + R < rows) { return; }
    cache[(span[0] + t) % R * width + c] = qkv[t * (width + HQ * D / 4u) + HQ * D / 4u + c];
}
