//! Whole `batt` files against what Python makes of them, row by row.
//!
//! `SWATHE_BATT_EXPECTED` (JSON lines), `SWATHE_BATT_FILES` (the folder of the files that they name) and
//! `SWATHE_ARC_TASKS` (a folder or a file of tasks) run files that are not part of the project. Without them, the small
//! files in `tests/batt` are compared.

mod recorded;

use recorded::{Tasks, decode};
use serde_json::Value as Json;
use std::path::{Path, PathBuf};
use swathe_arc::{
    Dialect, Evaluator, Fault, Inputs, Library, Limits, Order, Parsed, Program, RowList, encode,
    parse, parse_in, set_dialect,
};

#[test]
fn rows_are_those_of_python() {
    let from_outside = ["SWATHE_BATT_EXPECTED", "SWATHE_BATT_FILES", "SWATHE_ARC_TASKS"]
        .map(|name| std::env::var_os(name).map(PathBuf::from));
    let crate_folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let own = crate_folder.join("tests/batt");
    let [expected, files, tasks] = match from_outside {
        [Some(expected), Some(files), Some(tasks)] => [expected, files, tasks],
        _ => [own.join("expected.jsonl"), own.clone(), crate_folder.join("samples/tasks")],
    };
    let tasks = Tasks::new(tasks);
    let text = std::fs::read_to_string(&expected).expect("the expected rows");
    let mut compared = Compared::default();
    let mut file: Option<File> = None;
    for line in text.lines() {
        let line: Json = serde_json::from_str(line).expect("a line of JSON");
        let id = (text_of(&line["file"]), line.get("variant").is_some());
        if file.as_ref().is_none_or(|f| f.id != id) {
            file = Some(File::read(&files, id));
        }
        let file = file.as_mut().expect("just read");
        compared.n_lines += 1;
        if let Err(difference) = file.check(&line, &tasks, &mut compared) {
            let at = ["file", "task", "sample", "pass"].map(|key| line[key].to_string());
            compared.differences.push(format!("{}: {difference}", at.join(" ")));
        }
    }
    let shown: Vec<String> = compared.differences.iter().take(20).cloned().collect();
    assert!(
        compared.differences.is_empty(),
        "{} of {} lines differ:\n{}",
        compared.differences.len(),
        compared.n_lines,
        shown.join("\n")
    );
    assert!(compared.n_rows > 0, "no rows were compared");
}

#[derive(Default)]
struct Compared {
    n_lines: usize,
    n_rows: usize,
    differences: Vec<String>,
}

fn text_of(json: &Json) -> String {
    json.as_str().expect("a text").to_string()
}

/// A generated file and its merged programs: candidates first, then differs.
struct File {
    id: (String, bool),
    parsed: Parsed,
    library: Library,
    /// The first list of the last line that gives one; `=` in later lines refers to it.
    first_list: List,
}

impl File {
    fn read(folder: &Path, id: (String, bool)) -> File {
        let (name, has_variant) = (format!("{}.py", id.0), id.1);
        let text = std::fs::read_to_string(folder.join(&name)).expect("a generated file");
        // The variant defines the constants that the file does not import.
        let parsed =
            if has_variant { parse_in(&name, &text, Dialect::Batt) } else { parse(&name, &text) };
        let programs = parsed.programs.iter().chain(&parsed.differs);
        File { id, library: Library::new(programs), parsed, first_list: List::default() }
    }

    fn check(&mut self, line: &Json, tasks: &Tasks, compared: &mut Compared) -> Result<(), String> {
        let is_rejected = self.parsed.programs.is_empty() && !self.parsed.errors.is_empty();
        if line.get("load_error").is_some() || line["error"] == "NameError" {
            // What Python cannot load, or only raises a NameError in every call, is rejected with its place.
            return match is_rejected {
                true => Ok(()),
                false => Err("the file is accepted".into()),
            };
        }
        if let Some(error) = self.parsed.errors.first() {
            return Err(format!("rejected: {error}"));
        }
        let task = tasks.get(&text_of(&line["task"]));
        let sample = &task.train[line["sample"].as_u64().expect("a number") as usize];
        let mut evaluator = Evaluator::new(&self.library, Order::Cpython, Limits::default());
        evaluator.start_task(&task.train);
        let inputs = match line["pass"].as_str() {
            Some("differ") => Inputs::with_expected(sample),
            _ => Inputs::from(sample),
        };
        let mut results: Vec<Result<String, Fault>> = Vec::new();
        evaluator.run(inputs, |_, result| {
            results.push(result.map(encode).map_err(|fault| *fault));
        });
        if let Some(error) = line.get("error") {
            let error = error.as_str().expect("the name of an error");
            let is_it = |r: &Result<String, Fault>| matches!(r, Err(f) if f.name() == error);
            return match results.iter().find(|r| !is_it(r)) {
                None => Ok(()),
                Some(other) => Err(format!("wanted {error}, got {other:?}")),
            };
        }
        let (candidates, differs) = results.split_at(self.parsed.programs.len());
        let list = |rows: &Json| List {
            rows: rows.as_array().expect("rows").clone(),
            values: line["vals"].as_array().expect("values").clone(),
        };
        if line["o"] != "=" {
            self.first_list = list(&line["o"]);
        }
        let (mut o, mut s) = (&self.first_list, &list(&line["s"]));
        // Files written by hand return the lists in the other order.
        if o.rows.iter().any(|row| row[1].is_string()) {
            std::mem::swap(&mut o, &mut s);
        }
        o.check(&self.parsed.programs, candidates, compared)?;
        s.check(&self.parsed.differs, differs, compared)
    }
}

/// One of the lists that a file returns: rows that refer to values.
#[derive(Default)]
struct List {
    rows: Vec<Json>,
    values: Vec<Json>,
}

impl List {
    fn check(
        &self,
        programs: &[Program],
        results: &[Result<String, Fault>],
        compared: &mut Compared,
    ) -> Result<(), String> {
        if self.rows.len() != programs.len() {
            return Err(format!("{} rows, not {}", programs.len(), self.rows.len()));
        }
        for ((program, result), row) in programs.iter().zip(results).zip(&self.rows) {
            compared.n_rows += 1;
            let fields = row.as_array().expect("fields");
            let (value, own) = (&fields[fields.len() - 2], &fields[..fields.len() - 2]);
            check_fields(program, own)?;
            let Ok(value) = usize::try_from(value.as_i64().expect("the number of a value")) else {
                // The value depends on an address in Python.
                continue;
            };
            set_dialect(Dialect::Batt);
            let value = encode(&decode(Dialect::Batt, &self.values[value]));
            if *result != Ok(value.clone()) {
                let got = format!("{result:?}").replace('\\', "");
                let short = |text: &str| text.chars().take(200).collect::<String>();
                let (value, got) = (short(&value), short(&got));
                return Err(format!("row {row}: wanted {value}, got {got}"));
            }
        }
        Ok(())
    }
}

fn check_fields(program: &Program, wanted: &[Json]) -> Result<(), String> {
    let row = program.row.as_ref().expect("programs of these files are rows");
    let task = Json::from(row.task.clone().unwrap_or_else(|| "None".into()));
    let number = Json::from(row.number);
    let own = match &row.list {
        RowList::Candidates { .. } if wanted.len() == 2 => vec![number, task],
        RowList::Candidates { is_altered } => vec![number, Json::from(*is_altered), task],
        RowList::Differs { differ } => vec![number, task, Json::from(differ.clone())],
    };
    match own == wanted {
        true => Ok(()),
        false => Err(format!("wanted the row {wanted:?}, got {own:?}")),
    }
}
