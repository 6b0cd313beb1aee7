//! `swathe ot suggest`: tries values of epsilon and relaxation on an input and suggests a choice.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use swathe::{Budget, Cpu, Reservation, Source};
use swathe_ot::{
    BLUR_SHARE_MAX, Choice, CoordScale, EPSILONS, ERROR_PX, Failure, MotionDoubt, Pair, Settings,
    Trial, TrialFigures, TrialRow, TrialStep, Trials, choose, place_live,
};

use super::problem::Problem;
use super::sampled_epsilon::TIGHT;
use crate::PROGRAM;
use crate::flags::OtSuggestFlags;
use crate::pair_input::PairInput;
use crate::settings::{OtSettings, Relaxation};
use swathe_command::cli_error::{CliError, Code};
use swathe_command::interrupt;
use swathe_command::layers::Layers;
use swathe_command::progress::{Progress, ProgressStyle};
use swathe_command::setting_value::Auto;
use swathe_command::settings_file::set_values;
use swathe_command::summary::counted;
use swathe_command::{status, warning};

/// The prices that are tried, for frames one unit long.
const RELAXATIONS: [f64; 2] = [0.1, 100.0];
/// The price at which values of ε are compared: the default of a run.
const RELAXATION_USUAL: f64 = 10.0;
/// Errors below this are small whatever the displacement. A large price costs no time, so that less
/// is asked of ε.
const RELAXATION_ERROR_PX: f64 = 0.01;

pub(super) fn suggest(flags: &OtSuggestFlags) -> Result<Code, CliError> {
    let problem = problem(flags)?;
    let budget = Budget::new(Cpu::detect().memory_default_bytes());
    let loaded = interrupt::while_reading(|| load(flags, &problem, &budget));
    let (pairs, _reserved) = loaded?;
    let unit = cost_unit(&pairs, &problem.settings);
    let epsilons =
        epsilons([flags.epsilon_min, flags.epsilon_max], unit, &pairs, &problem.settings)?;
    let relaxations = ladder(
        "relaxation",
        [flags.relaxation_min, flags.relaxation_max],
        RELAXATIONS.map(|price| rounded(price * unit)),
        &[1.0],
    )?;
    let by_usual = |a: &&f64, b: &&f64| {
        let off = |price: f64| (price / (RELAXATION_USUAL * unit)).ln().abs();
        off(**a).total_cmp(&off(**b))
    };
    let usual = relaxations.iter().min_by(by_usual).copied();
    let usual = usual.unwrap_or(RELAXATION_USUAL);
    let steps = epsilons.iter().rev().map(|&epsilon| TrialStep { epsilon, relaxation: usual });
    let trials_with = |settings: &Settings, steps: Vec<TrialStep>, floor_px: f64| {
        let solved = try_steps(&pairs, &steps, settings, &budget, flags.threads, flags.progress);
        solved.map(|solved| Rows::of(&steps, &solved, floor_px))
    };
    let trials = |steps, floor_px| trials_with(&problem.settings, steps, floor_px);
    let Some(by_epsilon) = trials(steps.collect(), ERROR_PX) else {
        return Ok(interrupted());
    };
    let is_sharp = |row: &TrialRow| {
        let half = BLUR_SHARE_MAX * row.displacement_px;
        match problem.settings.raw_velocity {
            true => row.blur_px <= flags.blur.unwrap_or(half),
            false => row.is_exact() && row.blur_px <= flags.blur.unwrap_or(f64::INFINITY),
        }
    };
    let Some(sharp) = choose(&by_epsilon.rows, is_sharp) else {
        return Ok(nothing(&by_epsilon));
    };
    let steps = relaxations.iter().map(|&relaxation| TrialStep { relaxation, ..sharp.row.step });
    let Some(by_relaxation) = trials(steps.collect(), RELAXATION_ERROR_PX) else {
        return Ok(interrupted());
    };
    let Some(level) = choose(&by_relaxation.rows, TrialRow::is_exact) else {
        return Ok(nothing(&by_relaxation));
    };
    let doubted = by_epsilon.doubt;
    status!("{}", table(&by_epsilon.rows, &by_relaxation.rows, doubted.is_some()));
    explain_epsilon(&sharp, &by_epsilon.rows, flags.blur, &problem.settings);
    let step = match &doubted {
        // A price that changes the answer is no better or worse by that.
        Some(doubt) => {
            let raw = Settings { normalize: false, ..problem.settings.clone() };
            let least = TrialStep { relaxation: relaxations[0], ..sharp.row.step };
            let Some(small) = trials_with(&raw, vec![least], RELAXATION_ERROR_PX) else {
                return Ok(interrupted());
            };
            explain_doubt(doubt, usual, &small.rows, &by_relaxation.rows);
            TrialStep { relaxation: usual, ..sharp.row.step }
        }
        None => {
            explain_relaxation(&level, &by_relaxation.rows);
            level.row.step
        }
    };
    let TrialStep { epsilon, relaxation } = step;
    if flags.apply {
        let path = flags.config.clone();
        let path = path.unwrap_or_else(|| PathBuf::from("swathe.toml"));
        apply(&path, step)?;
    }
    swathe_command::stdout::line(format_args!(
        "--epsilon {} --relaxation {}",
        short(epsilon),
        short(relaxation)
    ))?;
    Ok(if by_epsilon.n_failed + by_relaxation.n_failed > 0 {
        Code::SomeFailed
    } else {
        Code::Solved
    })
}

