//! The section of a report about `ot`: pairs, the details of one of them, series.

use std::fs;
use std::path::Path;

use arrow::array::{Array as _, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type};
use serde_json::Value;
use swathe::array::Array;
use swathe_formats::npy;
use tempfile::TempDir;

use crate::program::{command, result_hash, swathe, table};
use crate::run_page::RunPage;

/// A name that is markup if it is not escaped, and that needs quoting in a shell.
const MARKUP: &str = "<script>alert('1')</script>";
const MISSING: &str = "gone -> \"nowhere\" & back";

/// Three series of three pairs each. The first pair's id is markup, and one more pair has no
/// frames.
fn small_run(flags: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    swathe(folder.path(), "ot synth --out data --series 3 --frames 4 --shape 40x72").expect(0);
    let path = folder.path().join("data/pairs.csv");
    let text = fs::read_to_string(&path).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let (_, rest) = lines[1].split_once(',').unwrap();
    lines[1] = format!("\"{MARKUP}\",{rest}");
    let missing = MISSING.replace('"', "\"\"");
    lines.push(format!("\"{missing}\",series_09,0,no.png,none.png,"));
    fs::write(&path, lines.join("\n") + "\n").unwrap();
    swathe(folder.path(), &format!("ot data/pairs.csv --out RUN {flags}")).expect(1);
    folder
}

/// A column of the table as numbers.
fn numbers(batches: &[RecordBatch], name: &str) -> Vec<Option<f64>> {
    let columns = batches.iter().map(|batch| {
        let column = batch.column_by_name(name).unwrap();
        cast(column, &DataType::Float64).unwrap()
    });
    columns
        .flat_map(|column| column.as_primitive::<Float64Type>().iter().collect::<Vec<_>>())
        .collect()
}

fn texts(batches: &[RecordBatch], name: &str) -> Vec<String> {
    let columns = batches.iter().map(|batch| batch.column_by_name(name).unwrap());
    columns
        .flat_map(|column| {
            let texts = column.as_string::<i32>();
            (0..texts.len()).map(|at| texts.value(at).to_owned()).collect::<Vec<_>>()
        })
        .collect()
}

/// The texts of a column of the table of pairs on the page, from the top.
fn shown(run: &RunPage, column: &str) -> Vec<String> {
    let script = format!(
        "(() => {{
            const table = document.querySelector('#pairs table');
            const heads = [...table.tHead.rows[0].cells].map(cell => cell.textContent);
            const at = heads.indexOf({});
            return [...table.tBodies[0].rows].map(row => row.cells[at].textContent);
        }})()",
        Value::from(column)
    );
    let texts = run.value(&script);
    let texts = texts.as_array().unwrap_or_else(|| panic!("{column}: {texts}"));
    texts.iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

/// The selector of the button that sorts by a column.
fn head(run: &RunPage, column: &str) -> String {
    let heads = "[...document.querySelectorAll('#pairs thead th')].map(cell => cell.textContent)";
    let heads = run.value(heads);
    let mut heads = heads.as_array().unwrap().iter();
    let at = heads.position(|head| head == column).unwrap();
    format!("#pairs thead th:nth-child({}) button", at + 1)
}

const CHOSEN: &str = "document.querySelector('#pair h3').textContent";

#[test]
fn pairs_are_sorted_by_their_numbers() {
    let Some(run) = RunPage::open(small_run(""), "RUN") else {
        return;
    };
    let batches = table(&run.run.join("pairs.parquet"));
    let ids = texts(&batches, "pair_id");
    let mut by_cost: Vec<(f64, String)> =
        numbers(&batches, "cost").into_iter().map(Option::unwrap).zip(ids).collect();
    by_cost.sort_by(|a, b| b.0.total_cmp(&a.0));
    // Costs with positive and negative exponents: as text they would sort in another order.
    let button = head(&run, "cost");
    run.click(&button);
    run.wait_for("document.querySelector('#pairs th[aria-sort=descending]')");
    let expected: Vec<&String> = by_cost.iter().map(|(_, id)| id).collect();
    let names = shown(&run, "pair");
    assert_eq!(names.len(), 10);
    // The cell has a thumbnail or a dash before the name.
    let named: Vec<&str> = names.iter().map(|name| name.trim_start_matches('–')).collect();
    assert_eq!(named[..9], expected[..]);
    assert_eq!(named[9], MISSING, "what has no cost comes last");
    run.click(&button);
    run.wait_for("document.querySelector('#pairs th[aria-sort=ascending]')");
    let names = shown(&run, "pair");
    assert_eq!(&names[0], expected[8]);
    assert_eq!(names[9].trim_start_matches('–'), MISSING);
    run.assert_sound();
}

