//! The lengths of rows, from their repetition levels: how much a row takes is known before it is
//! decoded. Equal values are encoded in a few bytes, however many there are.

use std::fs::File;
use std::sync::Arc;

use parquet::basic::Encoding;
use parquet::column::page::{Page, PageReader as _};
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::serialized_reader::SerializedPageReader;

/// The longest row of a column in a row group: its number in the group and its entries, nulls and
/// empty lists among them. `None` if the levels are encoded in an unknown way.
pub(super) fn longest_row(
    file: File,
    chunk: &ColumnChunkMetaData,
    n_rows: u64,
) -> Result<Option<(u64, u64)>, ParquetError> {
    let max_level = chunk.column_descr().max_rep_level();
    let n_bits = (u16::BITS - max_level.unsigned_abs().leading_zeros()) as usize;
    let mut pages = SerializedPageReader::new(Arc::new(file), chunk, n_rows as usize, None)?;
    let mut rows = Rows::default();
    while let Some(page) = pages.get_next_page()? {
        let (levels, n_values) = match &page {
            Page::DictionaryPage { .. } => continue,
            Page::DataPage { buf, num_values, rep_level_encoding: Encoding::RLE, .. } => {
                let n_bytes = buf.first_chunk().map(|&bytes| u32::from_le_bytes(bytes) as usize);
                (n_bytes.and_then(|n_bytes| buf.get(4..4 + n_bytes)), *num_values)
            }
            Page::DataPage { .. } => (None, 0),
            Page::DataPageV2 { buf, num_values, rep_levels_byte_len, .. } => {
                (buf.get(..*rep_levels_byte_len as usize), *num_values)
            }
        };
        if levels.and_then(|levels| rows.read(levels, n_bits, n_values.into())).is_none() {
            return Ok(None);
        }
    }
    rows.end_row();
    Ok(Some(rows.longest))
}

/// Rows that are being counted.
#[derive(Default)]
struct Rows {
    n_rows: u64,
    /// Entries of the last row so far.
    n_entries: u64,
    longest: (u64, u64),
}

impl Rows {
    /// Counts the levels of a page: runs of one level, and groups of eight that are packed.
    fn read(&mut self, levels: &[u8], n_bits: usize, n_values: u64) -> Option<()> {
        let (mut levels, mut n_left) = (levels.iter(), n_values);
        while n_left > 0 {
            let header = varint(&mut levels)?;
            let n = header >> 1;
            if n == 0 {
                return None;
            }
            if header & 1 == 0 {
                let mut level = 0;
                for at in 0..n_bits.div_ceil(8) {
                    level |= u64::from(*levels.next()?) << (8 * at);
                }
                let n = n.min(n_left);
                self.add(level, n);
                n_left -= n;
                continue;
            }
            for _ in 0..n {
                let packed = levels.as_slice().get(..n_bits)?;
                levels = levels.as_slice()[n_bits..].iter();
                for at in 0..n_left.min(8) as usize {
                    let bit = |at: usize| u64::from(packed[at / 8] >> (at % 8) & 1);
                    let level: u64 = (0..n_bits).map(|k| bit(at * n_bits + k) << k).sum();
                    self.add(level, 1);
                }
                n_left -= n_left.min(8);
            }
        }
        Some(())
    }

    /// Adds entries of one level: at level 0 each begins a row.
    fn add(&mut self, level: u64, n: u64) {
        if level > 0 {
            self.n_entries += n;
            return;
        }
        self.end_row();
        self.n_rows += n;
        self.n_entries = 1;
    }

    fn end_row(&mut self) {
        if self.n_entries > self.longest.1 {
            self.longest = (self.n_rows.saturating_sub(1), self.n_entries);
        }
    }
}

/// A number in base 128, the lowest digits first.
fn varint(bytes: &mut std::slice::Iter<'_, u8>) -> Option<u64> {
    let mut number = 0u64;
    for shift in (0..35).step_by(7) {
        let byte = *bytes.next()?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}
