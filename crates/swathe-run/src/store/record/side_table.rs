//! Tables that a run has beside its results, written at once and read whole.

use std::marker::PhantomData;
use std::path::Path;

use arrow::datatypes::DataType;

use super::{Column, ReadCells, Record, numbered};
use crate::store::run_folder::{FolderError, row_column, write_table};
use crate::store::table_reader::TableReader;

/// A table with a row for each record, numbered in its first column `row`.
#[derive(Debug)]
pub struct SideTable<R> {
    /// Its name: `programs` is `programs.parquet`.
    pub name: &'static str,
    /// What the number of a row means.
    row: &'static str,
    record: PhantomData<fn() -> R>,
}

impl<R: Record> SideTable<R> {
    /// A table of this name.
    pub const fn new(name: &'static str, row: &'static str) -> SideTable<R> {
        SideTable { name, row, record: PhantomData }
    }

    /// The name of its file.
    pub fn file_name(&self) -> String {
        format!("{}.parquet", self.name)
    }

    /// Writes the table into the folder of a run.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write<'a>(
        &self,
        run: &Path,
        rows: impl IntoIterator<Item = &'a R>,
    ) -> Result<(), FolderError>
    where
        R: 'a,
    {
        write_table(&run.join(self.file_name()), &numbered(&self.row(), rows))
    }

    /// The rows of the table in the folder of a run, in order.
    ///
    /// # Errors
    /// If the table cannot be read or has other columns.
    pub fn read(&self, run: &Path) -> Result<Vec<R>, FolderError>
    where
        R: ReadCells,
    {
        let mut rows = Vec::new();
        let names: Vec<&str> = R::declared().iter().map(|column| column.name.as_str()).collect();
        TableReader::of_run(run, self.name)?.columns(&names).for_each(|batch| {
            rows.extend(R::read(batch, &mut R::declared().iter())?);
            Ok(())
        })?;
        Ok(rows)
    }

    /// The table in the reference.
    pub fn reference(&self, about: &'static str) -> TableReference {
        let columns = std::iter::once(self.row()).chain(R::declared().iter().cloned());
        TableReference { name: self.name, about, columns: columns.collect() }
    }

    fn row(&self) -> Column {
        Column::new("row", self.row).of(DataType::UInt64, false)
    }
}

/// What the reference says about a table.
#[derive(Clone, Debug)]
pub struct TableReference {
    /// Its name.
    pub name: &'static str,
    /// What has a row in it, and which runs write it.
    pub about: &'static str,
    /// Its columns.
    pub columns: Vec<Column>,
}

impl TableReference {
    /// A table of results: the run folder adds the column `row` in front of these.
    pub fn of_results(
        name: &'static str,
        about: &'static str,
        columns: impl IntoIterator<Item = Column>,
    ) -> TableReference {
        let columns = std::iter::once(row_column()).chain(columns).collect();
        TableReference { name, about, columns }
    }
}