#[test]
fn the_report_begins_with_what_moved() {
    let Some(run) = RunPage::open(small_run(""), "RUN") else {
        return;
    };
    let batches = table(&run.run.join("pairs.parquet"));
    let median = |name: &str| {
        let mut values: Vec<f64> = numbers(&batches, name).into_iter().flatten().collect();
        values.sort_unstable_by(f64::total_cmp);
        values[((values.len() - 1) as f64 / 2.0).round() as usize]
    };
    for (figure, column) in [
        ("motion.displacement", "displacement_p50_um"),
        ("motion.err", "displacement_err_um"),
        ("motion.mass_change", "mass_change"),
        ("motion.created", "mass_created"),
        ("motion.destroyed", "mass_destroyed"),
    ] {
        let (found, expected) = (run.figure(figure), median(column));
        let off = (found - expected).abs();
        assert!(off <= 1e-4 * expected.abs(), "{figure}: {found}, {expected}");
    }
    let statuses = texts(&batches, "status");
    let n_converged = statuses.iter().filter(|status| *status == "converged");
    assert_eq!(run.figure("motion.n_converged"), n_converged.count() as f64);
    let (err, way) =
        (numbers(&batches, "displacement_err_px"), numbers(&batches, "displacement_p50_px"));
    let n_sure = err.iter().zip(&way).filter(|(err, way)| {
        let (err, way) = (err.unwrap_or(f64::NAN), way.unwrap_or(f64::NAN));
        err <= 0.1 * way
    });
    assert_eq!(run.figure("motion.n_sure"), n_sure.count() as f64);
    // It is on the first screen, before the pairs and the figures of the engine.
    let order = run.value(
        "[...document.querySelectorAll('main section, main details')].map(part => part.id).slice(0, 2)",
    );
    assert_eq!(order, serde_json::json!(["motion", "pairs"]));
    let top =
        run.value("document.querySelector('#motion').getBoundingClientRect().top < innerHeight");
    assert_eq!(top, true);
    // What appeared is red and what vanished blue, as on the pictures.
    let strongest = "(name) => { const canvas = document.querySelector(`#pair canvas[aria-label='${name}']`);
        const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
        let best = [0, 0];
        for (let at = 0; at < data.length; at += 4)
          best = [Math.max(best[0], data[at] - data[at + 2]), Math.max(best[1], data[at + 2] - data[at])];
        return best; }";
    let colours = |name: &str| run.value(&format!("({strongest})('{name}')"));
    let (created, destroyed) = (colours("Map of created mass"), colours("Map of destroyed mass"));
    assert!(created[0].as_f64() > created[1].as_f64(), "{created}");
    assert!(destroyed[1].as_f64() > destroyed[0].as_f64(), "{destroyed}");
    run.assert_sound();
}

