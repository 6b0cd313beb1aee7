//! The slow reference: the same problem solved without tricks, in f64 and natural logarithms, on
//! the whole frame. It shares no code with the solver. [`Grid::evaluate`] evaluates any pair of
//! potentials exactly, [`Grid::solve`] is the textbook separable iteration, and
//! [`Grid::solve_dense`] is Newton's method on the dense dual, for a dozen pixels a side.

use crate::frame::Pair;
use crate::settings::{CoordScale, Reference, Settings};
use crate::shape::Shape;

/// The problem on the whole frame, without crop, pooling or scaling to unit masses.
#[derive(Clone, Debug)]
pub struct Grid {
    /// Shape of the frame.
    pub shape: Shape,
    /// Source masses, problem units.
    pub a: Vec<f64>,
    /// Target masses, problem units.
    pub b: Vec<f64>,
    /// Cost units per pixel.
    pub scale: f64,
    /// Entropic blur.
    pub epsilon: f64,
    /// Prices of destroying mass of the source and of creating mass of the target; may be infinite.
    pub relaxations: [f64; 2],
    /// The reference measure of the entropy.
    pub reference: Reference,
}

/// A pair of potentials, cost units, zero off the supports.
#[derive(Clone, Debug)]
pub struct Duals {
    /// Potential of the source.
    pub f: Vec<f64>,
    /// Potential of the target.
    pub g: Vec<f64>,
    /// L1 residual of both marginals divided by the smaller mass.
    pub residual: f64,
}

/// The plan of a pair of potentials, evaluated.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// First marginal of the plan.
    pub mu: Vec<f64>,
    /// Second marginal of the plan.
    pub nu: Vec<f64>,
    /// L1 residual of both marginals divided by the smaller mass.
    pub residual: f64,
    /// Transport cost ⟨P, C⟩.
    pub cost: f64,
    /// The minimised value.
    pub objective: f64,
    /// Mean displacement (y, x) per source pixel, px; NaN off the support.
    pub velocity_yx_px: Vec<[f64; 2]>,
    /// Transport cost per source pixel.
    pub cost_map: Vec<f64>,
}

impl Grid {
    /// States the problem of a pair, without crop or pooling.
    pub fn new(pair: &Pair, settings: &Settings) -> Grid {
        let shape = pair.source.shape;
        let unit = |density: &[f64]| {
            let mass: f64 = density.iter().sum();
            let by = if settings.normalize { mass } else { 1.0 };
            density.iter().map(|v| v / by).collect()
        };
        Grid {
            shape,
            a: unit(&pair.source.density),
            b: unit(&pair.target.density),
            scale: match settings.coord_scale {
                CoordScale::Auto => 1.0 / shape.h_px.max(shape.w_px) as f64,
                CoordScale::Fixed(scale) => scale,
            },
            epsilon: settings.epsilon,
            relaxations: settings.relaxations(),
            reference: settings.reference,
        }
    }

    /// Marginals, residual, cost and velocity of a pair of potentials, exactly.
    pub fn evaluate(&self, f: &[f64], g: &[f64]) -> Evaluation {
        let (shape, eps) = (self.shape, self.epsilon);
        let from_b = self.logs(g, &self.b, eps);
        let sums = self.log_sum(&from_b, eps);
        let log_ra = self.log_reference(&self.a);
        let mu: Vec<f64> =
            (0..shape.n_px()).map(|p| (f[p] / eps + log_ra[p] + sums[p]).exp()).collect();
        let sums_b = self.log_sum(&self.logs(f, &self.a, eps), eps);
        let log_rb = self.log_reference(&self.b);
        let nu: Vec<f64> =
            (0..shape.n_px()).map(|q| (g[q] / eps + log_rb[q] + sums_b[q]).exp()).collect();
        let weighted = |weight: &dyn Fn(f64, f64) -> f64| -> Vec<f64> {
            let logs: Vec<f64> = (0..shape.n_px())
                .map(|q| {
                    let (y, x) = ((q / shape.w_px) as f64, (q % shape.w_px) as f64);
                    from_b[q] + weight(y, x).ln()
                })
                .collect();
            let all = self.log_sum(&logs, eps);
            all.iter().zip(&sums).map(|(l, s)| (l - s).exp()).collect()
        };
        // Coordinates start at one here, because the weights enter by their logarithms.
        let mean_y = weighted(&|y, _| y + 1.0);
        let mean_x = weighted(&|_, x| x + 1.0);
        let square = weighted(&|y, x| (y + 1.0).powi(2) + (x + 1.0).powi(2));
        let mut velocity_yx_px = vec![[f64::NAN; 2]; shape.n_px()];
        let mut cost_map = vec![0.0; shape.n_px()];
        for p in 0..shape.n_px() {
            if self.a[p] > 0.0 {
                let (y, x) = ((p / shape.w_px) as f64 + 1.0, (p % shape.w_px) as f64 + 1.0);
                velocity_yx_px[p] = [mean_y[p] - y, mean_x[p] - x];
                let distance2 = square[p] - 2.0 * (mean_y[p] * y + mean_x[p] * x) + y * y + x * x;
                cost_map[p] = mu[p] * distance2 * self.scale * self.scale;
            }
        }
        let residual = self.residual(f, g, &mu, &nu);
        let cost = cost_map.iter().sum();
        let objective = self.objective(f, g, &mu, &nu);
        Evaluation { mu, nu, residual, cost, objective, velocity_yx_px, cost_map }
    }

