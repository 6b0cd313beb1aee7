//! Log-sum-exp with a Gaussian kernel on a grid: out(p) = log2 Σ_q 2^(L(q) − c·|p − q|²), one
//! axis after the other. All logarithms are base 2.

mod certificate;
mod direct;
mod kernel;
mod listed;
mod moments;
mod panel;
mod real;
mod separable;
mod source;
mod tile;

pub(crate) use moments::{MomentRows, moment_sums};
pub(crate) use panel::{GridSide, ReferenceMass, Span, fit, refill, turn};
pub(crate) use real::{Real, exp_row};
pub(crate) use separable::{Between, Blur, BlurScratch, blur, first_half, second_half};

/// Lines that are processed together, one per SIMD lane.
pub(crate) const LANES: usize = 16;
/// The values of sixteen lines at one position.
pub(crate) type Row<T> = [T; LANES];
/// The logarithm of a pixel without mass: far below every real logarithm, but finite, so that
/// arithmetic on it never gives NaN.
pub(crate) const DEAD: f64 = -1.0e30;
/// A logarithm below this belongs to a dead pixel.
pub(crate) const NEARLY_DEAD: f64 = -1.0e29;
/// The longest and the shortest side of a tile: a segment of a line.
pub(crate) const SEGMENT_MAX: usize = 48;
pub(crate) const SEGMENT_MIN: usize = 6;
