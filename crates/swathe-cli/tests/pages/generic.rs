//! The sections that every report has, whatever the workload.

use serde_json::Value;
use swathe::array::{Array, Dtype};
use swathe_formats::list_column::ListColumnWriter;
use tempfile::TempDir;

use crate::program::{Random, save, swathe, swathe_with};
use crate::run_page::RunPage;

/// Products of matrices of several shapes; `n_misfits` of them have operands that do not fit.
fn products(n_items: usize, n_misfits: usize, faults: &str) -> Option<RunPage> {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random(5);
    let mut left = Vec::new();
    let mut right = Vec::new();
    for k in 0..n_items {
        let name = match k {
            0 => "<script>alert(1)</script>".to_owned(),
            _ => format!("item {k}"),
        };
        let (n, m) = (4 + k % 13, 4 + k % 7);
        let misfit = usize::from(k < n_misfits);
        left.push((name.clone(), random.floats(&[n, m])));
        right.push((name, random.floats(&[m + misfit, n])));
    }
    save(folder.path(), LEFT_NAME, &left);
    save(folder.path(), "right.npz", &right);
    let line =
        format!("array matmul {LEFT_NAME} --with right.npz --verify 5 --device cpu --out RUN");
    swathe_with(folder.path(), "SWATHE_FAULTS", faults, &line).expect(i32::from(n_misfits > 0));
    RunPage::open(folder, "RUN")
}

/// A name that is markup if it is not escaped, in text and in both kinds of quotes.
const LEFT_NAME: &str = "\"left'<b>&amp;.npz";

#[test]
fn figures_are_those_of_the_report() {
    let Some(run) = products(60, 3, "") else {
        return;
    };
    let file = run.report.clone();
    let report = &file["report"];
    let shown = run.value(
        "[...document.querySelectorAll('[data-figure]')]\
         .map(element => [element.dataset.figure, Number(element.dataset.value), element.textContent])",
    );
    let shown = shown.as_array().unwrap();
    let number = |value: &Value| value.as_f64();
    let mut names = Vec::new();
    for figure in shown {
        let name = figure[0].as_str().unwrap();
        let path = format!("/{}", name.replace('.', "/"));
        let counts = |key: &str| report["counts"][key].as_f64().unwrap();
        let expected = match name {
            "n_unsolved" => {
                let kinds = ["n_failed", "n_too_large", "n_timed_out", "n_panicked"];
                Some(kinds.map(counts).iter().sum())
            }
            "solved_per_s" => {
                Some(counts("n_solved") / (report["wall_ms"].as_f64().unwrap() / 1e3))
            }
            "verification.n_mismatches" => {
                let mismatches = report["verification"]["mismatches"].as_array();
                Some(mismatches.unwrap().len() as f64)
            }
            "run.n_problems" => Some(60.0),
            "n_before" => number(&file["n_before"]),
            _ if name.starts_with("figures.") => {
                number(&file["figures"][&name["figures.".len()..]])
            }
            _ => report.pointer(&path).and_then(number),
        };
        let expected = expected.unwrap_or_else(|| panic!("{name} is not in report.json"));
        let found = figure[1].as_f64().unwrap();
        assert!(
            (found - expected).abs() <= 1e-12 * expected.abs(),
            "{name}: {found} is shown, {expected} is reported"
        );
        names.push(name);
    }
    for name in [
        "counts.n_solved",
        "counts.n_problems",
        "n_unsolved",
        "wall_ms",
        "solved_per_s",
        "n_setbacks",
        "n_launches",
        "memory.resident_peak_bytes",
        "memory.peak_bytes",
        "memory.budget_bytes",
        "verification.n_checked",
    ] {
        assert!(names.contains(&name), "{name} is not shown");
    }
    assert_eq!(run.figure("counts.n_solved") + run.figure("n_unsolved"), 60.0);
    // The headline is rendered without a script, by the same rules of rounding.
    assert_eq!(run.text("h1"), "57 of 60 problems solved, 3 not");
    let lead = run.text(".lead");
    let time = run.value(&format!("swathe.format.ms({})", report["wall_ms"]));
    let rate = run.value("swathe.format.rate(swathe.data.report.solved_per_s)");
    for part in [time.as_str(), rate.as_str().unwrap().strip_suffix("/s")] {
        assert!(lead.contains(part.unwrap()), "{part:?} is not in {lead}");
    }
    // The values in the table behind the bars add up.
    for worker in report["workers"].as_array().unwrap() {
        let ms = |name: &str| worker[name].as_f64().unwrap();
        let phases = ["idle_ms", "memory_ms", "load_ms", "turn_ms", "solve_ms", "deliver_ms"];
        let together: f64 = phases.map(ms).iter().sum();
        assert!((together - ms("wall_ms")).abs() < 1e-6 * ms("wall_ms").max(1.0));
    }
    assert_eq!(run.text("#reproduce pre:nth-of-type(1)"), file["command"].as_str().unwrap());
    run.assert_sound();
}

