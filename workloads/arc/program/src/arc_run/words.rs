//! Columns of few different words, read by their keys.

use arrow::array::{ArrayRef, AsArray, RecordBatch, StringArray};
use arrow::datatypes::Int32Type;

/// A column of few different words.
pub(crate) struct Words<'a> {
    keys: &'a [i32],
    words: &'a StringArray,
}

impl<'a> Words<'a> {
    /// The column of this name.
    pub(crate) fn of(batch: &'a RecordBatch, name: &str) -> Result<Words<'a>, String> {
        let column: &ArrayRef = batch
            .column_by_name(name)
            .ok_or_else(|| format!("it has no column {name}"))?;
        let stored_otherwise = || format!("the column {name} is stored in another way");
        let column = column
            .as_dictionary_opt::<Int32Type>()
            .ok_or_else(stored_otherwise)?;
        let words = column
            .values()
            .as_string_opt::<i32>()
            .ok_or_else(stored_otherwise)?;
        Ok(Words {
            keys: column.keys().values(),
            words,
        })
    }

    /// The number of a row's word in the dictionary; of no meaning where the row has none.
    pub(crate) fn key(&self, at: usize) -> usize {
        self.keys[at] as usize
    }

    /// A row's word.
    pub(crate) fn word(&self, at: usize) -> &'a str {
        self.words.value(self.key(at))
    }

    /// All words of the dictionary; some may be null where nothing refers to them.
    pub(crate) fn words(&self) -> impl Iterator<Item = Option<&'a str>> {
        self.words.iter()
    }
}
