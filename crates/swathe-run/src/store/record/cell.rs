//! Cells of one column: flags, numbers, texts, and lists of them.

use std::slice::Iter;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayBuilder, ArrayRef, AsArray, BooleanArray, BooleanBuilder, Float64Builder,
    ListBuilder, RecordBatch, StringArray, StringBuilder, UInt32Builder, UInt64Builder,
};
use arrow::datatypes::{DataType, Field, Float64Type, UInt32Type, UInt64Type};

use super::{Cells, Column, Figure, Figures, ReadCells};
use crate::store::table_reader::{column, number_column, string_column};

/// The name of the next column; `None` if the batch does not have it and need not: it came later, or may be null.
fn present<'a>(
    batch: &RecordBatch,
    columns: &mut Iter<'a, Column>,
) -> Result<Option<&'a str>, String> {
    let wanted = columns.next().expect("a record reads the columns that it declares");
    if batch.column_by_name(&wanted.name).is_none() && (wanted.is_later || wanted.is_nullable) {
        return Ok(None);
    }
    Ok(Some(&wanted.name))
}

/// The values of a column, with nulls as `None`.
fn values<A: Array, T>(array: &A, value: impl Fn(&A, usize) -> T) -> Vec<Option<T>> {
    (0..array.len()).map(|at| array.is_valid(at).then(|| value(array, at))).collect()
}

/// Cells of a type that fills one column, and those of them that may be null.
macro_rules! cells {
    ($($type:ty, $builder:ty, $data_type:ident, $append:expr, $is_value:expr, $read:expr, $figure:expr;)*) => {$(
        impl Cells for $type {
            type Builder = $builder;

            fn columns(field: Column) -> Vec<Column> {
                vec![field.of(DataType::$data_type, false)]
            }

            fn builder() -> $builder {
                <$builder>::new()
            }

            fn append(&self, to: &mut $builder) {
                $append(self, to);
            }

            fn take(from: &mut $builder, columns: &mut Vec<ArrayRef>) {
                columns.push(Arc::new(from.finish()));
            }
        }

        impl Cells for Option<$type> {
            type Builder = $builder;

            fn columns(field: Column) -> Vec<Column> {
                vec![field.of(DataType::$data_type, true)]
            }

            fn builder() -> $builder {
                <$builder>::new()
            }

            fn append(&self, to: &mut $builder) {
                match self {
                    Some(value) if $is_value(value) => $append(value, to),
                    _ => to.append_null(),
                }
            }

            fn take(from: &mut $builder, columns: &mut Vec<ArrayRef>) {
                columns.push(Arc::new(from.finish()));
            }
        }

        impl ReadCells for $type {
            fn read(batch: &RecordBatch, columns: &mut Iter<'_, Column>) -> Result<Vec<$type>, String> {
                let Some(name) = present(batch, columns)? else {
                    return Ok(vec![<$type>::default(); batch.num_rows()]);
                };
                let values: Option<Vec<$type>> = $read(batch, name)?.into_iter().collect();
                values.ok_or_else(|| format!("the column {name:?} has no value in some rows"))
            }
        }

        impl ReadCells for Option<$type> {
            fn read(batch: &RecordBatch, columns: &mut Iter<'_, Column>) -> Result<Vec<Option<$type>>, String> {
                match present(batch, columns)? {
                    Some(name) => $read(batch, name),
                    None => Ok(vec![None; batch.num_rows()]),
                }
            }
        }

        impl Figures for $type {
            fn figures(&self, figures: &mut Vec<Figure>) {
                figures.push($figure(self));
            }
        }

        impl Figures for Option<$type> {
            fn figures(&self, figures: &mut Vec<Figure>) {
                figures.push(match self {
                    Some(value) if $is_value(value) => $figure(value),
                    _ => Figure::Null,
                });
            }
        }
    )*};
}

cells! {
    bool, BooleanBuilder, Boolean,
        |value: &bool, to: &mut BooleanBuilder| to.append_value(*value), |_: &bool| true,
        |batch: &RecordBatch, name: &str| -> Result<_, String> {
            let flags = column(batch, name)?.as_boolean_opt();
            let flags = flags.ok_or_else(|| format!("the column {name:?} is neither true nor false"))?;
            Ok(values(flags, BooleanArray::value))
        },
        |value: &bool| Figure::Flag(*value);
    u32, UInt32Builder, UInt32,
        |value: &u32, to: &mut UInt32Builder| to.append_value(*value), |_: &u32| true,
        |batch: &RecordBatch, name: &str| -> Result<_, String> {
            Ok(number_column::<UInt32Type>(batch, name)?.iter().collect::<Vec<_>>())
        },
        |value: &u32| Figure::Count((*value).into());
    u64, UInt64Builder, UInt64,
        |value: &u64, to: &mut UInt64Builder| to.append_value(*value), |_: &u64| true,
        |batch: &RecordBatch, name: &str| -> Result<_, String> {
            Ok(number_column::<UInt64Type>(batch, name)?.iter().collect::<Vec<_>>())
        },
        |value: &u64| Figure::Count((*value).into());
    // Where there may be none, NaN is no value either.
    f64, Float64Builder, Float64,
        |value: &f64, to: &mut Float64Builder| to.append_value(*value), |value: &f64| !value.is_nan(),
        |batch: &RecordBatch, name: &str| -> Result<_, String> {
            Ok(number_column::<Float64Type>(batch, name)?.iter().collect::<Vec<_>>())
        },
        |value: &f64| Figure::Number(*value);
    String, StringBuilder, Utf8,
        |value: &String, to: &mut StringBuilder| to.append_value(value), |_: &String| true,
        |batch: &RecordBatch, name: &str| -> Result<_, String> {
            Ok(values(&string_column(batch, name)?, |texts: &StringArray, at| texts.value(at).to_owned()))
        },
        |value: &String| Figure::Text(value.clone());
}

