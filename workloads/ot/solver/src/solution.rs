//! The solution of a pair.

use crate::error_bar::ErrorBar;
use crate::geometry::Geometry;
use crate::residuals::Residuals;

/// The solution of a pair.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// How the solve ended.
    pub status: Status,
    /// Sweeps at full resolution.
    pub iterations: usize,
    /// Sweeps on the coarser grids of the pyramid.
    pub iterations_coarse: usize,
    /// L1 residual of both marginals divided by the smaller mass.
    pub residual: f64,
    /// The residual after each sweep.
    pub residuals: Residuals,
    /// Whether the last sweeps ran in f64.
    pub used_f64: bool,
    /// Transport cost ⟨P, C⟩ in scaled units.
    pub cost: f64,
    /// Transport cost in px².
    pub cost_px2: f64,
    /// The minimised value.
    pub objective: f64,
    /// The dual's value at the potentials: a lower bound of the minimum.
    pub dual_objective: f64,
    /// How far the minimised value can be from the minimum, cost units: the primal value minus the
    /// dual value. For balanced transport with the price of repairing the marginals.
    pub gap: f64,
    /// The Sinkhorn divergence S_ε = OT(a, b) − ½·OT(a, a) − ½·OT(b, b), with the masses of the
    /// reference measures cancelled (for the product measure: + ε/2·(Σa − Σb)²). Zero for equal
    /// frames. `None` if [`Settings::raw_velocity`](crate::Settings::raw_velocity) is set or a side
    /// has no mass.
    pub sinkhorn_divergence: Option<f64>,
    /// The error bar of the velocity, if [`Settings::error_bar`](crate::Settings::error_bar) is set
    /// and the velocity is not raw.
    pub error_bar: Option<ErrorBar>,
    /// Total of the source frame, input units.
    pub mass_src: f64,
    /// Total of the target frame, input units.
    pub mass_tgt: f64,
    /// Mass of the plan, problem units (after normalisation).
    pub mass_transported: f64,
    /// Σ(b − ν̂), signed.
    pub mass_created: f64,
    /// Σ(a − μ̂), signed.
    pub mass_destroyed: f64,
    /// Σ max(b − ν̂, 0).
    pub mass_created_clamped: f64,
    /// Σ max(a − μ̂, 0).
    pub mass_destroyed_clamped: f64,
    /// The factor from (unpooled) pixels to cost units that was used.
    pub coord_scale: f64,
    /// Where the work grid lies in the frame.
    pub geometry: Geometry,
    /// The maps, if [`Settings::fields`](crate::Settings::fields) is set.
    pub fields: Option<Fields>,
    /// The potentials, if [`Settings::potentials`](crate::Settings::potentials) is set and both
    /// sides have mass.
    pub potentials: Option<Potentials>,
    /// The listed entries of the plan.
    pub coupling: Vec<Link>,
}

/// How a solve ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The residual is below the tolerance.
    Converged,
    /// The iterations ran out; the best iterate is reported with its residual.
    MaxIterations,
    /// The source has no mass: all of the target was created.
    EmptySource,
    /// The target has no mass: all of the source was destroyed.
    EmptyTarget,
    /// Neither frame has mass.
    BothEmpty,
}

impl Status {
    /// All of them.
    pub const ALL: [Status; 5] = [
        Status::Converged,
        Status::MaxIterations,
        Status::EmptySource,
        Status::EmptyTarget,
        Status::BothEmpty,
    ];

    /// The name used in tables.
    pub fn name(self) -> &'static str {
        match self {
            Status::Converged => "converged",
            Status::MaxIterations => "max_iterations",
            Status::EmptySource => "empty_source",
            Status::EmptyTarget => "empty_target",
            Status::BothEmpty => "both_empty",
        }
    }
}

/// Maps over a grid, row-major: the live box of the work grid, or the frame after
/// [`lift`](crate::lift).
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Fields {
    /// Displacement (y, x) of the mass of each source pixel; NaN off the support. Without the pull
    /// of entropy, unless [`Settings::raw_velocity`](crate::Settings::raw_velocity) is set.
    pub velocity_yx_px: Vec<[f64; 2]>,
    /// The plan's mean displacement (y, x) of each source pixel, which other programs report; NaN
    /// off the support. Empty if `velocity_yx_px` is this already.
    pub velocity_raw_yx_px: Vec<[f64; 2]>,
    /// b − ν̂, signed; NaN off the target's support.
    pub created: Vec<f64>,
    /// a − μ̂, signed; NaN off the source's support.
    pub destroyed: Vec<f64>,
    /// Transport cost of the mass of each source pixel, scaled units; NaN off the support.
    pub cost_map: Vec<f64>,
    /// Transport cost of the mass that arrives at each target pixel, scaled units; NaN off the
    /// target's support. Empty unless [`Settings::target_cost`](crate::Settings::target_cost) is
    /// set.
    pub target_cost_map: Vec<f64>,
}

impl Fields {
    /// The plan's mean displacement (y, x) of each source pixel, whichever map holds it.
    pub fn raw_velocity(&self) -> &[[f64; 2]] {
        if self.velocity_raw_yx_px.is_empty() {
            &self.velocity_yx_px
        } else {
            &self.velocity_raw_yx_px
        }
    }
}

/// The dual potentials on the live box, cost units: P = exp((f ⊕ g − C)/ε)·R. Zero off the support.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Potentials {
    /// Potential of the source.
    pub f: Vec<f64>,
    /// Potential of the target.
    pub g: Vec<f64>,
}

/// One entry of the plan, in pixels of the original frame (for a pooled cell: its first pixel).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Row of the source pixel.
    pub src_y_px: u32,
    /// Column of the source pixel.
    pub src_x_px: u32,
    /// Row of the target pixel.
    pub tgt_y_px: u32,
    /// Column of the target pixel.
    pub tgt_x_px: u32,
    /// Mass that moves from the source pixel to the target pixel, problem units.
    pub mass: f64,
}
