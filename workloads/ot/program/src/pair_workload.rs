//! Pairs of a run: how workers load them, and what a worker makes of a solution (figures, a view
//! for the page, files of maps).

use std::sync::Arc;

use swathe::{Finish, Need, Size, Source, Stop};
use swathe_ot::{
    AffineFit, Blurring, Crop, Failure, Frame, Geometry, MotionDoubt, Pair, PixelBox, Residuals,
    Settings, Shape, Side, Solution, Summary, Transport, affine_fit, blurring, lift,
    lift_potentials, mean_velocity_yx_px, motion_doubt, place_live, placed_size, summarise,
};

use crate::frame::FrameError;
use crate::frame_cache::FrameCache;
use crate::page::{PairView, has_view};
use crate::pair_files::{PairFiles, PairMaps};
use crate::pair_input::NamedPair;
use crate::pair_survey::{Outline, PairSurvey};
use swathe_run::store::run_folder::{FolderError, RowFile};

/// The pairs of a run, with the settings of the solver and the files that solutions are written to.
pub struct PairRun {
    transport: Transport,
    files: PairFiles,
    pairs: Arc<Vec<NamedPair>>,
    /// Width of a pixel, for frames of which the input does not give it.
    um_per_px: Option<f64>,
}

/// The finished result of a pair: the content of its row.
#[derive(Clone, Debug)]
pub struct PairAnswer {
    /// The figures. Maps and coupling have been moved to files.
    pub solution: Solution,
    /// The figures of the displacement field.
    pub summary: Option<Summary>,
    /// How the objects of the source moved, turned and stretched.
    pub fit: Option<AffineFit>,
    /// The blur, compared with displacement and width.
    pub blurring: Option<Blurring>,
    /// Mean displacement (y, x) over the source's mass, px.
    pub velocity_mean_yx_px: Option<[f64; 2]>,
    /// Why its motion is in doubt.
    pub doubt: Option<MotionDoubt>,
    /// The share of the source's pixels that have mass.
    pub live_share: f64,
    /// Width of a pixel in µm, if known.
    pub um_per_px: Option<f64>,
    /// The file of the maps, relative to the run folder.
    pub fields: Option<RowFile>,
    /// The file of the coupling, relative to the run folder.
    pub coupling: Option<RowFile>,
}

/// Why a pair has no result.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PairFailure {
    /// One of its frames cannot be used.
    #[error("{kind}: {side} {frame}: {error}", kind = error.kind())]
    Frame {
        /// Which of the two.
        side: Side,
        /// Its name.
        frame: String,
        /// What is wrong with it.
        error: Arc<FrameError>,
    },
    /// The solver failed.
    #[error("{kind}: {0}", kind = .0.kind())]
    Solver(Failure),
    /// Its maps cannot be written; the run ends.
    #[error("{0}")]
    Output(Arc<FolderError>),
}

impl From<Failure> for PairFailure {
    fn from(failure: Failure) -> PairFailure {
        PairFailure::Solver(failure)
    }
}

impl PairRun {
    /// A run with these settings. The solver always makes maps, because they are summarised even if
    /// they are not written; that of the cost at the target only if they are. `um_per_px` is for frames of which the input does not give it.
    pub fn new(
        settings: Settings,
        files: PairFiles,
        pairs: Arc<Vec<NamedPair>>,
        um_per_px: Option<f64>,
    ) -> PairRun {
        let settings = Settings { fields: true, target_cost: files.wants_fields(), ..settings };
        PairRun { transport: Transport { settings }, files, pairs, um_per_px }
    }

    /// The settings of the solver.
    pub fn settings(&self) -> &Settings {
        &self.transport.settings
    }

