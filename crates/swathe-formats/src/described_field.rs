//! Described fields: table columns with a description and a unit in their metadata.

use arrow::datatypes::{DataType, Field};

/// A column without nulls, with a description.
pub fn described(name: &str, data_type: DataType, description: &str) -> Field {
    measured(name, data_type, description, "")
}

/// The same with a unit; an empty description or unit is left out.
pub fn measured(name: &str, data_type: DataType, description: &str, unit: &str) -> Field {
    let texts = [("description", description), ("unit", unit)].into_iter();
    let texts = texts.filter(|(_, text)| !text.is_empty());
    let metadata = texts.map(|(key, text)| (key.to_owned(), text.to_owned()));
    Field::new(name, data_type, false).with_metadata(metadata.collect())
}

/// The unit of columns that hold file paths. Such columns are not results.
pub const PATH_UNIT: &str = "path";

/// The metadata key for a field's position among the values of a table.
pub const VALUE_PLACE: &str = "value_place";

/// Marks the columns that are values of a table, in the order of `names`. A hash over the values of
/// a table stays comparable between versions: a renamed column keeps its position in the list, and
/// a column that is added later is not listed.
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
