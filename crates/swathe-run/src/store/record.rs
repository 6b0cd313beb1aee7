//! Records: a type for the rows of a table, in which every column is declared once.
//!
//! From the declaration ([`record!`](crate::record!)) come the schema with its metadata, the builders, the columns that
//! `values_hash` covers, the figures of Python and JSON, what a page shows, reading a row back, and the reference of
//! columns.

mod cell;
mod figure;
mod side_table;
mod words;

use std::collections::HashMap;
use std::slice::Iter;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, UInt64Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};

pub use cell::{Element, list_builder};
pub use figure::{Figure, Figures};
pub use side_table::{SideTable, TableReference};
pub use words::{Word, WordsBuilder};

/// The unit of columns that hold file paths. Such columns are not results.
pub const PATH_UNIT: &str = "path";

/// The metadata key for a column's position among the values of a table.
pub const VALUE_PLACE: &str = "value_place";

/// A column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// What its values mean.
    pub meaning: String,
    /// Their unit; empty if they have none.
    pub unit: &'static str,
    /// Their type.
    pub data_type: DataType,
    /// Whether some rows have no value.
    pub is_nullable: bool,
    /// The position among the values that `values_hash` covers. A new value gets the next position, and a renamed column
    /// keeps its own, so that the hash stays comparable between versions.
    pub value_place: Option<usize>,
    /// Whether the run's page shows it.
    pub is_on_page: bool,
    /// Whether the page of a long table keeps the rows with its highest values.
    pub is_ranked: bool,
    /// Whether tables of earlier versions do not have it; it then reads as the default value.
    pub is_later: bool,
}

/// What a field of a record declares: after its type stand calls of these methods, as in `unit("px"), value(3), page`.
impl Column {
    /// A column whose type is not known yet.
    pub fn new(name: impl Into<String>, meaning: &str) -> Column {
        Column {
            name: name.into(),
            meaning: meaning.trim().to_owned(),
            unit: "",
            data_type: DataType::Null,
            is_nullable: false,
            value_place: None,
            is_on_page: false,
            is_ranked: false,
            is_later: false,
        }
    }

    /// With this name instead of that of the field.
    #[must_use]
    pub fn name(self, name: impl Into<String>) -> Column {
        Column { name: name.into(), ..self }
    }

    /// With values in this unit.
    #[must_use]
    pub fn unit(self, unit: &'static str) -> Column {
        Column { unit, ..self }
    }

    /// Covered by `values_hash`, at this position.
    #[must_use]
    pub fn value(self, place: usize) -> Column {
        Column { value_place: Some(place), ..self }
    }

    /// Shown by the run's page.
    #[must_use]
    pub fn page(self) -> Column {
        Column { is_on_page: true, ..self }
    }

    /// Shown by the run's page, which keeps the rows with the highest values of a long table.
    #[must_use]
    pub fn ranked(self) -> Column {
        Column { is_ranked: true, ..self.page() }
    }

    /// Added after tables without it were written.
    #[must_use]
    pub fn later(self) -> Column {
        Column { is_later: true, ..self }
    }

    /// With values of this type; some rows may have none.
    #[must_use]
    pub fn of(self, data_type: DataType, is_nullable: bool) -> Column {
        Column { data_type, is_nullable, ..self }
    }

    /// The column in a schema, with its meaning, unit and position among the values as metadata.
    pub fn field(&self) -> Field {
        let place = self.value_place.map(|place| place.to_string());
        let texts = [
            ("description", Some(self.meaning.clone())),
            ("unit", Some(self.unit.to_owned())),
            (VALUE_PLACE, place),
        ];
        let texts = texts.into_iter().filter_map(|(key, text)| {
            text.filter(|text| !text.is_empty()).map(|text| (key.to_owned(), text))
        });
        let metadata: HashMap<String, String> = texts.collect();
        Field::new(&self.name, self.data_type.clone(), self.is_nullable).with_metadata(metadata)
    }
}

/// The schema of these columns.
pub fn schema<'a>(columns: impl IntoIterator<Item = &'a Column>) -> SchemaRef {
    let fields: Vec<Field> = columns.into_iter().map(Column::field).collect();
    Arc::new(Schema::new(fields))
}

