//! What problems took, and where: `timing.parquet`, read back.

use std::path::Path;

use arrow::datatypes::{Float64Type, UInt64Type};

use crate::store::run_folder::FolderError;
use crate::store::table_reader::{TableReader, number_column, string_column};

/// The times of all problems that have an outcome.
pub struct Timings {
    /// Ascending.
    rows: Vec<u64>,
    ms: Vec<f64>,
    device_keys: Vec<u16>,
    devices: Vec<String>,
}

impl Timings {
    /// Reads the table of a run folder.
    ///
    /// # Errors
    /// If it is missing or damaged.
    pub fn read(run: &Path) -> Result<Timings, FolderError> {
        let mut timings = Timings {
            rows: Vec::new(),
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
            let last = timings.rows.last().copied().unwrap_or(0);
            let is_back = row.values().first().is_some_and(|&first| first < last);
            if is_back || !row.values().is_sorted() {
                return Err("its rows are not in order".to_owned());
            }
            timings.rows.extend(row.values());
            timings.ms.extend(ms.values());
            for at in 0..batch.num_rows() {
                let key = timings.key(device.value(at))?;
                timings.device_keys.push(key);
            }
            Ok(())
        })?;
        Ok(timings)
    }

    /// There are few devices, so that looking through them is quick.
    fn key(&mut self, device: &str) -> Result<u16, String> {
        let known = self.devices.iter().position(|name| name == device);
        let key = known.unwrap_or_else(|| {
            self.devices.push(device.to_owned());
            self.devices.len() - 1
        });
        u16::try_from(key).map_err(|_| "it has more devices than any machine".to_owned())
    }

    /// What a problem took in milliseconds, and where.
    pub fn of(&self, row: u64) -> Option<(f64, &str)> {
        let at = self.rows.binary_search(&row).ok()?;
        Some((
            self.ms[at],
            &self.devices[usize::from(self.device_keys[at])],
        ))
    }

    /// All rows with their times.
    pub fn all(&self) -> impl Iterator<Item = (u64, f64)> {
        self.rows.iter().copied().zip(self.ms.iter().copied())
    }
}
/// A problem of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct TimedProblem {
    /// Its number in the input.
    pub row: u64,
    /// What it is called.
    pub id: String,
    /// What it took to solve.
    pub ms: f64,
}

/// The problem of this id or, if there is none, of this row.
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
