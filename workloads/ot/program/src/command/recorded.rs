//! Settings as `run.json` recorded them.

use serde_json::Value;
use swathe_ot::{CoordScale, Precision, Reference, Settings};
use swathe_run::store::run_folder::Identity;

use swathe_command::cli_error::CliError;

/// What a run was solved with, as far as one pair's answer depends on it.
pub(super) struct Recorded {
    pub(super) settings: Settings,
    pub(super) label: Option<f64>,
    pub(super) um_per_px: Option<f64>,
}

impl Recorded {
    /// Reads the settings back.
    pub(super) fn of(identity: &Identity) -> Result<Recorded, CliError> {
        let text = |name: &str| -> Option<String> {
            Some(match identity.settings.get(name)? {
                Value::Null => return None,
                Value::String(text) => text.clone(),
                other => other.to_string(),
            })
        };
        let parsed = |name: &str| -> Result<Option<f64>, CliError> {
            let Some(text) = text(name) else {
                return Ok(None);
            };
            text.parse().map(Some).map_err(|_| odd(name, &text))
        };
        let defaults = Settings::default();
        let real = |name: &str| parsed(name)?.ok_or_else(|| odd(name, "missing"));
        let word = |name: &str| text(name).ok_or_else(|| odd(name, "missing"));
        let coord_scale = word("coord-scale")?;
        let settings = Settings {
            epsilon: real("epsilon")?,
            relaxation: real("relaxation")?,
            reference: match word("reference")?.as_str() {
                "product" => Reference::Product,
                "counting" => Reference::Counting,
                other => return Err(odd("reference", other)),
            },
            coord_scale: match coord_scale.as_str() {
                "auto" => CoordScale::Auto,
                other => CoordScale::Fixed(other.parse().map_err(|_| odd("coord-scale", other))?),
            },
            normalize: word("normalize")? == "true",
            tolerance: real("tolerance")?,
            max_iterations: real("max-iterations")? as usize,
            precision: match word("precision")?.as_str() {
                "auto" => Precision::Auto,
                "f32" => Precision::F32,
                "f64" => Precision::F64,
                other => return Err(odd("precision", other)),
            },
            pool: real("pool")? as usize,
            ..defaults
        };
        Ok(Recorded {
            settings,
            label: parsed("label")?,
            um_per_px: parsed("um-per-px")?,
        })
    }
}

fn odd(name: &str, value: &str) -> CliError {
    CliError::usage(format!("run.json has an odd setting: {name} is {value}"))
        .hint("was the run made by another version of swathe?")
}
