//! All the forms in which a setting can be given.

use std::collections::BTreeMap;
use std::fmt::Debug;

use clap::{Args, Command};
use serde_json::Value;

/// Checks that every setting of a struct is the same in all of its forms: flag, text of a variable or
/// file, keyword, entry of `run.json`, default. `samples` has a text and a keyword for each setting,
/// which stand for the same value, and not for the default. `read` makes the struct of values,
/// `record` the entries of `run.json`.
///
/// # Panics
/// If a form is not the same.
pub fn check_setting_forms<S: Args + PartialEq + Debug>(
    samples: &[(&str, &str, Value)],
    read: impl Fn(BTreeMap<String, Value>) -> S,
    record: impl Fn(&S) -> BTreeMap<String, Value>,
) {
    let command = S::augment_args(Command::new("settings").no_binary_name(true));
    let default = read(BTreeMap::new());
    assert_eq!(read(record(&default)), default, "run.json");
    for name in command.get_arguments().filter_map(|option| option.get_long()) {
        if name.starts_with("no-") {
            continue;
        }
        let sample = samples.iter().find(|sample| sample.0 == name);
        let (_, text, keyword) = sample.unwrap_or_else(|| panic!("no sample of {name}"));
        let word = match *text {
            "true" => format!("--{name}"),
            "false" => format!("--no-{name}"),
            text => format!("--{name}={text}"),
        };
        let matches = command.clone().try_get_matches_from([word]).expect(name);
        let by_flag = S::from_arg_matches(&matches).expect(name);
        assert_ne!(by_flag, default, "{name}");
        let by = |value: Value| read([(name.to_owned(), value)].into());
        assert_eq!(by(Value::from(*text)), by_flag, "{name}: text");
        assert_eq!(by(keyword.clone()), by_flag, "{name}: keyword");
        assert_eq!(read(record(&by_flag)), by_flag, "{name}: run.json");
    }
}
