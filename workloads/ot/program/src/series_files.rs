//! Synthetic time series as files: frames as 16-bit PNG images and a table of pairs, ready for
//! `swathe ot`.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use swathe_ot::Shape;
use swathe_ot::synth::{Rng, Series};

use swathe_formats::atomic_file::AtomicFile;

/// What to write.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesFiles {
    /// Number of series.
    pub n_series: usize,
    /// Number of frames in each series.
    pub n_frames: usize,
    /// Shape of all frames; if `None`, each series has its own.
    pub shape: Option<Shape>,
    /// The same seed gives the same files.
    pub seed: u64,
}

/// Shapes of series if no shape is given.
const SHAPES: [(usize, usize); 6] =
    [(96, 192), (128, 256), (128, 128), (160, 240), (192, 112), (80, 240)];
/// Widths of a pixel, µm.
const UM_PER_PX: [f64; 3] = [0.325, 0.65, 1.3];

/// Why series could not be written.
#[derive(Debug, thiserror::Error)]
pub enum SeriesFilesError {
    /// The table already exists and would be overwritten.
    #[error("{} is there already", path.display())]
    Exists {
        /// The table.
        path: PathBuf,
    },
    /// A file or folder cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl SeriesFiles {
    /// Number of pairs: each frame with the next of its series.
    pub fn n_pairs(&self) -> usize {
        self.n_series * self.n_frames.saturating_sub(1)
    }

    /// Writes all frames, then the table `pairs.csv`, and returns the table's path. `done` is
    /// called after each series with the number of series written so far.
    ///
    /// # Errors
    /// If the folder already has a table, or a file or folder cannot be written.
    pub fn write(
        &self,
        folder: &Path,
        mut done: impl FnMut(usize),
    ) -> Result<PathBuf, SeriesFilesError> {
        let table = folder.join("pairs.csv");
        if table.exists() {
            return Err(SeriesFilesError::Exists { path: table });
        }
        let mut rows = String::from("pair_id,series,time,src,tgt,um_per_px\n");
        for index in 0..self.n_series {
            self.write_series(folder, index, &mut rows)?;
            done(index + 1);
        }
        // The table comes last: if it exists, all files that it names exist.
        write_whole(&table, rows.as_bytes())?;
        Ok(table)
    }

    fn write_series(
        &self,
        folder: &Path,
        index: usize,
        rows: &mut String,
    ) -> Result<(), SeriesFilesError> {
        // Each series has its own generator, so that it does not depend on the number of series.
        let mut dice = Rng::new(Rng::new(self.seed).bits() ^ index as u64);
        let (h_px, w_px) = SHAPES[dice.below(SHAPES.len())];
        let shape = self.shape.unwrap_or(Shape::new(h_px, w_px));
        let um_per_px = UM_PER_PX[dice.below(UM_PER_PX.len())];
        let series = Series::new(shape, self.n_frames, dice.bits());
        let name = format!("series_{index:02}");
        let series_folder = folder.join(&name);
        fs::create_dir_all(&series_folder)
            .map_err(|source| SeriesFilesError::Write { path: series_folder.clone(), source })?;
        let frame_name = |time: usize| format!("frame_{time:03}.png");
        for time in 0..self.n_frames {
            let png = grey_png(shape, &series.frame(time));
            write_whole(&series_folder.join(frame_name(time)), &png)?;
        }
        for time in 1..self.n_frames {
            let (src, tgt) = (frame_name(time - 1), frame_name(time));
            let before = time - 1;
            rows.push_str(&format!(
                "s{index:02}_t{before:03},{name},{before},{name}/{src},{name}/{tgt},{um_per_px}\n"
            ));
        }
        Ok(())
    }
}

fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), SeriesFilesError> {
    let write = || {
        let mut file = AtomicFile::create(path)?;
        file.write_all(bytes)?;
        file.commit()
    };
    write().map_err(|source| SeriesFilesError::Write { path: path.to_owned(), source })
}

/// A 16-bit grey PNG.
fn grey_png(shape: Shape, grey: &[u16]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, shape.w_px as u32, shape.h_px as u32);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::Sixteen);
    let data: Vec<u8> = grey.iter().flat_map(|v| v.to_be_bytes()).collect();
    let mut writer = encoder.write_header().expect("memory takes every header");
    writer.write_image_data(&data).expect("memory takes every picture of the header's size");
    writer.finish().expect("memory takes the end");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every file of a folder with its bytes.
    fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
        let mut found = Vec::new();
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                found.extend(files(&path));
            } else {
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                let name = format!("{}/{name}", folder.file_name().unwrap().to_string_lossy());
                found.push((name, fs::read(&path).unwrap()));
            }
        }
        found.sort();
        found
    }

    fn small() -> SeriesFiles {
        SeriesFiles { n_series: 3, n_frames: 4, shape: Some(Shape::new(12, 20)), seed: 5 }
    }

    #[test]
    fn the_seed_decides_every_byte_and_nothing_else_does() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, what: SeriesFiles| {
            let out = folder.path().join(name).join("out");
            what.write(&out, |_| {}).unwrap();
            files(&out)
        };
        let (one, again) = (write("one", small()), write("again", small()));
        assert_eq!(one.len(), 3 * 4 + 1);
        assert_eq!(one, again);
        let other = write("other", SeriesFiles { seed: 6, ..small() });
        assert_ne!(one, other);
        // A series does not depend on how many series follow it.
        let fewer = write("fewer", SeriesFiles { n_series: 2, ..small() });
        assert!(fewer.iter().all(|file| file.0 == "out/pairs.csv" || one.contains(file)));
    }

    #[test]
    fn frames_are_sixteen_bit_grey_and_the_table_names_them() {
        let folder = tempfile::tempdir().unwrap();
        let mut told = Vec::new();
        let table = small().write(folder.path(), |n| told.push(n)).unwrap();
        assert_eq!(told, [1, 2, 3]);
        let text = fs::read_to_string(table).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "pair_id,series,time,src,tgt,um_per_px");
        assert_eq!(lines.len(), 1 + small().n_pairs());
        let cells: Vec<&str> = lines[5].split(',').collect();
        assert_eq!(
            &cells[..5],
            ["s01_t001", "series_01", "1", "series_01/frame_001.png", "series_01/frame_002.png"]
        );
        let file = fs::File::open(folder.path().join(cells[3])).unwrap();
        let reader = png::Decoder::new(io::BufReader::new(file)).read_info().unwrap();
        let info = reader.info();
        assert_eq!((info.width, info.height), (20, 12));
        assert_eq!(info.bit_depth, png::BitDepth::Sixteen);
        assert_eq!(info.color_type, png::ColorType::Grayscale);
    }

    #[test]
    fn a_table_that_is_there_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        small().write(folder.path(), |_| {}).unwrap();
        let error = small().write(folder.path(), |_| {}).unwrap_err();
        assert!(matches!(error, SeriesFilesError::Exists { .. }));
    }
}
