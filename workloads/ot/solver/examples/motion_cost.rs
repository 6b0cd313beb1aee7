//! What debiasing, the error bar and the doubt of a motion cost on series of frames, as parts of the
//! raw solves (the doubt: of the whole ones): processor time of one thread, the ways in turn, the best
//! of several rounds; and the memory of the cached self-transports.
//! `cargo run --release -p swathe-ot --example motion_cost [-- ROUNDS]`.

#![expect(clippy::print_stdout, reason = "the figures are its output")]

use std::sync::Arc;
use std::time::{Duration, Instant};
use swathe_ot::synth::Series;
use swathe_ot::{Frame, Pair, Scratch, SelfCell, Settings, Shape, motion_doubt, solve_with};

/// Pairs of neighbours in a series.
const N_PAIRS: usize = 12;
/// How often the doubt of a pair is computed, to be measured.
const N_DOUBTS: u32 = 50;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let n_rounds: usize = std::env::args().nth(1).map_or(Ok(5), |n| n.parse())?;
    let mut scratch = Scratch::new();
    for shape in [Shape::new(64, 128), Shape::new(256, 512)] {
        let series = Series::new(shape, 30, 3);
        let frames: Vec<Arc<Frame>> = (0..=N_PAIRS).map(|t| Arc::new(series.density(t))).collect();
        for epsilon in [1e-3, 1e-4] {
            let ways = [(true, false), (false, false), (false, true)];
            let mut best = [Duration::MAX; 3];
            let mut best_doubt = Duration::MAX;
            let mut cache_bytes = 0;
            for _ in 0..n_rounds {
                for ((raw_velocity, error_bar), best) in ways.into_iter().zip(&mut best) {
                    let settings =
                        Settings { epsilon, raw_velocity, error_bar, ..Settings::default() };
                    let cells: Vec<Arc<SelfCell>> = frames.iter().map(|_| Arc::default()).collect();
                    let start = processor_time();
                    let mut doubt = Duration::ZERO;
                    for t in 0..N_PAIRS {
                        let pair = Pair::new(Arc::clone(&frames[t]), Arc::clone(&frames[t + 1]));
                        let cells = (Arc::clone(&cells[t]), Arc::clone(&cells[t + 1]));
                        let pair = pair.with_self_cells(cells.0, cells.1);
                        let solution = solve_with(&pair, &settings, &mut scratch, &|| false)?;
                        let solved = processor_time();
                        // Once takes less than a tick of the scheduler's clock.
                        for _ in 0..N_DOUBTS {
                            std::hint::black_box(motion_doubt(&solution, &pair));
                        }
                        doubt += processor_time() - solved;
                    }
                    *best = (*best).min(processor_time() - start - doubt);
                    best_doubt = best_doubt.min(doubt);
                    cache_bytes = cells.iter().map(|cell| cell.bytes()).sum::<usize>();
                }
            }
            let doubt = best_doubt.as_secs_f64() / f64::from(N_DOUBTS) / best[2].as_secs_f64();
            let [raw, debiased, whole] = best.map(|time| time.as_secs_f64() * 1e3 / N_PAIRS as f64);
            println!(
                "{shape} ε {epsilon:e}: raw {raw:.2} ms a pair, debiasing {:+.0} %, error bar {:+.0} % of the debiased, both {:+.0} %, doubt {:+.1} % of both; self-transports {:.2} MB for {} frames",
                100.0 * (debiased / raw - 1.0),
                100.0 * (whole / debiased - 1.0),
                100.0 * (whole / raw - 1.0),
                100.0 * doubt,
                cache_bytes as f64 / 1e6,
                frames.len()
            );
        }
    }
    Ok(())
}

/// Processor time of this thread, which excludes other programs; wall time where the system does
/// not report it.
fn processor_time() -> Duration {
    static START: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
    let said = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let ns = said.and_then(|line| line.split(' ').next()?.parse().ok());
    ns.map_or_else(|| START.elapsed(), Duration::from_nanos)
}
