//! The working memory of a solver thread, and how much of it a pair needs.

use crate::anderson::{depth_for, history_rows};
use crate::blur::{LANES, Row, SEGMENT_MAX, SEGMENT_MIN};
use crate::descent::State;
use crate::error_bar::error_bar_bytes;
use crate::outputs::reference_mass;
use crate::problem::Problem;
use crate::pyramid::{Pyramid, next_shape};
use crate::residuals::Residuals;
use crate::self_transport::SelfTransport;
use crate::settings::{Coupling, Precision, Reference, Settings};
use crate::shape::Shape;
use crate::solution::Link;
use crate::sweep::Engine;
use swathe::Simd;

/// The memory of one solver thread, reused from pair to pair.
///
/// ```
/// use swathe_ot::{Frame, Pair, Scratch, Settings, solve_with};
/// let mut scratch = Scratch::new();
/// let frame = Frame::new(4, 4, vec![1.0; 16])?;
/// for _ in 0..3 {
///     let pair = Pair::new(frame.clone(), frame.clone());
///     solve_with(&pair, &Settings::default(), &mut scratch, &|| false)?;
/// }
/// # Ok::<(), swathe_ot::Failure>(())
/// ```
#[derive(Clone, Debug)]
pub struct Scratch {
    pub(crate) path: Simd,
    pub(crate) pyramid: Pyramid,
    pub(crate) state: State,
    pub(crate) single: Engine<f32>,
    pub(crate) double: Engine<f64>,
}

impl Scratch {
    /// Empty memory, for the best instruction set of this machine.
    pub fn new() -> Scratch {
        Scratch::for_path(Simd::detect())
    }

    /// Empty memory, for the given instruction set.
    pub fn for_path(path: Simd) -> Scratch {
        Scratch {
            path,
            pyramid: Pyramid::default(),
            state: State::default(),
            single: Engine::default(),
            double: Engine::default(),
        }
    }

    /// The instruction set it solves with.
    pub fn path(&self) -> Simd {
        self.path
    }

    /// Total of the reference measure of the problem that was solved last.
    pub(crate) fn reference_mass(&self, problem: &Problem) -> f64 {
        reference_mass(problem, &self.pyramid.levels()[0])
    }

    /// Bytes held now.
    pub fn bytes(&self) -> usize {
        self.pyramid.bytes()
            + self.state.bytes()
            + self.single.scratch.bytes()
            + self.double.scratch.bytes()
    }
}

impl Default for Scratch {
    fn default() -> Scratch {
        Scratch::new()
    }
}

/// The most memory a pair needs besides its two frames, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// The solver's own memory, reused for the next pair.
    pub scratch_bytes: usize,
    /// Further memory that is held only while the pair is solved.
    pub pair_bytes: usize,
    /// The memory of the solution.
    pub solution_bytes: usize,
}

impl Need {
    /// The sum of all three.
    pub fn total_bytes(&self) -> usize {
        self.scratch_bytes.saturating_add(self.pair_bytes).saturating_add(self.solution_bytes)
    }
}