/// What a field of a record can be: a value that fills a column, or a group of values that fills several.
pub trait Cells {
    /// The values of the rows so far.
    type Builder;

    /// The columns of a field that is declared so.
    fn columns(field: Column) -> Vec<Column>;

    /// A builder without values.
    fn builder() -> Self::Builder;

    /// Appends the values of a row.
    fn append(&self, to: &mut Self::Builder);

    /// Takes the values of all rows out of a builder.
    fn take(from: &mut Self::Builder, columns: &mut Vec<ArrayRef>);
}

/// Cells that can be read from a table.
pub trait ReadCells: Cells + Sized {
    /// Reads all rows of a batch; takes from `columns` those that it fills.
    ///
    /// # Errors
    /// If a column is missing or has another type.
    fn read(batch: &RecordBatch, columns: &mut Iter<'_, Column>) -> Result<Vec<Self>, String>;
}

/// The row type of a table.
pub trait Record: Cells {
    /// The columns in their order.
    fn declared() -> &'static [Column];

    /// The table's schema.
    fn schema() -> SchemaRef {
        schema(Self::declared())
    }

    /// Takes the values of all rows out of a builder.
    fn arrays(from: &mut Self::Builder) -> Vec<ArrayRef> {
        let mut arrays = Vec::with_capacity(Self::declared().len());
        Self::take(from, &mut arrays);
        arrays
    }

