//! Values and tasks as the recorded results of the Python references hold them.

#![allow(dead_code, reason = "each test uses some of it")]

use serde_json::Value as Json;
use std::collections::HashMap;
use std::path::PathBuf;
use swathe_arc::{Dialect, Fault, Task, Value, call, primitive_in};

/// The value that is recorded; the thread's dialect must be this one.
pub(crate) fn decode(dialect: Dialect, json: &Json) -> Value {
    let list = |json: &Json| -> Vec<Value> {
        json.as_array().expect("a list").iter().map(|json| decode(dialect, json)).collect()
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
            let rows =
                content.as_array().expect("rows").iter().map(|r| made(Value::tuple(list(r))));
            made(Value::tuple(rows.collect()))
        }
        "idx" => {
            let pairs =
                content.as_array().expect("pairs").iter().map(|p| made(Value::tuple(list(p))));
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
        "cells" => {
            let cells = content.as_array().expect("cells").iter();
            let cells = cells.map(|cell| made(Value::tuple(list(cell))));
            made(Value::set(cells.collect()))
        }
        "float" => Value::Float(content.as_str().expect("a name").parse().expect("a number")),
        "fn" => function(dialect, content),
        _ => panic!("not a kind of value: {kind}"),
    }
}

/// A primitive's name, or the call of a primitive that makes a function.
fn function(dialect: Dialect, json: &Json) -> Value {
    match json {
        Json::String(name) if name == "safe_callable" => {
            // The default of a function that makes functions.
            let compose = primitive_in(dialect, "compose").expect("a primitive");
            call(&compose, &[]).expect("a default")
        }
        Json::String(name) => primitive_in(dialect, name).expect("a known primitive"),
        Json::Array(parts) => {
            let parts: Vec<Value> = parts
                .iter()
                .map(|p| {
                    if p.is_string() || p.is_array() {
                        function(dialect, p)
                    } else {
                        decode(dialect, p)
                    }
                })
                .collect();
            call(&parts[0], &parts[1..]).expect("a function")
        }
        _ => decode(dialect, json),
    }
}

/// Tasks by their names, from a folder or from one file.
pub(crate) struct Tasks {
    by_name: HashMap<String, Task>,
}

impl Tasks {
    pub(crate) fn new(path: PathBuf) -> Tasks {
        let mut by_name = HashMap::new();
        let mut open = vec![path];
        while let Some(path) = open.pop() {
            if path.is_dir() {
                let entries = std::fs::read_dir(&path).expect("a folder of tasks");
                open.extend(entries.map(|entry| entry.expect("an entry").path()));
                continue;
            }
            if path.extension().is_none_or(|e| e != "json") {
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a readable file");
            let json: Json = serde_json::from_str(&text).expect("a file of JSON");
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            if json.get("train").is_some() {
                let task = Task::from_json(&name, &text).expect("a task");
                by_name.insert(name.into_owned(), task);
                continue;
            }
            for (name, task) in json.as_object().expect("tasks by name") {
                let task = Task::from_json(name, &task.to_string()).expect("a task");
                by_name.insert(name.clone(), task);
            }
        }
        Tasks { by_name }
    }

    pub(crate) fn get(&self, name: &str) -> &Task {
        (self.by_name.get(name)).unwrap_or_else(|| panic!("no task {name}"))
    }
}
