//! The messages for bad usage, and the help texts.

use std::fmt::Write as _;
use std::fs;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, Schema};

use crate::program::{Random, json, many_floats, save, swathe, swathe_with};

#[test]
fn bad_usage_is_told_with_thing_value_and_hint() {
    let folder = tempfile::tempdir().unwrap();
    many_floats(folder.path());
    fs::create_dir(folder.path().join("folder.npz")).unwrap();
    fs::write(folder.path().join("bad.npz"), "not a zip").unwrap();
    fs::write(folder.path().join("table.txt"), "1,2").unwrap();
    fs::write(folder.path().join("tasks.json"), "{\n  \"a\": {}\n}\n").unwrap();
    fs::write(folder.path().join("broken.toml"), "memory = \n").unwrap();
    fs::write(folder.path().join("unknown.toml"), "memry = \"1GiB\"\n").unwrap();
    fs::write(folder.path().join("section.toml"), "[array]\nmemry = 1\n").unwrap();
    fs::write(folder.path().join("table.toml"), "[memory]\nx = 1\n").unwrap();
    fs::write(folder.path().join("value.toml"), "threads = \"two\"\n").unwrap();
    let map = "array map sqrt in.npz --out run";
    let lines = [
        "array map sqrt missing.npz --out run".to_owned(),
        "array map sqrt folder.npz --out run".to_owned(),
        "array map sqrt bad.npz --out run".to_owned(),
        "array map sqrt table.txt --out run".to_owned(),
        "array map sqrt in.npz".to_owned(),
        "array map cube in.npz --out run".to_owned(),
        "array map add in.npz --out run".to_owned(),
        "array map sqrt in.npz --operand 2 --out run".to_owned(),
        "array map add in.npz --operand two --out run".to_owned(),
        "array xor in.npz --out run".to_owned(),
        "array xor in.npz --key 1,x --out run".to_owned(),
        "array xor in.npz --key-seed -1x --out run".to_owned(),
        "array xor in.npz --key 1 --key-seed 2 --out run".to_owned(),
        "array matmul in.npz --with missing.npz --out run".to_owned(),
        "array map sqrt in.npz --out out.npz --resume".to_owned(),
        "frobnicate".to_owned(),
        "merge missing".to_owned(),
        format!("{map} --frobnicate"),
        format!("{map} --config missing.toml"),
        format!("{map} --config broken.toml"),
        format!("{map} --config unknown.toml"),
        format!("{map} --config section.toml"),
        format!("{map} --config table.toml"),
        format!("{map} --config value.toml"),
        format!("{map} --buckets 12xx"),
        format!("{map} --shard 5/4"),
        format!("{map} --shard half"),
        format!("{map} --memory lots"),
        format!("{map} --memory 5"),
        format!("{map} --time-limit 5"),
        "array map sqrt in.npz --out table.txt".to_owned(),
        "ot in.npz --epsilon 1e-30 --out run".to_owned(),
        "ot show run pair -o x.jpg".to_owned(),
        "arc --programs tasks.json --tasks tasks.json --out run".to_owned(),
        format!("{map} --threads x"),
        format!("{map} --batch-size 0"),
        format!("{map} --device gpu:x"),
        format!("{map} --device abacus"),
        format!("{map} --time-limit soon"),
        format!("{map} --progress loud"),
        format!("{map} --verify -1"),
    ];
    let mut told = String::new();
    for line in &lines {
        let ended = swathe(folder.path(), line);
        let _ = writeln!(told, "$ swathe {line}\n{}[exit {}]\n", ended.stderr, ended.code);
        assert_eq!(ended.code, 2, "{line}: {}", ended.stderr);
        assert_eq!(ended.stdout, "", "{line}");
        assert!(!folder.path().join("run").exists(), "{line}");
    }
    for (variable, value) in [("SWATHE_MEMORY", "lots"), ("SWATHE_FAULTS", "boom")] {
        let ended = swathe_with(folder.path(), variable, value, map).expect(2);
        let _ = writeln!(told, "$ {variable}={value} swathe {map}\n{}", ended.stderr);
    }
    insta::assert_snapshot!(told);
}

#[test]
fn the_program_alone_shows_its_help() {
    let folder = tempfile::tempdir().unwrap();
    for line in ["", "array", "lattice"] {
        let ended = swathe(folder.path(), line).expect(2);
        assert_eq!(ended.stdout, "");
        assert!(!ended.stderr.contains("error:"), "{line}: {}", ended.stderr);
        assert!(ended.stderr.contains("\nUsage: swathe"), "{line}: {}", ended.stderr);
    }
}

