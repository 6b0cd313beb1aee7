//! Every recorded call of the Python references, for each dialect and in both set orders.
//!
//! `SWATHE_ARC_GOLDEN=DIR`, `SWATHE_ARC_GOLDEN_BATT=DIR` and `SWATHE_ARC_GOLDEN_REARC=DIR` run other folders of files in
//! the same encoding.

mod recorded;

use recorded::decode;
use serde_json::Value as Json;
use std::path::{Path, PathBuf};
use swathe_arc::{
    Dialect, Fault, Order, PRIMITIVES, Primitive, Value, call, encode, primitive_in, set_dialect,
    set_order,
};

/// The recorded calls of one dialect.
struct Golden {
    dialect: Dialect,
    folder: &'static str,
    variable: &'static str,
    n_cases: usize,
}

impl Golden {
    /// The files of the repository.
    fn files(&self) -> Vec<PathBuf> {
        files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(self.folder))
    }
}

const ARC_DSL: Golden = Golden {
    dialect: Dialect::ArcDsl,
    folder: "golden",
    variable: "SWATHE_ARC_GOLDEN",
    n_cases: 6240,
};

const BATT: Golden = Golden {
    dialect: Dialect::Batt,
    folder: "golden-batt",
    variable: "SWATHE_ARC_GOLDEN_BATT",
    n_cases: 4322,
};

const RE_ARC: Golden = Golden {
    dialect: Dialect::ReArc,
    folder: "golden-rearc",
    variable: "SWATHE_ARC_GOLDEN_REARC",
    n_cases: 111,
};

#[test]
fn arc_dsl_in_cpython_order() {
    check(&ARC_DSL, Order::Cpython);
}

#[test]
fn arc_dsl_in_sorted_order() {
    check(&ARC_DSL, Order::Sorted);
}

#[test]
fn batt_in_cpython_order() {
    check(&BATT, Order::Cpython);
}

#[test]
fn batt_in_sorted_order() {
    check(&BATT, Order::Sorted);
}

#[test]
fn re_arc_in_cpython_order() {
    check(&RE_ARC, Order::Cpython);
}

#[test]
fn re_arc_in_sorted_order() {
    check(&RE_ARC, Order::Sorted);
}

/// Functions that differ between arc-dsl and re-arc only in what they do with exceptions agree on arc-dsl's own calls.
#[test]
fn re_arc_is_arc_dsl_except_for_three_functions() {
    let own = ["argmax.json", "argmin.json", "occurrences.json"];
    set_order(Order::Cpython);
    set_dialect(Dialect::ReArc);
    let (_, differences) = differences(&ARC_DSL, Dialect::ReArc, Order::Cpython);
    let others = differences.iter().filter(|d| !own.iter().any(|name| d.starts_with(name)));
    assert_eq!(others.collect::<Vec<_>>(), Vec::<&String>::new());
}

#[test]
fn every_primitive_has_recorded_calls() {
    for golden in [&ARC_DSL, &BATT, &RE_ARC] {
        // What re-arc shares with arc-dsl is recorded there.
        let is_shared = |p: &Primitive| golden.folder == RE_ARC.folder && p.is_in(Dialect::ArcDsl);
        let rows = PRIMITIVES.iter().filter(|p| p.is_in(golden.dialect) && !is_shared(p));
        let mut names: Vec<&str> = rows.map(|p| p.name).collect();
        names.sort_unstable();
        let files = golden.files();
        let stems = files.iter().filter_map(|file| file.file_stem()?.to_str());
        let mut recorded: Vec<&str> = stems.collect();
        recorded.sort_unstable();
        assert_eq!(recorded, names, "{}", golden.dialect.name());
    }
}

fn check(golden: &Golden, order: Order) {
    set_order(order);
    set_dialect(golden.dialect);
    let (n_cases, differences) = differences(golden, golden.dialect, order);
    let shown = differences.iter().take(N_SHOWN).map(|d| d.chars().take(400).collect::<String>());
    let shown = shown.collect::<Vec<_>>().join("\n");
    assert!(
        differences.is_empty(),
        "{} of {n_cases} differ ({order:?}):\n{shown}",
        differences.len()
    );
    if std::env::var_os(golden.variable).is_none() {
        assert_eq!(n_cases, golden.n_cases);
    }
}

const N_SHOWN: usize = 40;

/// The number of recorded calls, and what differs from them.
fn differences(golden: &Golden, dialect: Dialect, order: Order) -> (usize, Vec<String>) {
    let files = match std::env::var_os(golden.variable) {
        Some(folder) => files(&PathBuf::from(folder)),
        None => golden.files(),
    };
    let (mut n_cases, mut differences) = (0, Vec::new());
    for file in &files {
        let text = std::fs::read_to_string(file).expect("a readable file");
        let cases: Vec<Json> = serde_json::from_str(&text).expect("a list of cases");
        for (k, case) in cases.iter().enumerate() {
            n_cases += 1;
            let wanted = match (order, case.get("canon")) {
                (Order::Sorted, Some(canon)) => canon,
                _ => case,
            };
            let result = run(dialect, case);
            // The recorder could not name some functions; then any function is right.
            if wanted["out"] == serde_json::json!({"fn": null})
                && result.as_ref().is_ok_and(Value::is_function)
            {
                continue;
            }
            let wanted = match wanted.get("error") {
                Some(kind) => kind.as_str().expect("an error's name").to_string(),
                None => encode(&decode(dialect, &wanted["out"])),
            };
            let got = match result {
                Ok(value) => encode(&value),
                Err(fault) => fault.name().to_string(),
            };
            if got != wanted {
                let name = file.file_name().unwrap_or_default().to_string_lossy();
                differences.push(format!("{name}[{k}]: wanted {wanted}, got {got}"));
            }
        }
    }
    (n_cases, differences)
}

/// The files of recorded calls in a folder, one for each primitive.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the folder of recorded calls")
        .map(|entry| entry.expect("an entry").path())
        .filter(|p| p.extension().is_some_and(|e| e == "json"))
        .filter(|p| !p.file_name().is_some_and(|n| n.to_string_lossy().starts_with('_')))
        .collect();
    files.sort();
    files
}

fn run(dialect: Dialect, case: &Json) -> Result<Value, Fault> {
    let args = |key: &str| -> Vec<Value> {
        case[key].as_array().expect("arguments").iter().map(|json| decode(dialect, json)).collect()
    };
    let f = primitive_in(dialect, case["fn"].as_str().expect("a name")).expect("a known primitive");
    let result = call(&f, &args("args"))?;
    match case.get("call") {
        Some(_) => call(&result, &args("call")),
        None => Ok(result),
    }
}
