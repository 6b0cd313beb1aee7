//! The problem that the flags, variables and `swathe.toml` of `swathe ot` define.

use std::collections::BTreeMap;

use crate::PROGRAM;
use crate::epsilon_check::check_least_epsilon;
use crate::frame::{AxisChoice, Background};
use crate::pair_files::FieldsFormat;
use crate::pair_input::{InputChoices, NamedPair};
use crate::pair_survey::{Outline, PairSurvey};
use crate::pair_table::reference_name;
use crate::spelling::Spelling;
use serde_json::{Value, json};
use swathe::{Cpu, Padding};
use swathe_ot::{
    CoordScale, Coupling, Crop, Failure, Precision, Reference, Settings, Shape, place_live,
};

use crate::flags::{OtInputFlags, OtMeasureFlags, OtProblemFlags};
use swathe_command::cli_error::CliError;
use swathe_command::run_flags::RunFlags;
use swathe_command::settings::{Found, Layers, RunSettings, number_value};
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
}

/// The words for values in flags, in `swathe.toml` and in `run.json`.
const REFERENCES: [(&str, Reference); 2] = [
    (reference_name(Reference::Product), Reference::Product),
    (reference_name(Reference::Counting), Reference::Counting),
];
const PRECISIONS: [(&str, Precision); 3] =
    [("auto", Precision::Auto), ("f32", Precision::F32), ("f64", Precision::F64)];
const FIELDS_FORMATS: [(&str, FieldsFormat); 3] =
    [("none", FieldsFormat::None), ("npz", FieldsFormat::Npz), ("parquet", FieldsFormat::Parquet)];

impl Problem {
    /// Resolves the settings. All are checked before any input is read.
    pub(super) fn resolve(
        flags: &OtProblemFlags,
        run_flags: &RunFlags,
        run: &RunSettings,
    ) -> Result<Problem, CliError> {
        let layers = Layers::read(run_flags.config.as_deref(), &PROGRAM)?;
        let mut problem = Problem::of(&layers, flags)?;
        problem.input.bytes_max = run.engine.memory.cap_bytes();
        problem.settings = with_buckets(problem.settings, &run.engine.padding)?;
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
        let layers = Layers::recorded(&identity.settings);
        Problem::of(&layers, &OtProblemFlags::default())
    }