    /// The pairs as a source of problems for the engine.
    pub fn source(
        &self,
        cache: Arc<FrameCache>,
        survey: Arc<PairSurvey>,
    ) -> Source<Pair, PairFailure> {
        let placing = Placing {
            crop: self.settings().crop.clone(),
            pool: self.settings().pool,
            um_per_px: self.um_per_px,
        };
        let (sizes, size_placing) = (Arc::clone(&self.pairs), placing.clone());
        let (pairs, size_cache) = (Arc::clone(&self.pairs), Arc::clone(&cache));
        Source::new(
            pairs.len(),
            move |index| {
                let pair = &sizes[index];
                let outline = |side, number: usize| match &survey.outlines[number] {
                    Some(Ok(outline)) => Ok(*outline),
                    Some(Err(error)) => Err(failed(&size_cache, side, number, error)),
                    // The engine never requests pairs of other shards.
                    None => Err(PairFailure::Solver(Failure::Stopped)),
                };
                let source = outline(Side::Source, pair.source)?;
                let target = outline(Side::Target, pair.target)?;
                size_placing.widths(pair, source, target, &size_cache)?;
                let geometry = size_placing.place(source, target)?;
                Ok(placed_size(geometry.work, geometry.frame))
            },
            move |index, _| {
                let pair = &pairs[index];
                let get = |side, number| {
                    let frame = cache.get_with_cell(number);
                    frame.map_err(|error| failed(&cache, side, number, &Arc::new(error)))
                };
                let (source, source_cell) = get(Side::Source, pair.source)?;
                let (target, target_cell) = get(Side::Target, pair.target)?;
                let outline_of = |frame: &crate::frame::LiveFrame| Outline {
                    shape: frame.shape,
                    live: frame.live,
                    um_per_px: frame.um_per_px,
                };
                let outlines = [outline_of(&source), outline_of(&target)];
                let widths = placing.widths(pair, outlines[0], outlines[1], &cache)?;
                let geometry = placing.place(outlines[0], outlines[1])?;
                let nothing = PixelBox { y0_px: 0, x0_px: 0, shape: Shape::new(1, 1) };
                let cut = geometry.live.unwrap_or(nothing);
                Ok(swathe::timed("cut frames", || {
                    let mut frames = [source.within(cut), target.within(cut)];
                    for frame in &mut frames {
                        frame.um_per_px = widths;
                    }
                    let [source, target] = frames;
                    Pair::cut(source, target, geometry).with_self_cells(source_cell, target_cell)
                }))
            },
        )
    }

    /// Writes the small view of a pair for the page of the run.
    fn view(&self, row: usize, pair: &Pair, solution: &Solution, summary: Option<&Summary>) {
        let view = PairView::of(
            row as u64,
            &self.pairs[row].id,
            (&pair.source, &pair.target),
            pair.source.um_per_px,
            solution,
            summary,
        );
        self.files.views().write(&view);
    }

    /// Writes maps and coupling, in pixels of the original frame, and removes the coupling from the
    /// solution.
    fn write(
        &self,
        id: &str,
        pair: &Pair,
        solution: &mut Solution,
    ) -> Result<[Option<RowFile>; 2], PairFailure> {
        let mut fields_file = None;
        if self.files.wants_fields() {
            let written = swathe::timed("write fields", || {
                let (source, target) = (&*pair.source, &*pair.target);
                // A pair without maps or potentials gets empty ones.
                let potentials = || lift_potentials(solution, source, target).unwrap_or_default();
                let maps = PairMaps {
                    fields: lift(solution, source, target).unwrap_or_default(),
                    potentials: self.settings().potentials.then(potentials),
                    um_per_px: source.um_per_px,
                };
                self.files.write_fields(id, &solution.geometry, &maps)
            });
            fields_file = Some(written.map_err(PairFailure::Output)?);
        }
        let mut coupling_file = None;
        if self.files.wants_coupling() {
            let links = std::mem::take(&mut solution.coupling);
            let written = swathe::timed("write coupling", || self.files.write_coupling(id, &links));
            coupling_file = Some(written.map_err(PairFailure::Output)?);
        }
        Ok([fields_file, coupling_file])
    }
}

impl Finish for PairRun {
    type Workload = Transport;
    type Finished = PairAnswer;
    type Failure = PairFailure;

    fn workload(&self) -> &Transport {
        &self.transport
    }

    /// Finishing drops the solution's maps, but before that it holds them a second time, in pixels
    /// of the frame.
    fn need(&self, size: &Size, solving: Need) -> Need {
        let pool = self.settings().pool as u64;
        let n_maps = if self.settings().potentials { 12 } else { 10 };
        let lifted = n_maps * size_of::<f64>() as u64 * size.shape.volume() * pool * pool;
        Need {
            lane_bytes: solving.lane_bytes,
            scratch_bytes: solving
                .scratch_bytes
                .saturating_add(solving.solution_bytes)
                .saturating_add(lifted)
                .saturating_add(PairFiles::STAGE_BYTES),
            solution_bytes: size_of::<PairAnswer>() as u64 + 512,
        }
    }