#[test]
fn the_view_of_a_pair_has_the_values_of_the_table() {
    let Some(run) = RunPage::open(small_run(""), "RUN") else {
        return;
    };
    let batches = table(&run.run.join("pairs.parquet"));
    let ids = texts(&batches, "pair_id");
    let timing = numbers(&table(&run.run.join("timing.parquet")), "milliseconds");
    for (at, id) in ids.iter().enumerate() {
        run.value(&format!(
            "location.hash = 'pair=' + encodeURIComponent({})",
            Value::from(id.as_str())
        ));
        run.wait_for(&format!("{CHOSEN} === {}", Value::from(id.as_str())));
        for name in [
            "iterations",
            "residual",
            "cost",
            "cost_px2",
            "mass_src",
            "mass_tgt",
            "mass_transported",
            "mass_created",
            "mass_destroyed",
            "displacement_mean_px",
            "displacement_p95_px",
            "displacement_max_px",
            "displacement_mean_um",
            "displacement_p95_um",
            "displacement_max_um",
        ] {
            let expected = numbers(&batches, name)[at].unwrap();
            let found = run.figure(&format!("pair.{name}"));
            assert!(
                (found - expected).abs() <= 5.1e-5 * expected.abs(),
                "{id} {name}: {found} is shown, {expected} is in the table"
            );
        }
        let (found, expected) = (run.figure("pair.milliseconds"), timing[at].unwrap());
        assert!((found - expected).abs() <= 5.1e-5 * expected);
        // Columns of the input are shown too.
        let facts = run.text("#pair dl");
        assert!(facts.contains(&texts(&batches, "series")[at]), "{facts}");
        // Every map has been drawn: at least one cell has a colour.
        let drawn = run.value(
            "[...document.querySelectorAll('#pair canvas.ot-cells')].map(canvas => \
             canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data\
             .some(byte => byte > 0))",
        );
        assert_eq!(drawn, serde_json::json!([true, true, true, true, true, true, true]), "{id}");
        let arrows = run.value("document.querySelector('#pair .ot-arrows path').getAttribute('d')");
        assert!(arrows.as_str().unwrap().matches('M').count() > 20);
    }
    // The curve ends at the residual, below the marked tolerance.
    let last = run.value(
        "(() => { const row = swathe.data.workload_page.views[8].residuals;
           return [row.sweep.length, row.residual.at(-1), row.n_sweeps - row.n_coarse]; })()",
    );
    let residual = numbers(&batches, "residual")[8].unwrap();
    assert!((last[1].as_f64().unwrap() - residual).abs() < 1e-4 * residual);
    assert_eq!(last[2].as_f64(), numbers(&batches, "iterations")[8]);
    assert!(last[0].as_u64().unwrap() > 5);
    let charts = run.value(
        "[...document.querySelectorAll('#pair figure.chart')].map(chart => chart.textContent)",
    );
    assert!(charts[0].as_str().unwrap().contains("Displacements"));
    let curve = charts[1].as_str().unwrap();
    assert!(curve.contains("Convergence") && curve.contains("tolerance"), "{curve}");
    run.assert_sound();
}

#[test]
fn pairs_are_opened_by_keyboard_and_stand_in_the_address() {
    let Some(run) = RunPage::open(small_run(""), "RUN") else {
        return;
    };
    let names: Vec<String> = shown(&run, "pair");
    // A pair is shown before the user chooses one, and the address is unchanged.
    assert_eq!(run.value(CHOSEN), names[0].as_str());
    assert_eq!(run.value("location.hash"), "");
    run.focus("#pairs tbody tr");
    run.press("ArrowDown");
    run.press("ArrowDown");
    run.press("Enter");
    run.wait_for(&format!("{CHOSEN} === {}", Value::from(names[2].as_str())));
    let address = format!("#pair={}", names[2]);
    assert_eq!(run.value("location.hash"), address.as_str());
    // The next ones, in the order of the table.
    run.focus("#pair");
    run.press("ArrowRight");
    run.wait_for(&format!("{CHOSEN} === {}", Value::from(names[3].as_str())));
    run.press("ArrowLeft");
    run.press("ArrowLeft");
    run.wait_for(&format!("{CHOSEN} === {}", Value::from(names[1].as_str())));
    run.click("#pair [data-key=next]");
    run.wait_for(&format!("{CHOSEN} === {}", Value::from(names[2].as_str())));
    // The address restores the pair, also after sorting the table.
    run.reload();
    assert_eq!(run.value(CHOSEN), names[2].as_str());
    assert_eq!(run.value("document.querySelector('#pairs tr[aria-selected=true]').rowIndex"), 3);
    assert_eq!(run.page.troubles(), [""; 0]);
}

