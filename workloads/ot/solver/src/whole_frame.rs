//! A pair on its whole frame, without tricks: plain f64 and natural logarithms. It shares no code with the solver, so
//! that checks of answers, and tests, do not depend on it. [`WholeFrame::evaluate`] evaluates any pair of potentials
//! exactly.

use crate::frame::Pair;
use crate::settings::{CoordScale, Reference, Settings};
use crate::shape::Shape;

/// The problem on the whole frame, without crop, pooling or scaling to unit masses.
#[derive(Clone, Debug)]
pub struct WholeFrame {
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

impl WholeFrame {
    /// States the problem of a pair, without crop or pooling.
    pub fn new(pair: &Pair, settings: &Settings) -> WholeFrame {
        let shape = pair.source.shape;
        let unit = |density: &[f64]| {
            let mass: f64 = density.iter().sum();
            let by = if settings.normalize { mass } else { 1.0 };
            density.iter().map(|v| v / by).collect()
        };
        WholeFrame {
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
