//! Lanes on the device: buffers, sweeps and results.

use swathe::{Gpu, GpuBuffer, GpuError, Recording, Stop};

use super::kernel::{
    DEAD_PACKED, INTO_GAMMA, INTO_PHI, JUDGE, N_STAGES_MAX, Packed, SPREAD, pack, unpack,
};
use crate::frame::{Frame, Pair};
use crate::problem::Problem;
use crate::settings::{Reference, Settings};
use crate::shape::Shape;
use crate::sweep::Regime;

/// Sweeps at the last ε before a lane is moved to the CPU, whose solver mends what plain sweeps do
/// not: a lane that is not done by then would take far longer here.
const SWEEPS_MAX: usize = 100;
/// Sweeps of one submission.
const SWEEPS_PER_SUBMISSION: usize = 8;
/// The first ε, as a fraction of the squared length of the live box.
const EPSILON_START: f64 = 0.3;
/// The residual to reach, as a fraction of the tolerance, and the least residual that f32 can
/// resolve. The fraction is below 1 because two answers that just meet the tolerance may differ by
/// more than `agree` allows.
const AIM: f64 = 0.25;
const AIM_MIN: f64 = 1e-6;
/// The most terms that a submission sums, unless one sweep of one lane has more. A submission must
/// end before the driver's watchdog fires, on slow devices too.
const TERMS_MAX: usize = 1 << 30;

/// How the sweeps of a lane ended.
#[derive(Clone, Debug)]
pub(super) struct Ended {
    pub converged: bool,
    /// Sweeps at the last ε, and before it.
    pub iterations: usize,
    pub iterations_coarse: usize,
    pub residual: f64,
    /// The potential of the source on the lane's live box, row by row, bits of ε.
    pub phi: Vec<f64>,
}

/// The state of a lane, in the layout of `Lane` in `lane.wgsl`.
type LaneWords = [u32; 15];

mod word {
    pub(super) const STAGE: usize = 2;
    pub(super) const VERDICT: usize = 4;
    pub(super) const N_COARSE: usize = 5;
    pub(super) const N_FINE: usize = 6;
    pub(super) const AIM: usize = 7;
    #[cfg(test)]
    pub(super) const SHIFT: usize = 10;
    pub(super) const IMAGE_SHIFT: usize = 12;
    pub(super) const RESIDUAL: usize = 14;
}

const RUNNING: u32 = 0;
const CONVERGED: u32 = 1;

/// The buffers of a launch.
pub(super) struct Lanes<'a> {
    gpu: &'a Gpu,
    padded: Shape,
    n_lanes: usize,
    parameters: Parameters,
    lanes: GpuBuffer,
    costs: GpuBuffer,
    log_source: GpuBuffer,
    log_target: GpuBuffer,
    phi: GpuBuffer,
    image: GpuBuffer,
    gamma: GpuBuffer,
    between: GpuBuffer,
    tallies: GpuBuffer,
}

/// Bytes on the device per lane, and per launch.
pub(super) fn device_bytes(padded: Shape) -> (u64, u64) {
    let n_px = padded.n_px();
    let pixels = 6 * n_px * size_of::<Packed>();
    let lines = padded.h_px.max(padded.w_px) * 2 * size_of::<Packed>() + 2 * padded.w_px * 16;
    // The lane's state, and the buffer that it is read back through.
    let lane = 2 * size_of::<LaneWords>();
    // Buffers are rounded up by at most a quarter.
    let lane_bytes = (pixels + lines + lane) * 5 / 4;
    // Parameters of the launches of a submission, and small buffers rounded up.
    let launch_bytes = SWEEPS_PER_SUBMISSION * 5 * 256 * 5 / 4 + 16 * 256;
    (lane_bytes as u64, launch_bytes as u64)
}

/// The most lanes of one launch on this device.
pub(super) fn n_lanes_max(gpu: &Gpu, padded: Shape) -> usize {
    let n_terms = n_terms(padded);
    let n_bytes = padded.n_px() * size_of::<Packed>();
    let n_fitting = gpu.info().binding_bytes_max as usize / n_bytes.max(1);
    n_fitting.min(TERMS_MAX / n_terms.max(1)).max(1)
}

/// The terms of one sweep of a lane if none were omitted, plus a fixed cost per line.
fn n_terms(padded: Shape) -> usize {
    const PER_LINE: usize = 1 << 15;
    let Shape { h_px, w_px } = padded;
    2 * (padded.n_px() + PER_LINE) * (h_px + w_px)
}

