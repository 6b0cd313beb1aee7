//! The table of array results: `items.parquet`.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, LargeListArray, ListBuilder, UInt64Builder};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use swathe::array::{Dtype, Elements};
use swathe_array::Answer;

use swathe_formats::arrow_elements::{arrow_array, data_type};
use swathe_formats::list_column::{ListColumn, ListColumnError};
use swathe_formats::name_list::NameList;
use swathe_run::record;
use swathe_run::store::record::{Cells, Column, Record as _, TableReference, list_builder};
use swathe_run::store::rows::Rows;
use swathe_run::store::run_folder::{FolderError, Part};
use swathe_run::store::table_reader::TableReader;

record! {
    /// A result without its elements, which are in columns of their types.
    struct ItemRow / ItemColumns {
        /// the item's name in the input
        name: String, value(0), page;
        /// the type of the result's elements, as NumPy names it
        dtype: String, value(1), page;
        /// the result's extents, outermost first
        shape: Extents, value(2), page;
        /// the extent that a product sums over; null for other operations
        inner: Option<u64>, page;
        /// elements that are NaN where no operand was
        n_nan: u64, value(3), page;
    }
}

/// The extents of an array.
struct Extents(Vec<u64>);

impl Cells for Extents {
    type Builder = ListBuilder<UInt64Builder>;

    fn columns(field: Column) -> Vec<Column> {
        vec![field.of(list_builder::<u64>("extent").0, false)]
    }

    fn builder() -> ListBuilder<UInt64Builder> {
        list_builder::<u64>("extent").1
    }

    fn append(&self, to: &mut ListBuilder<UInt64Builder>) {
        self.0.append(to);
    }

    fn take(from: &mut ListBuilder<UInt64Builder>, columns: &mut Vec<ArrayRef>) {
        <Vec<u64> as Cells>::take(from, columns);
    }
}

/// The table's name.
const TABLE: &str = "items";

/// The table in the reference.
pub(crate) fn reference() -> TableReference {
    let about = "a row for each item; results of several element types have a column for each, such as \
                 `data_float32`, which is null in the rows of other types";
    let data = data_column(DATA, Dtype::F32, 0, false);
    TableReference::of_results(TABLE, about, ItemRow::declared().iter().cloned().chain([data]))
}

/// The column of the elements, or the prefix of several such columns.
const DATA: &str = "data";

/// The elements of a part take about this much.
const PART_BYTES: usize = Part::<ArrayRows>::N_BYTES_MAX + (4 << 20);

/// The metadata key of that column under which the seed of an XOR is stored.
const SEED_KEY: &str = "xor_seed";

/// Array results as rows: the name, type and shape of each, and its elements as a list in the
/// column `data`. If results have several element types, each type has a column of its own
/// (`data_uint8`, `data_float32`), which is null in the rows of other types.
pub struct ArrayRows {
    names: Arc<NameList>,
    seed: Option<u64>,
    items: ItemColumns,
    /// For each item, the extent over which its product sums.
    inner_of: Option<InnerExtent>,
    columns: Vec<DataColumn>,
    n_bytes: usize,
    n_nan_in_all: u64,
}

/// The extent that an item's product sums over, if it has one.
pub type InnerExtent = Box<dyn Fn(usize) -> Option<u64> + Send>;

/// The results of one element type.
struct DataColumn {
    name: String,
    values: Elements,
    /// The end of each list.
    ends: Vec<i64>,
    is_valid: Vec<bool>,
}

impl ArrayRows {
    /// Rows for items of these names, whose results have these element types.
    pub fn new(names: Arc<NameList>, dtypes: &BTreeSet<Dtype>) -> ArrayRows {
        let column = |dtype: Dtype| DataColumn {
            name: match dtypes.len() {
                0 | 1 => DATA.to_owned(),
                _ => format!("{DATA}_{}", dtype.numpy_name()),
            },
            values: Elements::empty(dtype),
            ends: Vec::new(),
            is_valid: Vec::new(),
        };
        let columns = match dtypes.is_empty() {
            true => vec![column(Dtype::F32)],
            false => dtypes.iter().map(|&dtype| column(dtype)).collect(),
        };
        ArrayRows {
            names,
            seed: None,
            items: ItemRow::builder(),
            inner_of: None,
            columns,
            n_bytes: 0,
            n_nan_in_all: 0,
        }
    }

