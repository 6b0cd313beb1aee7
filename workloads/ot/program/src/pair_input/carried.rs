//! Columns that are carried unchanged from the table of pairs to the results.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, StringArray};
use arrow::datatypes::{DataType, Field};

/// A column of the input, with its name and type.
#[derive(Clone, Debug)]
pub struct CarriedColumn {
    /// Its name, type and metadata.
    pub field: Field,
    /// A value for each pair.
    pub values: ArrayRef,
}

impl CarriedColumn {
    /// A column from texts, with the narrowest type that holds them all: integers, floats or text.
    /// Empty fields of a numeric column are nulls.
    pub fn of_texts(name: &str, texts: &[String]) -> CarriedColumn {
        let all = |is: fn(&str) -> bool| texts.iter().all(|text| text.is_empty() || is(text));
        let has_any = texts.iter().any(|text| !text.is_empty());
        let (data_type, values): (DataType, ArrayRef) = if has_any && all(|t| integer(t).is_some())
        {
            let values = texts.iter().map(|text| integer(text));
            (DataType::Int64, Arc::new(Int64Array::from_iter(values)))
        } else if has_any && all(|t| float(t).is_some()) {
            let values = texts.iter().map(|text| float(text));
            (DataType::Float64, Arc::new(Float64Array::from_iter(values)))
        } else {
            (DataType::Utf8, Arc::new(StringArray::from_iter_values(texts)))
        };
        CarriedColumn { field: Field::new(name, data_type, true), values }
    }
}

/// Whether a text has leading zeros. `007` stays text: as a number it would lose them.
fn is_padded(text: &str) -> bool {
    let digits = text.trim_start_matches(['-', '+']);
    digits.len() > 1 && digits.starts_with('0') && digits.as_bytes()[1].is_ascii_digit()
}

fn integer(text: &str) -> Option<i64> {
    text.parse().ok().filter(|_| !is_padded(text))
}

fn float(text: &str) -> Option<f64> {
    text.parse().ok().filter(|_| !is_padded(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_narrowest_type_that_holds_all() {
        let check = |texts: &[&str], data_type: DataType, n_nulls: usize| {
            let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
            let column = CarriedColumn::of_texts("c", &texts);
            assert_eq!(*column.field.data_type(), data_type, "{texts:?}");
            assert_eq!(column.values.null_count(), n_nulls, "{texts:?}");
        };
        check(&["1", "-2", "0"], DataType::Int64, 0);
        check(&["1", "", "3"], DataType::Int64, 1);
        check(&["1", "2.5"], DataType::Float64, 0);
        check(&["1e-3", "nan", ""], DataType::Float64, 1);
        check(&["9223372036854775808"], DataType::Float64, 0);
        check(&["007", "8"], DataType::Utf8, 0);
        check(&["0.5", "0"], DataType::Float64, 0);
        check(&["wt", "2"], DataType::Utf8, 0);
        check(&["", ""], DataType::Utf8, 0);
        check(&[], DataType::Utf8, 0);
    }
}