impl<'a> Lanes<'a> {
    pub(super) fn upload(
        gpu: &'a Gpu,
        padded: Shape,
        lanes: &[(&Pair, &Problem)],
        settings: &Settings,
    ) -> Result<Lanes<'a>, GpuError> {
        let n_costs = padded.h_px.max(padded.w_px);
        let words: Vec<LaneWords> = lanes.iter().map(|(_, problem)| first(problem)).collect();
        let costs: Vec<[Packed; 2]> =
            lanes.iter().flat_map(|(_, problem)| costs_of(problem, n_costs)).collect();
        let log_of = |side: for<'p> fn(&'p Pair, &Problem) -> (&'p Frame, f64)| {
            let mut packed = Vec::with_capacity(lanes.len() * padded.n_px());
            let mut pixels = Vec::new();
            for (pair, problem) in lanes {
                let (frame, mass) = side(pair, problem);
                log_masses(problem, frame, mass, padded, &mut pixels, &mut packed);
            }
            gpu.upload(&packed)
        };
        let bytes = (lanes.len() * padded.n_px() * size_of::<Packed>()) as u64;
        Ok(Lanes {
            gpu,
            padded,
            n_lanes: lanes.len(),
            parameters: Parameters::new(padded, lanes.len(), n_costs, settings),
            lanes: gpu.upload(&words)?,
            costs: gpu.upload(&costs)?,
            log_source: log_of(|pair, problem| (&*pair.source, problem.mass_src))?,
            log_target: log_of(|pair, problem| (&*pair.target, problem.mass_tgt))?,
            phi: gpu.zeroed(bytes)?,
            image: gpu.buffer(bytes)?,
            gamma: gpu.buffer(bytes)?,
            between: gpu.buffer(bytes)?,
            tallies: gpu.buffer((lanes.len() * 2 * padded.w_px * 16) as u64)?,
        })
    }

    /// Sweeps in bounded submissions until every lane has ended. The device decides when a lane
    /// ends, so a lane ends after the same sweep in any launch.
    pub(super) fn run(self, problems: &[&Problem], stop: &Stop) -> Result<Vec<Ended>, GpuError> {
        let words = loop {
            if stop.requested() {
                return Err(GpuError::Stopped);
            }
            let mut recording = self.gpu.record();
            for _ in 0..self.n_sweeps_at_once() {
                self.record_sweep(&mut recording)?;
            }
            recording.run(stop)?;
            let words: Vec<LaneWords> = self.gpu.read(&self.lanes, self.n_lanes, stop)?;
            if words.iter().all(|lane| lane[word::VERDICT] != RUNNING) {
                break words;
            }
        };
        let (gpu, padded, n_px) = (self.gpu, self.padded, self.padded.n_px());
        let n_packed = self.n_lanes * n_px;
        let image: Vec<Packed> = gpu.read(&self.into_image(), n_packed, stop)?;
        let ended = words.iter().zip(image.chunks_exact(n_px)).zip(problems);
        Ok(ended
            .map(|((words, image), problem)| ended_at(words, image, padded, problem.shape))
            .collect())
    }

    /// Releases all other buffers, so that reading this one needs no further memory.
    fn into_image(self) -> GpuBuffer {
        self.image
    }

    fn n_sweeps_at_once(&self) -> usize {
        let n_terms = self.n_lanes * n_terms(self.padded);
        (TERMS_MAX / n_terms.max(1)).clamp(1, SWEEPS_PER_SUBMISSION)
    }

    fn record_sweep(&self, recording: &mut Recording<'_>) -> Result<(), GpuError> {
        self.record_gamma(recording)?;
        let rows = (self.n_lanes * self.padded.h_px) as u64;
        let columns = (self.n_lanes * self.padded.w_px) as u64;
        let Lanes {
            lanes, costs, log_source, log_target, phi, image, gamma, between, tallies, ..
        } = self;
        recording.launch(
            &SPREAD,
            &self.parameters.words(false),
            &[lanes, costs, log_target, gamma, between],
            rows,
        )?;
        recording.launch(
            &INTO_PHI,
            &self.parameters.words(false),
            &[lanes, costs, log_source, between, tallies, phi, image],
            columns,
        )?;
        recording.launch(
            &JUDGE,
            &self.parameters.words(false),
            &[tallies, lanes],
            self.n_lanes as u64,
        )
    }

    /// The first half of a sweep.
    fn record_gamma(&self, recording: &mut Recording<'_>) -> Result<(), GpuError> {
        recording.launch(
            &SPREAD,
            &self.parameters.words(true),
            &[&self.lanes, &self.costs, &self.log_source, &self.phi, &self.between],
            (self.n_lanes * self.padded.h_px) as u64,
        )?;
        recording.launch(
            &INTO_GAMMA,
            &self.parameters.words(false),
            &[
                &self.lanes,
                &self.costs,
                &self.log_target,
                &self.between,
                &self.tallies,
                &self.gamma,
            ],
            (self.n_lanes * self.padded.w_px) as u64,
        )
    }
}

