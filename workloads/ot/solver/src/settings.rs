//! Settings of a solve.

use crate::failure::Failure;
use crate::geometry::Crop;

/// What to solve, and how exactly. The defaults are those of the command line, except for ε, which
/// the command line chooses by [`auto_epsilon`](crate::auto_epsilon).
///
/// ```
/// use swathe_ot::{Reference, Settings};
/// let settings = Settings { epsilon: 1e-4, relaxation: 10.0, ..Settings::default() };
/// assert_eq!(settings.reference, Reference::Product);
/// settings.check()?;
/// # Ok::<(), swathe_ot::Failure>(())
/// ```
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Entropic blur ε, in the unit of the cost.
    pub epsilon: f64,
    /// Price ρ of creating and destroying mass, in the unit of the cost; balanced if infinite.
    pub relaxation: f64,
    /// The price for the target alone, if it differs: ρ is then that of the source, the price of
    /// destroying mass, and this the price of creating it. With ∞ and 10, mass can appear but not
    /// vanish.
    pub relaxation_tgt: Option<f64>,
    /// The reference measure of the entropy.
    pub reference: Reference,
    /// The factor from pixels to cost units.
    pub coord_scale: CoordScale,
    /// Whether each frame is divided by its sum first.
    pub normalize: bool,
    /// Where to stop: L1 residual of both marginals, divided by the smaller mass.
    pub tolerance: f64,
    /// The most sweeps at full resolution.
    pub max_iterations: usize,
    /// Arithmetic of the tiles.
    pub precision: Precision,
    /// How the work grid is cut out of the frame.
    pub crop: Crop,
    /// Side of the square of pixels summed into one, 1 for none.
    pub pool: usize,
    /// Whether the maps (velocity, created, destroyed, cost) are kept in the solution.
    pub fields: bool,
    /// Whether the potentials are kept in the solution.
    pub potentials: bool,
    /// Which entries of the plan are listed.
    pub coupling: Coupling,
    /// Whether the maps include the transport cost that arrives at each target pixel.
    pub target_cost: bool,
    /// Whether the error bar of the velocity is computed. It needs the maps, and is left out with
    /// `raw_velocity`.
    pub error_bar: bool,
    /// Whether the velocity is left as the plan's mean displacement, which entropy pulls inward.
    /// Otherwise the self-transport is subtracted; see [`SelfTransport`](crate::SelfTransport).
    pub raw_velocity: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            epsilon: 1e-3,
            relaxation: 10.0,
            relaxation_tgt: None,
            reference: Reference::Product,
            coord_scale: CoordScale::Auto,
            normalize: true,
            tolerance: 1e-5,
            max_iterations: 5000,
            precision: Precision::Auto,
            crop: Crop::Union { padding_px: 16 },
            pool: 1,
            fields: true,
            potentials: false,
            coupling: Coupling::None,
            target_cost: false,
            error_bar: true,
            raw_velocity: false,
        }
    }
}

impl Settings {
    /// The prices ρ of source and target.
    pub fn relaxations(&self) -> [f64; 2] {
        [self.relaxation, self.relaxation_tgt.unwrap_or(self.relaxation)]
    }

    /// The price for both sides of a self-transport, which is symmetric: the harmonic mean.
    pub(crate) fn self_relaxation(&self) -> f64 {
        match self.relaxations() {
            [src, tgt] if src == tgt => src,
            [src, tgt] => 2.0 / (1.0 / src + 1.0 / tgt),
        }
    }

    /// Checks that every setting is within its range.
    ///
    /// # Errors
    /// [`Failure::BadSetting`] for the first setting outside its range.
    pub fn check(&self) -> Result<(), Failure> {
        let bad = |name, value, rule| Err(Failure::BadSetting { name, value, rule });
        if !(self.epsilon > 0.0 && self.epsilon.is_finite()) {
            return bad("epsilon", self.epsilon, "must be positive and finite");
        }
        for relaxation in self.relaxations() {
            if !(relaxation > 0.0) {
                return bad("relaxation", relaxation, "must be positive, or inf");
            }
        }
        if let CoordScale::Fixed(scale) = self.coord_scale
            && !(scale > 0.0 && scale.is_finite())
        {
            return bad("coord_scale", scale, "must be positive and finite");
        }
        if !(self.tolerance > 0.0 && self.tolerance < 1.0) {
            return bad("tolerance", self.tolerance, "must lie between 0 and 1");
        }
        if self.max_iterations == 0 {
            return bad("max_iterations", 0.0, "must be at least 1");
        }
        if self.pool == 0 {
            return bad("pool", 0.0, "must be at least 1");
        }
        match self.coupling {
            Coupling::TopK(0) => bad("coupling", 0.0, "topk must be at least 1"),
            Coupling::Threshold(mass) if !(mass > 0.0 && mass.is_finite()) => {
                bad("coupling", mass, "the threshold must be positive and finite")
            }
            _ => Ok(()),
        }
    }
}

/// The measure R in ε·KL(P | R).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reference {
    /// R = a⊗b: the answer does not depend on the resolution.
    Product,
    /// R = 1 on the supports: what OTT-JAX, and POT with `reg_type="entropy"`, solve.
    Counting,
}

/// The factor from pixels to cost units.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CoordScale {
    /// 1 / max(height, width) of the frame before any crop or pooling.
    Auto,
    /// The given factor.
    Fixed(f64),
}

/// Arithmetic of the tiles; potentials and logarithms are always f64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// f32, and f64 where the tolerance requires it or f32 stops making progress.
    Auto,
    /// f32 throughout; residuals below about 1e-6 may be out of reach.
    F32,
    /// f64 throughout.
    F64,
}

/// Which entries of the plan are listed. The whole plan is never in memory.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Coupling {
    /// No entries.
    None,
    /// The k largest entries of every source pixel.
    TopK(usize),
    /// Entries of at least this mass (problem units).
    Threshold(f64),
}
