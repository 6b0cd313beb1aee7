//! `swathe ot`: solves transport between frames, many pairs at a time.

mod check;
mod problem;
mod sampled_epsilon;
mod show;
mod suggest;
mod synth;

use std::path::Path;
use std::sync::Arc;

use crate::PROGRAM;
use crate::epsilon_check::{EpsilonCheck, EpsilonRefused};
use crate::frame_cache::FrameCache;
use crate::pair_files::PairFiles;
use crate::pair_input::{InputChoices, PairInput, PairInputError};
use crate::pair_survey::{KnownOutlines, PairSurvey, SurveySettings, survey};
use crate::pair_table::{OutlineStore, PairRows, is_result_column};
use crate::pair_workload::PairRun;
use crate::run_warnings::RunWarnings;
use crate::spelling::Spelling;
use swathe::Padding;
use swathe_ot::{Crop, Precision, Settings};

use crate::flags::{OtFlags, OtRunFlags, OtVerb};
use problem::Problem;
pub use problem::with_buckets;
pub use sampled_epsilon::{AutoEpsilon, auto_epsilon, sampled_epsilon};
use swathe_command::cli_error::{CliError, Code};
use swathe_command::interrupt;
use swathe_command::run_command::{Provenance, run_command};
use swathe_command::settings::{RunSettings, resolve};
use swathe_command::{status, warning};
use swathe_run::store::run_folder::shard_problems;

pub(crate) fn ot(flags: &OtFlags) -> Result<Code, CliError> {
    match &flags.verb {
        None => solve(&flags.run),
        Some(OtVerb::Run(run)) => solve(run),
        Some(OtVerb::Synth(flags)) => synth::synth(flags),
        Some(OtVerb::Show(flags)) => show::show(flags),
        Some(OtVerb::Suggest(flags)) => suggest::suggest(flags),
        // It writes no files.
        Some(OtVerb::Check(flags)) => interrupt::while_reading(|| check::check(flags)),
    }
}

/// Solves the pairs of an input.
fn solve(flags: &OtRunFlags) -> Result<Code, CliError> {
    let (Some(input), Some(out)) = (&flags.input, &flags.out) else {
        return Err(CliError::usage("ot needs an input and --out")
            .hint("`swathe ot --help` shows what they can be"));
    };
    let run = resolve(&flags.run, out, &PROGRAM)?;
    let mut problem = Problem::resolve(&flags.problem, &run)?;
    let mut input = open(input, &problem.input)?;
    for note in &input.notes {
        warning!("{note}");
    }
    let ids = input.pairs.iter().map(|pair| pair.id.as_str());
    if let Some(chosen) = run.selection.choose("pair", ids)? {
        input.keep(&chosen);
    }
    let cache = if problem.settings.raw_velocity {
        FrameCache::new
    } else {
        FrameCache::with_self_transports
    };
    let cache = Arc::new(cache(
        Arc::clone(&input.files),
        input.frames.clone(),
        problem.label,
        &run.engine.memory,
    ));
    // Nothing can be lost yet, and a large frame takes a while to read.
    let surveyed = interrupt::while_reading(|| survey_frames(&input, &cache, &problem, &run));
    let Some(survey) = surveyed else {
        status!("interrupted before anything was solved");
        return Ok(Code::Interrupted);
    };
    if let Some(label) = problem.label {
        check_label(label, &input, &survey, &run)?;
    }
    if problem.is_epsilon_auto {
        let chosen =
            sampled_epsilon::epsilon_of_input(&input.pairs, &cache, &problem.settings, &run.engine);
        let Some(chosen) = chosen else {
            status!("interrupted before anything was solved");
            return Ok(Code::Interrupted);
        };
        problem.settings.epsilon = chosen.epsilon;
        status!("{}", chosen.text());
    } else {
        check_epsilon(&problem.settings, &input, &survey, &run)?;
    }
    let PairInput { pairs, carried, .. } = input;
    let pairs = Arc::new(pairs);
    let files = PairFiles::new(
        &run.output.out,
        problem.fields,
        problem.settings.coupling != swathe_ot::Coupling::None,
        problem.settings.precision == Precision::F64,
    );
    let provenance = Provenance { settings: problem.provenance(), inputs: survey.inputs.clone() };
    let survey = Arc::new(survey);
    let mut settings = problem.settings.clone();
    if let (Crop::Bucketed { padding_px, .. }, Padding::Auto { .. }) =
        (&settings.crop, &run.engine.padding)
    {
        settings.crop = problem::buckets_of(&pairs, &survey, *padding_px, &settings, &run);
    }
    let pair_run = Arc::new(PairRun::new(
        settings.clone(),
        files.clone(),
        Arc::clone(&pairs),
        problem.um_per_px,
    ));
    let source = pair_run.source(Arc::clone(&cache), Arc::clone(&survey));
    let memory = OutlineStore { cache, survey, label: problem.label, folder: run.output.folder() };
    let warnings = RunWarnings::new(settings.clone(), problem.is_epsilon_auto, Spelling::Command);
    let rows = PairRows::new(pairs, carried, settings, files, Some(memory)).warning_by(warnings);
    let nothing = Box::new(|_| Ok(()));
    run_command(&pair_run, &source, run, provenance, rows, nothing)
}