#[test]
fn what_comes_from_inputs_stays_text() {
    let Some(run) = products(40, 2, "") else {
        return;
    };
    let body = run.text("#failures tbody");
    assert!(body.contains("<script>alert(1)</script>"), "{body}");
    let inputs = run.text("#settings");
    assert!(inputs.contains(LEFT_NAME), "{inputs}");
    assert_eq!(run.value("document.querySelectorAll('main script, main b').length"), 0);
    // A dialog would count as a trouble.
    run.assert_sound();
}

#[test]
fn failures_are_sorted_filtered_and_paged() {
    let Some(run) = products(60, 40, "") else {
        return;
    };
    let first = "#failures tbody tr:first-child";
    let n_rows = "document.querySelectorAll('#failures tbody tr').length";
    assert_eq!(run.value(n_rows), 15);
    assert!(run.text("#failures .table-count").contains("1–15 of 40"));
    run.click("#failures [aria-label='Last page']");
    assert_eq!(run.value(n_rows), 10);
    assert!(run.text(first).starts_with("30"), "{}", run.text(first));
    // The heading of the first column, clicked twice: first the reverse order, then the first one
    // again.
    run.click("#failures thead button");
    assert_eq!(run.value("document.querySelector('#failures th').ariaSort"), "descending");
    assert!(run.text(first).starts_with("39"), "{}", run.text(first));
    run.click("#failures thead button");
    assert!(run.text(first).contains("alert(1)"), "{}", run.text(first));
    run.click("#failures input");
    for key in ["a", "L", "e", "r", "t", "Space", "0"] {
        run.press(key);
    }
    run.wait_for(&format!("{n_rows} == 1"));
    assert!(run.text("#failures .table-count").contains("1 of 40 rows"));
    for key in ["x", "y"] {
        run.press(key);
    }
    run.wait_for(
        "document.querySelector('#failures tbody').textContent.includes('No row matches')",
    );
    run.assert_sound();
}

#[test]
fn tables_are_used_by_keyboard() {
    let Some(run) = products(60, 40, "") else {
        return;
    };
    let first = || run.text("#failures tbody tr:first-child th");
    run.focus("#failures table");
    run.press("PageDown");
    assert_eq!(first(), "15");
    run.press("End");
    assert_eq!(first(), "30");
    run.press("PageUp");
    assert_eq!(first(), "15");
    run.press("Home");
    assert_eq!(first(), "0");
    // Headings are buttons: Tab reaches the next one, and Enter presses it.
    run.press("Tab");
    assert_eq!(run.value("document.activeElement.textContent"), "row");
    run.press("Enter");
    assert_eq!(first(), "39");
    run.press("Tab");
    run.press("Tab");
    assert_eq!(run.value("document.activeElement.textContent"), "kind");
    run.assert_sound();
}

#[test]
fn setbacks_are_told_in_words() {
    let Some(run) = products(60, 0, "oom%20:seed=7:load,lost@1") else {
        return;
    };
    let n_setbacks = run.report["report"]["n_setbacks"].as_f64().unwrap();
    assert!(n_setbacks > 0.0);
    assert_eq!(run.figure("n_setbacks"), n_setbacks);
    let section = run.text("#setbacks");
    for words in ["the worker was lost", "a new worker took over"] {
        assert!(section.contains(words), "{words} is not in {section}");
    }
    assert!(run.text(".lead").contains("all mended"));
    assert_eq!(run.value("document.querySelectorAll('#timeline .setbacks').length"), 1);
    run.assert_sound();
}

#[test]
fn a_run_without_trouble_says_so() {
    let Some(run) = products(20, 0, "") else {
        return;
    };
    assert_eq!(run.text("h1"), "All 20 problems are solved");
    // Sections without content are absent.
    for section in ["setbacks", "failures", "routes"] {
        let found = run.value(&format!("document.querySelector('#{section}')"));
        assert_eq!(found, Value::Null, "{section}");
    }
    assert_eq!(run.value("document.querySelector('#run').wasFolded"), true);
    assert!(run.text("#verification").contains("All answers agree"));
    run.assert_sound();
}