    /// The residual of a pair of potentials, without the other figures.
    pub fn residual_of(&self, f: &[f64], g: &[f64]) -> f64 {
        let eps = self.epsilon;
        let marginal = |potential: &[f64], m: &[f64], other: &[f64], other_m: &[f64]| -> Vec<f64> {
            let sums = self.log_sum(&self.logs(other, other_m, eps), eps);
            self.logs(potential, m, eps).iter().zip(&sums).map(|(l, s)| (l + s).exp()).collect()
        };
        let mu = marginal(f, &self.a, g, &self.b);
        let nu = marginal(g, &self.b, f, &self.a);
        self.residual(f, g, &mu, &nu)
    }

    /// The textbook iteration: annealed in ε, with the translation-invariant shift, stopped on
    /// the residual of both marginals. Slow for small ε.
    pub fn solve(&self, tolerance: f64, max_iterations: usize) -> Duals {
        let n_px = self.shape.n_px();
        let (mut f, mut g) = (vec![0.0; n_px], vec![0.0; n_px]);
        let longest = self.scale * self.shape.h_px.max(self.shape.w_px) as f64;
        let mut eps = (0.3 * longest * longest).max(self.epsilon);
        loop {
            let last = eps <= self.epsilon;
            for it in 1..=if last { max_iterations } else { 3 } {
                let [src, tgt] = self.relaxations;
                self.half(&f, &self.a, &self.b, &mut g, tgt, eps);
                self.half(&g, &self.b, &self.a, &mut f, src, eps);
                // Two different prices are left to converge without the shift.
                if src == tgt && src.is_finite() {
                    let (soft_g, soft_f) = (soft_min(&g, &self.b, tgt), soft_min(&f, &self.a, src));
                    let shift = 0.5 * (soft_g - soft_f);
                    shift_live(&mut f, &self.a, shift);
                    shift_live(&mut g, &self.b, -shift);
                }
                if last && (it % 10 == 0 || it == max_iterations) {
                    let residual = self.evaluate(&f, &g).residual;
                    if residual < tolerance || it == max_iterations {
                        return Duals { f, g, residual };
                    }
                }
            }
            eps = (0.5 * eps).max(self.epsilon);
        }
    }

    /// Newton's method on the dense dual, annealed in ε: exact to rounding, for small grids.
    pub fn solve_dense(&self) -> Duals {
        let live = |m: &[f64]| -> Vec<usize> { (0..m.len()).filter(|p| m[*p] > 0.0).collect() };
        let (src, tgt) = (live(&self.a), live(&self.b));
        let (n, m) = (src.len(), tgt.len());
        let place = |p: usize| {
            ((p / self.shape.w_px) as f64 * self.scale, (p % self.shape.w_px) as f64 * self.scale)
        };
        let dense = Dense {
            a: src.iter().map(|p| self.a[*p]).collect(),
            b: tgt.iter().map(|q| self.b[*q]).collect(),
            cost: src
                .iter()
                .flat_map(|p| {
                    tgt.iter().map(|q| {
                        let ((py, px), (qy, qx)) = (place(*p), place(*q));
                        (py - qy).powi(2) + (px - qx).powi(2)
                    })
                })
                .collect(),
            relaxations: self.relaxations,
            counting: self.reference == Reference::Counting,
        };
        let mut duals = vec![0.0; n + m];
        let farthest = dense.cost.iter().copied().fold(0.0, f64::max);
        let mut eps = farthest.max(self.epsilon);
        loop {
            dense.sinkhorn(&mut duals, eps, 50);
            dense.newton(&mut duals, eps, if eps <= self.epsilon { 200 } else { 20 });
            if eps <= self.epsilon {
                break;
            }
            eps = (0.4 * eps).max(self.epsilon);
        }
        let (mut f, mut g) = (vec![0.0; self.a.len()], vec![0.0; self.b.len()]);
        for (i, p) in src.iter().enumerate() {
            f[*p] = duals[i];
        }
        for (j, q) in tgt.iter().enumerate() {
            g[*q] = duals[n + j];
        }
        let residual = dense.gradient(&duals, eps).iter().map(|v| v.abs()).sum::<f64>()
            / self.a.iter().sum::<f64>().min(self.b.iter().sum());
        Duals { f, g, residual }
    }

