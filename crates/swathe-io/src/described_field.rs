//! Described fields: the columns of tables say what they hold, and in which unit.

use arrow::datatypes::{DataType, Field};

/// A column without nulls, and what it holds.
pub(crate) fn described(name: &str, data_type: DataType, description: &str) -> Field {
    measured(name, data_type, description, "")
}

/// The same with the unit of its values; an empty one is left out.
pub(crate) fn measured(name: &str, data_type: DataType, description: &str, unit: &str) -> Field {
    let texts = [("description", description), ("unit", unit)].into_iter();
    let texts = texts.filter(|(_, text)| !text.is_empty());
    let metadata = texts.map(|(key, text)| (key.to_owned(), text.to_owned()));
    Field::new(name, data_type, false).with_metadata(metadata.collect())
}