/// A lane before its first sweep.
fn first(problem: &Problem) -> LaneWords {
    let Shape { h_px, w_px } = problem.shape;
    let longest = h_px.max(w_px) as f64 * problem.work_px;
    let above = EPSILON_START * longest * longest / problem.epsilon;
    let stage = above.max(1.0).log2().ceil().min(N_STAGES_MAX as f64 - 1.0);
    let aim = (AIM * problem.tolerance).max(AIM_MIN.min(problem.tolerance));
    let mut words = [0; 15];
    words[..2].copy_from_slice(&[h_px as u32, w_px as u32]);
    words[word::STAGE] = stage as u32;
    words[word::AIM] = (aim as f32).to_bits();
    words
}

/// The cost of every distance d along an axis, in bits of the last ε, and its slope there: the cost
/// of d + k is cost(d) + cost(k) + k·slope(d).
fn costs_of(problem: &Problem, n_costs: usize) -> impl Iterator<Item = [Packed; 2]> {
    let c = Regime::new(problem.epsilon, problem.relaxations).sharpness(problem.work_px);
    let n_own = problem.shape.h_px.max(problem.shape.w_px);
    (0..n_costs).map(move |d| {
        if d < n_own { [pack(c * (d * d) as f64), pack(2.0 * c * d as f64)] } else { [[0; 2]; 2] }
    })
}

/// Appends the logarithms of a frame's unit masses, in the upper left corner of the padded grid.
fn log_masses(
    problem: &Problem,
    frame: &Frame,
    mass: f64,
    padded: Shape,
    pixels: &mut Vec<f64>,
    packed: &mut Vec<Packed>,
) {
    pixels.clear();
    pixels.resize(problem.shape.n_px(), 0.0);
    problem.unit_pixels(frame, mass, pixels);
    let start = packed.len();
    packed.resize(start + padded.n_px(), DEAD_PACKED);
    // Most pixels of a mask are equal, so logarithms are computed only when the mass changes.
    let (mut known, mut log) = (f64::NAN, DEAD_PACKED);
    for (y, row) in pixels.chunks_exact(problem.shape.w_px).enumerate() {
        let out = &mut packed[start + y * padded.w_px..][..row.len()];
        for (mass, out) in row.iter().zip(out) {
            if *mass > 0.0 {
                if *mass != known {
                    (known, log) = (*mass, pack(mass.log2()));
                }
                *out = log;
            }
        }
    }
}

fn ended_at(words: &LaneWords, image: &[Packed], padded: Shape, own: Shape) -> Ended {
    let shift = [word::IMAGE_SHIFT, word::IMAGE_SHIFT + 1].map(|at| words[at].cast_signed());
    let shift = unpack(shift);
    let rows = image.chunks_exact(padded.w_px).take(own.h_px);
    Ended {
        converged: words[word::VERDICT] == CONVERGED,
        iterations: words[word::N_FINE] as usize,
        iterations_coarse: words[word::N_COARSE] as usize,
        residual: f64::from(f32::from_bits(words[word::RESIDUAL])),
        phi: rows.flat_map(|row| &row[..own.w_px]).map(|packed| unpack(*packed) + shift).collect(),
    }
}

/// The parameters of a launch, in the layout of `Parameters` in `lane.wgsl`.
#[derive(Clone, Debug)]
struct Parameters {
    words: [u32; 8 + 4 * N_STAGES_MAX],
}

