//! Results that the program does not understand, as bytes: those of functions of users.

use std::sync::Arc;

use arrow::array::{ArrayRef, LargeBinaryBuilder, StringBuilder};
use arrow::datatypes::{DataType, SchemaRef};

use crate::store::record::{Column, TableReference, schema};
use crate::store::rows::Rows;

/// The table `values`: a row for each item with a result.
pub struct ValueRows {
    /// The names of the items, if they have some.
    ids: Option<Vec<String>>,
    /// The number of the first item.
    first: usize,
    id_column: StringBuilder,
    values: LargeBinaryBuilder,
    n_bytes: usize,
}

/// The table's name.
const TABLE: &str = "values";

fn columns(has_ids: bool) -> impl Iterator<Item = Column> {
    let id = has_ids.then(|| Column::new("id", "the item's id").of(DataType::Utf8, false));
    let value = Column::new("value", "the result, pickled: pickle.loads reads it");
    id.into_iter().chain([value.of(DataType::LargeBinary, false)])
}

/// The table in the reference.
pub fn reference() -> TableReference {
    let about = "`swathe.run` of Python: a row for each item; `id` if items have names";
    TableReference::of_results(TABLE, about, columns(true))
}

impl ValueRows {
    /// Rows for items from the number `first` on, with these names.
    pub fn new(ids: Option<Vec<String>>, first: usize) -> ValueRows {
        ValueRows {
            ids,
            first,
            id_column: StringBuilder::new(),
            values: LargeBinaryBuilder::new(),
            n_bytes: 0,
        }
    }
}

impl Rows for ValueRows {
    type Solution = Vec<u8>;

    fn table(&self) -> &'static str {
        TABLE
    }

    fn schema(&self) -> SchemaRef {
        schema(&columns(self.ids.is_some()).collect::<Vec<_>>())
    }

    fn id(&self, index: usize) -> String {
        match &self.ids {
            Some(ids) => ids[index - self.first].clone(),
            None => index.to_string(),
        }
    }

    fn append(&mut self, index: usize, value: &Vec<u8>) -> usize {
        if let Some(ids) = &self.ids {
            let id = &ids[index - self.first];
            self.id_column.append_value(id);
            self.n_bytes += id.len();
        }
        self.values.append_value(value);
        self.n_bytes += value.len();
        1
    }

    fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    fn take(&mut self) -> Vec<ArrayRef> {
        self.n_bytes = 0;
        let mut columns: Vec<ArrayRef> = Vec::new();
        if self.ids.is_some() {
            columns.push(Arc::new(self.id_column.finish()));
        }
        columns.push(Arc::new(self.values.finish()));
        columns
    }
}
