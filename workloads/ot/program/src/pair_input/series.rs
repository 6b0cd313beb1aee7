//! Series of frames in folders and stacks: every frame forms a pair with a later one.

use std::path::Path;

use super::steps::{Steps, counting_numbers};
use super::{Collector, NamedPair, PairInput, PairInputError, natural_order};
use crate::frame::{Format, FrameFiles, FrameRef};

/// The frames of a folder in natural order of their names. Hidden files and other formats are
/// skipped.
pub(super) fn of_folder(
    path: &Path,
    step: usize,
    files: FrameFiles,
) -> Result<PairInput, PairInputError> {
    let unreadable = |source| PairInputError::Read { path: path.to_owned(), source };
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
        let frame = FrameRef { path: path.join(name), ..FrameRef::default() };
        (stem.to_string_lossy().into_owned(), frame)
    });
    neighbours(path, step, frames, files)
}

/// The frames of a stack: pages of a TIFF file or images of an array.
pub(super) fn of_stack(
    path: &Path,
    step: usize,
    files: FrameFiles,
) -> Result<PairInput, PairInputError> {
    let parts = files
        .series(path)
        .map_err(|source| PairInputError::Frames { path: path.to_owned(), source });
    let mut parts = parts?;
    parts.sort_by(|a, b| natural_order(a, b));
    let frames = parts.into_iter().map(|part| {
        let frame = FrameRef { path: path.to_owned(), part: Some(part.clone()), label: None };
        (part, frame)
    });
    neighbours(path, step, frames, files)
}

/// Pairs of frames `step` places apart. The name of a pair is made of the names of both frames.
fn neighbours(
    path: &Path,
    step: usize,
    frames: impl IntoIterator<Item = (String, FrameRef)>,
    files: FrameFiles,
) -> Result<PairInput, PairInputError> {
    let mut collector = Collector::default();
    let frames: Vec<(String, usize)> =
        frames.into_iter().map(|(name, frame)| (name, collector.frame(frame))).collect();
    if frames.len() <= step {
        return Err(PairInputError::TooFewFrames { path: path.to_owned(), n_frames: frames.len() });
    }
    for (at, two) in frames.windows(step + 1).enumerate() {
        let ((source_name, source), (target_name, target)) = (&two[0], &two[step]);
        let pair = NamedPair {
            id: format!("{source_name}-{target_name}"),
            source: *source,
            target: *target,
            source_um_per_px: None,
            target_um_per_px: None,
        };
        collector.pair(path, at as u64, pair)?;
    }
    let names: Vec<&str> = frames.iter().map(|(name, _)| name.as_str()).collect();
    let steps = Steps::of(&[counting_numbers(&names)], step);
    let note = steps.note(&collector.pairs, "the names of frames");
    let carried = steps.column(collector.pairs.len());
    let folder = match path.is_dir() {
        true => path,
        false => path.parent().unwrap_or(Path::new("")),
    };
    let carried = carried.into_iter().collect();
    let mut input = collector.finish(folder, None, carried, files);
    input.notes.extend(note);
    Ok(input)
}
