//! Pairs as the engine sees them: solved, summarised, and their maps written, on one thread each.

use std::sync::Arc;

use swathe::{DeviceKind, Difference, Gpu, GpuError, Lane, Need, Size, Source, Stop, Workload};
use swathe_ot::{
    CoordScale, Crop, Failure, Frame, Geometry, Pair, PixelBox, Residuals, Scratch, Settings,
    Shape, Side, Solution, Summary, Transport, lift, place_live, solve_with, summarise,
};

use crate::frame::FrameError;
use crate::frame_cache::FrameCache;
use crate::ot_page::{PairView, has_view};
use crate::pair_files::PairFiles;
use crate::pair_input::NamedPair;
use crate::pair_survey::{Outline, PairSurvey};
use crate::run_folder::FolderError;

/// Solves pairs and writes what is too large for a table into files of their own.
pub struct PairWorkload {
    transport: Transport,
    files: PairFiles,
}

/// A pair whose frames are cut to the box that holds the mass of both: nothing outside takes part,
/// and a frame of which an embryo fills a tenth takes a tenth of the memory.
#[derive(Clone, Debug)]
pub struct PairProblem {
    id: Arc<str>,
    pair: Pair,
    /// Where the work grid lies in the original frame.
    geometry: Geometry,
    um_per_px: Option<f64>,
    row: u64,
    /// Whether the page of the run shows it closely.
    has_view: bool,
}

/// What the table says of a pair.
#[derive(Clone, Debug)]
pub struct PairAnswer {
    /// The figures; maps and coupling are in their files.
    pub solution: Solution,
    /// The figures of the displacement field.
    pub summary: Option<Summary>,
    /// Width of a pixel, where it is known.
    pub um_per_px: Option<f64>,
    /// Where the maps are, from the run folder on.
    pub fields_path: Option<String>,
    /// Where the coupling is, from the run folder on.
    pub coupling_path: Option<String>,
}

/// Why a pair has no answer.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PairFailure {
    /// One of its frames is of no use.
    #[error("{kind}: {side} {frame}: {error}", kind = error.kind())]
    Frame {
        /// Which of the two.
        side: Side,
        /// Its name.
        frame: String,
        /// What is wrong with it.
        error: Arc<FrameError>,
    },
    /// The solver refuses it.
    #[error("{kind}: {0}", kind = .0.kind())]
    Solver(Failure),
    /// Its maps cannot be written; the run ends.
    #[error("{0}")]
    Output(Arc<FolderError>),
}

impl PairWorkload {
    /// Solves by these settings; maps are kept while they are summarised, whatever is written.
    pub fn new(settings: Settings, files: PairFiles) -> PairWorkload {
        let settings = Settings {
            fields: true,
            ..settings
        };
        PairWorkload {
            transport: Transport { settings },
            files,
        }
    }

    /// What is solved, and how exactly.
    pub fn settings(&self) -> &Settings {
        &self.transport.settings
    }

    /// The pairs of an input as problems of a run. `um_per_px` is for frames of which the table
    /// does not say it.
    pub fn source(
        &self,
        pairs: Arc<Vec<NamedPair>>,
        cache: Arc<FrameCache>,
        survey: Arc<PairSurvey>,
        um_per_px: Option<f64>,
    ) -> Source<PairWorkload> {
        let placing = Placing {
            crop: self.settings().crop.clone(),
            pool: self.settings().pool,
            um_per_px,
        };
        let (sizes, size_placing) = (Arc::clone(&pairs), placing.clone());
        let size_cache = Arc::clone(&cache);
        Source::new(
            pairs.len(),
            move |index| {
                let pair = &sizes[index];
                let outline = |side, number: usize| match &survey.outlines[number] {
                    Some(Ok(outline)) => Ok(*outline),
                    Some(Err(error)) => Err(failed(&size_cache, side, number, error)),
                    // Pairs of other shards are never asked for.
                    None => Err(PairFailure::Solver(Failure::Stopped)),
                };
                let source = outline(Side::Source, pair.source)?;
                let target = outline(Side::Target, pair.target)?;
                let (geometry, _) = size_placing.place(pair, source, target)?;
                Ok(placed_size(&geometry))
            },
            move |index, _| {
                let pair = &pairs[index];
                let get = |side, number| {
                    let frame = cache.get(number);
                    frame.map_err(|error| failed(&cache, side, number, &Arc::new(error)))
                };
                let source = get(Side::Source, pair.source)?;
                let target = get(Side::Target, pair.target)?;
                let outline_of = |frame: &crate::frame::LiveFrame| Outline {
                    shape: frame.shape,
                    live: frame.live,
                };
                let (geometry, um_per_px) =
                    placing.place(pair, outline_of(&source), outline_of(&target))?;
                let nothing = PixelBox {
                    y0_px: 0,
                    x0_px: 0,
                    shape: Shape::new(1, 1),
                };
                let cut = geometry.live.unwrap_or(nothing);
                Ok(PairProblem {
                    id: pair.id.as_str().into(),
                    pair: swathe::timed("cut frames", || {
                        Pair::new(source.within(cut), target.within(cut))
                    }),
                    geometry,
                    um_per_px,
                    row: index as u64,
                    has_view: has_view(index as u64, pairs.len() as u64),
                })
            },
        )
    }
}