#[test]
fn names_and_messages_stay_text() {
    let Some(run) = RunPage::open(small_run(""), "RUN") else {
        return;
    };
    assert_eq!(shown(&run, "pair")[0], MARKUP);
    assert_eq!(run.text("#pair h3"), MARKUP);
    let scripts = "document.querySelectorAll('#main script').length";
    assert_eq!(run.value(scripts), 0);
    // A failed pair shows the reason, in the table and in its details.
    let status = &shown(&run, "status")[9];
    assert!(status.starts_with("failed: ") && status.contains("no.png"), "{status}");
    run.click("#pairs tbody tr:nth-child(10) td");
    run.wait_for(&format!("{CHOSEN} === {}", Value::from(MISSING)));
    assert!(run.text("#pair").contains("no.png"));
    assert_eq!(run.value("document.querySelectorAll('#pair canvas').length"), 0);
    // The filter finds the failed pair.
    run.focus("#pairs input[type=search]");
    for key in ["f", "a", "i", "l", "e", "d"] {
        run.press(key);
    }
    run.wait_for("document.querySelectorAll('#pairs tbody tr').length === 1");
    run.assert_sound();
}

#[test]
fn series_are_drawn_from_the_columns_of_the_input() {
    let Some(run) = RunPage::open(small_run(""), "RUN") else {
        return;
    };
    let lines = "[...document.querySelectorAll('#series figure.chart')].map(chart => \
         chart.querySelectorAll('path.line').length)";
    assert_eq!(run.value(lines), serde_json::json!([3, 3, 3, 3]));
    let legend = run.text("#series .legend");
    for name in ["series_00", "series_01", "series_02"] {
        assert!(legend.contains(name), "{legend}");
    }
    // The numbers behind the chart of costs equal those of the table.
    run.click("#series figure.chart details summary");
    run.wait_for("document.querySelector('#series figure.chart .table td')");
    let batches = table(&run.run.join("pairs.parquet"));
    let cost = numbers(&batches, "cost_px2")[0].unwrap();
    let formatted = run.value(&format!("swathe.format.number({cost})"));
    let numbers_shown = run.text("#series figure.chart .table tbody tr");
    assert!(numbers_shown.contains(formatted.as_str().unwrap()), "{numbers_shown}");
    // All pairs together, in input order.
    for (select, words) in [(1, "all pairs"), (2, "place in the input")] {
        run.value(&format!(
            "(() => {{ const select = document.querySelectorAll('#series select')[{}];
               select.value = '-1'; select.dispatchEvent(new Event('change')); }})()",
            select - 1
        ));
        run.wait_for(&format!(
            "document.querySelector('#series').textContent.includes({})",
            Value::from(words)
        ));
    }
    // Pairs that are only neighbours in the input are not joined by a line.
    assert_eq!(run.value(lines), serde_json::json!([0, 0, 0, 0]));
    assert!(run.value("document.querySelectorAll('#series .dot').length > 8").as_bool().unwrap());
    run.assert_sound();
}

/// Pairs of tiny frames, more than have views.
fn large_run(folder: &Path, n_pairs: usize) {
    swathe(folder, "ot synth --out data --series 1 --frames 3 --shape 16x24").expect(0);
    let mut rows = "pair_id,src,tgt\n".to_owned();
    for k in 0..n_pairs {
        rows += &format!("-p {k},series_00/frame_00{}.png,series_00/frame_002.png\n", k % 2);
    }
    fs::write(folder.join("data/many.csv"), rows).unwrap();
}

#[test]
fn of_many_pairs_some_have_pictures_and_the_others_say_how_to_draw_them() {
    let folder = tempfile::tempdir().unwrap();
    large_run(folder.path(), 150);
    swathe(folder.path(), "ot data/many.csv --out RUN").expect(0);
    assert_eq!(names_in(&folder.path().join("RUN/views")).len(), 48);
    let Some(run) = RunPage::open(folder, "RUN") else {
        return;
    };
    let intro = run.text("#pairs .intro");
    assert!(intro.contains("48 of 150 pairs"), "{intro}");
    let with = "document.querySelectorAll('#pairs tbody canvas.thumbnail').length";
    assert!(run.value(with).as_u64().unwrap() >= 3);
    run.value("location.hash = 'pair=-p%201'");
    run.wait_for(&format!("{CHOSEN} === '-p 1'"));
    let command_shown = run.text("#pair pre");
    assert_eq!(command_shown, "swathe ot show -o pair.png -- RUN '-p 1'");
    run.assert_sound();
}

