//! Errors of frames.

use std::io;

use swathe_ot::{PixelFault, Shape};

use super::mask_table::MaskTableError;
use super::stack_axes::StackFault;
use swathe_formats::npy::NpyError;
use swathe_formats::npz::{MemberFault, NpzError};

/// Why a frame cannot be used. The caller knows the frame's name and adds it to the message.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// There is no such file.
    #[error("there is no such file")]
    Missing,
    /// The system cannot read the file.
    #[error("cannot be read: {0}")]
    Io(io::Error),
    /// The path is a folder, not a file.
    #[error("is a folder, not an image")]
    Folder,
    /// A file of 0 bytes.
    #[error("the file is empty (0 bytes); copy or write it again")]
    EmptyFile,
    /// The file's extension belongs to no known format.
    #[error("frames are .npy, .npz, .png, .tif or .tiff files, or masks in a .csv")]
    UnknownFormat,
    /// The `.npy` file cannot be used.
    #[error(transparent)]
    Npy(#[from] NpyError),
    /// The `.npz` file, or its member, cannot be used.
    #[error(transparent)]
    Npz(#[from] NpzError),
    /// The table of masks cannot be used.
    #[error(transparent)]
    Masks(#[from] MaskTableError),
    /// The image violates its format.
    #[error("{message}; copy or write the file again")]
    Image {
        /// The decoder's message.
        message: String,
    },
    /// A part of the file lies beyond its end.
    #[error(
        "is cut off: {what} would end at byte {end_bytes}, and the file has {n_bytes} bytes; copy or write the file again"
    )]
    CutOff {
        /// The part.
        what: String,
        /// Where it would end.
        end_bytes: u64,
        /// The file's length.
        n_bytes: u64,
    },
    /// The file may be valid, but cannot be read here.
    #[error(
        "{what}, which swathe does not read; write it as integers or floats of 8, 16, 32 or 64 bits, uncompressed or with deflate, LZW, PackBits or Zstandard"
    )]
    Unsupported {
        /// What it is.
        what: String,
    },
    /// The file is a stack, and its images are not plainly frames.
    #[error(transparent)]
    Stack(#[from] StackFault),
    /// The file's pixels are not square.
    #[error(
        "has pixels of {h_um} x {w_um} µm (height x width), which are not square; resample it, or take them as square with --um-per-px"
    )]
    OblongPixels {
        /// Height of a pixel.
        h_um: f64,
        /// Width of a pixel.
        w_um: f64,
    },
    /// An image in colour, or with transparency.
    #[error(
        "is {what}; frames have one grey value for each pixel: convert it, or take one channel with --channel 0"
    )]
    NotGrey {
        /// What it is.
        what: String,
    },
    /// An array of one, three or more axes.
    #[error(
        "has the shape {shape:?}; a frame has two axes, height and width, and a stack one more before them"
    )]
    WrongAxes {
        /// Its shape.
        shape: Vec<usize>,
    },
    /// An archive of several arrays, of which one is not an image.
    #[error(
        "has several arrays, and {member:?} has the shape {shape:?}; a series is one array of (time, height, width) or arrays of height and width"
    )]
    MemberAxes {
        /// The array.
        member: String,
        /// Its shape.
        shape: Vec<usize>,
    },
    /// The table does not name the frame.
    #[error("{reason}")]
    Unnamed {
        /// Which cell is empty.
        reason: String,
    },
    /// A side has length zero.
    #[error("has the shape {shape}, which has no pixels")]
    NoPixels {
        /// Its shape.
        shape: Shape,
    },
    /// The image declares more pixels than its bytes can hold under any compression.
    #[error("{n_bytes} bytes cannot hold an image of {shape}: it is damaged")]
    ImpossibleSize {
        /// The shape it declares.
        shape: Shape,
        /// The bytes it has.
        n_bytes: u64,
    },
    /// Its pixels do not fit in memory.
    #[error("no memory for an image of {shape}")]
    OutOfMemory {
        /// Its shape.
        shape: Shape,
    },
    /// A pixel is not a valid mass.
    #[error("pixel ({y_px}, {x_px}) is {fault}: {value}")]
    BadPixel {
        /// Row of the pixel.
        y_px: usize,
        /// Column of the pixel.
        x_px: usize,
        /// Its value.
        value: f64,
        /// What is wrong with it.
        fault: PixelFault,
    },
    /// The `.npz` file has several arrays, and the name does not say which.
    #[error("has {n_members} arrays; say which, as in {example:?}", example = format!("file.npz:{first}"))]
    WhichMember {
        /// How many there are.
        n_members: usize,
        /// The first.
        first: String,
    },
    /// The stack has several frames, and the name does not say which.
    #[error("has {n_pages} frames; say which, from 0, as in \"file.tif:3\"")]
    WhichPage {
        /// How many there are.
        n_pages: usize,
    },
    /// The stack has no such page.
    #[error("has no frame {page:?}: there are {n_pages}, counted from 0")]
    NoSuchPage {
        /// What was asked for.
        page: String,
        /// How many there are.
        n_pages: usize,
    },
    /// The table has several masks, and the name does not say which.
    #[error("is a table of masks; say which, as in \"masks.csv:ID\"")]
    WhichMask,
    /// The table has no such mask.
    #[error("has no mask {id:?}")]
    NoSuchMask {
        /// What was asked for.
        id: String,
    },
    /// A run-length-encoded mask is not valid.
    #[error("line {line}: mask_rle {reason}")]
    BadMask {
        /// The line of the table.
        line: u64,
        /// What is wrong.
        reason: String,
    },
}