    /// The problem by the flags and the layers below them.
    pub(super) fn of(layers: &Layers, flags: &OtProblemFlags) -> Result<Problem, CliError> {
        let find = |name: &str, flag: &Option<String>| layers.find(name, flag);
        let defaults = Settings::default();
        let number = |name: &str, flag: &Option<String>, default: f64| {
            find(name, flag)?.map_or(Ok(default), |found| real(&found))
        };
        let count = |name: &str, flag: &Option<String>, default: usize| {
            find(name, flag)?.map_or(Ok(default), |found| found.number())
        };
        let padding_px = count("padding", &flags.padding, 16)?;
        let [relaxation, relaxation_tgt] = match find("relaxation", &flags.relaxation)? {
            None => [Some(defaults.relaxation), None],
            Some(found) => parse_relaxation(&found)?,
        };
        let raw_velocity = match find("raw-velocity", &flags.raw_velocity.then(|| "true".into()))? {
            None => defaults.raw_velocity,
            Some(found) => word(&found, "true or false", &[("true", true), ("false", false)])?,
        };
        let fields = match find("fields", &flags.fields)? {
            None => FieldsFormat::None,
            Some(found) => word(&found, "a format for maps", &FIELDS_FORMATS)?,
        };
        let potentials = match find("potentials", &flags.potentials.then(|| "true".into()))? {
            None => false,
            Some(found) => word(&found, "true or false", &[("true", true), ("false", false)])?,
        };
        let epsilon = match find("epsilon", &flags.epsilon)? {
            None => None,
            Some(found) if found.value.trim() == "auto" => None,
            Some(found) => Some(real(&found)?),
        };
        let settings = Settings {
            epsilon: epsilon.unwrap_or(defaults.epsilon),
            relaxation: relaxation.unwrap_or(defaults.relaxation),
            relaxation_tgt,
            reference: match find("reference", &flags.measure.reference)? {
                None => defaults.reference,
                Some(found) => word(&found, "a reference measure", &REFERENCES)?,
            },
            coord_scale: match find("coord-scale", &flags.measure.coord_scale)? {
                None => CoordScale::Auto,
                Some(found) if found.value == "auto" => CoordScale::Auto,
                Some(found) => CoordScale::Fixed(real(&found)?),
            },
            normalize: match find("normalize", &typed(&flags.measure))? {
                None => defaults.normalize,
                Some(found) => word(&found, "true or false", &[("true", true), ("false", false)])?,
            },
            tolerance: number("tolerance", &flags.measure.tolerance, defaults.tolerance)?,
            max_iterations: count(
                "max-iterations",
                &flags.measure.max_iterations,
                defaults.max_iterations,
            )?,
            precision: match find("precision", &flags.measure.precision)? {
                None => defaults.precision,
                Some(found) => word(&found, "a precision", &PRECISIONS)?,
            },
            crop: match find("crop", &flags.crop)? {
                None => Crop::Union { padding_px },
                Some(found) => parse_crop(&found, padding_px)?,
            },
            pool: count("pool", &flags.input.pool, defaults.pool)?,
            fields: true,
            potentials,
            coupling: match find("coupling", &flags.coupling)? {
                None => Coupling::None,
                Some(found) => parse_coupling(&found)?,
            },
            target_cost: false,
            error_bar: !raw_velocity,
            raw_velocity,
        };
        let positive = |name: &str, flag: &Option<String>| match find(name, flag)? {
            None => Ok(None),
            Some(found) => match real(&found)? {
                x if x > 0.0 && x.is_finite() => Ok(Some(x)),
                _ => Err(found
                    .fault("a positive number")
                    .hint("write the width of a pixel in µm, such as 0.65")),
            },
        };
        Ok(Problem {
            settings,
            is_epsilon_auto: epsilon.is_none(),
            fields,
            label: match find("label", &flags.input.label)? {
                None => None,
                Some(found) if found.value == "all" => None,
                Some(found) => {
                    let label: i64 = found.number()?;
                    // Beyond this, neighbouring labels would be the same f64.
                    if label.unsigned_abs() > 1 << 53 {
                        return Err(found.fault("a label that can be told from the next one"));
                    }
                    Some(label as f64)
                }
            },
            um_per_px: positive("um-per-px", &flags.um_per_px)?,
            input: input_choices(layers, &flags.input)?,
        })
    }

    /// The settings that the table or the files beside it depend on, in the form that
    /// [`Problem::recorded`] reads.
    pub(super) fn provenance(&self) -> BTreeMap<String, Value> {
        let mut all = provenance(&self.settings, self.fields, self.label, self.um_per_px);
        let InputChoices { group_by, order_by, step, axes, all_labels, background, .. } =
            &self.input;
        let given = [
            ("group-by", group_by.as_ref().map(|names| json!(names.join(",")))),
            ("order-by", order_by.as_ref().map(|name| json!(name))),
            ("step", (*step > 1).then(|| json!(step))),
            ("channel", axes.channel.map(|n| json!(n))),
            ("time-axis", axes.time_axis.as_ref().map(|axis| json!(axis))),
            ("z-slice", axes.z_slice.map(|n| json!(n))),
            ("label", all_labels.then(|| json!("all"))),
            (
                "background",
                match background {
                    Background::None => None,
                    Background::Auto => Some(json!("auto")),
                    Background::Level(level) => Some(json!(level)),
                },
            ),
        ];
        let given = given.into_iter();
        all.extend(given.filter_map(|(name, value)| Some((name.to_owned(), value?))));
        all
    }
}