/// The problem without its ε and ρ.
fn problem(flags: &OtSuggestFlags) -> Result<Problem, CliError> {
    let below = Layers::read(flags.config.as_deref(), &PROGRAM)?;
    let problem = Problem::of(OtSettings {
        epsilon: Auto::Auto,
        relaxation: Relaxation { source: RELAXATION_USUAL, target: None },
        input: flags.input.clone(),
        measure: flags.measure.clone(),
        raw_velocity: flags.raw_velocity,
        ..below.settings_beside::<OtSuggestFlags, OtSettings>()?
    })?;
    problem.settings.check().map_err(super::problem::usage)?;
    Ok(problem)
}

fn interrupted() -> Code {
    status!("interrupted: nothing is suggested");
    Code::Interrupted
}

fn nothing(trials: &Rows) -> Code {
    match trials.rows.is_empty() {
        true => status!("nothing is suggested: no pair that was tried has mass in both frames"),
        false => status!("nothing is suggested: no value converged for all pairs"),
    }
    Code::SomeFailed
}

/// Loads pairs spread evenly over the input. Pairs that cannot be used are skipped with a warning.
fn load(
    flags: &OtSuggestFlags,
    problem: &Problem,
    budget: &Budget,
) -> Result<(Vec<Pair>, Vec<Reservation>), CliError> {
    let input = super::open(&flags.input_path, &problem.input)?;
    for note in &input.notes {
        warning!("{note}");
    }
    let n_all = input.pairs.len();
    let n_tried = (flags.pairs as usize).min(n_all);
    let (mut pairs, mut reserved) = (Vec::new(), Vec::new());
    for i in 0..n_tried {
        let number = (2 * i + 1) * n_all / (2 * n_tried);
        let id = &input.pairs[number].id;
        let pair = match load_pair(&input, number, problem) {
            Ok(pair) => pair,
            Err(reason) => {
                warning!("{id} is left out: {reason}");
                continue;
            }
        };
        let n_values = pair.source.density.len() + pair.target.density.len();
        match budget.try_pin((n_values * size_of::<f64>()) as u64) {
            Ok(reservation) => reserved.push(reservation),
            Err(_) => {
                warning!("{id} and the pairs after it are left out: memory is full");
                break;
            }
        }
        pairs.push(pair);
    }
    if pairs.is_empty() {
        return Err(CliError::usage(format!(
            "{} has no pair that can be tried",
            flags.input_path.display()
        ))
        .hint("raise --pairs, or see what `swathe ot` says of the input"));
    }
    status!("trying {} of {n_all}", counted(pairs.len() as u64, "pair", "pairs"));
    Ok((pairs, reserved))
}

