//! `differs.parquet` and `differ_scores.parquet`: what differs said about all samples.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray as _, RecordBatch, UInt64Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int32Type, SchemaRef, UInt32Type, UInt64Type};

use super::differ_rows::read_differ_rows;
use super::part_values::PartValues;
use super::samples::{SampleName, read_sample_names};
use crate::arc_table::SPLITS;
use crate::differ_parts::{DifferRow, ROW};
use swathe_run::record;
use swathe_run::store::record::{self, Cells as _, Column, Record as _, SideTable, TableReference};
use swathe_run::store::run_folder::{FolderError, TableFile};
use swathe_run::store::table_reader::{column, number_column};

/// The name of the table of values.
pub(crate) const DIFFERS: &str = "differs";

/// Writes the tables of a complete run from the files of its parts, and returns how many values of differs there are.
/// A sample without an answer has no rows.
///
/// # Errors
/// If a file of a part cannot be read, or a table cannot be written.
pub fn write_differs(run: &Path) -> Result<u64, FolderError> {
    let (samples, differs) = (read_sample_names(run)?, read_differ_rows(run)?);
    let path = run.join(format!("{DIFFERS}.parquet"));
    let failed = |source| FolderError::Write { path: path.clone(), source };
    let mut table = DiffersTable {
        schema: record::schema(&columns()),
        samples: &samples,
        differs: &differs,
        n_rows: 0,
    };
    let mut file = TableFile::create(&path, Arc::clone(&table.schema)).map_err(failed)?;
    let mut group_text_bytes = 0;
    let mut sums = Sums::new(&samples, &differs);
    let mut values = PartValues::of(run, differs.len())?;
    while let Some((part, mut batch)) = values.next()? {
        let damaged = |error: String| FolderError::damaged(&part)(error);
        sums.add(&batch).map_err(damaged)?;
        for (n_rows, text_bytes) in cuts(&batch).map_err(damaged)? {
            // Readers hold a row group with every text as often as it occurs.
            if group_text_bytes + text_bytes > TEXT_BYTES {
                file.end_group().map_err(failed)?;
                group_text_bytes = 0;
            }
            group_text_bytes += text_bytes;
            let rows = table.take(&mut batch, n_rows).map_err(damaged)?;
            file.write(&rows).map_err(failed)?;
        }
    }
    file.commit().map_err(failed)?;
    DIFFER_SCORES.write(run, &sums.rows())?;
    Ok(table.n_rows)
}

/// `differs.parquet` in the making.
struct DiffersTable<'a> {
    schema: SchemaRef,
    samples: &'a [SampleName],
    differs: &'a [DifferRow],
    /// Rows so far.
    n_rows: u64,
}

impl DiffersTable<'_> {
    /// The first rows of a part as rows of the table.
    fn take(&mut self, part: &mut RecordBatch, n_rows: usize) -> Result<RecordBatch, String> {
        let rest = part.slice(n_rows, part.num_rows() - n_rows);
        let part = std::mem::replace(part, rest).slice(0, n_rows);
        let n_differs = self.differs.len() as u64;
        let rows = number_column::<UInt64Type>(&part, ROW)?.values();
        let sample = |&row: &u64| &self.samples[(row / n_differs) as usize];
        let differ = |&row: &u64| &self.differs[(row % n_differs) as usize];
        let mut places = DifferPlace::builder();
        for row in rows {
            DifferPlace::of(sample(row), differ(row)).append(&mut places);
        }
        let numbers = self.n_rows..self.n_rows + rows.len() as u64;
        let mut columns: Vec<ArrayRef> =
            vec![Arc::new(UInt64Array::from_iter_values(numbers.clone()))];
        DifferPlace::take(&mut places, &mut columns);
        for field in &self.schema.fields()[columns.len()..] {
            let values = cast(column(&part, field.name())?, field.data_type());
            columns.push(values.map_err(|error| error.to_string())?);
        }
        self.n_rows = numbers.end;
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns);
        batch.map_err(|error| error.to_string())
    }
}

