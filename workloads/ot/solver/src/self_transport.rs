//! The transport of a frame onto itself: what entropy alone does to a displacement.

use crate::failure::Failure;
use crate::frame::{Frame, Pair};
use crate::geometry::{Geometry, place};
use crate::outputs::{Maps, outputs};
use crate::problem::prepare;
use crate::scratch::Scratch;
use crate::settings::{CoordScale, Coupling, Precision, Reference, Settings};
use crate::shape::{PixelBox, Shape};
use crate::stop_latch::StopLatch;
use crate::symmetric::settle;

/// The transport of a frame onto itself.
///
/// Without entropy nothing would move. With it, every pixel's mass is spread over its neighbours,
/// and near the rim of an object the neighbours lie on one side: the displacement v_aa points
/// inward although nothing moved. The displacement v_ab to another frame contains the same pull, so
/// v_ab − v_aa is the motion without it.
///
/// The result depends on the frame and the settings only, never on the frame it is paired with:
/// the problem lives on the frame's own box of live pixels. It is therefore solved once and kept
/// for all pairs of the frame; see [`SelfCell`](crate::SelfCell).
#[derive(Clone, Debug, PartialEq)]
pub struct SelfTransport {
    /// The box of the frame's live pixels in the original frame, grown up and left to the squares
    /// of pixels that are pooled.
    pub live: PixelBox,
    /// The box in work pixels.
    pub shape: Shape,
    /// v_aa (y, x) on the box, in pixels of the frame; NaN off the support.
    pub velocity_yx_px: Vec<[f32; 2]>,
    /// OT(a, a), the minimised value (of the dual), without the mass of the reference measure.
    pub objective: f64,
    /// Half sweeps.
    pub iterations: usize,
    /// L1 residual of both marginals divided by the mass.
    pub residual: f64,
    /// Whether the residual is below the tolerance.
    pub is_converged: bool,
    /// The potential on the box, cost units, zero off the support; only if
    /// [`Settings::potentials`] is set.
    pub potential: Option<Vec<f64>>,
}

impl SelfTransport {
    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let potential = self.potential.as_ref().map_or(0, Vec::capacity);
        self.velocity_yx_px.capacity() * size_of::<[f32; 2]>() + potential * size_of::<f64>()
    }

    /// The most bytes of the self-transport of a frame whose box has this shape in work pixels.
    pub fn bytes_max(live: Shape, settings: &Settings) -> usize {
        let potential = if settings.potentials { 8 } else { 0 };
        live.n_px() * (size_of::<[f32; 2]>() + potential)
    }
}

/// Solves the transport of a frame onto itself; `None` if the frame has no mass.
///
/// ```
/// use swathe_ot::{Frame, Scratch, Settings, self_transport};
/// let bar = Frame::new(1, 9, vec![0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0])?;
/// let of_bar = self_transport(&bar, &Settings::default(), &mut Scratch::new(), &|| false)?.unwrap();
/// // Entropy pulls the left end of the bar to the right, and the right end to the left.
/// let ends = [of_bar.velocity_yx_px[0][1], of_bar.velocity_yx_px[4][1]];
/// assert!(ends[0] > 0.0 && (ends[0] + ends[1]).abs() < 1e-4);
/// # Ok::<(), swathe_ot::Failure>(())
/// ```
///
/// # Errors
/// As [`solve_with`](crate::solve_with).
pub fn self_transport(
    frame: &Frame,
    settings: &Settings,
    scratch: &mut Scratch,
    stop: &dyn Fn() -> bool,
) -> Result<Option<SelfTransport>, Failure> {
    settings.check()?;
    let geometry = place(frame, frame, &settings.crop, settings.pool)?;
    solve_self(frame, &geometry, settings, scratch, &StopLatch::new(stop))
}