/// A pair, cut to its live box.
fn load_pair(input: &PairInput, number: usize, problem: &Problem) -> Result<Pair, String> {
    let named = &input.pairs[number];
    let frame = |number: usize| {
        let place = &input.frames[number];
        let live = input.files.read(place, problem.label);
        live.map_err(|error| format!("{place}: {error}"))
    };
    let (source, target) = (frame(named.source)?, frame(named.target)?);
    if source.shape != target.shape {
        let failure =
            Failure::UnequalShapes { source_shape: source.shape, target_shape: target.shape };
        return Err(failure.to_string());
    }
    let (Some(a), Some(b)) = (source.live, target.live) else {
        return Err("a frame has no mass".to_owned());
    };
    let live = a.union(b);
    let pool = problem.settings.pool;
    let geometry = place_live(source.shape, Some(live), &TIGHT, pool);
    let geometry = geometry.map_err(|failure| failure.to_string())?;
    Ok(Pair::cut(source.within(live), target.within(live), geometry))
}

/// The cost of crossing a frame, of which the usual ε and ρ are parts: 1 with the automatic scale.
fn cost_unit(pairs: &[Pair], settings: &Settings) -> f64 {
    let longest = pairs.iter().filter_map(|pair| pair.cut);
    let longest_px = longest.map(|cut| cut.frame.longest_px()).max();
    match settings.coord_scale {
        CoordScale::Auto => 1.0,
        CoordScale::Fixed(scale) => (scale * longest_px.unwrap_or(1) as f64).powi(2),
    }
}

/// The ε to try, ascending: within the range that was proved for the frames of all pairs.
fn epsilons(
    ends: [Option<f64>; 2],
    unit: f64,
    pairs: &[Pair],
    settings: &Settings,
) -> Result<Vec<f64>, CliError> {
    let usual = [EPSILONS[EPSILONS.len() - 1], EPSILONS[0]];
    let usual = usual.map(|epsilon| rounded(epsilon * unit));
    let mut all = ladder("epsilon", ends, usual, &[1.0, 3.0])?;
    let mut outside = None;
    all.retain(|&epsilon| {
        let settings = Settings { epsilon, ..settings.clone() };
        let mut frames = pairs.iter().filter_map(|pair| pair.cut);
        let found = frames.find_map(|cut| settings.epsilon_outside(cut.frame));
        outside = outside.or(found);
        found.is_none()
    });
    match (all.is_empty(), outside) {
        (true, Some(outside)) => Err(CliError::usage(format!(
            "no epsilon from --epsilon-min to --epsilon-max is within the range that was proved for these frames, {:.2e} to {:.2e}",
            outside.range[0], outside.range[1]
        ))
        .hint("change --epsilon-min and --epsilon-max")),
        _ => Ok(all),
    }
}

/// Both ends and between them the given digits of every power of ten, ascending.
fn ladder(
    name: &str,
    ends: [Option<f64>; 2],
    usual: [f64; 2],
    digits: &[f64],
) -> Result<Vec<f64>, CliError> {
    let [from, to] = [0, 1].map(|end| ends[end].unwrap_or(usual[end]));
    if from > to {
        return Err(CliError::usage(format!(
            "--{name}-min is {}, more than --{name}-max ({})",
            short(from),
            short(to)
        ))
        .hint("the smallest value comes first"));
    }
    let powers = from.log10().floor() as i32..=to.log10().ceil() as i32;
    let between = powers.flat_map(|power| {
        let values = digits.iter().map(move |digit| format!("{digit}e{power}"));
        values.filter_map(|text| text.parse::<f64>().ok())
    });
    // Ends that are nearly one of the values stand for it.
    let between = between.filter(|v| *v > 1.1 * from && 1.1 * v < to);
    let mut all = vec![from];
    all.extend(between);
    if to > from {
        all.push(to);
    }
    Ok(all)
}

/// Three digits of a value, so that it is short to type.
fn rounded(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}

