//! The items of a run: their amount of work and their time.

use std::path::Path;

use arrow::array::{Array, AsArray};
use arrow::datatypes::UInt64Type;
use swathe::array::Dtype;

use swathe_run::store::run_folder::FolderError;
use swathe_run::store::table_reader::{TableReader, number_column, string_column};
use swathe_run::store::timing_table::Timings;

/// One item that has a result, as it passes by.
pub(super) struct Item<'a> {
    pub(super) row: u64,
    pub(super) name: &'a str,
    pub(super) dtype: &'static str,
    /// The result's extents; of a product rows, the extent it sums over, columns.
    pub(super) extents: &'a [u64],
    pub(super) device: &'a str,
    /// Operations of a product; otherwise bytes read and written.
    pub(super) work: f64,
    pub(super) ms: Option<f64>,
    pub(super) n_nan: u64,
}

/// What counts as work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Arithmetic operations.
    Product,
    /// Bytes of the item and of its result.
    One,
    /// Bytes of the item, of its result and of a second operand.
    Two,
}

impl Kind {
    pub(super) fn of(op: &str, has_second: bool) -> Kind {
        match (op, has_second) {
            ("matmul", _) => Kind::Product,
            (_, true) => Kind::Two,
            (_, false) => Kind::One,
        }
    }

    pub(super) fn n_operands(self) -> u64 {
        match self {
            Kind::One => 1,
            Kind::Product | Kind::Two => 2,
        }
    }

    fn work(self, extents: &[u64], element_bytes: u64) -> f64 {
        let volume: f64 = extents.iter().map(|&n| n as f64).product();
        match self {
            Kind::Product => 2.0 * volume,
            Kind::One => 2.0 * volume * element_bytes as f64,
            Kind::Two => 3.0 * volume * element_bytes as f64,
        }
    }
}

/// Reads all items, without their elements.
pub(super) fn for_each_item(
    run: &Path,
    kind: Kind,
    timings: &Timings,
    mut take: impl FnMut(&Item<'_>),
) -> Result<(), FolderError> {
    let columns = ["row", "name", "dtype", "shape", "inner", "n_nan"];
    let mut extents: Vec<u64> = Vec::new();
    let table = TableReader::of_run(run, "items")?.columns(&columns);
    table.for_each(|batch| {
        let numbers = |name: &str| number_column::<UInt64Type>(batch, name);
        let (row, n_nan, inner) = (numbers("row")?, numbers("n_nan")?, numbers("inner")?);
        let (name, dtype) = (string_column(batch, "name")?, string_column(batch, "dtype")?);
        let shape = (batch.column_by_name("shape"))
            .and_then(|column| column.as_list_opt::<i32>())
            .ok_or("it has no lists called shape")?;
        for at in 0..batch.num_rows() {
            let shape = shape.value(at);
            let shape =
                shape.as_primitive_opt::<UInt64Type>().ok_or("a shape is no list of numbers")?;
            extents.clear();
            extents.extend(shape.values());
            if inner.is_valid(at) && kind == Kind::Product {
                extents.insert(extents.len().min(1), inner.value(at));
            }
            let element = Dtype::from_numpy_name(dtype.value(at))
                .ok_or("it has elements of a type that is not known")?;
            let element_bytes = element.size_bytes() as u64;
            let timing = timings.of(row.value(at));
            take(&Item {
                row: row.value(at),
                name: name.value(at),
                dtype: element.numpy_name(),
                work: kind.work(&extents, element_bytes),
                extents: &extents,
                device: timing.map_or("", |(_, device)| device),
                ms: timing.map(|(ms, _)| ms),
                n_nan: n_nan.value(at),
            });
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_operations_or_bytes() {
        let product = Kind::of("matmul", true);
        assert_eq!(product.work(&[2, 3, 4], 4), 48.0);
        let root = Kind::of("sqrt", false);
        assert_eq!(root.work(&[10, 10], 4), 800.0);
        let sum = Kind::of("add", true);
        assert_eq!((sum.work(&[100], 8), sum.n_operands()), (2400.0, 2));
        assert_eq!(root.work(&[], 8), 16.0, "a scalar is one element");
    }
}
