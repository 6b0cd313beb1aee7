//! The settings of `swathe ot`, each declared once.

use std::collections::BTreeMap;
use std::str::FromStr;

use clap::Args;
use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};
use serde_json::Value;
use swathe_command::cli_error::CliError;
use swathe_command::setting_value::{Auto, Real, WrongValue, number_value, whole};
use swathe_ot::{CoordScale, Coupling, Crop, Precision, Reference, Settings, Shape};

use crate::frame::{AxisChoice, Background};
use crate::pair_files::FieldsFormat;
use crate::pair_input::InputChoices;

/// What is solved and what is written. A field is a flag, a key of `swathe.toml`, a `SWATHE_*`
/// variable, an entry of `run.json` and, where arrays have a use for it, a keyword of Python; its
/// comment is the help.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
#[command(next_help_heading = "What to solve")]
#[serde(rename_all = "kebab-case")]
pub struct OtSettings {
    /// Entropic blur, in cost units, or auto: the largest of 1e-3, 3e-4, 1e-4 and 3e-5 from which
    /// a smaller one hardly changes the motion of a sample of pairs
    #[arg(long, value_name = "X", allow_negative_numbers = true, default_value = "auto")]
    pub epsilon: Auto<Real>,
    /// Price of creating and destroying mass, in cost units; inf: all mass must move. A,B sets
    /// source and target apart: inf,10 is growth without loss
    #[arg(long, value_name = "X", allow_negative_numbers = true, default_value = "10")]
    pub relaxation: Relaxation,
    /// How mass, distance and exactness are measured.
    #[command(flatten)]
    #[serde(flatten)]
    pub measure: OtMeasure,
    /// Work grid: union (the box around both masses), fixed (the whole frame) or bucketed (union,
    /// padded to one of --buckets); it changes no result
    #[arg(long, value_name = "HOW", default_value = "union")]
    pub crop: CropChoice,
    /// Pixels that the box is grown by on each side
    #[arg(long, value_name = "PX", allow_negative_numbers = true, default_value = "16")]
    #[arg(value_parser = whole::<usize>)]
    pub padding: usize,
    /// What the input is, and how it becomes pairs.
    #[command(flatten)]
    #[serde(flatten)]
    pub input: OtInput,
    /// Width of a pixel, for frames of which the table does not say it; comes before what TIFF
    /// files say
    #[arg(long, value_name = "UM", allow_negative_numbers = true, value_parser = um_per_px)]
    pub um_per_px: Option<Real>,
    /// Report the plan's own displacement, as other programs do: entropy pulls it inward. Saves a
    /// part of the time
    #[arg(long)]
    pub raw_velocity: bool,
    /// Maps to write (velocity, created, destroyed, cost): none, npz or parquet
    #[arg(long, value_name = "FORMAT", default_value = "none", value_parser = fields)]
    pub fields: FieldsFormat,
    /// Write the potentials f and g with the maps, as `swathe ot check` reads them
    #[arg(long)]
    pub potentials: bool,
    /// Entries of the plan to write: none, topk:8 (the largest of each source pixel) or
    /// threshold:1e-6
    #[arg(long, value_name = "WHICH", default_value = "none", value_parser = coupling)]
    #[serde(serialize_with = "write_coupling")]
    pub coupling: Coupling,
}

/// How mass, distance and exactness are measured.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct OtMeasure {
    /// Measure that entropy is taken against: product, or counting as in OTT-JAX
    #[arg(long, value_name = "WHICH", default_value = "product", value_parser = reference)]
    pub reference: Reference,
    /// Factor from pixels to cost units: auto (1 / longer side of the frame) or a number
    #[arg(long, value_name = "X", allow_negative_numbers = true, default_value = "auto")]
    pub coord_scale: Auto<Real>,
    /// Whether frames are divided by their sums.
    #[command(flatten)]
    #[serde(flatten)]
    pub normalize: Normalize,
    /// Residual of both marginals to stop at, as part of the mass
    #[arg(long, value_name = "X", allow_negative_numbers = true, default_value = "1e-5")]
    pub tolerance: Real,
    /// Sweeps at full resolution at most
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value = "5000")]
    #[arg(value_parser = whole::<usize>)]
    pub max_iterations: usize,
    /// Arithmetic: auto, f32 or f64
    #[arg(long, value_name = "WHICH", default_value = "auto", value_parser = precision)]
    pub precision: Precision,
}