/// What became of a series of steps.
struct Rows {
    rows: Vec<TrialRow>,
    n_failed: usize,
    /// Why the motion of a pair is in doubt.
    doubt: Option<MotionDoubt>,
}

impl Rows {
    /// The rows of these steps; a pair that failed has no figures.
    fn of(steps: &[TrialStep], solved: &[Option<Vec<TrialFigures>>], floor_px: f64) -> Rows {
        let of_step = |(at, step): (usize, &TrialStep)| {
            let figures: Vec<TrialFigures> = solved.iter().flatten().map(|all| all[at]).collect();
            TrialRow::of(*step, &figures, floor_px)
        };
        Rows {
            rows: steps.iter().enumerate().filter_map(of_step).collect(),
            n_failed: solved.iter().filter(|figures| figures.is_none()).count(),
            doubt: solved.iter().flatten().flatten().find_map(|figures| figures.doubt),
        }
    }
}

/// Solves every pair with every step; `None` if it was interrupted.
fn try_steps(
    pairs: &[Pair],
    steps: &[TrialStep],
    settings: &Settings,
    budget: &Budget,
    n_threads: usize,
    style: ProgressStyle,
) -> Option<Vec<Option<Vec<TrialFigures>>>> {
    let trial = |pair: &Pair| Trial { pair: pair.clone(), steps: steps.to_vec() };
    let workload = Arc::new(Trials::new(settings.clone()));
    let source = Source::from_vec(&workload, pairs.iter().map(trial).collect());
    let (progress, observer) = Progress::start(style, "suggest", pairs.len() as u64);
    let stop = interrupt::stop();
    let engine = swathe::Settings {
        n_threads: match n_threads {
            0 => Cpu::detect().n_threads,
            n => n,
        },
        memory: budget.clone(),
        observer,
        stop: stop.clone(),
        ..swathe::Settings::default()
    };
    let mut solved = vec![None; pairs.len()];
    swathe::run(&workload, &source, &engine, &mut |done| {
        if let Some(message) = done.outcome.message()
            && !stop.requested()
        {
            warning!("a trial failed: {message}");
        }
        solved[done.index] = done.outcome.solution().cloned();
        ControlFlow::Continue(())
    });
    drop(progress);
    (!stop.requested()).then_some(solved)
}

/// The rows of both series; the one that they share is listed once. Where the motion is in doubt, no
/// price is known to be near the truth, and rows that differ by it have no error.
fn table(by_epsilon: &[TrialRow], by_relaxation: &[TrialRow], is_doubted: bool) -> String {
    let mut table = String::from(
        "epsilon  relaxation  displacement_px  error_px  blur_px  transported  created       ms  converged",
    );
    let is_new = |row: &&TrialRow| by_epsilon.iter().all(|other| other.step != row.step);
    let prices = by_relaxation.iter().filter(is_new).map(|row| match is_doubted {
        true => TrialRow { error_px: f64::NAN, ..*row },
        false => *row,
    });
    for row in by_epsilon.iter().copied().chain(prices) {
        table += &format!(
            "\n{:<7}  {:<10}  {:>15.2}  {:>8}  {:>7.2}  {:>11.4}  {:>7.4}  {:>7.1}  {:>9}",
            short(row.step.epsilon),
            short(row.step.relaxation),
            row.displacement_px,
            px(row.error_px),
            row.blur_px,
            row.transported_share,
            row.created_share,
            row.solve_ms,
            format!("{}/{}", row.n_converged, row.n_pairs)
        );
    }
    table
}

/// A small length, or a dash if it is unknown.
fn px(length_px: f64) -> String {
    if length_px.is_nan() { "-".to_owned() } else { format!("{length_px:.3}") }
}

/// A value as a user would type it.
fn short(value: f64) -> String {
    if (0.01..1e4).contains(&value) { format!("{value}") } else { format!("{value:e}") }
}

