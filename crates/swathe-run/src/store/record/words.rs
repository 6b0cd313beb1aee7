//! Words: columns with few different texts, each stored once.

use std::sync::Arc;

use arrow::array::{ArrayRef, DictionaryArray, Int32Builder, StringArray};
use arrow::datatypes::{DataType, Int32Type};

use super::{Cells, Column};

/// One of a column's words, by its number among those that its builder has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word(pub i32);

/// The words of a column, and which of them each row has.
pub struct WordsBuilder {
    words: ArrayRef,
    keys: Int32Builder,
}

impl WordsBuilder {
    /// No rows; their words are to be among these.
    pub fn new<'a>(words: impl IntoIterator<Item = &'a str>) -> WordsBuilder {
        let words = Arc::new(StringArray::from_iter_values(words));
        WordsBuilder { words, keys: Int32Builder::new() }
    }

    fn take(&mut self, columns: &mut Vec<ArrayRef>) {
        let keys = self.keys.finish();
        let column = DictionaryArray::<Int32Type>::new(keys, Arc::clone(&self.words));
        columns.push(Arc::new(column));
    }
}

fn data_type() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

impl Cells for Word {
    type Builder = WordsBuilder;

    fn columns(field: Column) -> Vec<Column> {
        vec![field.of(data_type(), false)]
    }

    fn builder() -> WordsBuilder {
        WordsBuilder::new([])
    }

    fn append(&self, to: &mut WordsBuilder) {
        to.keys.append_value(self.0);
    }

    fn take(from: &mut WordsBuilder, columns: &mut Vec<ArrayRef>) {
        from.take(columns);
    }
}

impl Cells for Option<Word> {
    type Builder = WordsBuilder;

    fn columns(field: Column) -> Vec<Column> {
        vec![field.of(data_type(), true)]
    }

    fn builder() -> WordsBuilder {
        WordsBuilder::new([])
    }

    fn append(&self, to: &mut WordsBuilder) {
        to.keys.append_option(self.map(|word| word.0));
    }

    fn take(from: &mut WordsBuilder, columns: &mut Vec<ArrayRef>) {
        from.take(columns);
    }
}