    fn log_reference(&self, m: &[f64]) -> Vec<f64> {
        let log = |v: &f64| match self.reference {
            _ if *v <= 0.0 => f64::NEG_INFINITY,
            Reference::Product => v.ln(),
            Reference::Counting => 0.0,
        };
        m.iter().map(log).collect()
    }

    fn logs(&self, potential: &[f64], m: &[f64], eps: f64) -> Vec<f64> {
        let reference = self.log_reference(m);
        potential.iter().zip(&reference).map(|(p, r)| p / eps + r).collect()
    }

    /// to ← τε·(log target density − log-sum-exp of `from`).
    fn half(
        &self,
        from: &[f64],
        m_from: &[f64],
        m_to: &[f64],
        to: &mut [f64],
        relaxation: f64,
        eps: f64,
    ) {
        let sums = self.log_sum(&self.logs(from, m_from, eps), eps);
        let tau = tau(relaxation, eps);
        for ((to, sum), m) in to.iter_mut().zip(&sums).zip(m_to) {
            if *m > 0.0 {
                let log_target = match self.reference {
                    Reference::Product => 0.0,
                    Reference::Counting => m.ln(),
                };
                *to = tau * eps * (log_target - sum);
            }
        }
    }

    fn residual(&self, f: &[f64], g: &[f64], mu: &[f64], nu: &[f64]) -> f64 {
        let one = |m: &[f64], potential: &[f64], marginal: &[f64], rho: f64| -> f64 {
            (0..m.len())
                .filter(|p| m[*p] > 0.0)
                .map(|p| (m[p] * (-potential[p] / rho).exp() - marginal[p]).abs())
                .sum()
        };
        let [src, tgt] = self.relaxations;
        let mass = self.a.iter().sum::<f64>().min(self.b.iter().sum());
        (one(&self.a, f, mu, src) + one(&self.b, g, nu, tgt)) / mass
    }

    fn objective(&self, f: &[f64], g: &[f64], mu: &[f64], nu: &[f64]) -> f64 {
        let dot = |u: &[f64], v: &[f64]| u.iter().zip(v).map(|(u, v)| u * v).sum::<f64>();
        let count = |m: &[f64]| m.iter().filter(|v| **v > 0.0).count() as f64;
        let reference = match self.reference {
            Reference::Product => self.a.iter().sum::<f64>() * self.b.iter().sum::<f64>(),
            Reference::Counting => count(&self.a) * count(&self.b),
        };
        let entropy = self.epsilon * (reference - mu.iter().sum::<f64>());
        let mut value = dot(mu, f) + dot(nu, g) + entropy;
        let [src, tgt] = self.relaxations;
        for (m, marginal, relaxation) in [(&self.a, mu, src), (&self.b, nu, tgt)] {
            if relaxation.is_finite() {
                let divergence: f64 = m
                    .iter()
                    .zip(marginal)
                    .filter(|(m, _)| **m > 0.0)
                    .map(|(m, v)| if *v > 0.0 { v * (v / m).ln() - v + m } else { *m })
                    .sum();
                value += relaxation * divergence;
            }
        }
        value
    }