/// Prints the choice of ε and its reasons, and what the other values would do.
fn explain_epsilon(
    choice: &Choice,
    rows: &[TrialRow],
    blur_max_px: Option<f64>,
    settings: &Settings,
) {
    let row = &choice.row;
    let epsilon = short(row.step.epsilon);
    let limit = match (blur_max_px, settings.raw_velocity) {
        (Some(most_px), _) => format!(" and a blur of at most {most_px} px"),
        (None, true) => " and a blur of at most half of the displacement".to_owned(),
        (None, false) => String::new(),
    };
    if choice.is_good {
        status!(
            "epsilon {epsilon}: the largest with a small error ({} px of {:.2} px){limit}",
            px(row.error_px),
            row.displacement_px
        );
    } else {
        status!(
            "epsilon {epsilon}: the smallest that was tried; the error is {} px of {:.2} px and the blur {:.1} px, and a small error{limit} is wanted: try a smaller --epsilon-min",
            px(row.error_px),
            row.displacement_px,
            row.blur_px
        );
    }
    for other in rows.iter().filter(|other| other.step != row.step) {
        status!(
            "  {}: displacement {}, blur {:.1} px instead of {:.1} px, {:.1} times the time per pair",
            short(other.step.epsilon),
            compared(other, row),
            other.blur_px,
            row.blur_px,
            other.solve_ms / row.solve_ms
        );
    }
}

/// Prints the choice of ρ and its reasons, and what the other values would do.
fn explain_relaxation(choice: &Choice, rows: &[TrialRow]) {
    let row = &choice.row;
    let relaxation = short(row.step.relaxation);
    if choice.is_good {
        status!(
            "relaxation {relaxation}: the smallest with a small error ({} px of {:.2} px); {:.2} % of the mass is created instead of moved",
            px(row.error_px),
            row.displacement_px,
            100.0 * row.created_share
        );
    } else {
        status!(
            "relaxation {relaxation}: the largest that was tried; the error is still {} px of {:.2} px: try a larger --relaxation-max",
            px(row.error_px),
            row.displacement_px
        );
    }
    for other in rows.iter().filter(|other| other.step != row.step) {
        let effect = if other.step.relaxation < row.step.relaxation {
            "moves less and shows more growth"
        } else {
            "moves mass that may really have appeared or vanished"
        };
        status!(
            "  {} {effect}: displacement {}, {:.2} % created",
            short(other.step.relaxation),
            compared(other, row),
            100.0 * other.created_share
        );
    }
}

/// Prints what small and large prices make of pairs in which mass changes in one place. Normalising
/// would spread that change over all bodies, so the small price is tried on the masses as they are.
fn explain_doubt(doubt: &MotionDoubt, usual: f64, small: &[TrialRow], rows: &[TrialRow]) {
    let (Some(small), Some(large)) = (small.first(), rows.last()) else {
        return;
    };
    status!(
        "relaxation {}: the default, not a suggestion. Mass changes in one place in {} of {} (for example: {doubt}), and the motion hangs on what is assumed:",
        short(usual),
        small.n_doubted,
        counted(small.n_pairs as u64, "pair", "pairs")
    );
    for (row, how, effect) in [
        (small, " --no-normalize", "creates and destroys mass rather than move it far"),
        (large, "", "moves nearly all mass, also from body to body"),
    ] {
        status!(
            "  --relaxation {}{how} {effect}: displacement {:.2} px, {:.2} % created",
            short(row.step.relaxation),
            row.displacement_px,
            100.0 * row.created_share
        );
    }
    status!("  neither is known to be the truth: draw a pair of runs with both (`swathe ot show`)");
}

/// The displacement of a row, and how it differs from another one's.
fn compared(row: &TrialRow, chosen: &TrialRow) -> String {
    let change = 100.0 * (row.displacement_px / chosen.displacement_px - 1.0);
    format!("{:.2} px ({change:+.1} %)", row.displacement_px)
}

/// Writes the choice into the settings file.
fn apply(path: &Path, step: TrialStep) -> Result<(), CliError> {
    let values = [("epsilon", short(step.epsilon)), ("relaxation", short(step.relaxation))];
    set_values(path, PROGRAM.kind.name, &values)?;
    status!("{} has the suggestion in [{}] now", path.display(), PROGRAM.kind.name);
    Ok(())
}
