//! `swathe ot suggest`: tries values of epsilon and relaxation on an input and suggests a choice.

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::pair_input::PairInput;
use swathe::{Cpu, Source};
use swathe_ot::{Choice, Pair, Settings, Trial, TrialFigures, TrialRow, Trials, choose};

use crate::flags::OtSuggestFlags;
use swathe_command::cli_error::{CliError, Code};
use swathe_command::interrupt;
use swathe_command::progress::{Progress, ProgressStyle};
use swathe_command::summary::counted;
use swathe_command::{status, warning};

pub(super) fn suggest(flags: &OtSuggestFlags) -> Result<Code, CliError> {
    let epsilons = decades(
        ("--epsilon-min", &flags.epsilon_min),
        ("--epsilon-max", &flags.epsilon_max),
    )?;
    let relaxations = decades(
        ("--relaxation-min", &flags.relaxation_min),
        ("--relaxation-max", &flags.relaxation_max),
    )?;
    let style = ProgressStyle::parse(&flags.progress).ok_or_else(|| {
        CliError::usage(format!(
            "--progress is '{}', which is not a way to show progress",
            flags.progress
        ))
        .hint("write auto, bar, plain, json or none")
    })?;
    let blur_asked = match &flags.blur {
        None => None,
        Some(text) => Some(positive("--blur", text)?),
    };
    let pairs = load(flags)?;
    let blur_max_px = blur_asked.unwrap_or_else(|| default_blur_px(&pairs));
    let grid: Vec<(f64, f64)> = epsilons
        .iter()
        .flat_map(|epsilon| relaxations.iter().map(|relaxation| (*epsilon, *relaxation)))
        .collect();
    let Some(figures) = try_all(&pairs, &grid, flags.threads, style) else {
        status!("interrupted: nothing is suggested");
        return Ok(Code::Interrupted);
    };
    let rows: Vec<TrialRow> = grid
        .iter()
        .zip(figures.chunks(pairs.len()))
        .filter_map(|((epsilon, relaxation), some)| {
            let some: Vec<TrialFigures> = some.iter().flatten().copied().collect();
            TrialRow::of(*epsilon, *relaxation, &some)
        })
        .collect();
    swathe_command::stdout::print(&table(&rows))?;
    match choose(&rows, blur_max_px) {
        Some(choice) => advise(&choice, &rows, blur_max_px),
        None if rows.is_empty() => status!("no pair that was tried has mass in both frames"),
        None => status!("no combination converged for all pairs: raise --epsilon-min"),
    }
    let n_failed = figures.iter().filter(|f| f.is_none()).count();
    Ok(if n_failed > 0 {
        Code::SomeFailed
    } else {
        Code::Solved
    })
}

/// Loads pairs spread evenly over the input. Pairs that cannot be read are skipped with a warning.
fn load(flags: &OtSuggestFlags) -> Result<Vec<Pair>, CliError> {
    let input = PairInput::open(&flags.input)
        .map_err(|error| CliError::usage(error.to_string()).hint(error.hint()))?;
    let n_all = input.pairs.len();
    let n_tried = (flags.pairs as usize).min(n_all);
    let label = flags.label.map(|label| label as f64);
    let mut pairs = Vec::new();
    for i in 0..n_tried {
        let named = &input.pairs[(2 * i + 1) * n_all / (2 * n_tried)];
        let frame = |number: usize| {
            let place = &input.frames[number];
            let live = input.files.read(place, label);
            live.map(|live| live.whole())
                .map_err(|error| format!("{place}: {error}"))
        };
        match frame(named.source).and_then(|source| Ok((source, frame(named.target)?))) {
            Ok((source, target)) if source.shape == target.shape => {
                pairs.push(Pair::new(source, target));
            }
            Ok((source, target)) => warning!(
                "{} is left out: source is {}, target is {}",
                named.id,
                source.shape,
                target.shape
            ),
            Err(message) => warning!("{} is left out: {message}", named.id),
        }
    }
    if pairs.is_empty() {
        return Err(CliError::usage(format!(
            "{} has no pair that can be tried",
            flags.input.display()
        ))
        .hint("raise --pairs, or see what `swathe ot` says of the input"));
    }
    status!(
        "trying {} of {n_all}",
        counted(pairs.len() as u64, "pair", "pairs")
    );
    Ok(pairs)
}

/// A hundredth of the median longer side, at least one pixel.
fn default_blur_px(pairs: &[Pair]) -> f64 {
    let side = |pair: &Pair| pair.source.shape.h_px.max(pair.source.shape.w_px);
    let mut sides: Vec<usize> = pairs.iter().map(side).collect();
    sides.sort_unstable();
    (sides[sides.len() / 2] as f64 / 100.0).max(1.0)
}

/// Solves every pair with every combination. Results are ordered by combination, then by pair;
/// `None` if it was interrupted.
fn try_all(
    pairs: &[Pair],
    grid: &[(f64, f64)],
    n_threads: usize,
    style: ProgressStyle,
) -> Option<Vec<Option<TrialFigures>>> {
    let trials: Vec<Trial> = grid
        .iter()
        .flat_map(|(epsilon, relaxation)| {
            pairs.iter().map(|pair| Trial {
                pair: pair.clone(),
                epsilon: *epsilon,
                relaxation: *relaxation,
            })
        })
        .collect();
    let n_trials = trials.len();
    let workload = Arc::new(Trials::new(Settings::default()));
    let source = Source::from_vec(&workload, trials);
    let (progress, observer) = Progress::start(style, "suggest", n_trials as u64);
    let stop = interrupt::stop();
    let engine = swathe::Settings {
        n_threads: match n_threads {
            0 => Cpu::detect().n_threads,
            n => n,
        },
        observer,
        stop: stop.clone(),
        ..swathe::Settings::default()
    };
    let mut figures = vec![None; n_trials];
    let mut n_told = 0;
    swathe::run(&workload, &source, &engine, &mut |done| {
        // The same failure usually comes with every combination, so three warnings are enough.
        if let Some(message) = done.outcome.message()
            && n_told < 3
            && !stop.requested()
        {
            n_told += 1;
            warning!("a trial failed: {message}");
        }
        figures[done.index] = done.outcome.solution().copied();
        ControlFlow::Continue(())
    });
    drop(progress);
    (!stop.requested()).then_some(figures)
}