/// What the input is, and how it becomes pairs.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct OtInput {
    /// Side of the squares of pixels that are summed into one
    #[arg(long, value_name = "PX", allow_negative_numbers = true, default_value = "1")]
    #[arg(value_parser = whole::<usize>)]
    pub pool: usize,
    /// Frames are label images: the pixels with this value are the mask; all: a series for each
    /// label
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub label: Option<Label>,
    /// Take a background off every pixel: a level, or auto (the median of each frame; what is within
    /// its noise becomes 0)
    #[arg(long, value_name = "LEVEL", allow_negative_numbers = true, value_parser = background)]
    pub background: Option<Auto<f64>>,
    /// Columns of a table of frames that tell series apart, such as embryo_id; none: one series
    #[arg(long, value_name = "COLUMNS", value_parser = columns)]
    pub group_by: Option<String>,
    /// Column of a table of frames that orders a series, such as frame_index; none: as the rows are
    #[arg(long, value_name = "COLUMN", value_parser = trimmed)]
    pub order_by: Option<String>,
    /// Pair each frame of a series with the one N places later
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value = "1")]
    #[arg(value_parser = step)]
    pub step: usize,
    /// Channel of stacks and of colour images to take, from 0
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<usize>)]
    pub channel: Option<usize>,
    /// Axis of a stack that is time: a letter such as T or Z, or a number from 0 where axes have no
    /// names [default: T]
    #[arg(long, value_name = "AXIS", value_parser = trimmed)]
    pub time_axis: Option<String>,
    /// Slice of stacks to take along Z, from 0
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<usize>)]
    pub z_slice: Option<usize>,
}

impl OtSettings {
    /// The solver's form of them. ε is the solver's default where the pairs are to choose it.
    pub fn solver(&self) -> Settings {
        let defaults = Settings::default();
        let padding_px = self.padding;
        Settings {
            epsilon: match self.epsilon {
                Auto::Auto => defaults.epsilon,
                Auto::Is(Real(epsilon)) => epsilon,
            },
            relaxation: self.relaxation.source,
            relaxation_tgt: self.relaxation.target,
            reference: self.measure.reference,
            coord_scale: match self.measure.coord_scale {
                Auto::Auto => CoordScale::Auto,
                Auto::Is(Real(scale)) => CoordScale::Fixed(scale),
            },
            normalize: self.measure.normalize.is_on(),
            tolerance: self.measure.tolerance.0,
            max_iterations: self.measure.max_iterations,
            precision: self.measure.precision,
            crop: match &self.crop {
                CropChoice::Union => Crop::Union { padding_px },
                CropChoice::Fixed => Crop::Fixed,
                CropChoice::Bucketed(buckets) => {
                    Crop::Bucketed { padding_px, buckets: buckets.clone() }
                }
            },
            pool: self.input.pool,
            fields: true,
            potentials: self.potentials,
            coupling: self.coupling,
            target_cost: false,
            error_bar: !self.raw_velocity,
            raw_velocity: self.raw_velocity,
        }
    }

    /// What they say of an input; files of a run of at most `bytes_max` are read.
    ///
    /// # Errors
    /// If frames are labels and have a background, too.
    pub(crate) fn input_choices(&self, bytes_max: u64) -> Result<InputChoices, CliError> {
        let OtInput { label, background, group_by, order_by, step, .. } = &self.input;
        if label.is_some() && background.is_some() {
            return Err(CliError::usage(
                "--background and --label exclude each other: labels are not light",
            )
            .hint("leave one of them out"));
        }
        let group_by = group_by.as_ref();
        Ok(InputChoices {
            group_by: group_by.map(|names| names.split(',').map(str::to_owned).collect()),
            order_by: order_by.clone(),
            step: *step,
            axes: AxisChoice {
                channel: self.input.channel,
                time_axis: self.input.time_axis.clone(),
                z_slice: self.input.z_slice,
            },
            all_labels: *label == Some(Label::All),
            background: match background {
                None => Background::None,
                Some(Auto::Auto) => Background::Auto,
                Some(Auto::Is(level)) => Background::Level(*level),
            },
            bytes_max,
        })
    }

