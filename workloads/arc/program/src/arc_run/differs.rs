//! `differs.parquet` and `differ_scores.parquet`: what differs said about all samples.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, RecordBatch, StringArray, UInt64Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, UInt32Type, UInt64Type};

use super::samples::read_samples;
use crate::differ_files::{self, differ_file};
use swathe_formats::described_field::described;
use swathe_run::store::run_folder::{FolderError, TableFile, write_table};
use swathe_run::store::table_reader::{TableReader, number_column, string_column};

/// Writes the tables of a complete run from the files of its samples, and returns how many values of differs there are.
/// A sample without an answer has no rows.
///
/// # Errors
/// If a file of a sample cannot be read, or a table cannot be written.
pub fn write_differs(run: &Path) -> Result<u64, FolderError> {
    let path = run.join("differs.parquet");
    let failed = |source| FolderError::Write {
        path: path.clone(),
        source,
    };
    let schema = numbered_schema();
    let mut file = TableFile::create(&path, Arc::clone(&schema)).map_err(failed)?;
    let mut n_rows = 0;
    let mut sums = Sums::default();
    for index in 0..read_samples(run)?.len() {
        let part = run.join(differ_file(index));
        if !part.exists() {
            continue;
        }
        TableReader::open(&part)?.for_each(|batch| {
            let numbers = n_rows..n_rows + batch.num_rows() as u64;
            n_rows = numbers.end;
            let mut columns: Vec<ArrayRef> = vec![Arc::new(UInt64Array::from_iter_values(numbers))];
            columns.extend(batch.columns().iter().cloned());
            let numbered = RecordBatch::try_new(Arc::clone(&schema), columns);
            let numbered = numbered.map_err(|error| error.to_string())?;
            file.write(&numbered).map_err(|error| error.to_string())?;
            sums.add(batch)
        })?;
    }
    file.commit().map_err(failed)?;
    write_table(&run.join("differ_scores.parquet"), &sums.batch())?;
    Ok(n_rows)
}

/// The sums of `differ_scores.parquet`.
pub(crate) fn differ_scores(run: &Path) -> Result<HashMap<Key, u64>, FolderError> {
    let mut sums = HashMap::new();
    TableReader::of_run(run, "differ_scores")?.for_each(|batch| {
        let texts = ["task", "file", "candidate", "differ"].map(|name| string_column(batch, name));
        let [task, file, candidate, differ] = texts;
        let (task, file, candidate, differ) = (task?, file?, candidate?, differ?);
        let sum = number_column::<UInt64Type>(batch, "batt_score")?;
        for at in 0..batch.num_rows() {
            let key = key_at(&task, &file, &candidate, &differ, at);
            sums.insert(key, sum.value(at));
        }
        Ok(())
    })?;
    Ok(sums)
}

fn key_at(
    task: &StringArray,
    file: &StringArray,
    candidate: &StringArray,
    differ: &StringArray,
    at: usize,
) -> Key {
    (
        task.value(at).to_owned(),
        file.value(at).to_owned(),
        candidate
            .is_valid(at)
            .then(|| candidate.value(at).to_owned()),
        differ.value(at).to_owned(),
    )
}

fn numbered_schema() -> SchemaRef {
    let row = described("row", DataType::UInt64, "the row's number, from 0");
    let others = differ_files::schema();
    let others = others.fields().iter().map(|field| Field::clone(field));
    Arc::new(Schema::new(
        std::iter::once(row).chain(others).collect::<Vec<_>>(),
    ))
}

/// Task, file, candidate and differ.
pub(crate) type Key = (String, String, Option<String>, String);

/// The scores of differs, summed as `run_batt` sums them.
#[derive(Default)]
struct Sums {
    keys: Vec<Key>,
    places: HashMap<Key, usize>,
    sums: Vec<u64>,
}

impl Sums {
    fn add(&mut self, batch: &RecordBatch) -> Result<(), String> {
        let [task, file, candidate, differ] = [
            string_column(batch, "task")?,
            string_column(batch, "file")?,
            string_column(batch, "candidate")?,
            string_column(batch, "differ")?,
        ];
        let scores = [
            number_column::<UInt32Type>(batch, "without_score")?,
            number_column::<UInt32Type>(batch, "with_score")?,
        ];
        for at in 0..batch.num_rows() {
            let key = key_at(&task, &file, &candidate, &differ, at);
            let place = *self.places.entry(key).or_insert_with_key(|key| {
                self.keys.push(key.clone());
                self.sums.push(0);
                self.keys.len() - 1
            });
            for score in scores.iter().filter(|scores| scores.is_valid(at)) {
                // `run_batt` adds what a differ of the input lacks to 1000, and then what it has.
                self.sums[place] += match candidate.is_valid(at) {
                    true => u64::from(score.value(at)),
                    false => 1000,
                };
            }
        }
        Ok(())
    }

    fn batch(&self) -> RecordBatch {
        let text = |name: &str, description: &str| described(name, DataType::Utf8, description);
        let schema = Schema::new(vec![
            described("row", DataType::UInt64, "the row's number, from 0"),
            text("task", "the task's name"),
            text("file", "the file of the differ"),
            text(
                "candidate",
                "the task whose candidate's outputs are compared; null for the input",
            )
            .with_nullable(true),
            text("differ", "the differ's name"),
            described(
                "batt_score",
                DataType::UInt64,
                "the sum of the differ's scores over all samples, without and with the expected output, as run_batt sums them: for the input 1000 for each",
            ),
        ]);
        let texts = |text: fn(&Key) -> Option<&str>| -> ArrayRef {
            Arc::new(StringArray::from_iter(self.keys.iter().map(text)))
        };
        let columns: Vec<ArrayRef> = vec![
            Arc::new(UInt64Array::from_iter_values(0..self.keys.len() as u64)),
            texts(|key| Some(&key.0)),
            texts(|key| Some(&key.1)),
            texts(|key| key.2.as_deref()),
            texts(|key| Some(&key.3)),
            Arc::new(UInt64Array::from(self.sums.clone())),
        ];
        RecordBatch::try_new(Arc::new(schema), columns).expect("the columns have one length")
    }
}
