//! The settings of `swathe ot` in all their forms.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use swathe_command::declaration::of_values;
use swathe_ot::Crop;
use swathe_ot_program::settings::OtSettings;
use swathe_testing::setting_forms::check_setting_forms;

#[test]
fn settings_are_the_same_in_all_forms() {
    let samples = [
        ("epsilon", "1e-4", json!(1e-4)),
        ("relaxation", "inf,10", json!(["inf", 10])),
        ("reference", "counting", json!("counting")),
        ("coord-scale", "0.5", json!(0.5)),
        ("normalize", "false", json!(false)),
        ("tolerance", "1e-8", json!(1e-8)),
        ("max-iterations", "70", json!(70)),
        ("precision", "f64", json!("f64")),
        ("crop", "bucketed 8x16,32x32", json!("bucketed 8x16,32x32")),
        ("padding", "3", json!(3)),
        ("pool", "2", json!(2)),
        ("label", "7", json!(7)),
        ("background", "auto", json!("auto")),
        ("group-by", "embryo,side", json!(["embryo", "side"])),
        ("order-by", "frame", json!("frame")),
        ("step", "2", json!(2)),
        ("channel", "1", json!(1)),
        ("time-axis", "Z", json!("Z")),
        ("z-slice", "4", json!(4)),
        ("um-per-px", "0.65", json!(0.65)),
        ("raw-velocity", "true", json!(true)),
        ("fields", "npz", json!("npz")),
        ("potentials", "true", json!(true)),
        ("coupling", "threshold:0.000001", json!("threshold:1e-6")),
    ];
    let read = |values| of_values(&values).unwrap();
    let record = |settings: &OtSettings| {
        let values = serde_json::to_value(settings).unwrap();
        serde_json::from_value(values).unwrap()
    };
    check_setting_forms(&samples, read, record);
}

/// What version 0.1.0 wrote into `run.json`, with every setting given or none.
#[test]
fn runs_of_earlier_versions_are_understood_and_resumed() {
    for recorded in [
        json!({
            "epsilon": 0.001, "relaxation": 10, "raw-velocity": false, "reference": "product",
            "coord-scale": "auto", "normalize": true, "tolerance": 1e-5, "max-iterations": 5000,
            "precision": "auto", "crop": "union", "padding": 16, "pool": 1, "fields": "none",
            "coupling": "none"
        }),
        json!({
            "epsilon": 0.0003, "relaxation": "inf,10", "raw-velocity": true,
            "reference": "counting", "coord-scale": 2, "normalize": false, "tolerance": 1e-8,
            "max-iterations": 70, "precision": "f64", "crop": "bucketed 8x16,32x32",
            "padding": 3, "pool": 2, "fields": "npz", "coupling": "topk:8", "potentials": true,
            "label": 7, "um-per-px": 0.65, "group-by": "embryo,side", "order-by": "frame",
            "step": 2, "channel": 1, "time-axis": "Z", "z-slice": 4
        }),
        json!({
            "epsilon": 1, "relaxation": "inf", "raw-velocity": false, "reference": "product",
            "coord-scale": "auto", "normalize": true, "tolerance": 1e-5, "max-iterations": 5000,
            "precision": "f32", "crop": "fixed", "padding": null, "pool": 1, "fields": "parquet",
            "coupling": "threshold:0.000001", "background": 100.0
        }),
        json!({
            "epsilon": 0.001, "relaxation": 0.1, "raw-velocity": false, "reference": "product",
            "coord-scale": 0.5, "normalize": true, "tolerance": 1e-5, "max-iterations": 5000,
            "precision": "auto", "crop": "bucketed ", "padding": 16, "pool": 1, "fields": "none",
            "coupling": "none", "label": "all"
        }),
    ] {
        let recorded: BTreeMap<String, Value> = serde_json::from_value(recorded).unwrap();
        let settings: OtSettings = of_values(&recorded).unwrap();
        assert_eq!(settings.provenance(&settings.solver()), recorded);
    }
}

#[test]
fn what_the_solver_gets_is_the_solvers_default() {
    let settings: OtSettings = of_values(&BTreeMap::new()).unwrap();
    assert_eq!(settings.solver(), swathe_ot::Settings::default());
    let set = [("crop".to_owned(), json!("fixed")), ("raw_velocity".to_owned(), json!(true))];
    let settings: OtSettings = of_values(&set.into()).unwrap();
    assert_eq!(settings.solver().crop, Crop::Fixed);
    // Names are those of `run.json`; Python's are translated where they come in.
    assert!(!settings.raw_velocity);
}

#[test]
fn wrong_values_are_told_with_a_hint() {
    for (name, value, complaint, hint) in [
        ("epsilon", json!("small"), "which is not a number", "1e-3"),
        ("relaxation", json!([1, "much"]), "which is not a price, or two", "inf,10"),
        ("crop", json!("tight"), "which is not a way to crop", "union, fixed or bucketed"),
        ("crop", json!("bucketed 8"), "which is not a way to crop", "bucketed"),
        ("normalize", json!("perhaps"), "which is not true or false", "true or false"),
        ("step", json!(0), "which is not a distance", "1 pairs"),
        ("um-per-px", json!(-1), "which is not a positive number", "0.65"),
        ("coupling", json!("most"), "which is not a choice of the plan's entries", "topk:8"),
    ] {
        let wrong = of_values::<OtSettings>(&[(name.to_owned(), value)].into()).unwrap_err();
        assert_eq!((wrong.name.as_str(), wrong.wrong.complaint.as_str()), (name, complaint));
        assert!(wrong.wrong.hint.contains(hint), "{name}: {}", wrong.wrong.hint);
    }
}