    /// log Σ_q exp(L_q − |p − q|²/ε) for every pixel p, one axis after the other.
    fn log_sum(&self, logs: &[f64], eps: f64) -> Vec<f64> {
        let Shape { h_px: h, w_px: w } = self.shape;
        let k = self.scale * self.scale / eps;
        let line = |input: &[f64], out: &mut [f64]| {
            for (i, out) in out.iter_mut().enumerate() {
                let at = |j: usize| input[j] - k * (i as f64 - j as f64).powi(2);
                let most = (0..input.len()).map(at).fold(f64::NEG_INFINITY, f64::max);
                *out = if most == f64::NEG_INFINITY {
                    most
                } else {
                    most + (0..input.len()).map(|j| (at(j) - most).exp()).sum::<f64>().ln()
                };
            }
        };
        let mut rows = vec![0.0; h * w];
        for (input, out) in logs.chunks_exact(w).zip(rows.chunks_exact_mut(w)) {
            line(input, out);
        }
        let mut sums = vec![0.0; h * w];
        let (mut column, mut out) = (vec![0.0; h], vec![0.0; h]);
        for x in 0..w {
            for y in 0..h {
                column[y] = rows[y * w + x];
            }
            line(&column, &mut out);
            for y in 0..h {
                sums[y * w + x] = out[y];
            }
        }
        sums
    }
}

/// −ρ·log Σ m·exp(−p/ρ).
fn soft_min(potential: &[f64], m: &[f64], rho: f64) -> f64 {
    let live = || potential.iter().zip(m).filter(|(_, m)| **m > 0.0);
    let least = live().map(|(p, _)| *p).fold(f64::INFINITY, f64::min);
    let sum = live().map(|(p, m)| m * ((least - p) / rho).exp());
    least - rho * sum.sum::<f64>().ln()
}

/// τ = ρ/(ρ + ε).
fn tau(relaxation: f64, eps: f64) -> f64 {
    if relaxation.is_finite() { relaxation / (relaxation + eps) } else { 1.0 }
}

fn shift_live(potential: &mut [f64], m: &[f64], shift: f64) {
    for (p, m) in potential.iter_mut().zip(m) {
        if *m > 0.0 {
            *p += shift;
        }
    }
}

/// The dual of the dense problem on the live pixels; variables are f then g.
struct Dense {
    a: Vec<f64>,
    b: Vec<f64>,
    cost: Vec<f64>,
    relaxations: [f64; 2],
    counting: bool,
}

impl Dense {
    fn plan(&self, duals: &[f64], eps: f64) -> Vec<f64> {
        let (n, m) = (self.a.len(), self.b.len());
        let mut plan = vec![0.0; n * m];
        for i in 0..n {
            for j in 0..m {
                let reference = if self.counting { 1.0 } else { self.a[i] * self.b[j] };
                plan[i * m + j] =
                    reference * ((duals[i] + duals[n + j] - self.cost[i * m + j]) / eps).exp();
            }
        }
        plan
    }

    /// The price of the kth variable.
    fn price(&self, k: usize) -> f64 {
        self.relaxations[usize::from(k >= self.a.len())]
    }

    fn targets(&self, duals: &[f64]) -> Vec<f64> {
        let masses = self.a.iter().chain(&self.b).zip(duals).enumerate();
        masses.map(|(k, (m, d))| m * (-d / self.price(k)).exp()).collect()
    }

    /// Gradient of the dual: target marginals minus those of the plan.
    fn gradient(&self, duals: &[f64], eps: f64) -> Vec<f64> {
        let (n, m) = (self.a.len(), self.b.len());
        let plan = self.plan(duals, eps);
        let mut gradient = self.targets(duals);
        for i in 0..n {
            for j in 0..m {
                gradient[i] -= plan[i * m + j];
                gradient[n + j] -= plan[i * m + j];
            }
        }
        gradient
    }

    fn value(&self, duals: &[f64], eps: f64) -> f64 {
        let masses = self.a.iter().chain(&self.b).zip(duals).enumerate();
        let relaxed: f64 = masses
            .map(|(k, (m, d))| {
                let relaxation = self.price(k);
                if relaxation.is_finite() {
                    -relaxation * m * (-d / relaxation).exp_m1()
                } else {
                    m * d
                }
            })
            .sum();
        relaxed - eps * self.plan(duals, eps).iter().sum::<f64>()
    }

