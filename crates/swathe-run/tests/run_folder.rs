//! Run folders: parts in any order become tables in input order.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringBuilder};
use arrow::datatypes::{DataType, Field, Float64Type, Schema, SchemaRef, UInt32Type, UInt64Type};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use swathe::{Faults, OutcomeKind};
use swathe_run::store::rows::Rows;
use swathe_run::store::run_folder::{
    Failure, FolderError, Identity, Merged, Part, RunFolder, RunJson, RunState, Timing,
};

/// Answers are texts. Problem `i` has `n_rows[i]` rows, numbered consecutively.
struct Words {
    n_rows: Vec<usize>,
    /// The number of incompressible letters after each text.
    n_letters: usize,
    word: StringBuilder,
    n_bytes: usize,
}

impl Words {
    fn new(n_rows: Vec<usize>) -> Words {
        Words { n_rows, n_letters: 0, word: StringBuilder::new(), n_bytes: 0 }
    }
}

impl Rows for Words {
    type Solution = String;

    fn table(&self) -> &'static str {
        "words"
    }

    fn schema(&self) -> SchemaRef {
        Arc::new(Schema::new(vec![Field::new("word", DataType::Utf8, false)]))
    }

    fn id(&self, index: usize) -> String {
        format!("w{index}")
    }

    fn first_row(&self, index: usize) -> u64 {
        self.n_rows[..index].iter().sum::<usize>() as u64
    }

    fn append(&mut self, index: usize, solution: &String) -> usize {
        for at in 0..self.n_rows[index] {
            let mut word = format!("{solution}.{at}");
            let n_bytes = word.len() + self.n_letters;
            let mut state = (index * 1_000_003 + at) as u64;
            while word.len() < n_bytes {
                state = (state ^ state >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9).wrapping_add(1);
                word += &format!("{state:016x}");
            }
            word.truncate(n_bytes);
            self.word.append_value(word);
        }
        self.n_bytes += 8;
        self.n_rows[index]
    }

    fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    fn take(&mut self) -> Vec<ArrayRef> {
        self.n_bytes = 0;
        vec![Arc::new(self.word.finish())]
    }
}

fn identity(n_problems: u64) -> Identity {
    Identity {
        workload: "words".to_owned(),
        settings: BTreeMap::new(),
        inputs: Vec::new(),
        n_problems,
        shard: None,
        version: "1".to_owned(),
        simd: "none".to_owned(),
    }
}

fn timing(index: usize) -> Timing {
    Timing {
        device: "cpu".to_owned(),
        milliseconds: index as f64 / 2.0,
        attempts: 1 + index as u32 % 3,
    }
}

/// Commits one part for each list of problems. Problems divisible by `fails` fail.
fn merged(path: &Path, n_rows: &[usize], parts: &[Vec<usize>], fails: usize) -> Merged {
    merged_words(path, Words::new(n_rows.to_vec()), parts, fails)
}

fn merged_words(path: &Path, words: Words, parts: &[Vec<usize>], fails: usize) -> Merged {
    let identity = identity(words.n_rows.len() as u64);
    let mut folder = RunFolder::open(path, identity, false, &Faults::none()).unwrap();
    let mut part = Part::new(words, 1 << 20);
    for problems in parts {
        for &index in problems {
            let word = format!("word {index}");
            let answer = if index % fails == 0 {
                Err(Failure { kind: OutcomeKind::TimedOut, message: format!("no {word}") })
            } else {
                Ok(&word)
            };
            part.push(index, answer, timing(index));
        }
        folder.commit(&mut part).unwrap();
    }
    folder.finish(part.rows(), 2).unwrap()
}

fn read(path: &Path) -> (SchemaRef, RecordBatch) {
    let file = std::fs::File::open(path).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let schema = Arc::clone(reader.schema());
    let batches: Vec<RecordBatch> = reader.build().unwrap().map(Result::unwrap).collect();
    let batch = arrow::compute::concat_batches(&schema, &batches).unwrap();
    (schema, batch)
}

fn numbers(batch: &RecordBatch, name: &str) -> Vec<u64> {
    let column = batch.column_by_name(name).unwrap();
    column.as_primitive::<UInt64Type>().values().to_vec()
}

fn texts(batch: &RecordBatch, name: &str) -> Vec<String> {
    let column = batch.column_by_name(name).unwrap().as_string::<i32>();
    (0..column.len()).map(|at| column.value(at).to_owned()).collect()
}