/// The most memory that a pair with a live box of this shape (in work pixels) needs. The maximum is
/// reached when every pixel of the box is live in both frames.
///
/// ```
/// use swathe_ot::{Settings, Shape, need};
/// let need = need(Shape::new(256, 512), &Settings::default());
/// assert!(need.total_bytes() < 35_000_000);
/// ```
pub fn need(live: Shape, settings: &Settings) -> Need {
    let wide = size_of::<Row<f64>>();
    let n_px = live.n_px();
    let line = live.h_px.max(live.w_px);
    let counting = settings.reference == Reference::Counting;
    let (mut sides, mut history) = (0, 0);
    let mut level = Some(live);
    while let Some(shape) = level {
        let (source, target) = panel_rows(shape);
        // Mass and its logarithm; on coarse levels with the counting measure also the lean.
        let n_panels = if counting && shape != live { 3 } else { 2 };
        sides += n_panels * (source + target) * wide;
        history = history.max(history_rows(depth_for(source), source) * size_of::<Row<f32>>());
        level = next_shape(shape);
    }
    let (source, target) = panel_rows(live);
    // The iterate, its image, the previous image, the best image and the iterate that a new attempt
    // may return to; the other potential; and the memory between two passes.
    let panels = 5 * source + target + source.max(target) + 2 * (line + LANES);
    let engines = match settings.precision {
        Precision::F32 => engine_bytes(line, size_of::<f32>()),
        Precision::F64 => engine_bytes(line, size_of::<f64>()),
        Precision::Auto => {
            engine_bytes(line, size_of::<f32>()) + engine_bytes(line, size_of::<f64>())
        }
    };
    // Lists of pixels take no more than panels, except for the unused end of their last block.
    let list_end = LANES * (9 * wide + history_rows(depth_for(0), 1) * size_of::<Row<f32>>());
    let debiased = !settings.raw_velocity;
    let n_fields = if debiased { 7 } else { 5 } + usize::from(settings.target_cost);
    let n_fields = if settings.fields { n_fields } else { 0 };
    let maps = n_fields + if settings.potentials { 2 } else { 0 };
    // A frame cut to its own box, the velocity of its self-transport, and what is kept of that for
    // both frames.
    let own_maps = 3 + if settings.potentials { 2 } else { 0 };
    let own = if debiased {
        own_maps * n_px * size_of::<f64>() + 2 * SelfTransport::bytes_max(live, settings)
    } else {
        0
    };
    let bar =
        if debiased && settings.error_bar && settings.fields { error_bar_bytes(live) } else { 0 };
    let (links, listing) = coupling_bytes(n_px, settings);
    Need {
        scratch_bytes: sides
            + history
            + panels * wide
            + engines
            + list_end
            + Residuals::BYTES_MAX
            + (1 << 14),
        // Rows of marginals and moments.
        pair_bytes: (7 * (line + LANES) * wide).saturating_add(listing) + own.max(bar) + (1 << 14),
        solution_bytes: (maps * n_px * size_of::<f64>() + Residuals::BYTES_MAX)
            .saturating_add(links),
    }
}

/// Rows of a panel of the source and of the target.
fn panel_rows(shape: Shape) -> (usize, usize) {
    (shape.w_px.div_ceil(LANES) * shape.h_px, shape.h_px.div_ceil(LANES) * shape.w_px)
}

/// Bytes of kernels and tiles for lines of at most `line` pixels and numbers of `number` bytes.
/// The factor 2 is there because their vectors grow by doubling.
fn engine_bytes(line: usize, number: usize) -> usize {
    let table = 4 * line + 8 * SEGMENT_MAX;
    let kernels = 8 * table * number;
    let n_tiles = line.div_ceil(SEGMENT_MIN);
    let tiles = 2 * (line + SEGMENT_MAX) * LANES * number + n_tiles * (2 * LANES * 4 + 64);
    let maxima = (line + 4) * 2 * size_of::<usize>();
    2 * (kernels + tiles + maxima)
}

/// Bytes of the list of links, and of the memory that making the list takes besides.
fn coupling_bytes(n_px: usize, settings: &Settings) -> (usize, usize) {
    let n_links = match settings.coupling {
        Coupling::None => return (0, 0),
        Coupling::TopK(k) => n_px.saturating_mul(k.min(n_px)),
        Coupling::Threshold(mass) => {
            let epsilon = settings.epsilon;
            let relaxations: f64 = settings.relaxations().iter().sum();
            // The number of entries of at least this mass is at most the plan's mass divided by it.
            // The counting measure has a total of n², which raises the plan's mass above 1.
            let power = match settings.reference {
                Reference::Product => 0.0,
                Reference::Counting => 2.0 * epsilon / (epsilon + relaxations),
            };
            let n_px = n_px as f64;
            if settings.normalize {
                (1.01 * n_px.powf(power) / mass).min(n_px * n_px) as usize
            } else {
                (64.0 * n_px) as usize
            }
        }
    };
    let links = n_links.saturating_mul(size_of::<Link>());
    // Target pixels by squares; with a threshold the list grows by doubling.
    let squares = 2 * n_px.div_ceil(4) * 64 + (1 << 14);
    let growth = match settings.coupling {
        Coupling::Threshold(_) => links.saturating_mul(2),
        _ => 0,
    };
    (links, growth.saturating_add(squares))
}