fn failed(cache: &FrameCache, side: Side, number: usize, error: &Arc<FrameError>) -> PairFailure {
    PairFailure::Frame {
        side,
        frame: cache.frames()[number].to_string(),
        error: Arc::clone(error),
    }
}

/// The work grid's size. Pairs of frames of other lengths are another class: their coordinates are
/// scaled otherwise, so they cannot share a launch.
fn placed_size(geometry: &Geometry) -> Size {
    let (work, frame) = (geometry.work, geometry.frame);
    Size {
        class: frame.h_px.max(frame.w_px) as u32,
        ..Size::of(swathe::Shape::new(&[work.h_px as u32, work.w_px as u32]))
    }
}

/// Where pairs go on their frames.
#[derive(Clone)]
struct Placing {
    crop: Crop,
    pool: usize,
    um_per_px: Option<f64>,
}

impl Placing {
    /// The work grid of a pair and the width of its pixels, or why it has none.
    fn place(
        &self,
        pair: &NamedPair,
        source: Outline,
        target: Outline,
    ) -> Result<(Geometry, Option<f64>), PairFailure> {
        if source.shape != target.shape {
            return Err(PairFailure::Solver(Failure::UnequalShapes {
                source_shape: source.shape,
                target_shape: target.shape,
            }));
        }
        let source_um = pair.source_um_per_px.or(self.um_per_px);
        let target_um = pair.target_um_per_px.or(self.um_per_px);
        if let (Some(source_um), Some(target_um)) = (source_um, target_um)
            && source_um != target_um
        {
            return Err(PairFailure::Solver(Failure::UnequalPixelSizes {
                source_um,
                target_um,
            }));
        }
        let live = match (source.live, target.live) {
            (Some(a), Some(b)) => Some(a.union(b)),
            (a, b) => a.or(b),
        };
        let geometry =
            place_live(source.shape, live, &self.crop, self.pool).map_err(PairFailure::Solver)?;
        Ok((geometry, source_um.or(target_um)))
    }
}

impl Workload for PairWorkload {
    type Problem = PairProblem;
    type Solution = PairAnswer;
    type Failure = PairFailure;
    type Scratch = Scratch;
    const NAME: &'static str = Transport::NAME;

    fn size(&self, problem: &PairProblem) -> Size {
        placed_size(&problem.geometry)
    }

    /// What the solver needs; its solution's maps are gone when the answer is handed over, but are
    /// laid back on the frame's own pixels before.
    fn need(&self, size: &Size, on: DeviceKind) -> Need {
        let need = self.transport.need(size, on);
        if on == DeviceKind::Gpu {
            return need;
        }
        let pool = self.settings().pool as u64;
        let lifted = 7 * size_of::<f64>() as u64 * size.shape.volume() * pool * pool;
        Need {
            lane_bytes: need.lane_bytes,
            scratch_bytes: need
                .scratch_bytes
                .saturating_add(need.solution_bytes)
                .saturating_add(lifted)
                .saturating_add(PairFiles::STAGE_BYTES),
            solution_bytes: size_of::<PairAnswer>() as u64 + 512,
        }
    }

    fn scratch(&self) -> Scratch {
        self.transport.scratch()
    }

    fn solve(
        &self,
        problem: &PairProblem,
        scratch: &mut Scratch,
        stop: &Stop,
    ) -> Result<PairAnswer, PairFailure> {
        let settings = self.settings_for(problem);
        let solution = solve_with(&problem.pair, &settings, scratch, &|| stop.requested());
        self.answer(problem, solution)
    }