    /// The settings that the table or the files beside it depend on, as `run.json` has them: ε and the
    /// buckets of the crop are those that `solved` was solved with. The crop does not change a result,
    /// but it is in the table.
    pub fn provenance(&self, solved: &Settings) -> BTreeMap<String, Value> {
        let crop = match &solved.crop {
            Crop::Union { .. } => CropChoice::Union,
            Crop::Fixed => CropChoice::Fixed,
            Crop::Bucketed { buckets, .. } => CropChoice::Bucketed(buckets.clone()),
        };
        let recorded = OtSettings { epsilon: Auto::Is(Real(solved.epsilon)), crop, ..self.clone() };
        let mut values = match serde_json::to_value(&recorded) {
            Ok(Value::Object(values)) => values,
            _ => unreachable!("names and values"),
        };
        // Where nothing is said of it, nothing is recorded.
        values.retain(|name, value| match name.as_str() {
            "step" => *value != 1,
            "potentials" => *value != false,
            _ => !value.is_null(),
        });
        if solved.crop == Crop::Fixed {
            values.insert("padding".to_owned(), Value::Null);
        }
        values.into_iter().collect()
    }
}

/// Whether frames are divided by their sums: one setting of two flags.
#[derive(Clone, Copy, Debug, Args)]
pub struct Normalize {
    /// Divide each frame by its sum [default]
    #[arg(long, default_value = "true", overrides_with = "no_normalize")]
    normalize: bool,
    /// Take the frames' masses as they are
    #[arg(long, overrides_with = "normalize")]
    no_normalize: bool,
}

impl Normalize {
    fn is_on(self) -> bool {
        self.normalize && !self.no_normalize
    }
}

impl PartialEq for Normalize {
    fn eq(&self, other: &Normalize) -> bool {
        self.is_on() == other.is_on()
    }
}

impl Serialize for Normalize {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map([("normalize", self.is_on())])
    }
}

/// One price ρ of mass, or those of source and target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Relaxation {
    /// The price, or that of the source.
    pub source: f64,
    /// The price of the target, if it has its own.
    pub target: Option<f64>,
}

impl FromStr for Relaxation {
    type Err = WrongValue;

    fn from_str(text: &str) -> Result<Relaxation, WrongValue> {
        let Some((source, target)) = text.split_once(',') else {
            return Ok(Relaxation { source: text.parse::<Real>()?.0, target: None });
        };
        match (source.parse::<Real>(), target.parse::<Real>()) {
            (Ok(Real(source)), Ok(Real(target))) => Ok(Relaxation { source, target: Some(target) }),
            _ => Err(WrongValue::not(
                "a price, or two",
                "write 10, or inf,10 for source and target apart",
            )),
        }
    }
}

impl Serialize for Relaxation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.target {
            None => Real(self.source).serialize(serializer),
            Some(target) => serializer.collect_str(&format_args!("{},{target}", self.source)),
        }
    }
}

/// How the work grid is cut out of the frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CropChoice {
    /// The box around both masses.
    Union,
    /// The whole frame.
    Fixed,
    /// The box, padded to one of these, which are found later where there are none.
    Bucketed(Vec<Shape>),
}

impl FromStr for CropChoice {
    type Err = WrongValue;

    fn from_str(text: &str) -> Result<CropChoice, WrongValue> {
        let shape = |text: &str| {
            let (h_px, w_px) = text.split_once('x')?;
            Some(Shape::new(h_px.parse().ok()?, w_px.parse().ok()?))
        };
        let wrong = || WrongValue::not("a way to crop", "write union, fixed or bucketed");
        match text {
            "union" => Ok(CropChoice::Union),
            "fixed" => Ok(CropChoice::Fixed),
            _ => {
                // `run.json` has the buckets, too.
                let shapes = text.strip_prefix("bucketed").ok_or_else(wrong)?;
                let shapes = shapes.trim().split(',').filter(|shape| !shape.is_empty());
                let shapes: Option<Vec<Shape>> = shapes.map(shape).collect();
                shapes.map(CropChoice::Bucketed).ok_or_else(wrong)
            }
        }
    }
}