    /// Summarises a solution and writes its maps and coupling to files.
    fn finish(
        &self,
        row: usize,
        pair: &Pair,
        solution: Solution,
        _: &Stop,
    ) -> Result<PairAnswer, PairFailure> {
        let mut answer = PairAnswer::of(solution, pair);
        if has_view(row as u64, self.pairs.len() as u64) {
            swathe::timed("view for the page", || {
                self.view(row, pair, &answer.solution, answer.summary.as_ref());
            });
        }
        let id = &self.pairs[row].id;
        [answer.fields, answer.coupling] = self.write(id, pair, &mut answer.solution)?;
        answer.solution.fields = None;
        answer.solution.potentials = None;
        answer.solution.residuals = Residuals::default();
        Ok(answer)
    }
}

impl PairAnswer {
    /// What is computed from the maps of a solution, which still has them.
    pub fn of(solution: Solution, pair: &Pair) -> PairAnswer {
        let source = &pair.source;
        let summary = swathe::timed("summarise", || summarise(&solution));
        let (fit, blurring, velocity_mean_yx_px) = swathe::timed("fit motion", || {
            (
                affine_fit(&solution, source),
                blurring(&solution, source),
                mean_velocity_yx_px(&solution, source),
            )
        });
        let doubt = swathe::timed("doubt motion", || motion_doubt(&solution, pair));
        PairAnswer {
            summary,
            fit,
            blurring,
            velocity_mean_yx_px,
            doubt,
            live_share: live_share(source, &solution),
            um_per_px: source.um_per_px,
            fields: None,
            coupling: None,
            solution,
        }
    }
}

/// The share of a frame's pixels that have mass.
fn live_share(source: &Frame, solution: &Solution) -> f64 {
    let n_live = source.density.iter().filter(|v| **v > 0.0).count();
    n_live as f64 / solution.geometry.frame.n_px() as f64
}

fn failed(cache: &FrameCache, side: Side, number: usize, error: &Arc<FrameError>) -> PairFailure {
    PairFailure::Frame { side, frame: cache.frames()[number].to_string(), error: Arc::clone(error) }
}

/// How the work grids of pairs are placed on their frames.
#[derive(Clone)]
struct Placing {
    crop: Crop,
    pool: usize,
    um_per_px: Option<f64>,
}

impl Placing {
    /// The width of a pair's pixels in µm, if known: by the table, the flag or the files. Widths
    /// that differ by rounding are the same.
    fn widths(
        &self,
        pair: &NamedPair,
        source: Outline,
        target: Outline,
        cache: &FrameCache,
    ) -> Result<Option<f64>, PairFailure> {
        let width = |side, number, told: Option<f64>, outline: Outline| {
            let square = || match outline.um_per_px {
                Some([h_um, w_um]) if !is_same_width(h_um, w_um) => {
                    let error = Arc::new(FrameError::OblongPixels { h_um, w_um });
                    Err(failed(cache, side, number, &error))
                }
                um => Ok(um.map(|[_, w_um]| w_um)),
            };
            match told.or(self.um_per_px) {
                Some(um) => Ok(Some(um)),
                None => square(),
            }
        };
        let source_um = width(Side::Source, pair.source, pair.source_um_per_px, source)?;
        let target_um = width(Side::Target, pair.target, pair.target_um_per_px, target)?;
        match (source_um, target_um) {
            (Some(source_um), Some(target_um)) if !is_same_width(source_um, target_um) => {
                Err(PairFailure::Solver(Failure::UnequalPixelSizes { source_um, target_um }))
            }
            _ => Ok(source_um.or(target_um)),
        }
    }

    /// The work grid of a pair.
    fn place(&self, source: Outline, target: Outline) -> Result<Geometry, PairFailure> {
        if source.shape != target.shape {
            return Err(PairFailure::Solver(Failure::UnequalShapes {
                source_shape: source.shape,
                target_shape: target.shape,
            }));
        }
        let live = match (source.live, target.live) {
            (Some(a), Some(b)) => Some(a.union(b)),
            (a, b) => a.or(b),
        };
        Ok(place_live(source.shape, live, &self.crop, self.pool)?)
    }
}

/// Whether two widths of pixels are the same but for rounding: 1e-6 of the larger one.
fn is_same_width(a_um: f64, b_um: f64) -> bool {
    (a_um - b_um).abs() <= 1e-6 * a_um.max(b_um)
}
