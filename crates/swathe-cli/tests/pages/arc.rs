//! The section of a report about `arc`.

use std::collections::BTreeMap;
use std::path::Path;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, UInt64Type};
use serde_json::{Value, json};
use swathe_arc_program::arc_picture::COLORS;
use swathe_browser::Area;
use tempfile::TempDir;

use crate::program::{swathe, table};
use crate::run_page::RunPage;

const PROGRAMS: &str = "
def flip(I):
    O = hmirror(I)
    return O
def same(I):
    x1 = vmirror(I)
    O = vmirror(x1)
    return O
def turn(I):
    O = rot90(I)
    return O
def fails(I):
    x1 = leastcolor(I)
    O = hmirror(x1)
    return O
";

/// A name that is markup if it is not escaped.
const MARKUP: &str = "<script>alert(1)</script>";

/// Three tasks: one flipped and with a wrong test, one turned, and one that no program solves.
fn tasks() -> Value {
    let a = json!([[0, 1, 2], [3, 4, 5]]);
    let a_flipped = json!([[3, 4, 5], [0, 1, 2]]);
    let a_turned = json!([[3, 0], [4, 1], [5, 2]]);
    let b = json!([[6, 7], [8, 9], [9, 9]]);
    let b_flipped = json!([[9, 9], [8, 9], [6, 7]]);
    json!({
        "a flip": {
            "train": [{"input": a, "output": a_flipped}, {"input": b, "output": b_flipped}],
            "test": [{"input": b, "output": b}],
        },
        MARKUP: {
            "train": [{"input": a, "output": a_turned}],
            "test": [{"input": a, "output": a_turned}],
        },
        "nobody": {
            // Two of six cells equal the output of flip, and four that of same.
            "train": [{"input": a, "output": [[3, 1, 2], [3, 4, 2]]}],
            "test": [{"input": b}],
        },
    })
}

fn inputs() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("programs.py"), PROGRAMS).unwrap();
    std::fs::write(folder.path().join("tasks.json"), tasks().to_string()).unwrap();
    folder
}

fn open(flags: &str) -> Option<RunPage> {
    let folder = inputs();
    let line = format!("arc --programs programs.py --tasks tasks.json --out RUN {flags}");
    swathe(folder.path(), &line).expect(0);
    RunPage::open(folder, "RUN")
}

fn own_figure(run: &RunPage, name: &str) -> f64 {
    let value = run.value(&format!(
        "Number(document.querySelector('[data-own-figure=\"{name}\"]').dataset.value)"
    ));
    value.as_f64().unwrap()
}

/// A column of strings, in any storage type.
fn words(batch: &RecordBatch, name: &str) -> Vec<Option<String>> {
    let column = cast(batch.column_by_name(name).unwrap(), &DataType::Utf8).unwrap();
    let column = column.as_string::<i32>();
    column.iter().map(|word| word.map(str::to_owned)).collect()
}

/// For every task and program: demonstrations, correct ones, their scores; tests, those with known
/// answers, correct ones; outputs.
#[derive(Default)]
struct Tally {
    n_train: u64,
    n_train_right: u64,
    score_sum: f64,
    n_tests: u64,
    n_tests_known: u64,
    n_tests_right: u64,
    n_outputs: u64,
}

fn tallies(run: &Path) -> BTreeMap<(String, String), Tally> {
    let mut tallies: BTreeMap<(String, String), Tally> = BTreeMap::new();
    for batch in table(&run.join("results.parquet")) {
        let [program, task, split, outcome] =
            ["program", "task", "split", "outcome"].map(|name| words(&batch, name));
        let equal = batch.column_by_name("equal").unwrap().as_boolean();
        let score = batch.column_by_name("score").unwrap();
        let score = score.as_primitive::<Float64Type>();
        for at in 0..batch.num_rows() {
            let key = (task[at].clone().unwrap(), program[at].clone().unwrap());
            let tally = tallies.entry(key).or_default();
            let is_right = u64::from(equal.is_valid(at) && equal.value(at));
            tally.n_outputs += u64::from(outcome[at].as_deref() == Some("ok"));
            if split[at].as_deref() == Some("train") {
                tally.n_train += 1;
                tally.n_train_right += is_right;
                tally.score_sum += score.value(at);
            } else {
                tally.n_tests += 1;
                tally.n_tests_known += u64::from(equal.is_valid(at));
                tally.n_tests_right += is_right;
            }
        }
    }
    tallies
}