impl FrameError {
    /// A short name for tables, e.g. `nan_pixel`.
    pub fn kind(&self) -> &'static str {
        match self {
            FrameError::Missing => "missing_frame",
            FrameError::Io(_) | FrameError::Folder => "unreadable_frame",
            FrameError::EmptyFile => "empty_file",
            FrameError::UnknownFormat => "unknown_format",
            FrameError::NotGrey { .. } => "not_grey",
            FrameError::Unsupported { .. } => "unsupported_frame",
            FrameError::Stack(_) => "not_a_series",
            FrameError::OblongPixels { .. } => "oblong_pixels",
            FrameError::WrongAxes { .. } | FrameError::MemberAxes { .. } => "not_an_image",
            FrameError::Unnamed { .. } => "empty_cell",
            FrameError::NoPixels { .. } => "no_pixels",
            FrameError::OutOfMemory { .. } => "out_of_memory",
            FrameError::BadPixel { fault, .. } => match fault {
                PixelFault::NotANumber => "nan_pixel",
                PixelFault::Infinite => "infinite_pixel",
                PixelFault::Negative => "negative_pixel",
            },
            FrameError::WhichMember { .. }
            | FrameError::WhichPage { .. }
            | FrameError::WhichMask => "which_frame",
            FrameError::NoSuchPage { .. }
            | FrameError::NoSuchMask { .. }
            | FrameError::Npz(NpzError::NoSuchMember { .. }) => "missing_frame",
            FrameError::BadMask { .. } => "bad_mask",
            FrameError::Npy(_)
            | FrameError::Npz(_)
            | FrameError::Masks(_)
            | FrameError::Image { .. }
            | FrameError::CutOff { .. }
            | FrameError::ImpossibleSize { .. } => "damaged_frame",
        }
    }

    pub(super) fn of_io(error: io::Error) -> FrameError {
        match error.kind() {
            io::ErrorKind::NotFound => FrameError::Missing,
            _ => FrameError::Io(error),
        }
    }

    /// Whether a retry may succeed: the system failed, not the file.
    pub fn is_of_the_system(&self) -> bool {
        matches!(
            self,
            FrameError::Io(_)
                | FrameError::Npy(NpyError::Io(_))
                | FrameError::Npz(
                    NpzError::Io(_)
                        | NpzError::Member { fault: MemberFault::Npy(NpyError::Io(_)), .. }
                )
        )
    }
}
