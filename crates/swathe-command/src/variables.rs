//! The `SWATHE_*` environment variables, and a warning about unknown ones.

use std::ffi::OsString;

use crate::declaration::nearest;
use crate::option_defaults::names;
use crate::program::programs;
use crate::warning;

/// Variables that are not settings; the last three are for tests.
const OTHER_NAMES: [&str; 6] = ["FAULTS", "GPUS", "SOFTWARE_GPU", "PYTHON", "BROWSER", "SOAK"];
const PREFIX: &str = "SWATHE_";

/// Warns about unknown `SWATHE_*` variables. Otherwise a misspelt setting would be ignored
/// silently.
pub(crate) fn warn_of_unknown() {
    let is_ours = |(name, _): (OsString, _)| name.to_string_lossy().starts_with(PREFIX);
    if !std::env::vars_os().any(is_ours) {
        return;
    }
    let settings = programs().iter().flat_map(|program| names(program));
    let mut known: Vec<String> = settings
        .map(|name| name.replace('-', "_").to_uppercase())
        .chain(OTHER_NAMES.map(str::to_owned))
        .collect();
    known.sort();
    known.dedup();
    for (name, _) in std::env::vars_os() {
        let Some(own) = name.to_str().and_then(|name| name.strip_prefix(PREFIX)) else {
            continue;
        };
        if known.iter().any(|known| known == own) {
            continue;
        }
        match nearest(own, &known) {
            Some(near) => warning!(
                "the variable {PREFIX}{own} is not known and not used; did you mean {PREFIX}{near}?"
            ),
            None => warning!("the variable {PREFIX}{own} is not known and not used"),
        }
    }
}