#[test]
fn the_matrix_has_the_numbers_of_the_tables() {
    let Some(run) = open("") else {
        return;
    };
    let tallies = tallies(&run.run);
    assert_eq!(tallies.len(), 12);
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for ((task, program), tally) in &tallies {
        let expected = if tally.n_train_right == tally.n_train {
            match (tally.n_tests_known, tally.n_tests_right) {
                (known, _) if known < tally.n_tests => {
                    "right on all demonstrations; the tests’ answers are not known".to_owned()
                }
                (known, right) if right < known => {
                    "right on all demonstrations, wrong on a test".to_owned()
                }
                _ => "solves it, the tests too".to_owned(),
            }
        } else if tally.n_outputs == 0 {
            "no output: every call ended in an error".to_owned()
        } else {
            let score = tally.score_sum / tally.n_train as f64;
            format!("mean score {score:.2}")
        };
        let what = run.value(&format!(
            "document.querySelector('.matrix').matrix.what({}, {})",
            json!(task),
            json!(program)
        ));
        assert_eq!(what, expected, "{task} {program}");
        *kinds.entry(expected).or_default() += 1;
    }
    assert!(kinds.contains_key("right on all demonstrations, wrong on a test"));
    assert!(kinds.contains_key("solves it, the tests too"));
    assert_eq!(kinds["no output: every call ended in an error"], 3);
    assert!(kinds.contains_key("mean score 0.67"), "{kinds:?}");

    let n_fit: usize = table(&run.run.join("tasks.parquet"))
        .iter()
        .map(|batch| {
            let solvers = batch.column_by_name("solved_by").unwrap().as_list::<i32>();
            (0..batch.num_rows()).filter(|&at| !solvers.value(at).is_empty()).count()
        })
        .sum();
    assert_eq!(n_fit, 2);
    assert_eq!(own_figure(&run, "arc.tasks_fit"), n_fit as f64);
    assert_eq!(own_figure(&run, "arc.tasks_solved"), 1.0);
    assert_eq!(run.text("h1"), "1 of 3 tasks solved, 2 fit their demonstrations");
    let n_calls: u64 = tallies.values().map(|tally| tally.n_train + tally.n_tests).sum();
    assert_eq!(own_figure(&run, "arc.calls"), n_calls as f64);
    let n_right: u64 =
        tallies.values().map(|tally| tally.n_train_right + tally.n_tests_right).sum();
    assert_eq!(own_figure(&run, "arc.calls_right"), n_right as f64);
    // The table behind the chart has the same numbers.
    run.click("#matrix summary");
    run.wait_for("document.querySelectorAll('#matrix tbody tr').length == 12");
    run.assert_sound();
}

#[test]
fn the_matrix_can_be_sorted_by_what_is_solved() {
    let Some(run) = open("") else {
        return;
    };
    let order =
        |which: &str| run.value(&format!("document.querySelector('.matrix').matrix.{which}"));
    assert_eq!(order("tasks"), json!([MARKUP, "a flip", "nobody"]));
    assert_eq!(order("programs"), json!(["flip", "same", "turn", "fails"]));
    let choose = |which: &str, way: &str| {
        run.value(&format!(
            "(() => {{ const select = document.querySelector('[data-order={which}]'); \
             select.value = '{way}'; select.dispatchEvent(new Event('change')); }})()"
        ));
    };
    choose("programs", "solved");
    // Flip and turn solve one task each; of the others, same has the better scores.
    assert_eq!(order("programs"), json!(["flip", "turn", "same", "fails"]));
    choose("tasks", "name");
    assert_eq!(order("tasks"), json!([MARKUP, "a flip", "nobody"]));
    choose("tasks", "solved");
    assert_eq!(order("tasks"), json!([MARKUP, "a flip", "nobody"]));
    // The marked cell moves with the order.
    run.focus(".matrix-stage");
    run.press("Home");
    run.press("ArrowRight");
    let told = run.text(".matrix .readout");
    assert_eq!(told, format!("{MARKUP} × turn: solves it, the tests too"));
    run.assert_sound();
}

#[test]
fn a_task_is_looked_at_by_click_and_by_keyboard() {
    let Some(run) = open("") else {
        return;
    };
    let title = || run.text(".task-title");
    // Chosen from the table.
    run.click("#tasks tbody tr:nth-child(2)");
    assert_eq!(title(), "a flip, flip");
    // Chosen in the matrix by keyboard: the third task, and the second program.
    run.focus(".matrix-stage");
    for key in ["Home", "ArrowDown", "ArrowDown", "ArrowRight", "Enter"] {
        run.press(key);
    }
    assert_eq!(title(), "nobody, same");
    assert_eq!(run.value("document.activeElement.className"), "task-title");
    // Chosen by mouse: the middle of the canvas.
    run.click(".matrix-stage");
    assert!(title().starts_with("a flip, "), "{}", title());
    // Chosen from a row of the table by keyboard.
    run.focus("#tasks tbody tr:nth-child(1)");
    run.press("ArrowDown");
    run.press("ArrowDown");
    run.press("Enter");
    assert!(title().starts_with("nobody, "), "{}", title());
    // Choose another program of the same task.
    run.click("#task [data-program=turn]");
    assert_eq!(title(), "nobody, turn");
    run.click("[aria-label='Task before']");
    assert_eq!(title(), "a flip, flip");
    run.assert_sound();
}

