use crate::anderson::DEPTH_MAX;
use crate::blur::{LANES, Row, SEGMENT_MAX};
use crate::descent::State;
use crate::pyramid::Pyramid;
use crate::settings::{Precision, Settings};
use crate::shape::Shape;
use crate::simd::SimdPath;
use crate::sweep::Engine;

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
    pub(crate) path: SimdPath,
    pub(crate) pyramid: Pyramid,
    pub(crate) state: State,
    pub(crate) single: Engine<f32>,
    pub(crate) double: Engine<f64>,
}

impl Scratch {
    /// Empty memory, for the best instructions of this machine.
    pub fn new() -> Scratch {
        Scratch::for_path(SimdPath::detect())
    }

    /// Empty memory, for chosen instructions.
    pub fn for_path(path: SimdPath) -> Scratch {
        Scratch {
            path,
            pyramid: Pyramid::default(),
            state: State::default(),
            single: Engine::default(),
            double: Engine::default(),
        }
    }

    /// The instructions it solves with.
    pub fn path(&self) -> SimdPath {
        self.path
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

/// What a pair needs at most, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// The solver's own memory, kept for the next pair.
    pub scratch_bytes: usize,
    /// The prepared pair and the panels its maps are made of, while it is solved.
    pub pair_bytes: usize,
    /// The solution, until it is dropped.
    pub solution_bytes: usize,
}

impl Need {
    /// All of it.
    pub fn total_bytes(&self) -> usize {
        self.scratch_bytes + self.pair_bytes + self.solution_bytes
    }
}

/// The memory a pair with a live box of this shape (in work pixels) needs at most. It is reached
/// when every pixel of the box is live in both frames.
pub fn need(live: Shape, settings: &Settings) -> Need {
    let wide = size_of::<Row<f64>>();
    let n_rows = |shape: Shape| {
        let (along_y, along_x) = (
            shape.w_px.div_ceil(LANES) * shape.h_px,
            shape.h_px.div_ceil(LANES) * shape.w_px,
        );
        along_y.max(along_x)
    };
    let rows = n_rows(live);
    let n_px = live.n_px();
    let mut side_rows = 0;
    let mut level = live;
    loop {
        side_rows += n_rows(level);
        let half = Shape::new(level.h_px.div_ceil(2), level.w_px.div_ceil(2));
        if half.h_px.min(half.w_px) < 16 {
            break;
        }
        level = half;
    }
    // Three and a half panels per side and level; the halved images of the pyramid, two of counts.
    let pyramid = side_rows * 2 * (3 * wide + wide / 2) + 5 * n_px.div_ceil(2) * size_of::<f64>();
    let depth = if n_px <= 20_000 { DEPTH_MAX } else { 10 };
    // A smaller level may keep a deeper history: a quarter of the rows, at most.
    let history_rows =
        (depth * rows).max(DEPTH_MAX * rows.min(20_000 / LANES + live.h_px + live.w_px));
    let history = history_rows * 2 * (wide / 2) + 2 * rows * (wide / 2) + rows * wide;
    let panels = (4 + 5) * rows * wide;
    let line = live.h_px.max(live.w_px) + SEGMENT_MAX;
    let tiles = |number: usize| 2 * line * LANES * number + line * 64;
    let per_engine = |number: usize| 2 * rows * wide + tiles(number);
    let engines = match settings.precision {
        Precision::F32 => per_engine(4),
        Precision::F64 => per_engine(8),
        Precision::Auto => per_engine(4) + per_engine(8),
    };
    // Moments: logs, two carried panels and three outputs with their turned copies.
    let moments = 10 * rows * wide;
    let fields = if settings.fields {
        5 * n_px * size_of::<f64>()
    } else {
        0
    };
    let potentials = if settings.potentials {
        2 * n_px * size_of::<f64>()
    } else {
        0
    };
    Need {
        scratch_bytes: pyramid + history + panels + engines + (1 << 16),
        pair_bytes: 2 * n_px * size_of::<f64>() + moments,
        solution_bytes: fields + potentials,
    }
}
