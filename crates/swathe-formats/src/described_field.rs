//! Described fields: the columns of tables say what they hold, and in which unit.

use arrow::datatypes::{DataType, Field};

/// A column without nulls, and what it holds.
pub fn described(name: &str, data_type: DataType, description: &str) -> Field {
    measured(name, data_type, description, "")
}

/// The same with the unit of its values; an empty one is left out.
pub fn measured(name: &str, data_type: DataType, description: &str, unit: &str) -> Field {
    let texts = [("description", description), ("unit", unit)].into_iter();
    let texts = texts.filter(|(_, text)| !text.is_empty());
    let metadata = texts.map(|(key, text)| (key.to_owned(), text.to_owned()));
    Field::new(name, data_type, false).with_metadata(metadata.collect())
}

/// The unit of columns that say where files are: they are no results.
pub const PATH_UNIT: &str = "path";

/// The key of a field's metadata under which its place among the values of a table stands.
pub const VALUE_PLACE: &str = "value_place";

/// Marks the columns that are values of a table, in the order of this list. A column that is renamed
/// keeps its place in the list, and columns that are added later are not in it, so that a hash over
/// the values of a table can be compared from version to version.
pub fn mark_values(fields: impl IntoIterator<Item = Field>, names: &[&str]) -> Vec<Field> {
    let marked = fields.into_iter().map(|field| {
        let Some(place) = names.iter().position(|name| name == field.name()) else {
            return field;
        };
        let mut metadata = field.metadata().clone();
        metadata.insert(VALUE_PLACE.to_owned(), place.to_string());
        field.with_metadata(metadata)
    });
    marked.collect()
}