/// The pixels in the middle of the cells of a drawing, as the browser painted them.
fn painted(run: &RunPage, selector: &str, n_rows: usize, n_cols: usize) -> Vec<Vec<(u8, u8, u8)>> {
    let picture = run.page.screenshot(Area::Element(selector)).unwrap();
    let mut reader = png::Decoder::new(std::io::Cursor::new(picture)).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    let n_channels = info.line_size / info.width as usize;
    let pixel = |i: usize, j: usize| {
        // A little above the middle, because a wrong cell has its sign in the middle.
        let y = ((i as f64 + 0.25) / n_rows as f64 * f64::from(info.height)) as usize;
        let x = ((j as f64 + 0.5) / n_cols as f64 * f64::from(info.width)) as usize;
        let at = y * info.line_size + x * n_channels;
        (bytes[at], bytes[at + 1], bytes[at + 2])
    };
    (0..n_rows).map(|i| (0..n_cols).map(|j| pixel(i, j)).collect()).collect()
}

fn colors(rows: &Value) -> Vec<Vec<(u8, u8, u8)>> {
    let row = |row: &Value| {
        let cells = row.as_array().unwrap().iter();
        cells.map(|cell| COLORS[cell.as_u64().unwrap() as usize]).collect()
    };
    rows.as_array().unwrap().iter().map(row).collect()
}

#[test]
fn grids_have_their_colours() {
    let Some(run) = open("") else {
        return;
    };
    run.click("#tasks tbody tr:nth-child(2)");
    let task = &tasks()["a flip"];
    for (sample, at) in [("train 0", 0), ("train 1", 1)] {
        let panel = |name: &str| format!("[data-sample='{sample}'] [data-panel={name}] svg");
        let input = &task["train"][at]["input"];
        let (n_rows, n_cols) =
            (input.as_array().unwrap().len(), input[0].as_array().unwrap().len());
        for (name, grid) in [
            ("input", input),
            ("expected", &task["train"][at]["output"]),
            ("output", &task["train"][at]["output"]),
        ] {
            let found = painted(&run, &panel(name), n_rows, n_cols);
            assert_eq!(found, colors(grid), "{sample} {name}");
        }
    }
    run.assert_sound();
}

#[test]
fn differences_are_framed_and_counted() {
    let Some(run) = open("") else {
        return;
    };
    run.click("#tasks tbody tr:nth-child(3)");
    assert_eq!(run.text(".task-title"), "nobody, same");
    let sample = "[data-sample='train 0']";
    // The input is [[0, 1, 2], [3, 4, 5]] and [[3, 1, 2], [3, 4, 2]] is expected.
    let difference = run.text(&format!("{sample} [data-panel=difference]"));
    assert!(difference.contains("2 cells wrong, framed"), "{difference}");
    let verdict = run.text(&format!("{sample} .verdict"));
    assert_eq!(verdict, " ✗ wrong: 2 cells, 66.7 % of cells right");
    // Both frames and both signs: on the first cell of the first row and the last of the second.
    let marks = run.value(&format!(
        "[...document.querySelectorAll(\"{sample} [data-panel=difference] .mark-over\")].map(path => path.getAttribute('d'))"
    ));
    let marks = marks.as_array().unwrap();
    assert_eq!(marks.len(), 2);
    let starts: Vec<&str> = marks[0].as_str().unwrap().split('M').skip(1).collect();
    assert_eq!(starts.len(), 2, "{marks:?}");
    assert!(starts[0].starts_with("0.1 0.1") && starts[1].starts_with("2.1 1.1"), "{starts:?}");
    // A test without a known answer has no difference.
    let test = run.text("[data-sample='test 0'] [data-panel=expected]");
    assert!(test.contains("not known"), "{test}");
    // An output of another shape has no cells to compare, and an error has no output.
    run.click("#task [data-program=turn]");
    let difference = run.text(&format!("{sample} [data-panel=difference]"));
    assert!(difference.contains("the shape: 3 × 2, not 2 × 3"), "{difference}");
    // A correct answer is labelled as such.
    run.click("#tasks tbody tr:nth-child(1)");
    let verdict = run.text(&format!("{sample} .verdict"));
    assert_eq!(verdict, " ✓ right");
    run.assert_sound();
}

