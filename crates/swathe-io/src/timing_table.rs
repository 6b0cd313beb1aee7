//! What problems took, and where: `timing.parquet`, read back.

use std::path::Path;

use arrow::array::AsArray;
use arrow::datatypes::{Float64Type, UInt64Type};

use crate::arc_run::{read_columns, words};
use crate::run_folder::FolderError;

/// The times of all problems that have an outcome.
pub(crate) struct Timings {
    /// Ascending.
    rows: Vec<u64>,
    ms: Vec<f64>,
    device_keys: Vec<u16>,
    devices: Vec<String>,
}

impl Timings {
    pub(crate) fn read(run: &Path) -> Result<Timings, FolderError> {
        const TIMING: &str = "timing";
        let damaged = |reason: String| FolderError::Damaged {
            path: run.join(format!("{TIMING}.parquet")),
            reason,
        };
        let mut timings = Timings {
            rows: Vec::new(),
            ms: Vec::new(),
            device_keys: Vec::new(),
            devices: Vec::new(),
        };
        for batch in read_columns(run, TIMING, &["row", "device", "milliseconds"])? {
            let batch = batch.map_err(|error| damaged(error.to_string()))?;
            let row = (batch.column_by_name("row"))
                .and_then(|column| column.as_primitive_opt::<UInt64Type>())
                .ok_or_else(|| damaged("row is no number".to_owned()))?;
            let ms = (batch.column_by_name("milliseconds"))
                .and_then(|column| column.as_primitive_opt::<Float64Type>())
                .ok_or_else(|| damaged("milliseconds is no number".to_owned()))?;
            let device = words(&batch, "device").map_err(damaged)?;
            timings.rows.extend(row.values());
            timings.ms.extend(ms.values());
            for at in 0..batch.num_rows() {
                let key = timings.key(device.value(at)).map_err(damaged)?;
                timings.device_keys.push(key);
            }
        }
        if !timings.rows.is_sorted() {
            return Err(damaged("its rows are not in order".to_owned()));
        }
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
    pub(crate) fn of(&self, row: u64) -> Option<(f64, &str)> {
        let at = self.rows.binary_search(&row).ok()?;
        Some((
            self.ms[at],
            &self.devices[usize::from(self.device_keys[at])],
        ))
    }

    /// All rows with their times.
    pub(crate) fn all(&self) -> impl Iterator<Item = (u64, f64)> {
        self.rows.iter().copied().zip(self.ms.iter().copied())
    }
}
