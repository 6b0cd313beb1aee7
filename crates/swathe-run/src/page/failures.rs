//! Failures as columns: which problems have no answer, and why.

use std::collections::HashMap;
use std::path::Path;

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::UInt64Type;
use serde_json::{Value, json};

use crate::explain::failure_groups::failure_groups;
use crate::store::run_folder::FolderError;
use crate::store::table_reader::TableReader;

/// More rows than a user pages through; `failures.parquet` has all of them.
const N_ROWS_MAX: usize = 20_000;
/// The most bytes of a page that ids and messages may take.
const N_BYTES_MAX: usize = 3 << 20;
/// A message is a sentence or two; a longer one is cut off, as it is likely a data dump.
const N_CHARS_MAX: usize = 600;
/// Reasons shown above the rows.
const N_REASONS_MAX: usize = 5;

/// The columns of `failures.parquet`, as many rows as the limits allow; null if the run was
/// interrupted and has no such file.
///
/// Messages are deduplicated into a list of their own: thousands of problems often fail for one
/// reason.
pub(super) fn columns(run: &Path) -> Result<Value, FolderError> {
    let path = run.join("failures.parquet");
    if !path.exists() {
        return Ok(Value::Null);
    }
    let table = TableReader::open(&path)?;
    let n_rows = table.builder.metadata().file_metadata().num_rows();
    let mut kept = KeptRows::default();
    let mut batches = table.batches()?;
    while let Some(batch) = batches.next().transpose()? {
        let took = kept.take(&batch);
        if !took.ok_or_else(|| batches.damaged("it has not the columns of failures"))? {
            break;
        }
    }
    let groups = failure_groups(run)?;
    let told: Vec<Value> = groups
        .iter()
        .take(N_REASONS_MAX)
        .map(|group| {
            json!({
                "n": group.n,
                "kind": group.kind,
                "id": shortened(&group.id),
                "message": shortened(&group.message),
            })
        })
        .collect();
    Ok(json!({
        "reasons": told,
        "n_reasons": groups.len(),
        "n_rows": n_rows,
        "row": kept.rows,
        "id": kept.ids,
        "kind": kept.kinds,
        "message": kept.messages,
        "messages": kept.texts,
    }))
}

#[derive(Default)]
struct KeptRows {
    rows: Vec<u64>,
    ids: Vec<String>,
    kinds: Vec<String>,
    messages: Vec<usize>,
    texts: Vec<String>,
    places: HashMap<String, usize>,
    n_bytes: usize,
}

impl KeptRows {
    /// Adds the rows of a batch. Returns false once a limit is reached, and `None` if a column is
    /// absent.
    fn take(&mut self, batch: &RecordBatch) -> Option<bool> {
        let rows = batch.column_by_name("row")?.as_primitive_opt::<UInt64Type>()?;
        let texts = |name: &str| batch.column_by_name(name)?.as_string_opt::<i32>();
        let (ids, kinds, messages) = (texts("id")?, texts("kind")?, texts("message")?);
        for at in 0..batch.num_rows() {
            if self.rows.len() == N_ROWS_MAX || self.n_bytes > N_BYTES_MAX {
                return Some(false);
            }
            let id = shortened(ids.value(at));
            let message = shortened(messages.value(at));
            self.n_bytes += 16 + id.len();
            let place = *self.places.entry(message).or_insert_with_key(|message| {
                self.n_bytes += message.len();
                self.texts.push(message.clone());
                self.texts.len() - 1
            });
            self.rows.push(rows.value(at));
            self.ids.push(id);
            self.kinds.push(kinds.value(at).to_owned());
            self.messages.push(place);
        }
        Some(true)
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(N_CHARS_MAX) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