impl Parameters {
    fn new(padded: Shape, n_lanes: usize, n_costs: usize, settings: &Settings) -> Parameters {
        let mut words = [0; 8 + 4 * N_STAGES_MAX];
        let counting = settings.reference == Reference::Counting;
        // One of the allowed sweeps is left for the CPU, which uses it to check the potential.
        let n_sweeps_max = SWEEPS_MAX.min(settings.max_iterations - 1);
        words[..6].copy_from_slice(&[
            padded.h_px as u32,
            padded.w_px as u32,
            n_lanes as u32,
            n_costs as u32,
            u32::from(counting),
            n_sweeps_max as u32,
        ]);
        for stage in 0..N_STAGES_MAX {
            let epsilon = settings.epsilon * (1_u64 << stage) as f64;
            let regime = Regime::new(epsilon, settings.relaxations());
            let slack = 1.0 - regime.tau;
            // Few enough bits for an exact product with an integer of up to 13 bits.
            let high = f32::from_bits((slack as f32).to_bits() & !0x1FFF);
            let numbers = [
                high,
                (slack - f64::from(high)) as f32,
                regime.ratio as f32,
                (1.0 / regime.tau) as f32,
            ];
            words[8 + 4 * stage..][..4].copy_from_slice(&numbers.map(f32::to_bits));
        }
        Parameters { words }
    }