    /// The memory that storing an element takes besides the result itself: its copy in the part and,
    /// when the table is hashed, its page, its decoded value and its levels.
    pub fn storing_bytes(dtype: Dtype) -> u64 {
        const LEVELS_BYTES: u64 = 4;
        /// Parquet has no shorter numbers.
        const DECODED_BYTES: u64 = 4;
        let n_bytes = dtype.size_bytes() as u64;
        match n_bytes {
            1 | 2 => 2 * n_bytes + DECODED_BYTES + LEVELS_BYTES,
            _ => 2 * n_bytes + LEVELS_BYTES,
        }
    }

    /// Records for every product the extent over which it sums. The result does not show that
    /// extent, but the amount of work depends on it.
    pub fn with_inner(self, extent: InnerExtent) -> ArrayRows {
        ArrayRows { inner_of: Some(extent), ..self }
    }

    /// Stores the seed with which the data are XORed, so that the table alone is enough to restore
    /// them.
    pub fn with_seed(self, seed: Option<u64>) -> ArrayRows {
        ArrayRows { seed, ..self }
    }
}

/// The relevant parts of an existing table of results.
pub(crate) struct ResultTable {
    /// The columns with elements.
    pub(crate) columns: Vec<String>,
    /// The seed with which they are XORed.
    pub(crate) seed: Option<u64>,
}

/// Describes a table of results; `None` if the file is not one.
pub(crate) fn result_table(path: &Path) -> Result<Option<ResultTable>, ListColumnError> {
    let columns = ListColumn::columns(path)?;
    let has = |wanted: &str| columns.iter().any(|(name, _)| name == wanted);
    let is_data = |name: &str| {
        let rest = name.strip_prefix(DATA);
        let dtype = rest.and_then(|rest| rest.strip_prefix('_'));
        rest == Some("") || dtype.is_some_and(|name| Dtype::from_numpy_name(name).is_some())
    };
    let data = columns.iter().filter(|(name, dtype)| dtype.is_some() && is_data(name));
    let data: Vec<String> = data.map(|(name, _)| name.clone()).collect();
    if data.is_empty() || !["row", "name", "dtype", "shape"].into_iter().all(has) {
        return Ok(None);
    }
    let unreadable = |error: FolderError| ListColumnError::Io(std::io::Error::other(error));
    let table = TableReader::open(path).map_err(unreadable)?;
    let field = table.builder.schema().field_with_name(&data[0]).cloned();
    let seed = field.ok().and_then(|field| field.metadata().get(SEED_KEY)?.parse().ok());
    Ok(Some(ResultTable { columns: data, seed }))
}

/// The column of the elements of one type, which is the `number`-th of them.
fn data_column(name: &str, dtype: Dtype, number: usize, is_nullable: bool) -> Column {
    let place = ItemRow::declared().iter().filter_map(|column| column.value_place).max();
    Column::new(name, "the result's elements, row-major: numpy.reshape(data, shape)")
        .of(DataType::LargeList(Arc::new(element(dtype))), is_nullable)
        .value(place.map_or(0, |place| place + 1) + number)
}

fn element(dtype: Dtype) -> Field {
    Field::new("element", data_type(dtype), false)
}

impl DataColumn {
    fn append(&mut self, elements: &Elements) {
        let is_here = elements.dtype() == self.values.dtype();
        if is_here {
            if self.values.is_empty() {
                // Growth by doubling would copy large results again and again. Memory that is not
                // used stays with the system.
                let n_part = PART_BYTES / self.values.dtype().size_bytes();
                self.values.reserve_exact(elements.len().max(n_part));
            }
            self.values.append(elements);
        }
        self.ends.push(self.values.len() as i64);
        self.is_valid.push(is_here);
    }

    fn take(&mut self) -> ArrayRef {
        let dtype = self.values.dtype();
        let values = std::mem::replace(&mut self.values, Elements::empty(dtype));
        let offsets: Vec<i64> = std::iter::once(0).chain(self.ends.drain(..)).collect();
        let lists = LargeListArray::new(
            Arc::new(element(dtype)),
            OffsetBuffer::new(offsets.into()),
            arrow_array(values),
            Some(NullBuffer::from(std::mem::take(&mut self.is_valid)))
                .filter(|nulls| nulls.null_count() > 0),
        );
        Arc::new(lists)
    }

