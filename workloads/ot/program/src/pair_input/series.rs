//! Series of frames: every frame forms a pair with the next.

use std::path::Path;

use super::{Collector, NamedPair, PairInput, PairInputError, natural_order};
use crate::frame::{Format, FrameFiles, FrameRef, RLE_COLUMN};
use swathe_formats::csv::CsvReader;

/// The frames of a folder in natural order of their names. Hidden files and other formats are
/// skipped.
pub(super) fn of_folder(path: &Path) -> Result<PairInput, PairInputError> {
    let unreadable = |source| PairInputError::Read {
        path: path.to_owned(),
        source,
    };
    let mut names: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(path).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let format = Format::of(Path::new(&name));
        let is_frame = format.is_some_and(|format| format != Format::Masks);
        if is_frame && !name.starts_with('.') && entry.path().is_file() {
            names.push(name);
        }
    }
    names.sort_by(|a, b| natural_order(a, b));
    let frames = names.iter().map(|name| {
        let stem = Path::new(name).file_stem().unwrap_or_default();
        let frame = FrameRef {
            path: path.join(name),
            part: None,
        };
        (stem.to_string_lossy().into_owned(), frame, None)
    });
    neighbours(path, frames, FrameFiles::default())
}

/// The pages of a TIFF file.
pub(super) fn of_pages(path: &Path) -> Result<PairInput, PairInputError> {
    let files = FrameFiles::default();
    let n_pages = files
        .n_pages(path)
        .map_err(|source| PairInputError::Frames {
            path: path.to_owned(),
            source,
        })?;
    let frames = (0..n_pages).map(|page| {
        let frame = FrameRef {
            path: path.to_owned(),
            part: Some(page.to_string()),
        };
        (page.to_string(), frame, None)
    });
    neighbours(path, frames, files)
}

/// Whether a CSV table holds masks rather than pairs.
pub(super) fn is_mask_table(path: &Path) -> Result<bool, PairInputError> {
    let reader = CsvReader::open(path).map_err(|source| PairInputError::Csv {
        path: path.to_owned(),
        source,
    })?;
    Ok(reader.column(RLE_COLUMN).is_some() && reader.column("src").is_none())
}

/// The masks of a table, in its order.
pub(super) fn of_masks(path: &Path) -> Result<PairInput, PairInputError> {
    let files = FrameFiles::default();
    let table = files.masks(path).map_err(|source| PairInputError::Frames {
        path: path.to_owned(),
        source,
    })?;
    let frames = table.masks().iter().map(|mask| {
        let frame = FrameRef {
            path: path.to_owned(),
            part: Some(mask.id.clone()),
        };
        (mask.id.clone(), frame, mask.um_per_px)
    });
    let frames: Vec<_> = frames.collect();
    drop(table);
    neighbours(path, frames, files)
}

/// Pairs of neighbouring frames. The name of a pair is made of the names of both frames.
fn neighbours(
    path: &Path,
    frames: impl IntoIterator<Item = (String, FrameRef, Option<f64>)>,
    files: FrameFiles,
) -> Result<PairInput, PairInputError> {
    let mut collector = Collector::default();
    let mut before: Option<(String, usize, Option<f64>)> = None;
    let mut n_frames = 0;
    for (name, frame, um_per_px) in frames {
        n_frames += 1;
        let number = collector.frame(frame);
        if let Some((source_name, source, source_um_per_px)) = before.take() {
            let pair = NamedPair {
                id: format!("{source_name}-{name}"),
                source,
                target: number,
                source_um_per_px,
                target_um_per_px: um_per_px,
            };
            collector.pair(path, n_frames - 2, pair)?;
        }
        before = Some((name, number, um_per_px));
    }
    if n_frames < 2 {
        return Err(PairInputError::TooFewFrames {
            path: path.to_owned(),
            n_frames: n_frames as usize,
        });
    }
    let folder = match path.is_dir() {
        true => path,
        false => path.parent().unwrap_or(Path::new("")),
    };
    Ok(collector.finish(folder, None, Vec::new(), files))
}