    fn words(&self, is_shifted: bool) -> [u32; 8 + 4 * N_STAGES_MAX] {
        let mut words = self.words;
        words[6] = u32::from(is_shifted);
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::prepare;
    use crate::synth::Rng;
    use swathe::{GpuSearch, Gpus};

    /// A device. Without one the test is skipped or, in continuous integration, fails.
    fn gpu() -> Option<Gpu> {
        let search = GpuSearch { software: true, ..GpuSearch::default() };
        let gpus = Gpus::find(&search);
        let gpu = gpus.usable.into_iter().next();
        if gpu.is_none() {
            let reason = format!("no graphics processor: {:?}", gpus.refused);
            assert!(std::env::var_os("CI").is_none(), "{reason}");
            println!("SKIPPED: {reason}");
        }
        gpu
    }

    /// A pair whose masses span sixty decades and a third of whose pixels are empty.
    fn wild_pair(shape: Shape, dice: &mut Rng) -> Pair {
        let mut frame = || {
            let pixels = (0..shape.n_px()).map(|p| match dice.below(3) {
                // The corners are live, so that the live box is the whole frame.
                0 if p > 0 && p + 1 < shape.n_px() => 0.0,
                _ => dice.between(-70.0, 70.0).exp(),
            });
            Frame::new(shape.h_px, shape.w_px, pixels.collect()).unwrap()
        };
        let source = frame();
        Pair::new(source, frame())
    }

    /// -τ·log2 Σ_p 2^(φ_p + log a_p - c·|p - q|²) - (1 - τ)·lean, term by term in f64.
    fn gamma_at(problem: &Problem, pair: &Pair, phi: &[f64], q: usize, regime: Regime) -> f64 {
        let w = problem.shape.w_px;
        let c = regime.sharpness(problem.work_px);
        let unit = |frame: &Frame, mass: f64, p: usize| (frame.density[p] / mass).log2();
        let terms: Vec<f64> = (0..problem.shape.n_px())
            .filter(|p| pair.source.density[*p] > 0.0)
            .map(|p| {
                let (dy, dx) = ((p / w).abs_diff(q / w), (p % w).abs_diff(q % w));
                phi[p] + unit(&pair.source, problem.mass_src, p) - c * (dy * dy + dx * dx) as f64
            })
            .collect();
        let most = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum = most + terms.iter().map(|t| (t - most).exp2()).sum::<f64>().log2();
        let lean = match problem.reference {
            Reference::Product => 0.0,
            Reference::Counting => unit(&pair.target, problem.mass_tgt, q),
        };
        -regime.tau * sum - (1.0 - regime.tau) * lean
    }

    #[test]
    fn half_a_sweep_is_what_f64_finds_term_by_term() {
        let Some(gpu) = gpu() else { return };
        let mut dice = Rng::new(5);
        let padded = Shape::new(40, 70);
        let shapes = [(40, 70), (17, 33), (1, 1), (1, 64), (39, 1), (16, 65)];
        let pairs: Vec<Pair> =
            shapes.iter().map(|(h, w)| wild_pair(Shape::new(*h, *w), &mut dice)).collect();
        for (epsilon, relaxation, reference, range_bits) in [
            (1e-3, 0.1, Reference::Product, 100.0),
            (1e-3, f64::INFINITY, Reference::Product, 1500.0),
            (1e-2, 0.01, Reference::Counting, 100.0),
            (0.3, 10.0, Reference::Counting, 1.0),
        ] {
            let settings = Settings { epsilon, relaxation, reference, ..Settings::default() };
            let problems: Vec<Problem> =
                pairs.iter().map(|pair| prepare(pair, &settings).unwrap()).collect();
            let lanes: Vec<_> = pairs.iter().zip(&problems).collect();
            let on_device = Lanes::upload(&gpu, padded, &lanes, &settings).unwrap();
            // At the last ε, with a shift that is not in the stored iterate.
            let mut words: Vec<LaneWords> = problems.iter().map(first).collect();
            let shift = pack(-12.3);
            for words in &mut words {
                words[word::STAGE] = 0;
                words[word::SHIFT..][..2].copy_from_slice(&shift.map(i32::cast_unsigned));
            }
            gpu.write(&on_device.lanes, &words).unwrap();
            let phi: Vec<Packed> = (0..pairs.len() * padded.n_px())
                .map(|_| pack(dice.between(-range_bits, range_bits)))
                .collect();
            gpu.write(&on_device.phi, &phi).unwrap();
            let mut recording = gpu.record();
            on_device.record_gamma(&mut recording).unwrap();
            recording.run(&Stop::new()).unwrap();
            let gamma: Vec<Packed> = gpu.read(&on_device.gamma, phi.len(), &Stop::new()).unwrap();
            let regime = Regime::new(epsilon, [relaxation; 2]);
            let mut worst = 0.0_f64;
            for (n, (pair, problem)) in pairs.iter().zip(&problems).enumerate() {
                let w = problem.shape.w_px;
                let place = |p: usize| n * padded.n_px() + p / w * padded.w_px + p % w;
                let own: Vec<f64> =
                    (0..problem.shape.n_px()).map(|p| unpack(phi[place(p)]) - 12.3).collect();
                for q in 0..problem.shape.n_px() {
                    if pair.target.density[q] > 0.0 {
                        let found = unpack(gamma[place(q)]);
                        let wanted = gamma_at(problem, pair, &own, q, regime);
                        worst = worst.max((found - wanted).abs());
                        assert!(
                            (found - wanted).abs() < 2e-6,
                            "ε {epsilon} lane {n} pixel {q}: {found}, not {wanted}"
                        );
                    }
                }
            }
            println!("ε {epsilon} ρ {relaxation} {reference:?}: off by {worst:.1e} bits at most");
        }
    }

    #[test]
    fn a_larger_epsilon_is_the_same_costs_shifted() {
        let Some(gpu) = gpu() else { return };
        let mut dice = Rng::new(6);
        let shape = Shape::new(20, 50);
        let pair = wild_pair(shape, &mut dice);
        let settings = Settings::default();
        let problem = prepare(&pair, &settings).unwrap();
        for stage in [1, 4, 9] {
            let lanes = Lanes::upload(&gpu, shape, &[(&pair, &problem)], &settings).unwrap();
            let mut words = first(&problem);
            words[word::STAGE] = stage;
            gpu.write(&lanes.lanes, &[words]).unwrap();
            let phi: Vec<Packed> =
                (0..shape.n_px()).map(|_| pack(dice.between(-100.0, 100.0))).collect();
            gpu.write(&lanes.phi, &phi).unwrap();
            let mut recording = gpu.record();
            lanes.record_gamma(&mut recording).unwrap();
            recording.run(&Stop::new()).unwrap();
            let gamma: Vec<Packed> = gpu.read(&lanes.gamma, phi.len(), &Stop::new()).unwrap();
            let epsilon = settings.epsilon * f64::from(1 << stage);
            let regime = Regime::new(epsilon, settings.relaxations());
            let own: Vec<f64> = phi.iter().map(|packed| unpack(*packed)).collect();
            for q in (0..shape.n_px()).filter(|q| pair.target.density[*q] > 0.0) {
                let (found, wanted) =
                    (unpack(gamma[q]), gamma_at(&problem, &pair, &own, q, regime));
                assert!(
                    (found - wanted).abs() < 2e-6,
                    "stage {stage} pixel {q}: {found}, not {wanted}"
                );
            }
        }
    }
}