/// The texts of the rows that are written at once take no more memory than this, unless those of one row do.
const TEXT_BYTES: usize = 4 << 20;

/// Cuts the rows of a part, where equal texts are stored once, into stretches with little text: the number of rows, and
/// the memory of their texts in the table.
fn cuts(part: &RecordBatch) -> Result<Vec<(usize, usize)>, String> {
    let (without, with) = (text_lengths(part, "without")?, text_lengths(part, "with")?);
    let mut cuts: Vec<(usize, usize)> = Vec::new();
    for (without_bytes, with_bytes) in without.into_iter().zip(with) {
        let text_bytes = without_bytes + with_bytes;
        match cuts.last_mut() {
            Some((n_rows, n_bytes)) if *n_bytes + text_bytes <= TEXT_BYTES => {
                *n_rows += 1;
                *n_bytes += text_bytes;
            }
            _ => cuts.push((1, text_bytes)),
        }
    }
    Ok(cuts)
}

/// The lengths of a column's texts.
fn text_lengths(part: &RecordBatch, name: &str) -> Result<Vec<usize>, String> {
    let stored_otherwise = || format!("the column {name} is stored in another way");
    let texts = column(part, name)?.as_dictionary_opt::<Int32Type>();
    let texts = texts.ok_or_else(stored_otherwise)?;
    let values = texts.values().as_string_opt::<i64>();
    let values = values.ok_or_else(stored_otherwise)?;
    let length = |key: Option<usize>| key.map_or(0, |key| values.value_length(key) as usize);
    Ok(texts.keys_iter().map(length).collect())
}

record! {
    /// Which value of a differ it is.
    struct DifferPlace / DifferPlaces: of(name: &SampleName, row: &DifferRow) {
        /// the task's name
        task: String = name.task.clone();
        /// train for a demonstration, test for a test
        split: String = SPLITS[usize::from(name.is_test)].to_owned();
        /// the sample's number among the task's demonstrations or tests, from 0
        sample: u32 = name.index as u32;
        /// the file of the differ
        file: String = row.file.clone();
        /// the number of the value's line, as the row of s gives it
        number: u32 = row.number;
        /// the task whose candidate's output is compared; null for the input
        candidate: Option<String> = row.candidate.clone();
        /// the differ's name
        differ: String = row.differ.clone();
    }
}

/// The columns of `differs.parquet`. Those of values have the names that they have in the files of parts.
fn columns() -> Vec<Column> {
    let mut columns =
        vec![Column::new(ROW, "the row's number, from 0").of(DataType::UInt64, false)];
    columns.extend(DifferPlace::declared().iter().cloned());
    for (name, is) in [
        ("without", "with C = None"),
        ("with", "with C = the expected output; null if that is not known, or not shown"),
    ] {
        let column = |suffix: &str, meaning: &str, data_type| {
            Column::new(format!("{name}{suffix}"), meaning).of(data_type, true)
        };
        let value = format!(
            "the value {is}, as compact JSON; null if it is longer than 64 KiB and --outputs all was not given"
        );
        columns.extend([
            column("", &value, DataType::Utf8),
            column("_score", "the first of at least two items of the value, if it is an integer, cut to 0 to 1000; null for any other value", DataType::UInt32),
            column("_error", "the exception that the differ ends with, or the limit; null if it has a value", DataType::Utf8),
        ]);
    }
    columns
}

/// The tables of differs, in the reference.
pub(super) fn references() -> [TableReference; 2] {
    let about = "`arc batt`: a row for each value of a differ";
    [
        TableReference { name: DIFFERS, about, columns: columns() },
        DIFFER_SCORES.reference("`arc batt`: a row for each differ of each task"),
    ]
}

/// The scores of differs.
const DIFFER_SCORES: SideTable<DifferScoreRow> =
    SideTable::new("differ_scores", "the row's number, from 0");

