// out = loss + FACTOR E sum_e (sums[0, e] / ROWS) (sums[1, e] / ROWS).
// binding 0 out  read_write f32 (1)
// binding 1 loss read f32 (1)     the loss without it
// binding 2 sums read f32 (2, E)  rows that chose an expert; its probabilities
// size E u32 experts
// size ROWS u32 rows of all layers together
// size FACTOR f32 what balance is worth
// dispatch (1, 1, 1)
// oracle reference.moe_balance.moe_balance_loss rtol 1e-5 atol 1e-6
// check E=1 ROWS=7 FACTOR=1
// check E=37 ROWS=133 FACTOR=0.02
// needs -

override E: u32;
override ROWS: u32;
override FACTOR: f32;

@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@group(0) @binding(1) var<storage, read> loss: array<f32>;
@group(0) @binding(2) var<storage, read> sums: array<f32>;

@compute @workgroup_size(1)
fn moe_balance_loss() {
    let rows = f32(ROWS);
    var total = 0.0;
    for (var e = 0u; e < E; e++) { total += (sums[e] / rows) * (sums[E + e] / rows); }
    out[0] = loss[0] + FACTOR * f32(E) * total;
}