    /// The names and values of a row.
    fn named_figures(&self) -> impl Iterator<Item = (&'static str, Figure)>
    where
        Self: Figures,
    {
        let mut figures = Vec::with_capacity(Self::declared().len());
        self.figures(&mut figures);
        Self::declared().iter().map(|column| column.name.as_str()).zip(figures)
    }
}

/// A table of these rows whose first column numbers them from 0.
fn numbered<'a, R: Record + 'a>(
    row: &Column,
    rows: impl IntoIterator<Item = &'a R>,
) -> RecordBatch {
    let mut builder = R::builder();
    let mut n_rows = 0;
    for record in rows {
        record.append(&mut builder);
        n_rows += 1;
    }
    let mut arrays: Vec<ArrayRef> = vec![Arc::new(UInt64Array::from_iter_values(0..n_rows))];
    R::take(&mut builder, &mut arrays);
    RecordBatch::try_new(schema(std::iter::once(row).chain(R::declared())), arrays)
        .expect("the columns of a record have its types and one length")
}

/// Declares the rows of a table: a struct whose fields are columns, and a struct that collects rows.
///
/// The documentation of a field is the description of its column. After the type stand calls of
/// [`Column`](crate::store::record::Column)'s methods. A field can also be a group of columns, or another record, whose
/// columns then stand in its place. After the names of the structs stands what rows can do beyond being written: `figures`
/// (for Python and JSON), `read`, and `of(ARGUMENTS)`, a function that makes a row of the values after the `=`.
///
/// ```
/// use swathe_run::record;
/// use swathe_run::store::record::{Cells, Figure, Record};
/// record! {
///     /// A city.
///     pub struct City / Cities: figures, of(name: &str, population: u64, area_km2: f64) {
///         /// what people call it
///         city: String = name.to_owned();
///         /// people who live there
///         population: u64, value(0), page = population;
///         /// people per area; null if the area is not known
///         density: Option<f64>, unit("1/km^2") = Some(population as f64 / area_km2);
///     }
/// }
/// let graz = City::of("Graz", 300_000, 127.57);
/// let mut cities = City::builder();
/// graz.append(&mut cities);
/// assert_eq!(City::arrays(&mut cities).len(), City::schema().fields().len());
/// assert_eq!(City::schema().field(1).metadata()["description"], "people who live there");
/// assert!(graz.named_figures().any(|figure| figure == ("population", Figure::Count(300_000))));
/// ```
#[macro_export]
macro_rules! record {
    (
        $(#[$doc:meta])*
        $vis:vis struct $Row:ident / $Table:ident $(: $($can:ident $(($($given:tt)*))?),+)? { $($fields:tt)* }
    ) => {
        $crate::record! { @row [$(#[$doc])*] [$vis] $Row $Table { $($fields)* } }
        $crate::record! { @all [$vis] $Row [$($($can ($($($given)*)?))+)?] { $($fields)* } }
    };
    (@all $vis:tt $Row:ident [$($can:ident ($($given:tt)*))*] $fields:tt) => {
        $($crate::record! { @$can $vis $Row ($($given)*) $fields })*
    };
    (@row [$(#[$doc:meta])*] [$vis:vis] $Row:ident $Table:ident {
        $($(#[doc = $meaning:literal])+ $name:ident: $type:ty $(, $about:ident $(($detail:expr))?)* $(= $value:expr)?;)*
    }) => {
        $(#[$doc])*
        $vis struct $Row { $($(#[doc = $meaning])+ $vis $name: $type,)* }

        #[doc = concat!("Rows of [`", stringify!($Row), "`] as columns.")]
        $vis struct $Table {
            $($(#[doc = $meaning])+ $vis $name: <$type as $crate::store::record::Cells>::Builder,)*
        }

        impl $crate::store::record::Cells for $Row {
            type Builder = $Table;

            fn columns(_: $crate::store::record::Column) -> Vec<$crate::store::record::Column> {
                [$(<$type as $crate::store::record::Cells>::columns(
                    $crate::store::record::Column::new(stringify!($name), concat!($($meaning),+))$(.$about($($detail)?))*,
                ),)*].concat()
            }

            fn builder() -> $Table {
                $Table { $($name: <$type as $crate::store::record::Cells>::builder(),)* }
            }

            fn append(&self, to: &mut $Table) {
                $($crate::store::record::Cells::append(&self.$name, &mut to.$name);)*
            }

            fn take(from: &mut $Table, columns: &mut Vec<arrow::array::ArrayRef>) {
                $(<$type as $crate::store::record::Cells>::take(&mut from.$name, columns);)*
            }
        }

        impl $crate::store::record::Record for $Row {
            fn declared() -> &'static [$crate::store::record::Column] {
                static COLUMNS: std::sync::OnceLock<Vec<$crate::store::record::Column>> = std::sync::OnceLock::new();
                COLUMNS.get_or_init(|| {
                    <$Row as $crate::store::record::Cells>::columns($crate::store::record::Column::new("", ""))
                })
            }
        }
    };
    (@figures [$($vis:tt)*] $Row:ident () {
        $($(#[doc = $meaning:literal])+ $name:ident: $type:ty $(, $about:ident $(($detail:expr))?)* $(= $value:expr)?;)*
    }) => {
        impl $crate::store::record::Figures for $Row {
            fn figures(&self, figures: &mut Vec<$crate::store::record::Figure>) {
                $($crate::store::record::Figures::figures(&self.$name, figures);)*
            }
        }
    };
    (@read [$($vis:tt)*] $Row:ident () {
        $($(#[doc = $meaning:literal])+ $name:ident: $type:ty $(, $about:ident $(($detail:expr))?)* $(= $value:expr)?;)*
    }) => {
        impl $crate::store::record::ReadCells for $Row {
            fn read(
                batch: &arrow::array::RecordBatch,
                columns: &mut std::slice::Iter<'_, $crate::store::record::Column>,
            ) -> Result<Vec<Self>, String> {
                $(let mut $name = <$type as $crate::store::record::ReadCells>::read(batch, columns)?.into_iter();)*
                let row = |_| Some($Row { $($name: $name.next()?,)* });
                Ok((0..batch.num_rows()).map_while(row).collect())
            }
        }
    };
    (@of [$vis:vis] $Row:ident ($($arguments:tt)*) {
        $($(#[doc = $meaning:literal])+ $name:ident: $type:ty $(, $about:ident $(($detail:expr))?)* = $value:expr;)*
    }) => {
        impl $Row {
            /// The row of these values.
            $vis fn of($($arguments)*) -> $Row {
                $Row { $($name: $value,)* }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Array as _, AsArray as _};
    use arrow::datatypes::{Float64Type, UInt32Type};

    record! {
        /// The ends of a walk.
        #[derive(Clone, Debug, PartialEq)]
        struct Ends / EndsTable: figures, read {
            /// where it begins
            from: u32, name("from_vertex"), unit("id"), value(1);
            /// where it ends
            to: Option<u32>;
        }
    }
    record! {
        /// A walk.
        #[derive(Clone, Debug, PartialEq)]
        struct Walk / Walks: figures, read {
            /// what it
            /// is called
            id: String, value(0), page;
            /// its ends
            ends: Ends;
            /// how long it is
            length: Option<f64>, unit("m"), ranked;
            /// whether it is closed
            closed: bool, later;
        }
    }
    record! {
        /// A walk with its vertices.
        struct Route / Routes: figures {
            /// the walk
            walk: Walk;
            /// its vertices
            path: Option<Vec<u64>>;
        }
    }

    fn routes() -> [Route; 2] {
        let ends = Ends { from: 3, to: None };
        let length = Some(f64::NAN);
        let first = Walk { id: "a".to_owned(), ends: ends.clone(), length, closed: true };
        let (ends, length) = (Ends { to: Some(4), ..ends }, Some(f64::INFINITY));
        let second = Walk { id: "b".to_owned(), ends, length, closed: false };
        [Route { walk: first, path: None }, Route { walk: second, path: Some(vec![3, 4]) }]
    }

    fn batch() -> RecordBatch {
        numbered(&Column::new("row", "the walk's number").of(DataType::UInt64, false), &routes())
    }

    fn read(batch: &RecordBatch) -> Result<Vec<Walk>, String> {
        Walk::read(batch, &mut Walk::declared().iter())
    }

    #[test]
    fn the_schema_says_what_is_declared() {
        let schema = Route::schema();
        let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        assert_eq!(names, ["id", "from_vertex", "to", "length", "closed", "path"]);
        let about = |at: usize, key: &str| schema.field(at).metadata().get(key).map(String::as_str);
        assert_eq!((about(0, "description"), about(0, "unit")), (Some("what it is called"), None));
        assert_eq!((about(1, "unit"), about(1, VALUE_PLACE)), (Some("id"), Some("1")));
        let nullable = schema.fields().iter().map(|field| field.is_nullable());
        assert!(nullable.eq([false, false, true, true, false, true]));
        let names = |is: fn(&Column) -> bool| {
            let columns = Route::declared().iter().filter(move |column| is(column));
            columns.map(|column| column.name.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(names(|column| column.is_on_page), ["id", "length"]);
        assert_eq!(names(|column| column.is_ranked), ["length"]);
    }

    #[test]
    fn rows_become_columns_and_nothing_is_left() {
        let batch = batch();
        assert_eq!(batch["to"].as_primitive::<UInt32Type>().value(1), 4);
        assert!(batch["to"].is_null(0) && batch["path"].is_null(0));
        // NaN is no value.
        assert!(batch["length"].is_null(0));
        assert_eq!(batch["length"].as_primitive::<Float64Type>().value(1), f64::INFINITY);
        let mut builder = Route::builder();
        routes()[0].append(&mut builder);
        for n_rows in [1, 0] {
            let columns = Route::arrays(&mut builder);
            assert!(columns.iter().all(|column| column.len() == n_rows));
        }
    }

    #[test]
    fn rows_are_read_back() {
        let [first, second] = routes();
        let walks = [Walk { length: None, ..first.walk }, second.walk];
        assert_eq!(read(&batch()), Ok(walks.to_vec()));
    }

    #[test]
    fn a_column_that_came_later_may_be_absent_and_no_other() {
        let without = |name: &str| {
            let mut left = batch();
            left.remove_column(left.schema().index_of(name).unwrap());
            read(&left)
        };
        assert!(without("closed").unwrap().iter().all(|walk| !walk.closed));
        assert!(without("length").unwrap().iter().all(|walk| walk.length.is_none()));
        assert_eq!(without("from_vertex").unwrap_err(), "it has no column \"from_vertex\"");
    }

    #[test]
    fn figures_have_the_names_of_columns() {
        let [first, second] = routes();
        let figures: Vec<_> = second.named_figures().collect();
        assert_eq!(figures[1], ("from_vertex", Figure::Count(3)));
        assert_eq!(figures[3], ("length", Figure::Number(f64::INFINITY)));
        assert_eq!(figures[5], ("path", Figure::List(vec![Figure::Count(3), Figure::Count(4)])));
        let first: Vec<_> = first.named_figures().collect();
        // NaN is no value, as in the table.
        assert_eq!(first[3], ("length", Figure::Null));
        assert_eq!(first[5], ("path", Figure::Null));
    }
}
