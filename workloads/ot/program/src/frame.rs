//! Frames: images of mass or of labels, from NumPy files, PNG, TIFF and run-length-encoded masks.
//!
//! A frame is named by its file and, if the file holds several, by its part: `stack.npz:t03`,
//! `movie.tif:3` and `stack.npy:3` (counted from 0), `masks.csv:17`. Reading a frame keeps only the box around
//! its live pixels. Sizes that a file declares are not trusted before its bytes confirm them.
//!
//! ```
//! use swathe_ot_program::frame::{FrameFiles, FrameRef};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("a.npy");
//! let mask = swathe::array::Array::new(vec![2, 3], vec![0u8, 0, 1, 0, 0, 1])?;
//! swathe_formats::npy::save(&path, &mask)?;
//!
//! let frame = FrameFiles::default().read(&FrameRef::parse(path.to_str().unwrap()), None)?;
//! assert_eq!((frame.shape.h_px, frame.shape.w_px), (2, 3));
//! assert_eq!(frame.live.unwrap().x0_px, 2);
//! assert_eq!(frame.density, [1.0, 1.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod background;
mod error;
mod live;
mod mask;
mod mask_table;
mod numpy;
mod png_file;
mod stack_axes;
mod tiff_directory;
mod tiff_file;
mod tiff_metadata;
mod tiff_page;

pub use background::Background;
pub use error::FrameError;
pub use live::LiveFrame;
pub(crate) use mask_table::RLE_COLUMN;
pub use mask_table::{EncodedMask, MaskTable, MaskTableError};
pub use stack_axes::{AxisChoice, StackFault};

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use swathe_formats::regular_file;
use swathe_ot::Shape;

use live::LiveBuilder;
use mask::decode_mask;
use swathe_formats::npz::Npz;
use tiff_file::TiffFile;

/// The place of a frame: a file, and a part of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FrameRef {
    /// The file.
    pub path: PathBuf,
    /// A member, a page or the id of a mask, in files that hold several frames.
    pub part: Option<String>,
    /// The label whose pixels are the frame, in series by label.
    pub label: Option<i64>,
}

/// What can be known of a frame without reading its pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameHeader {
    /// Height and width.
    pub shape: Shape,
    /// Height and width of a pixel in µm, if the file says it.
    pub um_per_px: Option<[f64; 2]>,
}

impl FrameRef {
    /// Parses a name such as `a.png` or `stack.npz:t03`. Only formats that can hold several frames
    /// have parts; elsewhere a colon is an ordinary character.
    pub fn parse(text: &str) -> FrameRef {
        let mut colons = text.rmatch_indices(':');
        let split = colons.find_map(|(at, _)| {
            let format = Format::of(Path::new(&text[..at]))?;
            (format != Format::Png).then(|| (&text[..at], &text[at + 1..]))
        });
        let (path, part) = split.map_or((text, None), |(path, part)| (path, Some(part)));
        FrameRef { path: path.into(), part: part.map(str::to_owned), label: None }
    }

    /// A frame that a table does not name; reading it fails with this reason.
    pub(crate) fn unnamed(reason: String) -> FrameRef {
        FrameRef { path: PathBuf::new(), part: Some(reason), label: None }
    }

    /// The frame's name, relative to `folder` if the file is in it.
    pub fn name_in(&self, folder: &Path) -> String {
        let path = self.path.strip_prefix(folder).unwrap_or(&self.path);
        match &self.part {
            _ if self.path.as_os_str().is_empty() => String::new(),
            Some(part) => format!("{}:{part}", path.display()),
            None => path.display().to_string(),
        }
    }

    /// The same frame, with its path resolved relative to `folder`.
    pub fn in_folder(mut self, folder: &Path) -> FrameRef {
        self.path = folder.join(self.path);
        self
    }
}

impl fmt::Display for FrameRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.as_os_str().is_empty() {
            return write!(f, "frame");
        }
        write!(f, "{}", self.path.display())?;
        match &self.part {
            Some(part) => write!(f, ":{part}"),
            None => Ok(()),
        }
    }
}