/// A table of columns alone is a mistake of whoever wrote it.
#[test]
fn tables_without_rows_are_bad_usage() {
    let folder = tempfile::tempdir().unwrap();
    let parquet = |name: &str, columns: Vec<(&str, DataType)>| {
        let fields = columns.into_iter().map(|(name, kind)| Field::new(name, kind, true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let file = fs::File::create(folder.path().join(name)).unwrap();
        let mut writer = parquet::arrow::ArrowWriter::try_new(file, schema.clone(), None).unwrap();
        writer.write(&RecordBatch::new_empty(schema)).unwrap();
        writer.close().unwrap();
    };
    let text = DataType::Utf8;
    let lists = DataType::List(Arc::new(Field::new("element", DataType::Float32, true)));
    parquet("lists.parquet", vec![("values", lists)]);
    let pair = ["pair_id", "src", "tgt"].map(|name| (name, text.clone()));
    parquet("pairs.parquet", pair.to_vec());
    for (name, header) in [
        ("pairs.csv", "pair_id,src,tgt\n"),
        ("frames.csv", "path\n"),
        ("queries.csv", "id,size,from,to\n"),
    ] {
        fs::write(folder.path().join(name), header).unwrap();
    }
    for (line, told) in [
        ("ot pairs.csv", "pairs.csv has no rows"),
        ("ot pairs.parquet", "pairs.parquet has no rows"),
        ("ot frames.csv", "frames.csv"),
        ("array map sqrt lists.parquet", "lists.parquet: it has no rows"),
        ("lattice path queries.csv", "queries.csv: it has no rows"),
    ] {
        let ended = swathe(folder.path(), &format!("{line} --out run")).expect(2);
        assert!(ended.stderr.contains(told), "{line}: {}", ended.stderr);
        assert!(ended.stderr.contains("\nhint: "), "{line}: {}", ended.stderr);
        assert!(!folder.path().join("run").exists(), "{line}");
    }
}

#[test]
fn help_teaches() {
    let folder = tempfile::tempdir().unwrap();
    for (name, line) in [
        ("swathe", ""),
        ("array", "array"),
        ("array_xor", "array xor"),
        ("array_matmul", "array matmul"),
        ("array_map", "array map"),
        ("ot", "ot"),
        ("ot_run", "ot run"),
        ("ot_synth", "ot synth"),
        ("ot_show", "ot show"),
        ("ot_suggest", "ot suggest"),
        ("ot_check", "ot check"),
        ("devices", "devices"),
        ("demo", "demo"),
        ("merge", "merge"),
        ("completions", "completions"),
    ] {
        let ended = swathe(folder.path(), &format!("{line} --help")).expect(0);
        insta::assert_snapshot!(format!("help_{name}"), ended.stdout);
    }
}

#[test]
fn flags_beat_variables_which_beat_the_file_which_beats_the_default() {
    let folder = tempfile::tempdir().unwrap();
    many_floats(folder.path());
    let budget = |out: &str| {
        let report = json(&folder.path().join(out).join("report.json"));
        report["report"]["memory"]["budget_bytes"].as_u64().unwrap() >> 20
    };
    let line = |out: &str| format!("array map sqrt in.npz --out {out}");
    swathe(folder.path(), &line("default")).expect(0);
    assert!(budget("default") > 200, "{}", budget("default"));
    fs::write(folder.path().join("swathe.toml"), "memory = \"100MiB\"\n").unwrap();
    swathe(folder.path(), &line("file")).expect(0);
    assert_eq!(budget("file"), 100);
    let section =
        "memory = \"100MiB\"\n[lattice]\nmemory = \"110MiB\"\n[array]\nmemory = \"120MiB\"\n";
    fs::write(folder.path().join("swathe.toml"), section).unwrap();
    swathe(folder.path(), &line("section")).expect(0);
    assert_eq!(budget("section"), 120);
    swathe_with(folder.path(), "SWATHE_MEMORY", "130MiB", &line("variable")).expect(0);
    assert_eq!(budget("variable"), 130);
    let flag = line("flag") + " --memory 140MiB";
    swathe_with(folder.path(), "SWATHE_MEMORY", "130MiB", &flag).expect(0);
    assert_eq!(budget("flag"), 140);
    let config = line("config") + " --config other.toml";
    fs::write(folder.path().join("other.toml"), "memory = \"150MiB\"\n").unwrap();
    swathe(folder.path(), &config).expect(0);
    assert_eq!(budget("config"), 150);
}

#[test]
fn explain_prints_a_plan_and_makes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random(4);
    let items: Vec<_> =
        (0..12).map(|k| (format!("i{k}"), random.floats(&[4, 1 + k % 3]))).collect();
    save(folder.path(), "in.npz", &items);
    for out in ["run", "out.npz"] {
        let line =
            format!("array map sqrt in.npz --out {out} --batch-size 4 --memory 1GiB --explain");
        let ended = swathe(folder.path(), &line).expect(0);
        assert!(ended.stdout.starts_with("12 problems in 3 batches on "), "{}", ended.stdout);
        assert!(ended.stdout.contains("  sqrt f32  "), "{}", ended.stdout);
        assert!(ended.stdout.contains("All on the CPU: "), "{}", ended.stdout);
        assert!(!folder.path().join(out).exists());
    }
}

#[test]
fn progress_for_programs_is_json_and_stdout_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    many_floats(folder.path());
    for style in ["json", "plain", "none", "bar", "auto"] {
        let line = format!("array map sqrt in.npz --out {style} --progress {style}");
        let ended = swathe(folder.path(), &line).expect(0);
        assert_eq!(ended.stdout, format!("{style}\n"));
        let lines: Vec<&str> = ended.stderr.lines().filter(|line| line.starts_with('{')).collect();
        assert_eq!(lines.is_empty(), style != "json", "{}", ended.stderr);
        for line in &lines {
            let event: serde_json::Value = serde_json::from_str(line).unwrap();
            assert!(event["event"].is_string());
        }
        let mut progress = lines.iter().rev();
        let last = progress.find(|line| line.contains("\"event\":\"progress\""));
        assert_eq!(last.is_some(), style == "json", "{}", ended.stderr);
        if let Some(last) = last {
            let event: serde_json::Value = serde_json::from_str(last).unwrap();
            assert_eq!(event["counts"]["n_solved"], 60);
        }
    }
}
