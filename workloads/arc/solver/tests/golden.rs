//! Every recorded call of the Python reference, in both set orders.
//!
//! `SWATHE_ARC_GOLDEN=DIR` runs another folder of files in the same encoding.

use serde_json::Value as Json;
use std::path::PathBuf;
use swathe_arc::{Fault, Order, Value, call, encode, primitive, set_order};

#[test]
fn cpython_order() {
    check(Order::Cpython);
}

#[test]
fn sorted_order() {
    check(Order::Sorted);
}

fn check(order: Order) {
    set_order(order);
    let folder = std::env::var_os("SWATHE_ARC_GOLDEN").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden"),
        PathBuf::from,
    );
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .expect("the folder of recorded calls")
        .map(|entry| entry.expect("an entry").path())
        .filter(|p| p.extension().is_some_and(|e| e == "json"))
        .filter(|p| {
            !p.file_name()
                .is_some_and(|n| n.to_string_lossy().starts_with('_'))
        })
        .collect();
    files.sort();
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
            let wanted = match wanted.get("error") {
                Some(kind) => kind.as_str().expect("an error's name").to_string(),
                None => encode(&decode(&wanted["out"])),
            };
            let got = match run(case) {
                Ok(value) => encode(&value),
                Err(fault) => fault.name().to_string(),
            };
            if got != wanted {
                let name = file.file_name().unwrap_or_default().to_string_lossy();
                differences.push(format!("{name}[{k}]: wanted {wanted}, got {got}"));
            }
        }
    }
    let shown = differences
        .iter()
        .take(40)
        .map(|d| d.chars().take(400).collect::<String>());
    let shown = shown.collect::<Vec<_>>().join("\n");
    assert!(
        differences.is_empty(),
        "{} of {n_cases} differ ({order:?}):\n{shown}",
        differences.len()
    );
    if std::env::var_os("SWATHE_ARC_GOLDEN").is_none() {
        assert_eq!(n_cases, 6240);
    }
}

fn run(case: &Json) -> Result<Value, Fault> {
    let args = |key: &str| -> Vec<Value> {
        case[key]
            .as_array()
            .expect("arguments")
            .iter()
            .map(decode)
            .collect()
    };
    let f = primitive(case["fn"].as_str().expect("a name")).expect("a known primitive");
    let result = call(&f, &args("args"))?;
    match case.get("call") {
        Some(_) => call(&result, &args("call")),
        None => Ok(result),
    }
}

fn decode(json: &Json) -> Value {
    let list = |json: &Json| -> Vec<Value> {
        json.as_array()
            .expect("a list")
            .iter()
            .map(decode)
            .collect()
    };
    let made = |value: Result<Value, Fault>| value.expect("a value that is not nested deeply");
    let Json::Object(object) = json else {
        return match json {
            Json::Null => Value::None,
            Json::Bool(b) => Value::Bool(*b),
            Json::Number(n) => Value::Int(n.as_i64().expect("an integer")),
            _ => panic!("not a value: {json}"),
        };
    };
    let (kind, content) = object.iter().next().expect("a kind");
    match kind.as_str() {
        "tuple" => made(Value::tuple(list(content))),
        "set" => made(Value::set(list(content))),
        "grid" => {
            let rows = content
                .as_array()
                .expect("rows")
                .iter()
                .map(|r| made(Value::tuple(list(r))));
            made(Value::tuple(rows.collect()))
        }
        "idx" => {
            let pairs = content
                .as_array()
                .expect("pairs")
                .iter()
                .map(|p| made(Value::tuple(list(p))));
            made(Value::set(pairs.collect()))
        }
        "obj" => {
            let cells = content.as_array().expect("cells").iter().map(|cell| {
                let cell = list(cell);
                let place = made(Value::tuple(cell[1..].to_vec()));
                made(Value::tuple(vec![cell[0].clone(), place]))
            });
            made(Value::set(cells.collect()))
        }
        "fn" => function(content),
        _ => panic!("not a kind of value: {kind}"),
    }
}

/// A primitive's name, or the call of a primitive that makes a function.
fn function(json: &Json) -> Value {
    match json {
        Json::String(name) => primitive(name).expect("a known primitive"),
        Json::Array(parts) => {
            let parts: Vec<Value> = parts
                .iter()
                .map(|p| {
                    if p.is_string() || p.is_array() {
                        function(p)
                    } else {
                        decode(p)
                    }
                })
                .collect();
            call(&parts[0], &parts[1..]).expect("a function")
        }
        _ => decode(json),
    }
}