/// The formats of frames, recognised by the file's extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One NumPy array.
    Npy,
    /// Many NumPy arrays.
    Npz,
    /// Portable Network Graphics.
    Png,
    /// Tagged Image File Format, of one page or many.
    Tiff,
    /// A table of run-length-encoded masks, in CSV or Parquet.
    Masks,
}

impl Format {
    /// The format of a file of this name; `None` if it is not a format of frames.
    pub fn of(path: &Path) -> Option<Format> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        Some(match extension.as_str() {
            "npy" => Format::Npy,
            "npz" => Format::Npz,
            "png" => Format::Png,
            "tif" | "tiff" => Format::Tiff,
            "csv" | "parquet" => Format::Masks,
            _ => return None,
        })
    }
}

/// Reads frames. Files that hold several frames stay open between reads.
#[derive(Debug, Default)]
pub struct FrameFiles {
    choice: AxisChoice,
    background: Background,
    archives: Opened<Npz>,
    stacks: Opened<TiffFile>,
    tables: Opened<MaskTable>,
}

impl FrameFiles {
    /// Reads frames, of stacks those that are chosen, without their background.
    pub fn new(choice: AxisChoice, background: Background) -> FrameFiles {
        FrameFiles { choice, background, ..FrameFiles::default() }
    }

    /// What a frame declares; reads no pixels.
    ///
    /// # Errors
    /// If the file, its header or the part cannot be used.
    pub fn header(&self, frame: &FrameRef) -> Result<FrameHeader, FrameError> {
        let part = frame.part.as_deref();
        let shape = match self.format(frame)? {
            Format::Npy => numpy::shape(&frame.path, part, &self.choice),
            Format::Npz => numpy::member_shape(&*self.archive(&frame.path)?, part, &self.choice),
            Format::Png => png_file::shape(&frame.path),
            Format::Tiff => return self.stack(&frame.path)?.header(part, &self.choice),
            Format::Masks => Ok(self.masks(&frame.path)?.find(part)?.shape),
        };
        Ok(FrameHeader { shape: shape?, um_per_px: None })
    }

    /// Reads a frame: its pixels or, with a label, 1 where a pixel has this value and 0 elsewhere.
    /// The label of the frame itself comes first.
    ///
    /// # Errors
    /// If the file or the part cannot be used, or a pixel is not a valid mass.
    pub fn read(&self, frame: &FrameRef, label: Option<f64>) -> Result<LiveFrame, FrameError> {
        let label = frame.label.map(|label| label as f64).or(label);
        let builder = |shape: Shape| LiveBuilder::new(shape, label);
        let part = frame.part.as_deref();
        let read = match self.format(frame)? {
            Format::Npy => numpy::read(&frame.path, part, &self.choice, builder),
            Format::Npz => {
                let archive = self.archive(&frame.path)?;
                numpy::read_member(&archive, part, &self.choice, builder)
            }
            Format::Png => {
                png_file::read(&frame.path, label.is_some(), self.choice.channel, builder)
            }
            Format::Tiff => self.stack(&frame.path)?.read(part, &self.choice, builder),
            Format::Masks => {
                let table = self.masks(&frame.path)?;
                let mask = table.find(part)?;
                decode_mask(mask, builder(mask.shape)?)
            }
        };
        self.background.removed_from(read?)
    }

    /// The parts of a stack that are the frames of a series, in order: the images along time of a
    /// TIFF or `.npy` file, and those or the arrays of an `.npz` file.
    ///
    /// # Errors
    /// If the file is not valid, or its images are not plainly a series.
    pub fn series(&self, path: &Path) -> Result<Vec<String>, FrameError> {
        let frame = FrameRef { path: path.to_owned(), ..FrameRef::default() };
        let numbers = match self.format(&frame)? {
            Format::Npz => return numpy::members(&*self.archive(path)?, &self.choice),
            Format::Tiff => self.stack(path)?.frames(&self.choice)?,
            _ => numpy::frames(path, &self.choice)?,
        };
        Ok(numbers.iter().map(usize::to_string).collect())
    }

