//! What the tables of every run have in common.

use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::program::{json, swathe};

/// No table has column names that other programs cannot handle, and every table records its writer.
#[test]
fn tables_say_who_made_them_and_have_no_awkward_names() {
    let folder = tempfile::tempdir().unwrap();
    swathe(folder.path(), "demo --progress none").expect(0);
    let mut n_tables = 0;
    let demo = folder.path().join("swathe-demo");
    let runs = std::fs::read_dir(&demo).unwrap();
    for run in runs.map(|entry| entry.unwrap().path()).filter(|run| run.join("run.json").exists()) {
        let run_json = json(&run.join("run.json"));
        let made = &run_json["made"];
        for name in ["version", "command", "date", "host", "cpu"] {
            assert!(made[name].as_str().is_some_and(|text| !text.is_empty()), "{name}: {made}");
        }
        assert!(made["command"].as_str().unwrap().starts_with("swathe "), "{made}");
        for (name, value) in run_json["settings"].as_object().unwrap() {
            let text = value.as_str().unwrap_or_default();
            let is_finite = text.parse::<f64>().is_ok_and(f64::is_finite);
            assert!(!is_finite, "--{name} is the text {text:?}");
        }
        let page = std::fs::read_to_string(run.join("report.html")).unwrap();
        assert!(page.contains(made["date"].as_str().unwrap()));
        for path in std::fs::read_dir(&run).unwrap().map(|entry| entry.unwrap().path()) {
            if path.extension().is_none_or(|extension| extension != "parquet") {
                continue;
            }
            n_tables += 1;
            let file = std::fs::File::open(&path).unwrap();
            let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
            let schema = reader.schema();
            for name in ["version", "command", "date", "host", "cpu"] {
                let told = schema.metadata().get(&format!("swathe.{name}"));
                assert_eq!(told.map(String::as_str), made[name].as_str(), "{}", path.display());
            }
            let names: Vec<&str> =
                schema.fields().iter().map(|field| field.name().as_str()).collect();
            assert!(!names.contains(&"index") && !names.contains(&"from"), "{names:?}");
            let stem = path.file_stem().unwrap().to_str().unwrap();
            match stem {
                "timing" | "failures" => assert_eq!(names[..2], ["row", "id"]),
                "pairs" => assert_eq!(names[..4], ["row", "pair_id", "src", "tgt"]),
                _ => {}
            }
        }
    }
    assert!(n_tables >= 12, "{n_tables}");
}