/// What the user says about the input.
fn input_choices(layers: &Layers, flags: &OtInputFlags) -> Result<InputChoices, CliError> {
    let text = |name: &str, flag: &Option<String>| {
        Ok::<_, CliError>(layers.find(name, flag)?.map(|found| found.value.trim().to_owned()))
    };
    let number = |name: &str, flag: &Option<String>| {
        layers.find(name, flag)?.map(|found| found.number()).transpose()
    };
    let step = match layers.find("step", &flags.step)? {
        None => 1,
        Some(found) => match found.number()? {
            0 => {
                return Err(found.fault("a distance").hint("1 pairs each frame with the next"));
            }
            step => step,
        },
    };
    let group_by = text("group-by", &flags.group_by)?;
    let names = |text: String| text.split(',').map(|name| name.trim().to_owned()).collect();
    Ok(InputChoices {
        group_by: group_by.map(names),
        order_by: text("order-by", &flags.order_by)?,
        step,
        axes: AxisChoice {
            channel: number("channel", &flags.channel)?,
            time_axis: text("time-axis", &flags.time_axis)?,
            z_slice: number("z-slice", &flags.z_slice)?,
        },
        all_labels: text("label", &flags.label)?.as_deref() == Some("all"),
        background: background(layers, flags)?,
        bytes_max: Cpu::detect().memory_default_bytes(),
    })
}

fn background(layers: &Layers, flags: &OtInputFlags) -> Result<Background, CliError> {
    let Some(found) = layers.find("background", &flags.background)? else {
        return Ok(Background::None);
    };
    if layers.find("label", &flags.label)?.is_some() {
        return Err(CliError::usage(
            "--background and --label exclude each other: labels are not light",
        )
        .hint("leave one of them out"));
    }
    match found.value.trim() {
        "auto" => Ok(Background::Auto),
        text => match text.parse::<f64>() {
            Ok(level) if level >= 0.0 && level.is_finite() => Ok(Background::Level(level)),
            _ => Err(found
                .fault("a level")
                .hint("write auto, or what is taken off every pixel, such as 100")),
        },
    }
}