    /// A table of masks.
    ///
    /// # Errors
    /// If the file is not a valid table of masks.
    pub fn masks(&self, path: &Path) -> Result<Arc<MaskTable>, FrameError> {
        self.tables.get(path, || MaskTable::read(path).map_err(FrameError::from))
    }

    /// The format of a file. Fails if the file does not exist or is empty.
    fn format(&self, frame: &FrameRef) -> Result<Format, FrameError> {
        if frame.path.as_os_str().is_empty() {
            let reason = frame.part.clone().unwrap_or_default();
            return Err(FrameError::Unnamed { reason });
        }
        let format = Format::of(&frame.path).ok_or(FrameError::UnknownFormat)?;
        let metadata = std::fs::metadata(&frame.path).map_err(FrameError::of_io)?;
        if metadata.is_dir() {
            return Err(FrameError::Folder);
        }
        regular_file::check(metadata.file_type()).map_err(FrameError::of_io)?;
        if metadata.len() == 0 {
            return Err(FrameError::EmptyFile);
        }
        Ok(format)
    }

    fn archive(&self, path: &Path) -> Result<Arc<Npz>, FrameError> {
        self.archives.get(path, || Ok(Npz::open(path)?))
    }

    fn stack(&self, path: &Path) -> Result<Arc<TiffFile>, FrameError> {
        self.stacks.get(path, || TiffFile::open(path))
    }
}

/// Files that stay open, the most recently used at the end. Their number is limited, because a
/// folder can have more files than a process may have open.
#[derive(Debug)]
struct Opened<T>(Mutex<Vec<(PathBuf, Arc<T>)>>);

impl<T> Default for Opened<T> {
    fn default() -> Opened<T> {
        Opened(Mutex::default())
    }
}

impl<T> Opened<T> {
    const N_OPEN_MAX: usize = 16;

    /// Returns the open file, or opens it. The lock is held meanwhile, so that a file's directory
    /// is read only once.
    fn get(
        &self,
        path: &Path,
        open: impl FnOnce() -> Result<T, FrameError>,
    ) -> Result<Arc<T>, FrameError> {
        let mut opened = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = match opened.iter().position(|(known, _)| known == path) {
            Some(at) => opened.remove(at).1,
            None => Arc::new(open()?),
        };
        if opened.len() >= Self::N_OPEN_MAX {
            opened.remove(0);
        }
        opened.push((path.to_owned(), Arc::clone(&found)));
        Ok(found)
    }
}

/// Opens a file and returns it with its length.
fn open(path: &Path) -> Result<(File, u64), FrameError> {
    let file = regular_file::open(path).map_err(FrameError::of_io)?;
    let n_bytes = file.metadata().map_err(FrameError::of_io)?.len();
    Ok((file, n_bytes))
}

/// Runs a decoder. If the decoder panics on damaged bytes, that becomes an error of the file.
fn guarded<T>(decode: impl FnOnce() -> Result<T, FrameError>) -> Result<T, FrameError> {
    let decoded = swathe::guarded(decode);
    decoded.unwrap_or_else(|_| {
        Err(FrameError::Image { message: "the decoder gave up on damaged data".to_owned() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_many_frames_have_parts() {
        let check = |text: &str, path: &str, part: Option<&str>| {
            let frame = FrameRef::parse(text);
            assert_eq!((frame.path.to_str().unwrap(), frame.part.as_deref()), (path, part));
            assert_eq!(frame.to_string(), text);
        };
        check("a.png", "a.png", None);
        check("t:1/a.png", "t:1/a.png", None);
        check("a:b.npy", "a:b.npy", None);
        check("s.npy:3", "s.npy", Some("3"));
        check("s.npz:t:3", "s.npz", Some("t:3"));
        check("d/s.npz:t03", "d/s.npz", Some("t03"));
        check("d/S.TIFF:3", "d/S.TIFF", Some("3"));
        check("m.csv:a b", "m.csv", Some("a b"));
        check("m.csv", "m.csv", None);
    }
}