#[track_caller]
fn assert_described(schema: &Schema) {
    for field in schema.fields() {
        assert!(field.metadata().contains_key("description"), "{field:?}");
    }
}

/// A permutation that scatters neighbours.
fn mixed(n: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by_key(|&index| (index as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20);
    order
}

#[test]
fn interleaved_parts_are_merged_in_the_order_of_the_input() {
    let n_rows: Vec<usize> = (0..5000).map(|index| index % 4).collect();
    let in_order: Vec<usize> = (0..5000).collect();
    let expected: Vec<String> = (0..5000)
        .filter(|index| index % 11 != 0)
        .flat_map(|index| (0..index % 4).map(move |at| format!("word {index}.{at}")))
        .collect();
    let mut hashes = Vec::new();
    for (name, order, part_len) in [
        ("whole", in_order.clone(), 5000),
        ("cut", in_order.clone(), 37),
        ("backwards", in_order.into_iter().rev().collect(), 100),
        ("mixed", mixed(5000), 90),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join(name);
        let parts: Vec<Vec<usize>> = order.chunks(part_len).map(<[usize]>::to_vec).collect();
        let merged = merged(&run, &n_rows, &parts, 11);
        assert_eq!(merged.n_rows as usize, expected.len());
        let (_, words) = read(&run.join("words.parquet"));
        assert_eq!(texts(&words, "word"), expected, "{name}");
        let rows = numbers(&words, "row");
        assert!(rows.is_sorted_by(|a, b| a < b), "{name}");

        let (schema, timings) = read(&run.join("timing.parquet"));
        assert_described(&schema);
        let names: Vec<&String> = schema.fields().iter().map(|field| field.name()).collect();
        let expected_names = ["row", "id", "device", "milliseconds", "attempts"];
        assert_eq!(names, expected_names);
        assert_eq!(texts(&timings, "id")[4999], "w4999");
        assert_eq!(numbers(&timings, "row"), (0..5000).collect::<Vec<u64>>());
        let ms = timings.column(3).as_primitive::<Float64Type>();
        assert_eq!(ms.value(4999), timing(4999).milliseconds);
        let attempts = timings.column(4).as_primitive::<UInt32Type>();
        assert!((0..5000).all(|index| attempts.value(index) == timing(index).attempts));

        let (schema, failures) = read(&run.join("failures.parquet"));
        assert_described(&schema);
        let failed: Vec<u64> = (0..5000).step_by(11).collect();
        assert_eq!(numbers(&failures, "row"), failed, "{name}");
        assert_eq!(merged.n_failures as usize, failed.len());
        assert_eq!(texts(&failures, "id")[1], "w11");
        assert_eq!(texts(&failures, "kind")[1], OutcomeKind::TimedOut.name());
        assert_eq!(texts(&failures, "message")[1], "no word 11");

        let state = RunJson::read(&run).unwrap();
        assert_eq!(state.state, RunState::Complete);
        assert_eq!(state.result_hash.as_ref(), Some(&merged.result_hash));
        hashes.push(merged.result_hash);
    }
    hashes.dedup();
    assert_eq!(hashes.len(), 1, "{hashes:?}");
}

/// The parts are large enough that a merge copies their row groups without decoding, if no other
/// part has rows in between.
#[test]
fn long_stretches_and_stragglers_make_the_same_table() {
    const N: usize = 80;
    const N_ROWS: usize = 2000;
    let rows_of = |problems: &[usize]| {
        let answered = problems.iter().filter(|&&index| index % 11 != 0);
        answered.count() * N_ROWS
    };
    let span = |from: usize, to: usize| (from..to).collect::<Vec<usize>>();
    let apart = [span(0, 20), span(20, 40), span(40, 60), span(60, N)];
    let stragglers = [
        [span(0, 20), vec![22]].concat(),
        // In order of arrival: the first rows arrive last.
        [span(23, 45), vec![46], span(20, 22)].concat(),
        [span(47, N), vec![45]].concat(),
    ];
    let mixed: Vec<Vec<usize>> = mixed(N).chunks(30).map(<[usize]>::to_vec).collect();
    let mut expected = None;
    for (name, parts, groups) in [
        ("apart", apart.as_slice(), Some(apart.to_vec())),
        (
            "stragglers",
            &stragglers,
            Some(vec![span(0, 20), span(20, 23), span(23, 45), span(45, 47), span(47, N)]),
        ),
        ("mixed", &mixed, None),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let words = Words { n_letters: 144, ..Words::new(vec![N_ROWS; N]) };
        let merged = merged_words(folder.path(), words, parts, 11);
        let path = folder.path().join("words.parquet");
        let (_, table) = read(&path);
        assert_eq!(merged.n_rows as usize, rows_of(&span(0, N)));
        match &expected {
            None => expected = Some((table, merged.result_hash)),
            Some((first, hash)) => {
                // The metadata has the id of the run.
                assert!(first.columns() == table.columns(), "{name}");
                assert_eq!(*hash, merged.result_hash, "{name}");
            }
        }
        if let Some(groups) = groups {
            let expected: Vec<usize> = groups.iter().map(|group| rows_of(group)).collect();
            assert_eq!(n_group_rows(&path), expected, "{name}");
        }
    }
}

/// The rows of each row group.
fn n_group_rows(path: &Path) -> Vec<usize> {
    let file = std::fs::File::open(path).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let groups = reader.metadata().row_groups().iter();
    groups.map(|group| group.num_rows() as usize).collect()
}

#[test]
fn no_problems_and_no_answers_still_make_tables() {
    let folder = tempfile::tempdir().unwrap();
    let none = merged(&folder.path().join("none"), &[], &[], 2);
    let all_failed = merged(&folder.path().join("failed"), &[1; 9], &[(0..9).collect()], 1);
    assert_eq!((none.n_rows, none.n_failures), (0, 0));
    assert_eq!((all_failed.n_rows, all_failed.n_failures), (0, 9));
    assert_eq!(none.result_hash, all_failed.result_hash, "both tables are empty");
    for run in ["none", "failed"] {
        let (schema, words) = read(&folder.path().join(run).join("words.parquet"));
        assert_eq!(words.num_rows(), 0);
        let names: Vec<&String> = schema.fields().iter().map(|field| field.name()).collect();
        assert_eq!(names, ["row", "word"], "{run}");
        let (schema, failures) = read(&folder.path().join(run).join("failures.parquet"));
        assert_described(&schema);
        assert_eq!(failures.num_columns(), 4);
    }
}

#[test]
fn a_manifest_without_its_run_is_nobodys() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    merged(&run, &[1; 4], &[vec![0, 1, 2, 3]], 5);
    std::fs::remove_file(run.join("run.json")).unwrap();
    // Another run must not adopt these parts.
    for resume in [false, true] {
        let opened = RunFolder::open(&run, identity(4), resume, &Faults::none());
        assert!(matches!(opened.err(), Some(FolderError::NotARun { .. })));
    }
    assert!(run.join("parts/000000.parquet").exists());
}