    fn gpu_form(&self, size: &Size) -> Option<swathe::Shape> {
        self.transport.gpu_form(size)
    }

    fn solve_gpu(
        &self,
        gpu: &Gpu,
        padded: swathe::Shape,
        problems: &[&PairProblem],
        stop: &Stop,
    ) -> Result<Vec<Lane<PairWorkload>>, GpuError> {
        let Some(first) = problems.first() else {
            return Ok(Vec::new());
        };
        // All of them have the first one's class, and so its scale.
        let transport = Transport {
            settings: self.settings_for(first),
        };
        let pairs: Vec<&Pair> = problems.iter().map(|problem| &problem.pair).collect();
        let lanes = transport.solve_gpu_each(gpu, padded, &pairs, stop, |at, solution| {
            self.answer(problems[at], solution)
        })?;
        let lanes = lanes.into_iter().map(|lane| match lane {
            Ok(answer) => Lane::Done(answer),
            Err(reason) => Lane::ToCpu(reason),
        });
        Ok(lanes.collect())
    }

    fn agree(
        &self,
        reference: &PairAnswer,
        other: &PairAnswer,
        on: DeviceKind,
    ) -> Result<(), Difference> {
        self.transport
            .agree(&reference.solution, &other.solution, on)
    }
}

impl PairWorkload {
    /// The settings for frames that are cut already; the scale is that of the original frame.
    fn settings_for(&self, problem: &PairProblem) -> Settings {
        let frame = problem.geometry.frame;
        Settings {
            crop: Crop::Fixed,
            coord_scale: match self.settings().coord_scale {
                CoordScale::Auto => {
                    CoordScale::Fixed(1.0 / frame.h_px.max(frame.w_px).max(1) as f64)
                }
                fixed => fixed,
            },
            ..self.settings().clone()
        }
    }

    /// Summarises a solution and writes what is too large for the table.
    fn answer(
        &self,
        problem: &PairProblem,
        solution: Result<Solution, Failure>,
    ) -> Result<PairAnswer, PairFailure> {
        let mut solution = solution.map_err(PairFailure::Solver)?;
        let summary = swathe::timed("summarise", || summarise(&solution));
        if problem.has_view {
            swathe::timed("view for the page", || {
                self.view(problem, &solution, summary.as_ref())
            });
        }
        let (fields_path, coupling_path) = self.write(problem, &mut solution)?;
        solution.fields = None;
        solution.residuals = Residuals::default();
        solution.geometry = problem.geometry;
        Ok(PairAnswer {
            solution,
            summary,
            um_per_px: problem.um_per_px,
            fields_path,
            coupling_path,
        })
    }

    /// Keeps a small view of a pair for the page of the run.
    fn view(&self, problem: &PairProblem, solution: &Solution, summary: Option<&Summary>) {
        let view = PairView::of(
            problem.row,
            &problem.id,
            (&problem.pair.source, &problem.pair.target),
            &problem.geometry,
            problem.um_per_px,
            solution,
            summary,
        );
        self.files.views().write(&view);
    }

    /// Writes maps and coupling, in pixels of the original frame; the coupling is taken out.
    fn write(
        &self,
        problem: &PairProblem,
        solution: &mut Solution,
    ) -> Result<(Option<String>, Option<String>), PairFailure> {
        let (source, target): (&Frame, &Frame) = (&problem.pair.source, &problem.pair.target);
        let mut fields_path = None;
        if self.files.wants_fields() {
            let written = swathe::timed("write fields", || {
                // Of a pair that is empty altogether there is nothing to lay back.
                let fields = lift(solution, source, target).unwrap_or_default();
                self.files
                    .write_fields(&problem.id, &problem.geometry, &fields)
            });
            fields_path = Some(written.map_err(PairFailure::Output)?);
        }
        let mut coupling_path = None;
        if self.files.wants_coupling() {
            let mut links = std::mem::take(&mut solution.coupling);
            if let Some(live) = problem.geometry.live {
                let (y0, x0) = (live.y0_px as u32, live.x0_px as u32);
                for link in &mut links {
                    link.src_y_px += y0;
                    link.src_x_px += x0;
                    link.tgt_y_px += y0;
                    link.tgt_x_px += x0;
                }
            }
            let written = swathe::timed("write coupling", || {
                self.files.write_coupling(&problem.id, &links)
            });
            coupling_path = Some(written.map_err(PairFailure::Output)?);
        }
        Ok((fields_path, coupling_path))
    }
}