#[test]
fn a_command_that_the_page_gives_draws_the_pair() {
    let folder = tempfile::tempdir().unwrap();
    large_run(folder.path(), 3);
    swathe(folder.path(), "ot data/many.csv --out RUN").expect(0);
    let mut show = command(folder.path(), "ot show -o pair.png -- RUN");
    show.args(["-p 1"]);
    assert!(show.status().unwrap().success());
    assert!(folder.path().join("pair.png").exists());
}

fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn shards_make_the_views_of_the_whole_run() {
    let folder = tempfile::tempdir().unwrap();
    large_run(folder.path(), 100);
    swathe(folder.path(), "ot data/many.csv --out whole").expect(0);
    for shard in 1..=3 {
        let line = format!("ot data/many.csv --out cut --shard {shard}/3");
        swathe(folder.path(), &line).expect(0);
    }
    swathe(folder.path(), "merge cut").expect(0);
    let (whole, cut) = (folder.path().join("whole"), folder.path().join("cut"));
    assert_eq!(result_hash(&whole), result_hash(&cut));
    let names = names_in(&whole.join("views"));
    assert_eq!(names.len(), 48);
    assert_eq!(names_in(&cut.join("views")), names);
    for name in names {
        let contents = |run: &Path| fs::read(run.join("views").join(&name)).unwrap();
        assert!(contents(&whole) == contents(&cut), "{name}");
    }
    // The page of a shard has the views of its own pairs.
    let page = fs::read_to_string(cut.join("shards/2-of-3/report.html")).unwrap();
    assert!(page.contains("\"n_views\":16"), "a third of 48");
}

#[test]
fn views_that_cannot_be_written_cost_a_warning_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    large_run(folder.path(), 5);
    swathe(folder.path(), "ot data/many.csv --out clean").expect(0);
    let hash = result_hash(&folder.path().join("clean"));
    // A run that was started, with a file in place of the folder of views.
    let run = folder.path().join("RUN");
    swathe(folder.path(), "ot data/many.csv --out RUN").expect(0);
    fs::remove_dir_all(run.join("views")).unwrap();
    fs::write(run.join("views"), "in the way").unwrap();
    fs::write(run.join("manifest.jsonl"), "").unwrap();
    let ended = swathe(folder.path(), "ot data/many.csv --out RUN --resume").expect(0);
    assert!(ended.stderr.contains("warning: 5 small pictures"), "{}", ended.stderr);
    assert_eq!(result_hash(&run), hash);
    let page = fs::read_to_string(run.join("report.html")).unwrap();
    assert!(page.contains("\"n_views\":0"), "pairs are shown without");
}

/// One of two bodies vanishes in the second pair.
#[test]
fn pairs_whose_motion_is_in_doubt_are_marked() {
    let folder = tempfile::tempdir().unwrap();
    for (name, xs) in [("a", &[20][..]), ("b", &[23, 60]), ("c", &[26])] {
        let is_in = |at: usize| {
            xs.iter().any(|&x| (20..32).contains(&(at / 80)) && (x..x + 12).contains(&(at % 80)))
        };
        let pixels = (0..50 * 80).map(|at| f64::from(u8::from(is_in(at))));
        let frame = Array::new(vec![50, 80], pixels.collect::<Vec<f64>>()).unwrap();
        npy::save(&folder.path().join(format!("{name}.npy")), &frame).unwrap();
    }
    let pairs = "pair_id,src,tgt\nmoved,a.npy,c.npy\ngone,b.npy,c.npy\n";
    fs::write(folder.path().join("pairs.csv"), pairs).unwrap();
    swathe(folder.path(), "ot pairs.csv --out RUN").expect(0);
    let Some(run) = RunPage::open(folder, "RUN") else {
        return;
    };
    assert_eq!(run.figure("motion.n_doubted"), 1.0);
    assert_eq!(shown(&run, "doubt"), ["", "a body vanished (50 % of the mass)"]);
    run.assert_sound();
}