record! {
    /// The scores of a differ at a task.
    struct DifferScoreRow / DifferScoreColumns: read {
        /// the task's name
        task: String;
        /// the file of the differ
        file: String;
        /// the task whose candidate's outputs are compared; null for the input
        candidate: Option<String>;
        /// the differ's name
        differ: String;
        /// the sum of the differ's scores over all samples, without and with the expected output, as run_batt sums them: for the input 1000 for each
        batt_score: u64;
    }
}

/// The scores of differs, summed as `run_batt` sums them.
struct Sums<'a> {
    samples: &'a [SampleName],
    differs: &'a [DifferRow],
    /// For each differ, the first of the differs with its file, candidate and name: their scores are one sum.
    firsts: Vec<usize>,
    /// The tasks that have values, each with a sum for every differ that is the first of its name.
    tasks: Vec<(&'a str, Vec<u64>)>,
}

impl<'a> Sums<'a> {
    fn new(samples: &'a [SampleName], differs: &'a [DifferRow]) -> Sums<'a> {
        let mut by_name = HashMap::new();
        let named = differs.iter().enumerate();
        let firsts = named.map(|(at, row)| {
            let name = (&row.file, &row.candidate, &row.differ);
            *by_name.entry(name).or_insert(at)
        });
        Sums { samples, differs, firsts: firsts.collect(), tasks: Vec::new() }
    }

    /// Adds rows of a part: those of a sample, and the samples of a task, are adjacent.
    fn add(&mut self, part: &RecordBatch) -> Result<(), String> {
        let n_differs = self.differs.len();
        let rows = number_column::<UInt64Type>(part, ROW)?.values();
        let scores = [
            number_column::<UInt32Type>(part, "without_score")?,
            number_column::<UInt32Type>(part, "with_score")?,
        ];
        for (at, &row) in rows.iter().enumerate() {
            let (sample, differ) = (row as usize / n_differs, row as usize % n_differs);
            let sample = self.samples.get(sample);
            let task = sample.ok_or("it has a sample that the run does not have")?;
            let task = task.task.as_str();
            if self.tasks.last().is_none_or(|(last, _)| *last != task) {
                self.tasks.push((task, vec![0; n_differs]));
            }
            let (_, sums) = self.tasks.last_mut().expect("it was added");
            for score in scores.iter().filter(|scores| scores.is_valid(at)) {
                // `run_batt` adds what a differ of the input lacks to 1000, and then what it has.
                sums[self.firsts[differ]] += match self.differs[differ].candidate {
                    Some(_) => u64::from(score.value(at)),
                    None => 1000,
                };
            }
        }
        Ok(())
    }

    fn rows(&self) -> Vec<DifferScoreRow> {
        let firsts = || self.firsts.iter().enumerate().filter(|(at, first)| at == *first);
        let rows = self.tasks.iter().flat_map(|(task, sums)| {
            firsts().map(move |(at, _)| {
                let DifferRow { file, candidate, differ, .. } = self.differs[at].clone();
                DifferScoreRow {
                    task: (*task).to_owned(),
                    file,
                    candidate,
                    differ,
                    batt_score: sums[at],
                }
            })
        });
        rows.collect()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use arrow::array::RecordBatch;
    use arrow::compute::concat_batches;
    use swathe::seed::draw;
    use swathe_arc::{DifferCall, Fault, Output, Problem, Rating, Task};
    use swathe_run::store::run_folder::{TableFile, make_own_folder};
    use swathe_run::store::table_reader::TableReader;

    use super::{DIFFERS, write_differs};
    use crate::arc_run::{write_differ_rows, write_inputs};
    use crate::differ_parts::{DifferParts, DifferRow, FOLDER};

    const N_DIFFERS: usize = 3;

    /// What a differ says about a sample: different things, some of them long.
    fn call(sample: usize, differ: usize) -> DifferCall {
        let at = sample * N_DIFFERS + differ;
        let too_long = Output { text: None, n_bytes: 1 << 20, hash: 7 };
        let rating = |n: usize| Rating {
            output: match n % 7 {
                0 => Err(Fault::Timeout),
                1 => Ok(too_long.clone()),
                2 => Ok(Output::from_text("x".repeat(60_000).into())),
                _ => Ok(Output::from_text((n % 5).to_string().into())),
            },
            score: (n % 3 == 1).then_some(n as u16),
        };
        DifferCall { differ, without: rating(at), with: (sample % 4 != 1).then(|| rating(at + 2)) }
    }

    fn tables(run: &Path) -> [RecordBatch; 2] {
        [DIFFERS, "differ_scores"].map(|name| {
            let table = TableReader::of_run(run, name).unwrap();
            // Long texts end row groups.
            let n_groups = table.builder.metadata().num_row_groups();
            assert_eq!(n_groups > 1, name == DIFFERS);
            let schema = Arc::clone(table.builder.schema());
            let batches: Vec<_> = table.batches().unwrap().map(Result::unwrap).collect();
            concat_batches(&schema, &batches).unwrap()
        })
    }

    /// A run whose samples arrive in this order, in parts of these sizes.
    fn run(
        problems: &[Problem],
        order: &[usize],
        sizes: &mut impl FnMut() -> usize,
    ) -> [RecordBatch; 2] {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path();
        let row = |differ: usize| DifferRow {
            file: "batt.py".to_owned(),
            number: differ as u32,
            candidate: (differ > 0).then(|| "task".to_owned()),
            // Two of one name are one sum.
            differ: "differ".to_owned(),
            digest: differ.to_string(),
        };
        let rows: Vec<DifferRow> = (0..N_DIFFERS).map(row).collect();
        write_inputs(run, problems, &[]).unwrap();
        write_differ_rows(run, &rows).unwrap();
        make_own_folder(&run.join(FOLDER)).unwrap();
        let mut parts = DifferParts::new(run, N_DIFFERS);
        let mut left = order;
        while !left.is_empty() {
            let (part, after) = left.split_at(sizes().min(left.len()));
            for &sample in part {
                let calls: Vec<DifferCall> = (0..N_DIFFERS).map(|d| call(sample, d)).collect();
                parts.append(sample, &calls);
            }
            let table = parts.take().unwrap();
            assert_eq!(parts.n_bytes(), 0);
            let mut file = TableFile::create(&run.join(table.path), table.batch.schema()).unwrap();
            file.write(&table.batch).unwrap();
            file.commit().unwrap();
            left = after;
        }
        let n_rows = write_differs(run).unwrap();
        assert_eq!(n_rows as usize, order.len() * N_DIFFERS);
        tables(run)
    }

    #[test]
    fn parts_in_any_order_make_the_same_tables() {
        let task = r#"{"train": [{"input": [[1]], "output": [[1]]}, {"input": [[3]], "output": [[1]]}], "test": [{"input": [[2]]}]}"#;
        let tasks = (0..40).map(|n| Task::from_json(&n.to_string(), task).unwrap());
        let problems: Vec<Problem> = tasks.flat_map(|t| Problem::all(&Arc::new(t))).collect();
        // Some samples have no answer.
        let order: Vec<usize> = (0..problems.len()).filter(|n| n % 11 != 5).collect();
        let wanted = run(&problems, &order, &mut || usize::MAX);
        assert_eq!(wanted[0].num_rows(), order.len() * N_DIFFERS);
        assert_eq!(wanted[1].num_rows(), 40 * 2);
        let mut state = 5;
        let mut below = |n: usize| draw(&mut state) as usize % n;
        for _ in 0..20 {
            // Samples arrive out of order, but not far from their places; or in any order.
            let far = [1, 10, problems.len()][below(3)];
            let mut order = order.clone();
            order.sort_by_cached_key(|&n| n + below(far));
            let found = run(&problems, &order, &mut || 1 + below(30));
            assert_eq!(found, wanted);
        }
    }
}