#[test]
fn the_timeline_is_zoomed_and_moved_by_keyboard_and_mouse() {
    let Some(run) = products(60, 0, "") else {
        return;
    };
    let span = || {
        let data = "document.querySelector('.timeline > svg').dataset";
        let [from, to] = ["from", "to"].map(|end| run.value(&format!("Number({data}.{end})")));
        (from.as_f64().unwrap(), to.as_f64().unwrap())
    };
    let zoomed = |n: f64, whole: f64| {
        let data = "document.querySelector('.timeline > svg').dataset";
        run.wait_for(&format!("Math.abs(({data}.to - {data}.from) / {whole} - {n}) < 1e-6"));
    };
    let (from, whole) = span();
    assert_eq!(from, 0.0);
    run.focus(".timeline > svg");
    run.press("+");
    zoomed(0.5, whole);
    run.press("+");
    zoomed(0.25, whole);
    let (before, _) = span();
    run.press("ArrowRight");
    run.wait_for(&format!(
        "Number(document.querySelector('.timeline > svg').dataset.from) > {before}"
    ));
    run.press("-");
    zoomed(0.5, whole);
    run.press("0");
    zoomed(1.0, whole);
    run.click(".timeline [aria-label='Zoom in']");
    zoomed(0.5, whole);
    run.click(".timeline [aria-label='Show the whole run']");
    zoomed(1.0, whole);
    // The line below describes the launch that has the keyboard focus.
    run.focus(".timeline > svg");
    let mut told = String::new();
    // A worker may have started too late for any launch.
    for key in ["n", "ArrowDown", "ArrowDown", "ArrowDown"] {
        run.press(key);
        told = run.text(".timeline .readout");
        if !told.contains("had no launches") {
            break;
        }
    }
    assert!(told.starts_with("cpu ") && told.contains("solving"), "{told}");
    run.click(".timeline summary");
    run.wait_for("document.querySelector('.timeline tbody tr')");
    run.assert_sound();
}

#[test]
fn light_and_dark_follow_the_reader() {
    let Some(run) = products(20, 0, "") else {
        return;
    };
    let paper = || run.value("getComputedStyle(document.body).backgroundColor");
    let light = paper();
    run.page.set_dark(true).unwrap();
    let dark = paper();
    assert_ne!(light, dark);
    // The button changes with the next frame.
    run.wait_for("document.querySelector('#theme').textContent === 'Light'");
    run.click("#theme");
    assert_eq!(paper(), light);
    run.page.set_dark(false).unwrap();
    run.click("#theme");
    assert_eq!(paper(), dark);
    // Paper is white, whichever theme was chosen.
    run.page.set_print(true).unwrap();
    assert_eq!(paper(), light);
    let hidden = run.value(
        "[...document.querySelectorAll('button, input, nav')].filter(element => \
         element.offsetParent && !element.closest('thead')).map(element => element.outerHTML)",
    );
    assert_eq!(hidden, serde_json::json!([]));
    run.page.set_print(false).unwrap();
    run.assert_sound();
}

#[test]
fn charts_have_names_and_tables_behind_them() {
    let Some(run) = products(60, 0, "") else {
        return;
    };
    let unnamed = run.value(
        "[...document.querySelectorAll('figure.chart > svg')].filter(svg => \
         !svg.querySelector('title').textContent || !svg.querySelector('desc') || !svg.getAttribute('role') \
         || !svg.closest('figure').querySelector('details')).length",
    );
    assert_eq!(unnamed, 0);
    run.click("#workers summary");
    run.wait_for("document.querySelectorAll('#workers tbody tr').length == swathe.data.report.workers.length");
    run.assert_sound();
}

#[test]
fn a_run_of_100_000_problems_has_a_small_page() {
    let folder = many_tiny_items(100_000);
    swathe(folder.path(), "array map sqrt in.parquet --column values --out RUN").expect(0);
    let n_bytes = std::fs::metadata(folder.path().join("RUN/report.html")).unwrap().len();
    assert!(n_bytes < 10_000_000, "{n_bytes}");
    let Some(run) = RunPage::open(folder, "RUN") else {
        return;
    };
    let load_ms = run.page.load_ms().unwrap();
    println!("{n_bytes} bytes, opened in {load_ms} ms");
    // Far more than needed, because other tests may use the processor.
    assert!(load_ms < 20_000.0, "{load_ms}");
    assert_eq!(run.figure("counts.n_solved"), 100_000.0);
    run.assert_sound();
}

/// A list column of `n_items` items of one to eight elements.
fn many_tiny_items(n_items: usize) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in.parquet");
    let mut writer = ListColumnWriter::create(&path, "values", Dtype::F32).unwrap();
    for k in 0..n_items {
        let values = vec![k as f32; 1 + k % 8];
        let array = Array::new(vec![values.len()], values).unwrap();
        writer.push(k as u64, &format!("item {k}"), Some(&array)).unwrap();
    }
    writer.finish().unwrap().commit().unwrap();
    folder
}