/// Opens a table or series, and checks that no column has the name of a result column.
fn open(path: &Path, choices: &InputChoices) -> Result<PairInput, CliError> {
    let opened =
        interrupt::while_reading(|| PairInput::open_with(path, choices)).and_then(|input| {
            let reserved =
                input.carried.iter().find(|column| is_result_column(column.field.name()));
            match reserved {
                Some(column) => Err(PairInputError::ReservedColumn {
                    path: path.to_owned(),
                    column: column.field.name().clone(),
                }),
                None => Ok(input),
            }
        });
    opened.map_err(|error| CliError::usage(error.to_string()).hint(error.hint()))
}

/// Surveys the frames that this run or shard needs; `None` if interrupted.
fn survey_frames(
    input: &PairInput,
    cache: &FrameCache,
    problem: &Problem,
    run: &RunSettings,
) -> Option<PairSurvey> {
    let problems = shard_problems(input.pairs.len() as u64, run.output.shard);
    let mut needed = vec![false; input.frames.len()];
    for pair in &input.pairs[problems.start as usize..problems.end as usize] {
        needed[pair.source] = true;
        needed[pair.target] = true;
    }
    let known = if run.output.resume {
        KnownOutlines::read(&run.output.folder(), problem.label)
    } else {
        KnownOutlines::default()
    };
    survey(
        cache,
        &needed,
        input.table.as_deref(),
        &SurveySettings {
            // Only the pixels say whether a label occurs.
            wants_boxes: problem.settings.crop != Crop::Fixed || problem.label.is_some(),
            known: &known,
            n_threads: run.engine.n_threads,
            memory_bytes: run.engine.memory.cap_bytes(),
            stop: &run.engine.stop,
        },
    )
}

/// Refuses an ε that is outside of the range that was proved for all of the frames, and warns of
/// frames that it does not suit.
fn check_epsilon(
    settings: &Settings,
    input: &PairInput,
    survey: &PairSurvey,
    run: &RunSettings,
) -> Result<(), CliError> {
    let problems = shard_problems(input.pairs.len() as u64, run.output.shard);
    let pairs = &input.pairs[problems.start as usize..problems.end as usize];
    let mut check = EpsilonCheck::default();
    for pair in pairs {
        if let Some(Ok(outline)) = &survey.outlines[pair.source] {
            check.add(settings, outline.shape);
        }
    }
    check.refuse(settings, Spelling::Command).map_err(refused)?;
    if let Some(warning) = check.warning(Spelling::Command) {
        warning!("{warning}");
    }
    Ok(())
}

/// The error for an ε that is refused.
fn refused(refused: EpsilonRefused) -> CliError {
    CliError::usage(refused.message).hint(refused.hint)
}

/// Warns of pairs that do not have the label. Fails if no frame of the whole input has it.
fn check_label(
    label: f64,
    input: &PairInput,
    survey: &PairSurvey,
    run: &RunSettings,
) -> Result<(), CliError> {
    let is_without = |number: usize| {
        let outline = survey.outlines[number].as_ref().and_then(|found| found.as_ref().ok());
        outline.is_some_and(|outline| outline.live.is_none())
    };
    let problems = shard_problems(input.pairs.len() as u64, run.output.shard);
    let pairs = &input.pairs[problems.start as usize..problems.end as usize];
    let without: Vec<&str> = pairs
        .iter()
        .filter(|pair| is_without(pair.source) && is_without(pair.target))
        .map(|pair| pair.id.as_str())
        .collect();
    // A shard does not see the frames of the others.
    if run.output.shard.is_none() && without.len() == pairs.len() && !pairs.is_empty() {
        return Err(CliError::usage(format!("no frame has a pixel with the label {label}"))
            .hint("give --label one that occurs, or --label all for every one"));
    }
    const N_NAMED: usize = 20;
    for id in without.iter().take(N_NAMED) {
        warning!("{id}: no pixel has the label {label} in either frame");
    }
    if without.len() > N_NAMED {
        warning!("{} more pairs without the label {label}", without.len() - N_NAMED);
    }
    Ok(())
}
