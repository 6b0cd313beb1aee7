//! The residuals of a solve, sweep by sweep.

/// The residual after each sweep: the points of a convergence curve.
///
/// The solver computes the residual after every sweep anyway; this type records it. A history has
/// at most [`Residuals::N_POINTS_MAX`] points: when it is full, every second point is dropped.
#[derive(Clone, Debug, PartialEq)]
pub struct Residuals {
    points: Vec<(u32, f64)>,
    /// Every `step`-th sweep is kept.
    step: u32,
    n_sweeps: u32,
    n_before: u32,
    last: f64,
}

impl Residuals {
    /// The most points of a history.
    pub const N_POINTS_MAX: usize = 200;

    /// Bytes of a full history.
    pub(crate) const BYTES_MAX: usize = Residuals::N_POINTS_MAX * size_of::<(u32, f64)>();

    /// Sweeps and the residuals after them, divided by the smaller mass as the solution's residual
    /// is. Sweeps count from 1 over all grids and stages, the coarse ones first. The last sweep is
    /// always included.
    pub fn points(&self) -> Vec<(u32, f64)> {
        let mut points = self.points.clone();
        if self.n_sweeps > 0 && points.last().is_none_or(|(n, _)| *n < self.n_sweeps()) {
            points.push((self.n_sweeps(), self.last));
        }
        points
    }

    /// Number of all sweeps, including those without a recorded residual.
    pub fn n_sweeps(&self) -> u32 {
        self.n_before + self.n_sweeps
    }

    /// Number of sweeps at the beginning that ran on another device, which does not record
    /// residuals.
    pub fn n_before(&self) -> u32 {
        self.n_before
    }

    /// Starts a new history after `n_before` sweeps on another device.
    pub(crate) fn start(&mut self, n_before: usize) {
        self.points.clear();
        // `points` adds the last sweep to these.
        self.points.reserve_exact(Residuals::N_POINTS_MAX - 1);
        *self = Residuals {
            points: std::mem::take(&mut self.points),
            n_before: u32::try_from(n_before).unwrap_or(u32::MAX / 2),
            ..Residuals::default()
        };
    }

    /// Records the residual after one more sweep.
    pub(crate) fn push(&mut self, residual: f64) {
        let is_kept = self.n_sweeps.is_multiple_of(self.step);
        self.n_sweeps += 1;
        self.last = residual;
        if !is_kept {
            return;
        }
        if self.points.len() + 1 >= Residuals::N_POINTS_MAX {
            let mut at = 0;
            self.points.retain(|_| {
                at += 1;
                at % 2 == 1
            });
            self.step *= 2;
            // The remaining points are at multiples of the new `step`; this sweep may not be.
            if !(self.n_sweeps - 1).is_multiple_of(self.step) {
                return;
            }
        }
        self.points.push((self.n_sweeps(), residual));
    }

    /// Replaces the last residual: the solver returned to an earlier iterate with this residual.
    pub(crate) fn amend(&mut self, residual: f64) {
        self.last = residual;
        let n_sweeps = self.n_sweeps();
        if let Some((_, last)) = self.points.last_mut().filter(|(n, _)| *n == n_sweeps) {
            *last = residual;
        }
    }

    /// The history in the solution's units: times the plan's `scale`, divided by `mass`.
    pub(crate) fn scaled(&self, scale: f64, mass: f64) -> Residuals {
        let scaled = |residual: f64| residual * scale / mass;
        let points = self.points.iter();
        Residuals {
            points: points.map(|&(n, r)| (n, scaled(r))).collect(),
            last: scaled(self.last),
            ..*self
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.points.capacity() * size_of::<(u32, f64)>()
    }
}

impl Default for Residuals {
    fn default() -> Residuals {
        Residuals { points: Vec::new(), step: 1, n_sweeps: 0, n_before: 0, last: 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A history of sweeps whose residuals are their numbers.
    fn of(n_before: usize, n_sweeps: u32) -> Residuals {
        let mut residuals = Residuals::default();
        residuals.start(n_before);
        (1..=n_sweeps).for_each(|n| residuals.push(f64::from(n)));
        residuals
    }

    #[test]
    fn histories_stay_short_and_keep_first_and_last() {
        for n_sweeps in (1..1500).chain([9_999, 10_000, 123_457]) {
            let points = of(0, n_sweeps).points();
            assert!(points.len() <= Residuals::N_POINTS_MAX, "{n_sweeps}");
            assert!(points.len() as u32 >= n_sweeps.min(80), "{n_sweeps}");
            assert_eq!(points[0], (1, 1.0));
            assert_eq!(points.last(), Some(&(n_sweeps, f64::from(n_sweeps))));
            assert!(points.iter().all(|&(n, r)| f64::from(n) == r));
            let gaps: Vec<u32> = points.windows(2).map(|w| w[1].0 - w[0].0).collect();
            // All gaps but the last are equal.
            let even = gaps.len().saturating_sub(1);
            assert!(gaps[..even].iter().all(|gap| *gap == gaps[0]), "{n_sweeps}");
        }
    }

    #[test]
    fn short_histories_are_whole() {
        let n_points = (1..=199).map(|n| of(0, n).points().len() as u32);
        assert!(n_points.eq(1..=199));
    }

    #[test]
    fn sweeps_made_elsewhere_count() {
        let residuals = of(40, 2);
        assert_eq!(residuals.points(), [(41, 1.0), (42, 2.0)]);
        assert_eq!((residuals.n_before(), residuals.n_sweeps()), (40, 42));
    }

    #[test]
    fn a_sweep_that_is_undone_is_amended() {
        for n_sweeps in [3, 500, 501] {
            let mut residuals = of(0, n_sweeps);
            residuals.amend(0.5);
            assert_eq!(residuals.points().last(), Some(&(n_sweeps, 0.5)));
        }
    }

    #[test]
    fn a_new_start_forgets_all() {
        let mut residuals = of(7, 1000);
        residuals.start(0);
        assert_eq!(residuals.points(), []);
        residuals.push(1.0);
        assert_eq!(residuals.points(), [(1, 1.0)]);
        assert!(residuals.bytes() <= Residuals::BYTES_MAX);
    }
}
