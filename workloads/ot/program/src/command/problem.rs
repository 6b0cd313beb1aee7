//! The problem that the settings of `swathe ot` define.

use std::collections::BTreeMap;

use crate::epsilon_check::check_least_epsilon;
use crate::pair_input::{InputChoices, NamedPair};
use crate::pair_survey::{Outline, PairSurvey};
use crate::settings::{Label, OtSettings};
use crate::spelling::Spelling;
use serde_json::Value;
use swathe::{Cpu, Padding};
use swathe_ot::{Crop, Failure, Settings, Shape, place_live};

use crate::pair_files::FieldsFormat;
use swathe_command::cli_error::CliError;
use swathe_command::declaration::of_values;
use swathe_command::setting_value::Auto;
use swathe_command::settings::RunSettings;
use swathe_run::store::run_folder::Identity;

/// The settings of every pair of a run, and what is written of its solution.
pub(super) struct Problem {
    pub(super) settings: Settings,
    /// Whether ε is to be chosen by the pairs; the settings have the largest one until then.
    pub(super) is_epsilon_auto: bool,
    pub(super) fields: FieldsFormat,
    pub(super) label: Option<f64>,
    pub(super) um_per_px: Option<f64>,
    /// How the input becomes pairs.
    pub(super) input: InputChoices,
    declared: OtSettings,
}

impl Problem {
    /// Checks the settings of a run, before any input is read.
    pub(super) fn resolve(declared: &OtSettings, run: &RunSettings) -> Result<Problem, CliError> {
        let mut problem = Problem::of(declared.clone())?;
        problem.input.bytes_max = run.engine.memory.cap_bytes();
        problem.settings = with_buckets(problem.settings, &run.engine.padding, Spelling::Command)?;
        problem.settings.check().map_err(usage)?;
        if problem.settings.potentials && problem.fields == FieldsFormat::None {
            return Err(CliError::usage(
                "--potentials are written with the maps, and there are none",
            )
            .hint("add --fields npz"));
        }
        if !problem.is_epsilon_auto {
            check_least_epsilon(&problem.settings, Spelling::Command).map_err(super::refused)?;
        }
        Ok(problem)
    }

    /// The problem of a finished run, from what [`Problem::provenance`] wrote into its `run.json`.
    pub(super) fn recorded(identity: &Identity) -> Result<Problem, CliError> {
        let declared = of_values(&identity.settings).map_err(|wrong| {
            CliError::wrong_setting(&format!("{} in run.json", wrong.name), &wrong)
        })?;
        Problem::of(declared)
    }

    /// The problem that settings define.
    pub(super) fn of(declared: OtSettings) -> Result<Problem, CliError> {
        Ok(Problem {
            settings: declared.solver(),
            is_epsilon_auto: declared.epsilon == Auto::Auto,
            fields: declared.fields,
            label: match declared.input.label {
                Some(Label::Value(label)) => Some(label),
                Some(Label::All) | None => None,
            },
            um_per_px: declared.um_per_px.map(|width| width.0),
            input: declared.input_choices(Cpu::detect().memory_default_bytes())?,
            declared,
        })
    }

    /// The settings that the table or the files beside it depend on.
    pub(super) fn provenance(&self) -> BTreeMap<String, Value> {
        self.declared.provenance(&self.settings)
    }
}

/// The bucket shapes with the least padding for the pairs of this run.
pub(super) fn buckets_of(
    pairs: &[NamedPair],
    survey: &PairSurvey,
    padding_px: usize,
    settings: &Settings,
    run: &RunSettings,
) -> Crop {
    let outline = |number: usize| -> Option<Outline> {
        survey.outlines[number].as_ref()?.as_ref().ok().copied()
    };
    let shapes: Vec<(usize, u32, swathe::Shape)> = pairs
        .iter()
        .enumerate()
        .filter_map(|(index, pair)| {
            let (source, target) = (outline(pair.source)?, outline(pair.target)?);
            let live = match (source.live, target.live) {
                (Some(a), Some(b)) => Some(a.union(b)),
                (a, b) => a.or(b),
            };
            let crop = Crop::Union { padding_px };
            let placed = place_live(source.shape, live, &crop, settings.pool).ok()?;
            let work = [placed.work.h_px as u32, placed.work.w_px as u32];
            Some((index, 0, swathe::Shape::new(&work)))
        })
        .collect();
    let (buckets, _) = swathe::bucket(&shapes, &run.engine.padding);
    let mut shapes: Vec<Shape> = buckets
        .iter()
        .filter_map(|bucket| match bucket.shape.extents() {
            [h_px, w_px] => Some(Shape::new(*h_px as usize, *w_px as usize)),
            _ => None,
        })
        .collect();
    shapes.sort_unstable_by_key(|shape| (shape.n_px(), shape.h_px));
    shapes.dedup();
    Crop::Bucketed { padding_px, buckets: shapes }
}

/// Adds the shapes of the engine's setting `buckets` to a bucketed crop.
///
/// # Errors
/// If they are none for frames.
pub fn with_buckets(
    settings: Settings,
    padding: &Padding,
    spelling: Spelling,
) -> Result<Settings, CliError> {
    let Crop::Bucketed { padding_px, .. } = settings.crop else {
        return Ok(settings);
    };
    let need = |what: &str| {
        let crop = spelling.with("crop", "bucketed");
        let buckets = spelling.name("buckets");
        CliError::usage(format!("{crop} {what}"))
            .hint(format!("add {buckets} 128x256,256x512 with height x width, or {buckets} auto"))
    };
    let mut buckets = Vec::new();
    match padding {
        Padding::Auto { .. } => {}
        Padding::Buckets(shapes) => {
            for shape in shapes {
                match shape.extents() {
                    [h_px, w_px] => buckets.push(Shape::new(*h_px as usize, *w_px as usize)),
                    _ => return Err(need(&format!("has no use for the bucket {shape}"))),
                }
            }
        }
        _ => return Err(need("needs buckets")),
    }
    Ok(Settings { crop: Crop::Bucketed { padding_px, buckets }, ..settings })
}

/// The error for a setting outside its range, with the name of its flag.
pub(super) fn usage(failure: Failure) -> CliError {
    match failure {
        Failure::BadSetting { name, value, rule } => {
            CliError::usage(format!("--{} is {value}: {rule}", name.replace('_', "-")))
                .hint("`swathe ot --help` shows what can be set")
        }
        other => CliError::usage(other.to_string()),
    }
}