#[test]
fn names_stay_text() {
    let Some(run) = open("") else {
        return;
    };
    run.click("#tasks tbody tr:nth-child(1)");
    assert_eq!(run.text(".task-title"), format!("{MARKUP}, turn"));
    assert_eq!(run.text("#tasks tbody tr:nth-child(1) th"), MARKUP);
    assert_eq!(run.value("document.querySelectorAll('main script').length"), 0);
    // A dialog would count as a trouble.
    run.assert_sound();
}

#[test]
fn a_profile_stands_in_the_report_and_on_the_page() {
    let Some(run) = open("--profile") else {
        return;
    };
    let mut calls: BTreeMap<String, u64> = BTreeMap::new();
    for batch in table(&run.run.join("profile.parquet")) {
        let (kind, name) = (words(&batch, "kind"), words(&batch, "name"));
        let n_calls = batch.column_by_name("calls").unwrap();
        let n_calls = n_calls.as_primitive::<UInt64Type>();
        for at in 0..batch.num_rows() {
            if kind[at].as_deref() == Some("primitive") {
                calls.insert(name[at].clone().unwrap(), n_calls.value(at));
            }
        }
    }
    assert_eq!(calls.keys().collect::<Vec<_>>(), ["hmirror", "leastcolor", "rot90", "vmirror"]);
    let mut reported: BTreeMap<String, u64> = BTreeMap::new();
    for bucket in run.report["report"]["buckets"].as_array().unwrap() {
        for operation in bucket["operations"].as_array().unwrap() {
            let name = operation["name"].as_str().unwrap().to_owned();
            *reported.entry(name).or_default() += operation["n_calls"].as_u64().unwrap();
        }
    }
    assert_eq!(reported, calls);
    run.click("#profile summary");
    run.wait_for("document.querySelectorAll('#profile figure:first-of-type tbody tr').length == 4");
    let shown = run.value(
        "[...document.querySelectorAll('#profile figure:first-of-type tbody tr')].map(row => \
         [row.cells[0].textContent, Number(row.cells[1].textContent)])",
    );
    let shown: BTreeMap<String, u64> = shown
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row[0].as_str().unwrap().to_owned(), row[1].as_u64().unwrap()))
        .collect();
    assert_eq!(shown, calls);
    run.assert_sound();
}

#[test]
fn without_a_profile_nothing_is_said_of_it() {
    let Some(run) = open("") else {
        return;
    };
    assert_eq!(run.value("document.querySelectorAll('#profile').length"), 0);
    let buckets = run.report["report"]["buckets"].as_array().unwrap();
    assert!(buckets.iter().all(|bucket| bucket["operations"] == json!([])));
    run.assert_sound();
}

#[test]
fn programs_of_their_own_tasks_have_no_matrix() {
    let folder = tempfile::tempdir().unwrap();
    let programs =
        "def solve_a(I):\n    return hmirror(I)\ndef solve_b(I):\n    return vmirror(I)\n";
    let task = json!({"train": [{"input": [[1], [2]], "output": [[2], [1]]}], "test": []});
    let tasks = json!({"a": task, "b": task});
    std::fs::write(folder.path().join("programs.py"), programs).unwrap();
    std::fs::write(folder.path().join("tasks.json"), tasks.to_string()).unwrap();
    let line = "arc --programs programs.py --tasks tasks.json --pairing own --out RUN";
    swathe(folder.path(), line).expect(0);
    let Some(run) = RunPage::open(folder, "RUN") else {
        return;
    };
    assert_eq!(run.value("document.querySelectorAll('.matrix').length"), 0);
    assert_eq!(own_figure(&run, "arc.tasks_fit"), 1.0);
    // There are no tests.
    assert_eq!(run.text("h1"), "1 of 2 tasks fits its demonstrations");
    assert!(run.text("#arc").contains("of its own name"));
    run.click("#tasks tbody tr:nth-child(2)");
    assert_eq!(run.text(".task-title"), "b, solve_b");
    run.assert_sound();
}

#[test]
fn of_many_programs_the_best_are_shown() {
    let folder = inputs();
    let mut programs = String::new();
    for k in 0..700 {
        programs.push_str(&format!("def p{k}(I):\n    return replace(I, ZERO, {})\n", k % 10));
    }
    programs.push_str(PROGRAMS);
    std::fs::write(folder.path().join("programs.py"), programs).unwrap();
    swathe(folder.path(), "arc --programs programs.py --tasks tasks.json --out RUN").expect(0);
    let Some(run) = RunPage::open(folder, "RUN") else {
        return;
    };
    assert_eq!(run.value("document.querySelector('.matrix').matrix.programs.length"), 600);
    let note = run.text(".matrix .note");
    assert!(note.contains("600 of 704 programs"), "{note}");
    let what = run.value(&format!(
        "document.querySelector('.matrix').matrix.what({}, 'turn')",
        json!(MARKUP)
    ));
    assert_eq!(what, "solves it, the tests too");
    run.assert_sound();
}