/// Values from the smallest to the largest, a factor of ten apart; the largest is always included.
fn decades(least: (&str, &str), most: (&str, &str)) -> Result<Vec<f64>, CliError> {
    let (from, to) = (positive(least.0, least.1)?, positive(most.0, most.1)?);
    if from > to {
        return Err(CliError::usage(format!(
            "{} is {}, more than {} ({})",
            least.0, least.1, most.0, most.1
        ))
        .hint("the smallest value comes first"));
    }
    let mut values = Vec::new();
    let mut value = from;
    while value < to * (1.0 - 1e-9) {
        values.push(value);
        // Rounded through text, so that 1e-5 becomes 1e-4 and not 0.00010000000000000002.
        value = format!("{:.6e}", value * 10.0).parse().unwrap_or(to);
    }
    values.push(to);
    Ok(values)
}

fn positive(name: &str, text: &str) -> Result<f64, CliError> {
    let value = text.parse::<f64>().ok();
    value.filter(|x| *x > 0.0 && x.is_finite()).ok_or_else(|| {
        CliError::usage(format!(
            "{name} is '{text}', which is not a positive number"
        ))
        .hint("write something like 0.001, 1e-3 or 10")
    })
}

fn table(rows: &[TrialRow]) -> String {
    let mut table = String::from(
        "epsilon  relaxation  blur_px  transported  displacement_px  iterations       ms  converged\n",
    );
    for row in rows {
        table += &format!(
            "{:<7}  {:<10}  {:>7.2}  {:>11.4}  {:>15.2}  {:>10}  {:>7.1}  {:>9}\n",
            short(row.epsilon),
            short(row.relaxation),
            row.blur_px,
            row.transported_share,
            row.displacement_px,
            row.iterations,
            row.solve_ms,
            format!("{}/{}", row.n_converged, row.n_pairs)
        );
    }
    table
}

/// A value as a user would type it.
fn short(value: f64) -> String {
    if (0.01..1e4).contains(&value) {
        format!("{value}")
    } else {
        format!("{value:e}")
    }
}

/// Prints the choice and its reasons: the effect of the next smaller and larger values.
fn advise(choice: &Choice, rows: &[TrialRow], blur_max_px: f64) {
    let row = &choice.row;
    let with = |epsilon: f64, relaxation: f64| {
        rows.iter()
            .find(|r| r.epsilon == epsilon && r.relaxation == relaxation)
    };
    let next = |values: Vec<f64>, up: bool, from: f64| {
        let beyond = values
            .into_iter()
            .filter(|v| if up { *v > from } else { *v < from });
        if up {
            beyond.min_by(f64::total_cmp)
        } else {
            beyond.max_by(f64::total_cmp)
        }
    };
    let epsilons = || rows.iter().map(|r| r.epsilon).collect::<Vec<f64>>();
    let relaxations = || rows.iter().map(|r| r.relaxation).collect::<Vec<f64>>();
    status!(
        "suggested: --epsilon {} --relaxation {}",
        short(row.epsilon),
        short(row.relaxation)
    );
    if choice.is_sharp {
        status!(
            "epsilon {}: the fastest that is sharp enough; the mass of a pixel spreads over {:.1} px, at most {blur_max_px:.1} px are wanted",
            short(row.epsilon),
            row.blur_px
        );
    } else {
        status!(
            "epsilon {}: the sharpest that was tried, but the mass of a pixel still spreads over {:.1} px and {blur_max_px:.1} px are wanted: try a smaller --epsilon-min, or allow more with --blur",
            short(row.epsilon),
            row.blur_px
        );
    }
    let blurrier = next(epsilons(), true, row.epsilon).and_then(|e| with(e, row.relaxation));
    if let Some(blurrier) = blurrier {
        status!(
            "  a larger one blurs: at {} over {:.1} px, and motion finer than that is lost",
            short(blurrier.epsilon),
            blurrier.blur_px
        );
    }
    let sharper = next(epsilons(), false, row.epsilon).and_then(|e| with(e, row.relaxation));
    if let Some(sharper) = sharper {
        status!(
            "  a smaller one takes longer: {:.0} ms a pair at {}, {:.0} ms at {}",
            sharper.solve_ms,
            short(sharper.epsilon),
            row.solve_ms,
            short(row.epsilon)
        );
    }
    if choice.is_level {
        status!(
            "relaxation {}: the smallest beyond which hardly more is transported ({:.1} % of the mass)",
            short(row.relaxation),
            100.0 * row.transported_share
        );
    } else {
        status!(
            "relaxation {}: the largest that was tried ({:.1} % of the mass transported); more may be moved beyond it: try a larger --relaxation-max",
            short(row.relaxation),
            100.0 * row.transported_share
        );
    }
    let cheaper = next(relaxations(), false, row.relaxation).and_then(|r| with(row.epsilon, r));
    if let Some(cheaper) = cheaper {
        status!(
            "  a smaller one destroys mass here and creates it there instead of moving it: {:.1} % transported at {}",
            100.0 * cheaper.transported_share,
            short(cheaper.relaxation)
        );
    }
    if choice.is_level {
        status!("  a larger one forces mass to move that really appeared or vanished");
    }
}