#[test]
fn only_one_at_a_time_has_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let open = |resume| RunFolder::open(folder.path(), identity(1), resume, &Faults::none());
    let first = open(false).unwrap();
    assert!(matches!(open(true).err(), Some(FolderError::InUse { .. })));
    assert!(matches!(open(false).err(), Some(FolderError::Exists { complete: false, .. })));
    drop(first);
    assert!(open(true).is_ok());
}

/// Parts are written in the background. Each is committed by the next commit, or by the end.
#[test]
fn a_part_in_the_making_is_never_lost_without_a_word() {
    let folder = tempfile::tempdir().unwrap();
    let open = |resume| RunFolder::open(folder.path(), identity(3), resume, &Faults::none());
    let mut run = open(false).unwrap();
    let mut part = Part::new(Words::new(vec![50_000; 3]), 1 << 20);
    let push = |part: &mut Part<Words>, index: usize| {
        part.push(index, Ok(&format!("word {index}")), timing(index));
    };
    push(&mut part, 0);
    run.start_commit(&mut part).unwrap();
    push(&mut part, 1);
    run.start_commit(&mut part).unwrap();
    // Dropping the folder waits until the second part is written.
    drop(run);
    let mut run = open(true).unwrap();
    assert_eq!(run.committed().missing(0, 3).spans(), [(2, 3)]);
    // One that cannot be written is told by whoever comes next.
    std::fs::remove_dir_all(folder.path().join("parts")).unwrap();
    push(&mut part, 2);
    run.start_commit(&mut part).unwrap();
    let told = run.commit(&mut part);
    assert!(matches!(told, Err(FolderError::Write { .. })), "{told:?}");
    assert_eq!(run.committed().missing(0, 3).spans(), [(2, 3)]);
}