impl Serialize for CropChoice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            CropChoice::Union => serializer.serialize_str("union"),
            CropChoice::Fixed => serializer.serialize_str("fixed"),
            CropChoice::Bucketed(shapes) => {
                let shapes: Vec<String> = shapes.iter().map(Shape::to_string).collect();
                serializer.serialize_str(&format!("bucketed {}", shapes.join(",")))
            }
        }
    }
}

/// Which pixels of a label image are the mask.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Label {
    /// A series for each label.
    All,
    /// Those with this value.
    Value(f64),
}

impl FromStr for Label {
    type Err = WrongValue;

    fn from_str(text: &str) -> Result<Label, WrongValue> {
        if text.trim() == "all" {
            return Ok(Label::All);
        }
        let label: i64 = whole(text)?;
        // Beyond this, neighbouring labels would be the same f64.
        match label.unsigned_abs() > 1 << 53 {
            true => Err(WrongValue::not(
                "a label that can be told from the next one",
                "write one of at most 2^53",
            )),
            false => Ok(Label::Value(label as f64)),
        }
    }
}

impl Serialize for Label {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Label::All => serializer.serialize_str("all"),
            Label::Value(value) => number_value(*value).serialize(serializer),
        }
    }
}

/// The value of a word that serde knows.
fn word<T: DeserializeOwned>(text: &str, expected: &str, hint: &str) -> Result<T, WrongValue> {
    serde_json::from_value(Value::from(text)).map_err(|_| WrongValue::not(expected, hint))
}

fn reference(text: &str) -> Result<Reference, WrongValue> {
    word(text, "a reference measure", "write product or counting")
}

fn precision(text: &str) -> Result<Precision, WrongValue> {
    word(text, "a precision", "write auto, f32 or f64")
}

fn fields(text: &str) -> Result<FieldsFormat, WrongValue> {
    word(text, "a format for maps", "write none, npz or parquet")
}

fn coupling(text: &str) -> Result<Coupling, WrongValue> {
    let parsed = match text.split_once(':') {
        None => (text == "none").then_some(Coupling::None),
        Some(("topk", k)) => k.parse().ok().map(Coupling::TopK),
        Some(("threshold", mass)) => mass.parse().ok().map(Coupling::Threshold),
        Some(_) => None,
    };
    let hint = "write none, topk:8 or threshold:1e-6";
    parsed.ok_or_else(|| WrongValue::not("a choice of the plan's entries", hint))
}

fn write_coupling<S: Serializer>(coupling: &Coupling, serializer: S) -> Result<S::Ok, S::Error> {
    match coupling {
        Coupling::None => serializer.serialize_str("none"),
        Coupling::TopK(k) => serializer.collect_str(&format_args!("topk:{k}")),
        Coupling::Threshold(mass) => serializer.collect_str(&format_args!("threshold:{mass}")),
    }
}

fn um_per_px(text: &str) -> Result<Real, WrongValue> {
    let Real(width) = text.parse()?;
    let hint = "write the width of a pixel in µm, such as 0.65";
    let is_width = width > 0.0 && width.is_finite();
    is_width.then_some(Real(width)).ok_or_else(|| WrongValue::not("a positive number", hint))
}

fn background(text: &str) -> Result<Auto<f64>, WrongValue> {
    Auto::read(text, |text| {
        let level = text.parse().ok().filter(|level: &f64| *level >= 0.0 && level.is_finite());
        let hint = "write auto, or what is taken off every pixel, such as 100";
        level.ok_or_else(|| WrongValue::not("a level", hint))
    })
}

fn step(text: &str) -> Result<usize, WrongValue> {
    match whole(text)? {
        0 => Err(WrongValue::not("a distance", "1 pairs each frame with the next")),
        step => Ok(step),
    }
}

fn trimmed(text: &str) -> Result<String, WrongValue> {
    Ok(text.trim().to_owned())
}

fn columns(text: &str) -> Result<String, WrongValue> {
    Ok(text.split(',').map(str::trim).collect::<Vec<_>>().join(","))
}
