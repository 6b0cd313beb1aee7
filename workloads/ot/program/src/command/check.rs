//! `swathe ot check`: checks another program's solution for two frames.

use serde_json::{Map, json};
use swathe_ot::{Checked, Crop, Frame, Pair, Settings};

use super::problem::{Problem, usage};
use crate::PROGRAM;
use crate::answer_file::{AnswerFileError, read_plan, read_potentials};
use crate::epsilon_check::{EpsilonCheck, check_least_epsilon};
use crate::flags::OtCheckFlags;
use crate::frame::{FrameFiles, FrameRef};
use crate::settings::{OtInput, OtSettings};
use crate::spelling::Spelling;
use swathe_command::cli_error::{CliError, Code};
use swathe_command::layers::Layers;
use swathe_command::setting_value::Auto;
use swathe_command::status;

pub(super) fn check(flags: &OtCheckFlags) -> Result<Code, CliError> {
    let problem = problem(flags)?;
    let settings = Settings { crop: Crop::Fixed, pool: 1, ..problem.settings };
    settings.check().map_err(usage)?;
    check_least_epsilon(&settings, Spelling::Command).map_err(super::refused)?;
    let files = FrameFiles::new(problem.input.axes, problem.input.background);
    let frame = |name: &str| -> Result<Frame, CliError> {
        let live = files.read(&FrameRef::parse(name), problem.label);
        let live = live.map_err(|error| CliError::usage(format!("{name}: {error}")))?;
        Ok(live.whole())
    };
    let (source, target) = (frame(&flags.source)?, frame(&flags.target)?);
    let mut check = EpsilonCheck::default();
    check.add(&settings, source.shape);
    let judgeable = check.refuse(&settings, Spelling::Command);
    judgeable.map_err(|refused| {
        CliError::usage(refused.message).hint("answers are judged inside of this range alone")
    })?;
    let unusable = |error: AnswerFileError| CliError::usage(error.to_string()).hint(error.hint());
    let judged = match &flags.plan {
        Some(path) => {
            let plan = read_plan(path, &source, &target).map_err(unusable)?;
            swathe_ot::check_plan(&Pair::new(source, target), &settings, &plan)
        }
        None => {
            let [f, g] = read_potentials(&flags.potentials, &source, &target).map_err(unusable)?;
            swathe_ot::check(&Pair::new(source, target), &settings, &f, &g)
        }
    };
    let checked = judged.map_err(|failure| {
        CliError::usage(failure.to_string())
            .hint("the frames and settings must be those that the answer was computed with")
    })?;
    print(&checked, flags.json)?;
    status!(
        "the answer's value can be up to {:.2} % above the minimum",
        100.0 * checked.gap / checked.dual_objective.abs()
    );
    Ok(Code::Solved)
}

/// The problem that the answer is for.
fn problem(flags: &OtCheckFlags) -> Result<Problem, CliError> {
    if flags.epsilon == Auto::Auto {
        return Err(CliError::usage("--epsilon is 'auto', which is not a number")
            .hint("give the epsilon that the answer was computed with"));
    }
    let below = Layers::read(None, &PROGRAM)?;
    let below = below.settings_beside::<OtCheckFlags, OtSettings>()?;
    Problem::of(OtSettings {
        epsilon: flags.epsilon,
        relaxation: flags.relaxation,
        measure: flags.measure.clone(),
        input: OtInput { label: flags.label, ..below.input.clone() },
        ..below
    })
}

/// Prints the figures, with all of their digits.
fn print(checked: &Checked, is_json: bool) -> Result<(), CliError> {
    let figures = checked.figures();
    if is_json {
        let document: Map<_, _> =
            figures.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        return swathe_command::stdout::line(json!(document));
    }
    for (name, value) in figures {
        swathe_command::stdout::line(format_args!("{name:<16}  {value:e}"))?;
    }
    Ok(())
}
