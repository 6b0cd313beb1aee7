//! Milliseconds of processor time per pair on one thread, the mean of several runs, for usual
//! settings. `cargo run --release -p swathe-ot --example bench [-- --only 256x512] [--runs 10]
//! [--dump DIR]`: `--only` keeps the lines that contain a text, `--dump` writes the pairs as raw f64
//! (`a_<rows>_<n>.bin`, `b_<rows>_<n>.bin`, unit mass), for other programs to read.

#![expect(clippy::print_stdout, reason = "the figures are its output")]

use std::time::{Duration, Instant};
use swathe_ot::synth::{Change, embryo_pair};
use swathe_ot::{Frame, Pair, Reference, Scratch, Settings, Shape, solve_with};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let option = |name: &str| args.iter().position(|a| a == name).and_then(|at| args.get(at + 1));
    // The scheduler counts in ticks of milliseconds; the mean of several runs is finer than a tick.
    let dump = option("--dump");
    let n_runs: u32 = option("--runs").map_or(Ok(10), |n| n.parse())?;
    let only = option("--only").map_or("", String::as_str);
    let settings = [
        Settings { relaxation: 0.1, reference: Reference::Counting, ..Settings::default() },
        Settings { relaxation: 0.1, ..Settings::default() },
        Settings { epsilon: 1e-4, relaxation: 10.0, ..Settings::default() },
    ];
    let mut scratch = Scratch::new();
    println!("path {:?}", scratch.path());
    for shape in [Shape::new(64, 128), Shape::new(256, 512)] {
        let pairs = pairs(shape);
        if let Some(folder) = dump {
            write(folder, &pairs)?;
        }
        for settings in &settings {
            for (n, pair) in pairs.iter().enumerate() {
                let label = format!(
                    "{shape} pair {n} ε {:.0e} ρ {} {:?}",
                    settings.epsilon, settings.relaxation, settings.reference,
                );
                if !label.contains(only) {
                    continue;
                }
                let mut solution = solve_with(pair, settings, &mut scratch, &|| false)?;
                let start = processor_time();
                for _ in 0..n_runs {
                    solution = solve_with(pair, settings, &mut scratch, &|| false)?;
                }
                let ms = (processor_time() - start).as_secs_f64() * 1e3 / f64::from(n_runs);
                println!(
                    "{label}: {ms:.2} ms, {:?}, {} + {} sweeps, residual {:.1e}, cost {:.8e}, mass {:.6}, scratch {:.1} MB",
                    solution.status,
                    solution.iterations,
                    solution.iterations_coarse,
                    solution.residual,
                    solution.cost,
                    solution.mass_transported,
                    scratch.bytes() as f64 / 1e6,
                );
            }
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

fn pairs(shape: Shape) -> Vec<Pair> {
    let grown = Change { shift: 0.08, growth: 1.3, turn: 0.05 };
    vec![
        embryo_pair(shape, 1, Change::default()),
        embryo_pair(shape, 2, Change::default()),
        embryo_pair(shape, 5, grown),
    ]
}

fn write(folder: &str, pairs: &[Pair]) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let bytes = |frame: &Frame| -> Vec<u8> {
        let mass = frame.mass();
        frame.density.iter().flat_map(|v| (v / mass).to_le_bytes()).collect()
    };
    for (n, pair) in pairs.iter().enumerate() {
        let h = pair.source.shape.h_px;
        std::fs::write(format!("{folder}/a_{h}_{n}.bin"), bytes(&pair.source))?;
        std::fs::write(format!("{folder}/b_{h}_{n}.bin"), bytes(&pair.target))?;
    }
    Ok(())
}