    fn sinkhorn(&self, duals: &mut [f64], eps: f64, n_sweeps: usize) {
        let (n, m) = (self.a.len(), self.b.len());
        let [tau_src, tau_tgt] = self.relaxations.map(|relaxation| tau(relaxation, eps));
        let log_reference = |v: f64| if self.counting { 0.0 } else { v.ln() };
        let log_target = |v: f64| if self.counting { v.ln() } else { 0.0 };
        let log_sum = |terms: &mut dyn Iterator<Item = f64>| {
            let terms: Vec<f64> = terms.collect();
            let most = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            most + terms.iter().map(|t| (t - most).exp()).sum::<f64>().ln()
        };
        for _ in 0..n_sweeps {
            for j in 0..m {
                let sum =
                    log_sum(&mut (0..n).map(|i| {
                        log_reference(self.a[i]) + (duals[i] - self.cost[i * m + j]) / eps
                    }));
                duals[n + j] = tau_tgt * eps * (log_target(self.b[j]) - sum);
            }
            for i in 0..n {
                let sum = log_sum(&mut (0..m).map(|j| {
                    log_reference(self.b[j]) + (duals[n + j] - self.cost[i * m + j]) / eps
                }));
                duals[i] = tau_src * eps * (log_target(self.a[i]) - sum);
            }
        }
    }

    /// Newton steps with backtracking; the dual is concave, so each step ascends.
    fn newton(&self, duals: &mut [f64], eps: f64, n_steps: usize) {
        let (n, m) = (self.a.len(), self.b.len());
        let size = n + m;
        for _ in 0..n_steps {
            let gradient = self.gradient(duals, eps);
            if gradient.iter().map(|v| v.abs()).sum::<f64>() < 1e-14 {
                return;
            }
            let plan = self.plan(duals, eps);
            let mut hessian = vec![0.0; size * size];
            for (k, target) in self.targets(duals).iter().enumerate() {
                hessian[k * size + k] = target / self.price(k);
            }
            for i in 0..n {
                for j in 0..m {
                    let p = plan[i * m + j] / eps;
                    hessian[i * size + i] += p;
                    hessian[(n + j) * size + n + j] += p;
                    hessian[(n + j) * size + i] += p;
                    hessian[i * size + n + j] += p;
                }
            }
            // The Hessian is singular if the problem is balanced (a constant can move from f to
            // g) or if the plan has separate components. A ridge far below the diagonal keeps the
            // factorisation possible.
            for k in 0..size {
                hessian[k * size + k] *= 1.0 + 1e-13;
                hessian[k * size + k] += 1e-300;
            }
            let Some(step) = solve_spd(hessian, &gradient) else {
                return;
            };
            let (before, slope) = (
                self.value(duals, eps),
                gradient.iter().zip(&step).map(|(g, s)| g * s).sum::<f64>(),
            );
            let mut length = 1.0;
            loop {
                let next: Vec<f64> = duals.iter().zip(&step).map(|(d, s)| d + length * s).collect();
                let value = self.value(&next, eps);
                // Near the maximum the value is constant up to rounding, so the gradient decides.
                let flat = slope.abs() < 1e-13 * (1.0 + before.abs());
                let better = value >= before + 1e-4 * length * slope;
                if better || (flat && value.is_finite()) {
                    let l1 = |d: &[f64]| self.gradient(d, eps).iter().map(|v| v.abs()).sum::<f64>();
                    if flat && l1(&next) >= l1(duals) {
                        return;
                    }
                    duals.copy_from_slice(&next);
                    break;
                }
                length *= 0.5;
                if length < 1e-12 {
                    return;
                }
            }
        }
    }
}

/// Solves a symmetric positive definite system by Cholesky factorisation.
fn solve_spd(mut a: Vec<f64>, rhs: &[f64]) -> Option<Vec<f64>> {
    let n = rhs.len();
    for j in 0..n {
        for i in j..n {
            let dot: f64 = (0..j).map(|k| a[i * n + k] * a[j * n + k]).sum();
            let left = a[i * n + j] - dot;
            if i == j {
                if !(left > 0.0) {
                    // A direction without curvature gets no step.
                    a[j * n + j] = f64::INFINITY;
                } else {
                    a[j * n + j] = left.sqrt();
                }
            } else {
                a[i * n + j] = left / a[j * n + j];
            }
        }
    }
    let mut x = rhs.to_vec();
    for i in 0..n {
        let dot: f64 = (0..i).map(|k| a[i * n + k] * x[k]).sum();
        x[i] = (x[i] - dot) / a[i * n + i];
    }
    for i in (0..n).rev() {
        let dot: f64 = (i + 1..n).map(|k| a[k * n + i] * x[k]).sum();
        x[i] = (x[i] - dot) / a[i * n + i];
    }
    x.iter().all(|v| v.is_finite()).then_some(x)
}