/// The settings that the table or the files beside it depend on, under the names of their flags. The
/// crop does not change a result, but it is in the table.
pub fn provenance(
    settings: &Settings,
    fields: FieldsFormat,
    label: Option<f64>,
    um_per_px: Option<f64>,
) -> BTreeMap<String, Value> {
    let (crop, padding) = match &settings.crop {
        Crop::Union { padding_px } => ("union".to_owned(), json!(padding_px)),
        Crop::Fixed => ("fixed".to_owned(), Value::Null),
        Crop::Bucketed { padding_px, buckets } => {
            let buckets: Vec<String> = buckets.iter().map(Shape::to_string).collect();
            (format!("bucketed {}", buckets.join(",")), json!(padding_px))
        }
    };
    let coupling = match settings.coupling {
        Coupling::None => "none".to_owned(),
        Coupling::TopK(k) => format!("topk:{k}"),
        Coupling::Threshold(mass) => format!("threshold:{mass}"),
    };
    let coord_scale = match settings.coord_scale {
        CoordScale::Auto => json!("auto"),
        CoordScale::Fixed(scale) => number_value(scale),
    };
    let relaxation = match settings.relaxation_tgt {
        None => number_value(settings.relaxation),
        Some(target) => json!(format!("{},{target}", settings.relaxation)),
    };
    let all = [
        ("epsilon", Some(number_value(settings.epsilon))),
        ("relaxation", Some(relaxation)),
        ("raw-velocity", Some(json!(settings.raw_velocity))),
        ("reference", Some(json!(name(settings.reference, &REFERENCES)))),
        ("coord-scale", Some(coord_scale)),
        ("normalize", Some(json!(settings.normalize))),
        ("tolerance", Some(number_value(settings.tolerance))),
        ("max-iterations", Some(json!(settings.max_iterations))),
        ("precision", Some(json!(name(settings.precision, &PRECISIONS)))),
        ("crop", Some(json!(crop))),
        ("padding", Some(padding)),
        ("pool", Some(json!(settings.pool))),
        ("fields", Some(json!(name(fields, &FIELDS_FORMATS)))),
        ("coupling", Some(json!(coupling))),
        ("potentials", settings.potentials.then_some(json!(true))),
        ("label", label.map(number_value)),
        ("um-per-px", um_per_px.map(number_value)),
    ];
    let given = |(name, value): (&str, Option<Value>)| Some((name.to_owned(), value?));
    all.into_iter().filter_map(given).collect()
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

/// Adds the shapes of --buckets to a bucketed crop.
fn with_buckets(settings: Settings, padding: &Padding) -> Result<Settings, CliError> {
    let Crop::Bucketed { padding_px, .. } = settings.crop else {
        return Ok(settings);
    };
    let need = |what: &str| {
        CliError::usage(format!("--crop bucketed {what}"))
            .hint("add --buckets 128x256,256x512 with height x width, or --buckets auto")
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

/// The value of --normalize and --no-normalize, as text like all other settings.
fn typed(flags: &OtMeasureFlags) -> Option<String> {
    match (flags.normalize, flags.no_normalize) {
        (true, _) => Some("true".to_owned()),
        (false, true) => Some("false".to_owned()),
        (false, false) => None,
    }
}

/// One price, or those of source and target.
fn parse_relaxation(found: &Found) -> Result<[Option<f64>; 2], CliError> {
    let Some((source, target)) = found.value.split_once(',') else {
        return Ok([Some(real(found)?), None]);
    };
    let price = |text: &str| text.trim().parse::<f64>().ok().filter(|x| !x.is_nan());
    match (price(source), price(target)) {
        (Some(source), Some(target)) => Ok([Some(source), Some(target)]),
        _ => Err(found
            .fault("a price, or two")
            .hint("write 10, or inf,10 for source and target apart")),
    }
}

fn real(found: &Found) -> Result<f64, CliError> {
    let number = found.value.trim().parse::<f64>().ok();
    number
        .filter(|x| !x.is_nan())
        .ok_or_else(|| found.fault("a number").hint("write something like 0.001, 1e-3 or 10"))
}

/// The value that belongs to a word.
fn word<T: Clone>(found: &Found, what: &str, words: &[(&str, T)]) -> Result<T, CliError> {
    let known = words.iter().find(|(word, _)| *word == found.value);
    known.map(|(_, value)| value.clone()).ok_or_else(|| {
        let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let (last, others) = names.split_last().unwrap_or((&"", &[]));
        found.fault(what).hint(format!("write {} or {last}", others.join(", ")))
    })
}

/// The word that belongs to a value.
fn name<T: PartialEq>(value: T, words: &[(&'static str, T)]) -> &'static str {
    let known = words.iter().find(|(_, of)| *of == value);
    known.map_or("", |(word, _)| word)
}

/// `union`, `fixed`, `bucketed` or, from `run.json`, `bucketed 128x256,256x512`.
fn parse_crop(found: &Found, padding_px: usize) -> Result<Crop, CliError> {
    if let Some(shapes) = found.value.strip_prefix("bucketed ") {
        let shapes = shapes.split(',').filter(|text| !text.is_empty());
        let parsed = shapes.map(|text| {
            let (h_px, w_px) = text.split_once('x')?;
            Some(Shape::new(h_px.parse().ok()?, w_px.parse().ok()?))
        });
        let buckets: Option<Vec<Shape>> = parsed.collect();
        return buckets
            .map(|buckets| Crop::Bucketed { padding_px, buckets })
            .ok_or_else(|| found.fault("a way to crop"));
    }
    let bucketed = Crop::Bucketed { padding_px, buckets: Vec::new() };
    let words =
        [("union", Crop::Union { padding_px }), ("fixed", Crop::Fixed), ("bucketed", bucketed)];
    word(found, "a way to crop", &words)
}

fn parse_coupling(found: &Found) -> Result<Coupling, CliError> {
    let wrong = || {
        found.fault("a choice of the plan's entries").hint("write none, topk:8 or threshold:1e-6")
    };
    match found.value.split_once(':') {
        None if found.value == "none" => Ok(Coupling::None),
        Some(("topk", k)) => k.parse().map(Coupling::TopK).map_err(|_| wrong()),
        Some(("threshold", mass)) => mass.parse().map(Coupling::Threshold).map_err(|_| wrong()),
        _ => Err(wrong()),
    }
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
