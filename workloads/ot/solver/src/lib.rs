//! Unbalanced optimal transport between frames: how mass moved, appeared and vanished from one
//! image to the next.
//!
//! For frames `a` and `b` of one shape, with C(p, q) = (s·|p − q|)², the plan P minimises
//!
//! ```text
//! ⟨P, C⟩ + ε·KL(P | R) + ρ·KL(P1 | a) + ρ·KL(Pᵀ1 | b)
//! ```
//!
//! with R = a⊗b ([`Reference::Product`]) or 1 on the supports ([`Reference::Counting`]); ρ = ∞ is
//! balanced transport. All pixels take part, and the solver stops on the residual of both
//! marginals: `converged` means solved.
//!
//! ```
//! use swathe_ot::{Frame, Pair, Settings, Status, solve};
//!
//! // A bar of three pixels that moves two pixels to the right.
//! let bar = |x0: usize| {
//!     let mut density = vec![0.0; 16 * 32];
//!     for y in 6..9 {
//!         density[y * 32 + x0] = 1.0;
//!     }
//!     Frame::new(16, 32, density)
//! };
//! let pair = Pair::new(bar(10)?, bar(12)?);
//! let solution = solve(&pair, &Settings { relaxation: 10.0, ..Settings::default() })?;
//! assert_eq!(solution.status, Status::Converged);
//! assert!((solution.mass_transported - 1.0).abs() < 0.01);
//! # Ok::<(), swathe_ot::Failure>(())
//! ```

#![allow(clippy::needless_range_loop, reason = "loops over sixteen lanes of several rows at once")]
#![allow(clippy::neg_cmp_op_on_partial_ord, reason = "a comparison with NaN must come out false")]

mod affine;
mod anderson;
mod auto_epsilon;
mod blur;
mod buckets;
mod check;
mod coupling;
mod dct;
mod debias;
mod descent;
mod epsilon_range;
mod error_bar;
mod failure;
mod frame;
mod geometry;
mod gpu;
mod motion_doubt;
mod outputs;
mod problem;
mod pyramid;
mod residuals;
mod scratch;
mod self_cell;
mod self_transport;
mod settings;
mod shape;
mod sharpness;
mod simd;
mod solution;
mod solve;
mod stop_latch;
mod summary;
mod sweep;
mod symmetric;
pub mod synth;
mod trial;
mod whole_frame;
mod workload;

pub use affine::{AffineFit, affine_fit, mean_velocity_yx_px, object_fits};
pub use auto_epsilon::{
    EPSILONS, ERROR_PX, EpsilonSearch, auto_epsilon, choose_epsilon, epsilons_of, error_limit_px,
    sharp_epsilon,
};
pub use buckets::auto_buckets;
pub use check::{Checked, check, check_plan};
pub use epsilon_range::{EPSILON_PX2_MIN, EPSILON_UNIT_MAX, EpsilonOutside};
pub use error_bar::ErrorBar;
pub use failure::{Failure, PixelFault, Side};
pub use frame::{Frame, Pair};
pub use geometry::{Crop, Geometry, lift, lift_potentials, place, place_live, pool_live};
pub use motion_doubt::{MotionDoubt, motion_doubt};
pub use residuals::Residuals;
pub use scratch::{Need, Scratch, need};
pub use self_cell::SelfCell;
pub use self_transport::{SelfTransport, self_transport};
pub use settings::{CoordScale, Coupling, Precision, Reference, Settings};
pub use shape::{PixelBox, Shape};
pub use sharpness::{BLUR_SHARE_MAX, Blurring, blur_px, blurring};
pub use solution::{Fields, Link, Potentials, Solution, Status};
pub use solve::{solve, solve_all, solve_with};
pub use summary::{N_BANDS, Spread, Summary, summarise};
pub use swathe::{Simd, SimdPath};
pub use trial::{Choice, Trial, TrialFigures, TrialRow, TrialStep, Trials, choose};
pub use whole_frame::{Evaluation, WholeFrame};
pub use workload::{Transport, placed_size};
