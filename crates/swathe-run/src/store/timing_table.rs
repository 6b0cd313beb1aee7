//! Reads `timing.parquet`: how long each problem took, and on which device.

use std::path::Path;

use arrow::datatypes::{Float64Type, UInt64Type};

use crate::store::row_numbers::RowNumbers;
use crate::store::run_folder::FolderError;
use crate::store::table_reader::{TableReader, number_column, string_column};

/// The times of all problems that have an outcome.
pub struct Timings {
    rows: RowNumbers,
    ms: Vec<f64>,
    device_keys: Vec<u16>,
    devices: Vec<String>,
}

impl Timings {
    /// Reads the table of a run folder.
    ///
    /// # Errors
    /// If the table is missing or damaged.
    pub fn read(run: &Path) -> Result<Timings, FolderError> {
        let mut timings = Timings {
            rows: RowNumbers::default(),
            ms: Vec::new(),
            device_keys: Vec::new(),
            devices: Vec::new(),
        };
        let names = ["row", "device", "milliseconds"];
        let table = TableReader::of_run(run, "timing")?.columns(&names);
        table.for_each(|batch| {
            let row = number_column::<UInt64Type>(batch, "row")?;
            let ms = number_column::<Float64Type>(batch, "milliseconds")?;
            let device = string_column(batch, "device")?;
            if !row.values().iter().all(|&row| timings.rows.push(row)) {
                return Err("its rows are not in order".to_owned());
            }
            timings.ms.extend(ms.values());
            for at in 0..batch.num_rows() {
                let key = timings.key(device.value(at))?;
                timings.device_keys.push(key);
            }
            Ok(())
        })?;
        Ok(timings)
    }

    /// The index of a device. A linear search is fast, as there are few devices.
    fn key(&mut self, device: &str) -> Result<u16, String> {
        let known = self.devices.iter().position(|name| name == device);
        let key = known.unwrap_or_else(|| {
            self.devices.push(device.to_owned());
            self.devices.len() - 1
        });
        u16::try_from(key).map_err(|_| "it has more devices than any machine".to_owned())
    }

    /// A problem's time in milliseconds and its device.
    pub fn of(&self, row: u64) -> Option<(f64, &str)> {
        let at = self.rows.place(row)?;
        Some((self.ms[at], &self.devices[usize::from(self.device_keys[at])]))
    }

    /// All rows with their times.
    pub fn all(&self) -> impl Iterator<Item = (u64, f64)> {
        self.rows.iter().zip(self.ms.iter().copied())
    }
}

/// A problem of a run with its time.
#[derive(Clone, Debug, PartialEq)]
pub struct TimedProblem {
    /// Its number in the input.
    pub row: u64,
    /// Its id.
    pub id: String,
    /// The time to solve it.
    pub ms: f64,
}

/// The problem with this id or, if there is none, with this row.
///
/// # Errors
/// If the table cannot be read.
pub fn find_problem(run: &Path, asked: &str) -> Result<Option<TimedProblem>, FolderError> {
    let number: Option<u64> = asked.parse().ok();
    let (mut by_id, mut by_row) = (None, None);
    let table = TableReader::of_run(run, "timing")?.columns(&["row", "id", "milliseconds"]);
    table.for_each(|batch| {
        let rows = number_column::<UInt64Type>(batch, "row")?;
        let ids = string_column(batch, "id")?;
        let ms = number_column::<Float64Type>(batch, "milliseconds")?;
        for at in 0..batch.num_rows() {
            let problem = || TimedProblem {
                row: rows.value(at),
                id: ids.value(at).to_owned(),
                ms: ms.value(at),
            };
            if by_id.is_none() && ids.value(at) == asked {
                by_id = Some(problem());
            }
            if by_row.is_none() && Some(rows.value(at)) == number {
                by_row = Some(problem());
            }
        }
        Ok(())
    })?;
    Ok(by_id.or(by_row))
}
