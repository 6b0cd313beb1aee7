//! The slow references for small frames: the textbook iteration, and Newton's method on the dense dual for a dozen
//! pixels a side. Both share no code with the solver.

#![allow(dead_code, reason = "each test uses some of it")]
#![allow(clippy::neg_cmp_op_on_partial_ord, reason = "a comparison with NaN must come out false")]

use swathe_ot::{Reference, WholeFrame};

/// A pair of potentials, cost units, zero off the supports.
#[derive(Clone, Debug)]
pub(crate) struct Duals {
    /// Potential of the source.
    pub(crate) f: Vec<f64>,
    /// Potential of the target.
    pub(crate) g: Vec<f64>,
    /// L1 residual of both marginals divided by the smaller mass.
    pub(crate) residual: f64,
}

/// The textbook iteration: annealed in ε, with the translation-invariant shift, stopped on the residual of both
/// marginals. Slow for small ε.
pub(crate) fn solve(frame: &WholeFrame, tolerance: f64, max_iterations: usize) -> Duals {
    let live = Live::of(frame);
    let dense = live.dense(frame);
    let n = dense.a.len();
    let mut duals = vec![0.0; n + dense.b.len()];
    let longest = frame.scale * frame.shape.h_px.max(frame.shape.w_px) as f64;
    let mut eps = (0.3 * longest * longest).max(frame.epsilon);
    loop {
        let last = eps <= frame.epsilon;
        for it in 1..=if last { max_iterations } else { 3 } {
            let [src, tgt] = frame.relaxations;
            dense.sinkhorn(&mut duals, eps, 1);
            // Two different prices are left to converge without the shift.
            if src == tgt && src.is_finite() {
                let (f, g) = duals.split_at_mut(n);
                let shift = 0.5 * (soft_min(g, &dense.b, tgt) - soft_min(f, &dense.a, src));
                f.iter_mut().for_each(|f| *f += shift);
                g.iter_mut().for_each(|g| *g -= shift);
            }
            if last && (it % 10 == 0 || it == max_iterations) {
                let (f, g) = live.on_frame(frame, &duals);
                let residual = frame.residual_of(&f, &g);
                if residual < tolerance || it == max_iterations {
                    return Duals { f, g, residual };
                }
            }
        }
        eps = (0.5 * eps).max(frame.epsilon);
    }
}

/// Newton's method on the dense dual, annealed in ε: exact to rounding, for small frames.
pub(crate) fn solve_dense(frame: &WholeFrame) -> Duals {
    let live = Live::of(frame);
    let dense = live.dense(frame);
    let mut duals = vec![0.0; dense.a.len() + dense.b.len()];
    let farthest = dense.cost.iter().copied().fold(0.0, f64::max);
    let mut eps = farthest.max(frame.epsilon);
    loop {
        dense.sinkhorn(&mut duals, eps, 50);
        dense.newton(&mut duals, eps, if eps <= frame.epsilon { 200 } else { 20 });
        if eps <= frame.epsilon {
            break;
        }
        eps = (0.4 * eps).max(frame.epsilon);
    }
    let (f, g) = live.on_frame(frame, &duals);
    let residual = dense.gradient(&duals, eps).iter().map(|v| v.abs()).sum::<f64>()
        / frame.a.iter().sum::<f64>().min(frame.b.iter().sum());
    Duals { f, g, residual }
}

/// The pixels with mass of the source and of the target.
struct Live {
    src: Vec<usize>,
    tgt: Vec<usize>,
}

impl Live {
    fn of(frame: &WholeFrame) -> Live {
        let live = |m: &[f64]| (0..m.len()).filter(|p| m[*p] > 0.0).collect();
        Live { src: live(&frame.a), tgt: live(&frame.b) }
    }

    fn dense(&self, frame: &WholeFrame) -> Dense {
        let w_px = frame.shape.w_px;
        let place = |p: usize| ((p / w_px) as f64 * frame.scale, (p % w_px) as f64 * frame.scale);
        let cost = |p: usize, q: usize| {
            let ((py, px), (qy, qx)) = (place(p), place(q));
            (py - qy).powi(2) + (px - qx).powi(2)
        };
        let costs = self.src.iter().flat_map(|p| self.tgt.iter().map(|q| cost(*p, *q)));
        Dense {
            a: self.src.iter().map(|p| frame.a[*p]).collect(),
            b: self.tgt.iter().map(|q| frame.b[*q]).collect(),
            cost: costs.collect(),
            relaxations: frame.relaxations,
            counting: frame.reference == Reference::Counting,
        }
    }

    /// Both potentials on the whole frame.
    fn on_frame(&self, frame: &WholeFrame, duals: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let (mut f, mut g) = (vec![0.0; frame.a.len()], vec![0.0; frame.b.len()]);
        let (of_src, of_tgt) = duals.split_at(self.src.len());
        self.src.iter().zip(of_src).for_each(|(p, dual)| f[*p] = *dual);
        self.tgt.iter().zip(of_tgt).for_each(|(q, dual)| g[*q] = *dual);
        (f, g)
    }
}

/// −ρ·log Σ m·exp(−p/ρ).
fn soft_min(potential: &[f64], m: &[f64], rho: f64) -> f64 {
    let least = potential.iter().copied().fold(f64::INFINITY, f64::min);
    let sum = potential.iter().zip(m).map(|(p, m)| m * ((least - p) / rho).exp());
    least - rho * sum.sum::<f64>().ln()
}

/// τ = ρ/(ρ + ε).
fn tau(relaxation: f64, eps: f64) -> f64 {
    if relaxation.is_finite() { relaxation / (relaxation + eps) } else { 1.0 }
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
