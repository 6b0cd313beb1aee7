//! The differs of a run: `differ_rows.parquet`.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, RecordBatch, StringArray, UInt32Array, UInt64Array};
use arrow::datatypes::{DataType, Schema, UInt32Type};

use super::samples::read_rows;
use crate::differ_parts::DifferRow;
use swathe_formats::described_field::described;
use swathe_run::store::run_folder::{FolderError, write_table};
use swathe_run::store::table_reader::{number_column, string_column};

pub(super) const DIFFER_ROWS: &str = "differ_rows";

/// Writes the table of the differs that are run.
///
/// # Errors
/// If the table cannot be written.
pub fn write_differ_rows(run: &Path, differs: &[DifferRow]) -> Result<(), FolderError> {
    let text = |name: &str, description: &str| described(name, DataType::Utf8, description);
    let schema = Schema::new(vec![
        described("row", DataType::UInt64, "the differ's number, from 0"),
        text("differ", "its name"),
        text("file", "the file it is from"),
        described(
            "number",
            DataType::UInt32,
            "the number of the value's line, as the row of s gives it",
        ),
        text("candidate", "the task whose candidate's output it compares; null for the input")
            .with_nullable(true),
        text(
            "digest",
            "12 bytes of the BLAKE3 hash of its text without its name: equal differs have equal ones",
        ),
    ]);
    let texts = |text: fn(&DifferRow) -> Option<&str>| -> ArrayRef {
        Arc::new(StringArray::from_iter(differs.iter().map(text)))
    };
    let columns: Vec<ArrayRef> = vec![
        Arc::new(UInt64Array::from_iter_values(0..differs.len() as u64)),
        texts(|differ| Some(&differ.differ)),
        texts(|differ| Some(&differ.file)),
        Arc::new(UInt32Array::from_iter_values(differs.iter().map(|differ| differ.number))),
        texts(|differ| differ.candidate.as_deref()),
        texts(|differ| Some(&differ.digest)),
    ];
    let batch =
        RecordBatch::try_new(Arc::new(schema), columns).expect("the columns have one length");
    write_table(&run.join(format!("{DIFFER_ROWS}.parquet")), &batch)
}

/// The differs of a run, in order.
///
/// # Errors
/// If the table cannot be read or has other columns.
pub(crate) fn read_differ_rows(run: &Path) -> Result<Vec<DifferRow>, FolderError> {
    let columns = ["differ", "file", "number", "candidate", "digest"];
    read_rows(run, DIFFER_ROWS, &columns, |batch| {
        let [differ, file, candidate, digest] =
            ["differ", "file", "candidate", "digest"].map(|name| string_column(batch, name));
        let (differ, file, candidate, digest) = (differ?, file?, candidate?, digest?);
        let number = number_column::<UInt32Type>(batch, "number")?;
        let row = |at: usize| DifferRow {
            file: file.value(at).to_owned(),
            number: number.value(at),
            candidate: (candidate.is_valid(at)).then(|| candidate.value(at).to_owned()),
            differ: differ.value(at).to_owned(),
            digest: digest.value(at).to_owned(),
        };
        Ok((0..batch.num_rows()).map(row).collect())
    })
}

/// The same; None if the run has no such table, because it is without differs.
pub(crate) fn find_differ_rows(run: &Path) -> Result<Option<Vec<DifferRow>>, FolderError> {
    let exists = run.join(format!("{DIFFER_ROWS}.parquet")).exists();
    exists.then(|| read_differ_rows(run)).transpose()
}
