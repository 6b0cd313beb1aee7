//! The engine's settings in all their forms.

use std::time::Duration;

use serde_json::{Value, json};
use swathe::{Faults, Settings};
use swathe_command::declaration::{of_texts, of_values};
use swathe_command::engine_settings::EngineSettings;
use swathe_command::setting_value::{ByteSize, Seconds};
use swathe_testing::setting_forms::check_setting_forms;

#[test]
fn settings_are_the_same_in_all_forms() {
    let samples = [
        ("device", "gpu:0,2", json!("gpu:0,2")),
        ("gpu-memory", "8GiB", json!(8u64 << 30)),
        ("threads", "3", json!(3)),
        ("batch-size", "64", json!(64)),
        ("batch-size-max", "512", json!(512)),
        ("buckets", "8x16,32x32", json!([[8, 16], [32, 32]])),
        ("memory", "2gib", json!(2u64 << 30)),
        ("memory-margin", "0.25", json!(0.25)),
        ("time-limit", "90s", json!(90.0)),
        ("prefetch", "0", json!("0")),
        ("verify", "7", json!(7)),
        ("seed", "18446744073709551615", json!(u64::MAX)),
        ("progress", "json", json!("json")),
    ];
    let read = |values| of_values(&values).unwrap();
    // `run.json` has the texts that were given.
    let record = |settings: &EngineSettings| {
        let is_it = |(name, text, _): &&(&str, &str, Value)| {
            read([((*name).to_owned(), json!(text))].into()) == *settings
        };
        let sample = samples.iter().find(is_it);
        sample.map(|(name, text, _)| ((*name).to_owned(), json!(text))).into_iter().collect()
    };
    check_setting_forms::<EngineSettings>(&samples, read, record);
}

#[test]
fn wrong_values_name_the_setting() {
    for (name, value, complaint) in [
        ("threads", json!("two"), "which is not a whole number in range"),
        ("batch-size", json!(0), "which is not a batch size"),
        ("memory", json!("5"), "which is not a memory size"),
        ("memory-margin", json!(1.5), "which is not a share of the memory"),
        ("time-limit", json!(0), "which is not a time"),
        ("device", json!("tpu"), "which is not a device"),
    ] {
        let wrong = of_values::<EngineSettings>(&[(name.to_owned(), value)].into());
        let wrong = wrong.unwrap_err();
        assert_eq!((wrong.name.as_str(), wrong.wrong.complaint.as_str()), (name, complaint));
    }
}

#[test]
fn the_engine_gets_what_is_set() {
    let default = of_texts::<EngineSettings>(|_| None).unwrap().engine(None, Faults::none());
    let its = Settings::default();
    assert_eq!(default.n_threads, its.n_threads);
    assert_eq!(default.batch_size_max, its.batch_size_max);
    assert_eq!(default.time_limit, its.time_limit);
    let set = [("memory", json!(1000)), ("memory-margin", json!(0.2)), ("verify", json!(5))];
    let set = set.map(|(name, value)| (name.to_owned(), value)).into();
    let engine = of_values::<EngineSettings>(&set).unwrap().engine(Some(0), Faults::none());
    assert_eq!((engine.memory.cap_bytes(), engine.n_verify, engine.n_prefetch), (800, 5, 0));
}

#[test]
fn sizes_and_times() {
    let bytes = |text: &str| text.parse::<ByteSize>().ok().map(|size| size.0);
    for text in ["512MiB", "512mib", "512 MiB", "0.5GiB", "536870912B", "512m"] {
        assert_eq!(bytes(text), Some(512 << 20), "{text}");
    }
    assert_eq!(bytes("4GB"), Some(4_000_000_000));
    for text in ["lots", "", "-1MB", "0", "5", "1QB", "MiB", "infB"] {
        assert_eq!(bytes(text), None, "{text}");
    }
    let time = |text: &str| text.parse::<Seconds>().ok().map(|time| time.0);
    assert_eq!(time("500ms"), Some(Duration::from_millis(500)));
    assert_eq!(time("2m"), Some(Duration::from_secs(120)));
    assert_eq!(time("inf"), Some(Duration::MAX));
    for text in ["soon", "5", "0s", "-1s", ""] {
        assert_eq!(time(text), None, "{text}");
    }
}
