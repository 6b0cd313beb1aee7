//! Files with the values of differs, one for each sample: they become `differs.parquet` once all are there.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{ArrayRef, RecordBatch, StringArray, UInt32Array};
use arrow::datatypes::{DataType, Schema, SchemaRef};
use swathe_arc::{DifferCall, Fault, Problem, Program, Rating, RowList};

use crate::arc_table::SPLITS;
use swathe_formats::atomic_file::temporary_target;
use swathe_formats::described_field::described;
use swathe_run::store::row_numbers::RowNumbers;
use swathe_run::store::run_folder::{FolderError, RowFile, TableFile, make_own_folder};

/// The folder of the files, in the folder of the run.
const FOLDER: &str = "differs";

/// Writes the values of differs into a run folder, each file atomically.
#[derive(Debug)]
pub struct DifferFiles {
    run: PathBuf,
    differs: Vec<DifferRow>,
    /// The first error of writing a file. It ends the run.
    write_error: Mutex<Option<FolderError>>,
}

/// One differ: a row that a `batt` function appends to `s`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DifferRow {
    /// Its file.
    pub file: String,
    /// The number of the value's line, as the row gives it.
    pub number: u32,
    /// The task whose program's output it compares; None for the input.
    pub candidate: Option<String>,
    /// Its name.
    pub differ: String,
}

impl DifferRow {
    /// The row of a differ from this file.
    pub fn of(program: &Program, file: &Path) -> DifferRow {
        let row = program.row.as_ref();
        DifferRow {
            file: file.display().to_string(),
            number: row.map_or(0, |row| row.number),
            candidate: row.and_then(|row| row.task.clone()),
            differ: match row.map(|row| &row.list) {
                Some(RowList::Differs { differ }) => differ.clone(),
                _ => program.name.clone(),
            },
        }
    }
}

/// The file of a sample, relative to the folder of the run.
pub(crate) fn differ_file(index: usize) -> String {
    format!("{FOLDER}/{index:06}.parquet")
}

impl DifferFiles {
    /// Files in this run folder, also for a shard of the run.
    pub fn new(run: &Path, differs: Vec<DifferRow>) -> DifferFiles {
        DifferFiles {
            run: run.to_owned(),
            differs,
            write_error: Mutex::new(None),
        }
    }

    /// The differs.
    pub fn rows(&self) -> &[DifferRow] {
        &self.differs
    }

    /// Makes the folder, and removes what an earlier process left of the files of these samples.
    ///
    /// # Errors
    /// If the folder cannot be made, or a file cannot be removed.
    pub fn prepare(&self, samples: &RowNumbers) -> Result<(), FolderError> {
        let folder = self.run.join(FOLDER);
        make_own_folder(&folder)?;
        let paths: HashSet<String> = samples.iter().map(|n| differ_file(n as usize)).collect();
        let failed = |source| FolderError::Write {
            path: folder.clone(),
            source,
        };
        for entry in fs::read_dir(&folder).map_err(failed)?.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let whole = temporary_target(&name).map_or(&*name, |(whole, _)| whole);
            if paths.contains(&format!("{FOLDER}/{whole}")) {
                fs::remove_file(entry.path()).map_err(failed)?;
            }
        }
        Ok(())
    }

    /// Takes the first error of writing a file.
    pub fn take_write_error(&self) -> Option<FolderError> {
        let mut first = self
            .write_error
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        first.take()
    }

    /// Writes what the differs made of a sample.
    ///
    /// # Errors
    /// If the file cannot be written; the message says so, and the run ends with the error.
    pub fn write(
        &self,
        index: usize,
        problem: &Problem,
        calls: &[DifferCall],
    ) -> Result<RowFile, String> {
        let relative = differ_file(index);
        let path = self.run.join(&relative);
        let batch = self.batch(problem, calls);
        let write = || {
            let mut file = TableFile::create(&path, batch.schema())?;
            file.write(&batch)?;
            file.commit()
        };
        match write() {
            Ok(seal) => Ok(RowFile {
                path: relative,
                seal,
            }),
            Err(source) => {
                let error = FolderError::Write { path, source };
                let message = error.to_string();
                let mut first = self
                    .write_error
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner);
                first.get_or_insert(error);
                Err(message)
            }
        }
    }

    fn batch(&self, problem: &Problem, calls: &[DifferCall]) -> RecordBatch {
        let n = calls.len();
        let repeated = |word: &str| -> ArrayRef {
            Arc::new(StringArray::from_iter_values(std::iter::repeat_n(word, n)))
        };
        let texts = |text: fn(&DifferRow) -> Option<&str>| -> ArrayRef {
            Arc::new(StringArray::from_iter(self.differs.iter().map(text)))
        };
        let mut columns: Vec<ArrayRef> = vec![
            repeated(&problem.task.name),
            repeated(SPLITS[usize::from(problem.is_test)]),
            Arc::new(UInt32Array::from_value(problem.index as u32, n)),
            texts(|row| Some(&row.file)),
            Arc::new(UInt32Array::from_iter_values(
                self.differs.iter().map(|row| row.number),
            )),
            texts(|row| row.candidate.as_deref()),
            texts(|row| Some(&row.differ)),
        ];
        let without: Vec<Option<&Rating>> = calls.iter().map(|call| Some(&call.without)).collect();
        let with: Vec<Option<&Rating>> = calls.iter().map(|call| call.with.as_ref()).collect();
        columns.extend(rating_columns(&without));
        columns.extend(rating_columns(&with));
        RecordBatch::try_new(schema(), columns).expect("the columns have one length")
    }
}

fn rating_columns(ratings: &[Option<&Rating>]) -> [ArrayRef; 3] {
    let outputs = || {
        ratings
            .iter()
            .map(|rating| rating.map(|rating| &rating.output))
    };
    let value = outputs().map(|output| output?.as_ref().ok()?.text.as_deref());
    let scores = ratings.iter().map(|rating| rating.as_ref()?.score);
    let error = outputs().map(|output| Some(Fault::name(*output?.as_ref().err()?)));
    [
        Arc::new(StringArray::from_iter(value)),
        Arc::new(UInt32Array::from_iter(
            scores.map(|score| score.map(u32::from)),
        )),
        Arc::new(StringArray::from_iter(error)),
    ]
}

/// The columns of `differs.parquet` after `row`.
pub(crate) fn schema() -> SchemaRef {
    let text = |name: &str, description: &str| described(name, DataType::Utf8, description);
    let number = |name: &str, description: &str| described(name, DataType::UInt32, description);
    let mut fields = vec![
        text("task", "the task's name"),
        text("split", "train for a demonstration, test for a test"),
        number(
            "sample",
            "the sample's number among the task's demonstrations or tests, from 0",
        ),
        text("file", "the file of the differ"),
        number(
            "number",
            "the number of the value's line, as the row of s gives it",
        ),
        text(
            "candidate",
            "the task whose candidate's output is compared; null for the input",
        )
        .with_nullable(true),
        text("differ", "the differ's name"),
    ];
    for (name, is) in [
        ("without", "with C = None"),
        (
            "with",
            "with C = the expected output; null if that is not known, or not shown",
        ),
    ] {
        fields.extend([
            text(name, &format!("the value {is}, as compact JSON; null if it is longer than 64 KiB and --outputs all was not given")).with_nullable(true),
            number(&format!("{name}_score"), "the first of at least two items of the value, if it is an integer, cut to 0 to 1000; null for any other value").with_nullable(true),
            text(&format!("{name}_error"), "the exception that the differ ends with, or the limit; null if it has a value").with_nullable(true),
        ]);
    }
    Arc::new(Schema::new(fields))
}
