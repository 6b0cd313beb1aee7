//! The table of array results: `items.parquet`.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, LargeListArray, ListBuilder, StringBuilder, UInt64Builder};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use swathe::array::{Dtype, Elements};
use swathe_array::Answer;

use swathe_formats::arrow_elements::{arrow_array, data_type};
use swathe_formats::described_field::{described, mark_values};
use swathe_formats::list_column::{ListColumn, ListColumnError};
use swathe_formats::name_list::NameList;
use swathe_run::store::rows::Rows;
use swathe_run::store::run_folder::{FolderError, Part};
use swathe_run::store::table_reader::TableReader;

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
    name: StringBuilder,
    dtype: StringBuilder,
    shape: ListBuilder<UInt64Builder>,
    /// For each item, the extent over which its product sums.
    inner_of: Option<InnerExtent>,
    inner: UInt64Builder,
    n_nan: UInt64Builder,
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
            name: StringBuilder::new(),
            dtype: StringBuilder::new(),
            shape: ListBuilder::new(UInt64Builder::new()).with_field(extent()),
            inner_of: None,
            inner: UInt64Builder::new(),
            n_nan: UInt64Builder::new(),
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

fn extent() -> Field {
    Field::new("extent", DataType::UInt64, false)
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

    fn field(&self, is_nullable: bool, seed: Option<u64>) -> Field {
        let dtype = self.values.dtype();
        let field = described(
            &self.name,
            DataType::LargeList(Arc::new(element(dtype))),
            "the result's elements, row-major: numpy.reshape(data, shape)",
        )
        .with_nullable(is_nullable);
        let mut metadata = field.metadata().clone();
        metadata.extend(seed.map(|seed| (SEED_KEY.to_owned(), seed.to_string())));
        field.with_metadata(metadata)
    }
}

impl Rows for ArrayRows {
    type Solution = Answer;

    fn table(&self) -> &'static str {
        "items"
    }

    fn schema(&self) -> SchemaRef {
        let mut fields = vec![
            described("name", DataType::Utf8, "the item's name in the input"),
            described(
                "dtype",
                DataType::Utf8,
                "the type of the result's elements, as NumPy names it",
            ),
            described(
                "shape",
                DataType::List(Arc::new(extent())),
                "the result's extents, outermost first",
            ),
            described(
                "inner",
                DataType::UInt64,
                "the extent that a product sums over; null for other operations",
            )
            .with_nullable(true),
            described("n_nan", DataType::UInt64, "elements that are NaN where no operand was"),
        ];
        let data = self.columns.iter();
        fields.extend(data.map(|column| column.field(self.columns.len() > 1, self.seed)));
        // The columns that `values_hash` covers. New columns go to the end of the list, and a
        // renamed column keeps its place.
        let mut values = vec!["name", "dtype", "shape", "n_nan"];
        values.extend(self.columns.iter().map(|column| column.name.as_str()));
        Arc::new(Schema::new(mark_values(fields, &values)))
    }

    fn id(&self, index: usize) -> String {
        self.names[index].to_owned()
    }

    fn append(&mut self, index: usize, answer: &Answer) -> usize {
        self.name.append_value(&self.names[index]);
        self.dtype.append_value(answer.array.dtype().numpy_name());
        for &extent in answer.array.shape() {
            self.shape.values().append_value(extent as u64);
        }
        self.shape.append(true);
        let inner = self.inner_of.as_ref().and_then(|extent| extent(index));
        self.inner.append_option(inner);
        self.n_nan.append_value(answer.n_nan);
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
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(self.name.finish()),
            Arc::new(self.dtype.finish()),
            Arc::new(self.shape.finish()),
            Arc::new(self.inner.finish()),
            Arc::new(self.n_nan.finish()),
        ];
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