    fn field(&self, number: usize, is_nullable: bool, seed: Option<u64>) -> Field {
        let field = data_column(&self.name, self.values.dtype(), number, is_nullable).field();
        let mut metadata = field.metadata().clone();
        metadata.extend(seed.map(|seed| (SEED_KEY.to_owned(), seed.to_string())));
        field.with_metadata(metadata)
    }
}

impl Rows for ArrayRows {
    type Solution = Answer;

    fn table(&self) -> &'static str {
        TABLE
    }

    fn schema(&self) -> SchemaRef {
        let items = ItemRow::declared().iter().map(Column::field);
        let is_nullable = self.columns.len() > 1;
        let data = self.columns.iter().enumerate();
        let data = data.map(|(number, column)| column.field(number, is_nullable, self.seed));
        Arc::new(Schema::new(items.chain(data).collect::<Vec<Field>>()))
    }

    fn id(&self, index: usize) -> String {
        self.names[index].to_owned()
    }

    fn append(&mut self, index: usize, answer: &Answer) -> usize {
        let item = ItemRow {
            name: self.names[index].to_owned(),
            dtype: answer.array.dtype().numpy_name().to_owned(),
            shape: Extents(answer.array.shape().iter().map(|&extent| extent as u64).collect()),
            inner: self.inner_of.as_ref().and_then(|extent| extent(index)),
            n_nan: answer.n_nan,
        };
        item.append(&mut self.items);
        self.n_nan_in_all += answer.n_nan;
        for column in &mut self.columns {
            column.append(answer.array.elements());
        }
        self.n_bytes += answer.array.size_bytes() + self.names[index].len() + 64;
        1
    }

    fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    fn figures(&self) -> Vec<(&'static str, u64)> {
        vec![("elements that became NaN", self.n_nan_in_all)]
    }

    fn take(&mut self) -> Vec<ArrayRef> {
        self.n_bytes = 0;
        let mut columns = ItemRow::arrays(&mut self.items);
        columns.extend(self.columns.iter_mut().map(DataColumn::take));
        columns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Array as _, AsArray};
    use arrow::datatypes::{Float32Type, Float64Type};
    use swathe::array::Array;

    fn answer(array: Array) -> Answer {
        Answer { array, n_nan: 0, error_max: 0.0 }
    }

    #[test]
    fn each_element_type_has_a_column() {
        let names = Arc::new(["a", "b", "c"].into_iter().collect());
        let dtypes = BTreeSet::from([Dtype::F32, Dtype::F64]);
        let mut rows = ArrayRows::new(Arc::clone(&names), &dtypes).with_seed(Some(7));
        let arrays = [
            Array::new(vec![2, 1], vec![1.5f32, -0.0]).unwrap(),
            Array::new(vec![0], Vec::<f64>::new()).unwrap(),
            Array::new(vec![1], vec![2.5f64]).unwrap(),
        ];
        for (index, array) in arrays.into_iter().enumerate() {
            assert_eq!(rows.append(index, &answer(array)), 1);
        }
        let schema = rows.schema();
        let names: Vec<&str> = schema.fields()[5..].iter().map(|f| f.name().as_str()).collect();
        assert_eq!(names, ["data_float32", "data_float64"]);
        assert_eq!(schema.field(5).metadata()[SEED_KEY], "7");
        let columns = rows.take();
        let (singles, doubles) = (columns[5].as_list::<i64>(), columns[6].as_list::<i64>());
        assert_eq!(singles.value(0).as_primitive::<Float32Type>().values(), &[1.5, -0.0]);
        assert!(singles.is_null(1) && singles.is_null(2) && doubles.is_null(0));
        assert!(doubles.value(1).is_empty());
        assert_eq!(doubles.value(2).as_primitive::<Float64Type>().values(), &[2.5]);
        assert_eq!(columns[1].as_string::<i32>().value(2), "float64");
        assert_eq!(rows.take()[5].len(), 0);
    }

    #[test]
    fn one_element_type_needs_no_name() {
        let rows = ArrayRows::new(Arc::default(), &BTreeSet::from([Dtype::I64]));
        let schema = rows.schema();
        assert_eq!(schema.field(5).name(), "data");
        let lists = DataType::LargeList(Arc::new(element(Dtype::I64)));
        assert_eq!(*schema.field(5).data_type(), lists);
        assert!(!schema.field(5).is_nullable());
    }
}