/// Solves the transport of one frame of a pair onto itself, on its own box within the pair's
/// geometry.
pub(crate) fn solve_self(
    frame: &Frame,
    geometry: &Geometry,
    settings: &Settings,
    scratch: &mut Scratch,
    watch: &StopLatch<'_>,
) -> Result<Option<SelfTransport>, Failure> {
    let Some(own) = own_geometry(frame, geometry) else {
        return Ok(None);
    };
    let live = own.live.expect("the frame has live pixels");
    let cut = std::sync::Arc::new(cut_out(frame, geometry, live));
    let pair = Pair::cut(std::sync::Arc::clone(&cut), cut, own);
    let settings = Settings {
        coupling: Coupling::None,
        relaxation: settings.self_relaxation(),
        relaxation_tgt: None,
        ..settings.clone()
    };
    let problem = prepare(&pair, &settings)?;
    let descent = settle(&problem, &pair, &settings, scratch, watch)?;
    let solution = outputs(&problem, &settings, Maps::Velocity, &descent, scratch, watch)?;
    let velocity = solution.fields.map_or(Vec::new(), |f| f.velocity_yx_px);
    let narrow = |v: &[f64; 2]| v.map(|v| v as f32);
    Ok(Some(SelfTransport {
        live,
        shape: problem.shape,
        velocity_yx_px: velocity.iter().map(narrow).collect(),
        objective: solution.dual_objective - problem.epsilon * scratch.reference_mass(&problem),
        iterations: descent.iterations,
        residual: solution.residual,
        is_converged: descent.converged,
        potential: solution.potentials.map(|potentials| potentials.f),
    }))
}

/// What a self-transport depends on besides the frame's pixels. Two pairs of a frame with equal
/// keys share it bit for bit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SelfKey {
    live: PixelBox,
    frame: Shape,
    pool: usize,
    epsilon: f64,
    relaxation: f64,
    reference: Reference,
    coord_scale: CoordScale,
    normalize: bool,
    tolerance: f64,
    max_iterations: usize,
    precision: Precision,
    potentials: bool,
}

impl SelfKey {
    /// The key of a frame in a pair's geometry; `None` if the frame has no mass.
    pub(crate) fn of(frame: &Frame, geometry: &Geometry, settings: &Settings) -> Option<SelfKey> {
        Some(SelfKey {
            live: own_geometry(frame, geometry)?.live?,
            frame: geometry.frame,
            pool: geometry.pool,
            epsilon: settings.epsilon,
            relaxation: settings.self_relaxation(),
            reference: settings.reference,
            coord_scale: settings.coord_scale,
            normalize: settings.normalize,
            tolerance: settings.tolerance,
            max_iterations: settings.max_iterations,
            precision: settings.precision,
            potentials: settings.potentials,
        })
    }
}

/// Where a frame begins in the original frame: a frame that was cut to the pair's box begins there.
fn origin(frame: &Frame, geometry: &Geometry) -> (usize, usize) {
    match geometry.live {
        Some(live) if frame.shape != geometry.frame => (live.y0_px, live.x0_px),
        _ => (0, 0),
    }
}

/// The frame's own box of live pixels as a geometry. Pooled squares are anchored at the pair's box,
/// so the box grows up and left to a whole square; without pooling it depends on the frame alone.
fn own_geometry(frame: &Frame, geometry: &Geometry) -> Option<Geometry> {
    let shared = geometry.live?;
    let own = PixelBox::around_live(&frame.density, frame.shape)?;
    let (y0, x0) = origin(frame, geometry);
    let (y_px, x_px) = (own.y0_px + y0, own.x0_px + x0);
    let y0_px = y_px - (y_px - shared.y0_px) % geometry.pool;
    let x0_px = x_px - (x_px - shared.x0_px) % geometry.pool;
    let shape = Shape::new(own.shape.h_px + y_px - y0_px, own.shape.w_px + x_px - x0_px);
    let live = PixelBox { y0_px, x0_px, shape };
    let own = Geometry { crop: live, live: Some(live), pad_y_px: 0, pad_x_px: 0, ..*geometry };
    Some(Geometry { work: own.live_work(), ..own })
}

/// The part of a frame inside a box of the original frame.
fn cut_out(frame: &Frame, geometry: &Geometry, at: PixelBox) -> Frame {
    let (y0, x0) = origin(frame, geometry);
    let mut density = Vec::with_capacity(at.shape.n_px());
    for y in at.y0_px - y0..at.y1_px() - y0 {
        let start = y * frame.shape.w_px + at.x0_px - x0;
        density.extend_from_slice(&frame.density[start..start + at.shape.w_px]);
    }
    Frame { shape: at.shape, density, um_per_px: frame.um_per_px }
}
