//! Dictionary-encoded columns of texts, read by their keys.

use arrow::array::{ArrayRef, AsArray, RecordBatch, StringArray};
use arrow::datatypes::Int32Type;

/// A dictionary-encoded column of texts.
pub(super) struct DictionaryColumn<'a> {
    keys: &'a [i32],
    values: &'a StringArray,
}

impl<'a> DictionaryColumn<'a> {
    /// The column of this name.
    pub(super) fn of(batch: &'a RecordBatch, name: &str) -> Result<DictionaryColumn<'a>, String> {
        let column: &ArrayRef =
            batch.column_by_name(name).ok_or_else(|| format!("it has no column {name}"))?;
        let stored_otherwise = || format!("the column {name} is stored in another way");
        let column = column.as_dictionary_opt::<Int32Type>().ok_or_else(stored_otherwise)?;
        let values = column.values().as_string_opt::<i32>().ok_or_else(stored_otherwise)?;
        Ok(DictionaryColumn { keys: column.keys().values(), values })
    }

    /// The number of a row's text in the dictionary; meaningless where the row is null.
    pub(super) fn key(&self, at: usize) -> usize {
        self.keys[at] as usize
    }

    /// A row's text.
    pub(super) fn value(&self, at: usize) -> &'a str {
        self.values.value(self.key(at))
    }

    /// All texts of the dictionary; an entry that no row uses may be null.
    pub(super) fn values(&self) -> impl Iterator<Item = Option<&'a str>> {
        self.values.iter()
    }
}