/// What a list can hold.
pub trait Element {
    /// The elements of the rows so far.
    type Builder: ArrayBuilder;

    /// Their type, and whether some may be null.
    fn data_type() -> (DataType, bool);

    /// A builder without elements.
    fn builder() -> Self::Builder;

    /// Appends elements.
    fn append(elements: &[Self], to: &mut Self::Builder)
    where
        Self: Sized;

    /// An element for Python and JSON.
    fn figure(&self) -> Figure;
}

macro_rules! elements {
    ($($type:ty, $builder:ty, $data_type:ident, $is_nullable:literal, $append:expr, $figure:expr;)*) => {$(
        impl Element for $type {
            type Builder = $builder;

            fn data_type() -> (DataType, bool) {
                (DataType::$data_type, $is_nullable)
            }

            fn builder() -> $builder {
                <$builder>::new()
            }

            fn append(elements: &[$type], to: &mut $builder) {
                $append(elements, to);
            }

            fn figure(&self) -> Figure {
                $figure(self)
            }
        }
    )*};
}

elements! {
    u64, UInt64Builder, UInt64, false,
        |elements: &[u64], to: &mut UInt64Builder| to.append_slice(elements),
        |element: &u64| Figure::Count((*element).into());
    Option<u32>, UInt32Builder, UInt32, true,
        |elements: &[Option<u32>], to: &mut UInt32Builder| elements.iter().for_each(|&element| to.append_option(element)),
        |element: &Option<u32>| element.map_or(Figure::Null, |element| Figure::Count(element.into()));
    String, StringBuilder, Utf8, false,
        |elements: &[String], to: &mut StringBuilder| elements.iter().for_each(|element| to.append_value(element)),
        |element: &String| Figure::Text(element.clone());
}

/// The field of a list's elements, and a builder of lists of them.
pub fn list_builder<E: Element>(name: &str) -> (DataType, ListBuilder<E::Builder>) {
    let (data_type, is_nullable) = E::data_type();
    let element = Field::new(name, data_type, is_nullable);
    let builder = ListBuilder::new(E::builder()).with_field(element.clone());
    (DataType::List(Arc::new(element)), builder)
}

const ELEMENT: &str = "element";

impl<E: Element> Cells for Vec<E> {
    type Builder = ListBuilder<E::Builder>;

    fn columns(field: Column) -> Vec<Column> {
        vec![field.of(list_builder::<E>(ELEMENT).0, false)]
    }

    fn builder() -> ListBuilder<E::Builder> {
        list_builder::<E>(ELEMENT).1
    }

    fn append(&self, to: &mut ListBuilder<E::Builder>) {
        E::append(self, to.values());
        to.append(true);
    }

    fn take(from: &mut ListBuilder<E::Builder>, columns: &mut Vec<ArrayRef>) {
        columns.push(Arc::new(from.finish()));
    }
}

impl<E: Element> Cells for Option<Vec<E>> {
    type Builder = ListBuilder<E::Builder>;

    fn columns(field: Column) -> Vec<Column> {
        vec![field.of(list_builder::<E>(ELEMENT).0, true)]
    }

    fn builder() -> ListBuilder<E::Builder> {
        list_builder::<E>(ELEMENT).1
    }

    fn append(&self, to: &mut ListBuilder<E::Builder>) {
        E::append(self.as_deref().unwrap_or_default(), to.values());
        to.append(self.is_some());
    }

    fn take(from: &mut ListBuilder<E::Builder>, columns: &mut Vec<ArrayRef>) {
        columns.push(Arc::new(from.finish()));
    }
}

impl<E: Element> Figures for Vec<E> {
    fn figures(&self, figures: &mut Vec<Figure>) {
        figures.push(Figure::List(self.iter().map(E::figure).collect()));
    }
}

impl<E: Element> Figures for Option<Vec<E>> {
    fn figures(&self, figures: &mut Vec<Figure>) {
        let list = |list: &Vec<E>| Figure::List(list.iter().map(E::figure).collect());
        figures.push(self.as_ref().map_or(Figure::Null, list));
    }
}

/// An integer beyond 64 bits, in decimal in the table.
impl Cells for u128 {
    type Builder = StringBuilder;

    fn columns(field: Column) -> Vec<Column> {
        vec![field.of(DataType::Utf8, false)]
    }

    fn builder() -> StringBuilder {
        StringBuilder::new()
    }

    fn append(&self, to: &mut StringBuilder) {
        to.append_value(self.to_string());
    }

    fn take(from: &mut StringBuilder, columns: &mut Vec<ArrayRef>) {
        columns.push(Arc::new(from.finish()));
    }
}

impl Figures for u128 {
    fn figures(&self, figures: &mut Vec<Figure>) {
        figures.push(Figure::Count(*self));
    }
}
