// Entropic transport of one small class, as in method/sinkhorn.py: argmin <T, C> - lambda h(T), in the log domain.
// cost: rows of numbers; rows, columns: weights that sum to 1, all positive; mass: the share that is moved, in (0, 1].
// Returns the plan (its sum is mass) and the cost per unit of moved mass.
function smallSinkhorn(cost, rows, columns, lambda, mass) {
  const stays = mass < 1; // one more column, at no cost, for the mass that is not moved
  const C = stays ? cost.map((row) => [...row, 0]) : cost;
  const b = stays ? [...columns.map((w) => w * mass), 1 - mass] : columns;
  const logSum = (values) => {
    const most = Math.max(...values);
    return most + Math.log(values.reduce((sum, v) => sum + Math.exp(v - most), 0));
  };
  const f = rows.map(() => 0);
  const g = b.map(() => 0);
  let level = Math.max(lambda, 1);
  for (let sweep = 0; sweep < 20000; sweep++) {
    for (let n = 0; n < f.length; n++) f[n] = -level * logSum(b.map((w, m) => Math.log(w) + (g[m] - C[n][m]) / level));
    let error = 0;
    for (let m = 0; m < g.length; m++) {
      const missing = -logSum(rows.map((w, n) => Math.log(w) + (f[n] + g[m] - C[n][m]) / level));
      g[m] += level * missing;
      error = Math.max(error, Math.abs(missing));
    }
    if (error < (level > lambda ? 0.1 : 1e-10)) {
      if (level === lambda) break;
      level = Math.max(lambda, level / 2); // smaller lambdas start where larger ones ended
    }
  }
  const plan = cost.map((row, n) => row.map((c, m) => rows[n] * b[m] * Math.exp((f[n] + g[m] - c) / level)));
  const total = plan.reduce((sum, row, n) => sum + row.reduce((s, share, m) => s + share * cost[n][m], 0), 0);
  return { plan, cost: total / mass };
}
