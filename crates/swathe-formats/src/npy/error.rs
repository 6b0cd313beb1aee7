//! Errors of a `.npy` file.

use std::fmt;
use std::io;

/// Why a `.npy` file could not be read. The caller knows the file's name and adds it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NpyError {
    /// The first six bytes are not `\x93NUMPY`.
    #[error(
        "not a .npy file: it begins with {found:02x?} instead of the magic \\x93NUMPY; write it with numpy.save"
    )]
    WrongMagic {
        /// The bytes found instead; fewer than six if the file is shorter.
        found: Vec<u8>,
    },
    /// An unknown format version.
    #[error("unknown .npy format version {major}.{minor}; versions 1.0, 2.0 and 3.0 can be read")]
    UnknownVersion {
        /// The first number.
        major: u8,
        /// The second number.
        minor: u8,
    },
    /// The file ends inside its header.
    #[error(
        "truncated: the header needs {expected_bytes} bytes but the file has {actual_bytes}; copy or write the file again"
    )]
    HeaderTruncated {
        /// Bytes up to the end of the header.
        expected_bytes: u64,
        /// Bytes the file has.
        actual_bytes: u64,
    },
    /// The header is longer than any array needs.
    #[error("the header claims {header_bytes} bytes; at most {max_bytes} are read")]
    HeaderTooLarge {
        /// The declared length.
        header_bytes: u64,
        /// The limit.
        max_bytes: u64,
    },
    /// The header is not the dictionary that the format requires.
    #[error("malformed header at byte {offset} of its text: expected {expected}, found {found:?}")]
    MalformedHeader {
        /// The position in the header's text.
        offset: usize,
        /// What is expected there.
        expected: &'static str,
        /// The text found there, shortened.
        found: String,
    },
    /// One of `descr`, `fortran_order` and `shape` is absent.
    #[error("the header has no {key:?}; it must have 'descr', 'fortran_order' and 'shape'")]
    MissingKey {
        /// The absent key.
        key: &'static str,
    },
    /// A key that occurs twice.
    #[error("the header has {key:?} twice")]
    RepeatedKey {
        /// The repeated key.
        key: &'static str,
    },
    /// A negative extent.
    #[error("the shape has the negative extent {extent} on axis {axis}")]
    NegativeExtent {
        /// The axis, from 0.
        axis: usize,
        /// The extent as the header spells it, shortened.
        extent: String,
    },
    /// An extent larger than the address space.
    #[error("the shape has the extent {extent} on axis {axis}, which no memory can hold")]
    AbsurdExtent {
        /// The axis, from 0.
        axis: usize,
        /// The extent as the header spells it, shortened.
        extent: String,
    },
    /// The product of the extents is larger than the address space.
    #[error(
        "the shape, {n_axes} axes beginning {first_extents:?}, times {element_bytes} bytes an element is more than any memory can hold"
    )]
    ShapeOverflow {
        /// The number of axes.
        n_axes: usize,
        /// The first few extents.
        first_extents: Vec<usize>,
        /// Bytes of one element.
        element_bytes: usize,
    },
    /// An element type that arrays do not support.
    #[error(
        "elements of dtype {descr} are not supported (integers of 8 to 64 bits, f32 and f64 are); {advice}"
    )]
    UnsupportedDtype {
        /// The dtype as the header spells it, shortened.
        descr: String,
        /// How to convert the array.
        advice: Advice,
    },
    /// Python objects, which could only be read by unpickling.
    #[error(
        "elements are Python objects (dtype {descr}); they would have to be unpickled, which can run any code, so they are refused; save numbers instead, e.g. arr.astype('float32')"
    )]
    ObjectDtype {
        /// The dtype as the header spells it, shortened.
        descr: String,
    },
    /// The file has fewer data bytes than the shape needs.
    #[error(
        "truncated: the shape needs {expected_bytes} bytes of data but {actual_bytes} are there; copy or write the file again"
    )]
    Truncated {
        /// Bytes the shape needs.
        expected_bytes: u64,
        /// Bytes after the header.
        actual_bytes: u64,
    },
    /// The file continues after the array.
    #[error(
        "{n_bytes} bytes follow the array; save one array per .npy file, or several with numpy.savez"
    )]
    TrailingBytes {
        /// Bytes after the array.
        n_bytes: u64,
    },
    /// The elements do not fit in memory.
    #[error("no memory for the array's {wanted_bytes} bytes")]
    OutOfMemory {
        /// Bytes requested.
        wanted_bytes: u64,
    },
    /// The file could not be read.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
}

/// How to turn an array of an unsupported dtype into a supported one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Convert to this dtype (NumPy name), which holds every value.
    Convert(&'static str),
    /// Convert to this dtype, which does not hold every value exactly.
    ConvertRounding(&'static str),
    /// Complex numbers: save the two parts.
    SplitComplex,
    /// Structured: save each field.
    SplitFields,
    /// Text, dates or raw bytes, which cannot be converted to numbers.
    NotNumbers,
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Advice::Convert(to) => write!(f, "convert with arr.astype('{to}')"),
            Advice::ConvertRounding(to) => write!(
                f,
                "convert with arr.astype('{to}') if rounding the largest values is acceptable"
            ),
            Advice::SplitComplex => f.write_str("save arr.real and arr.imag as two arrays"),
            Advice::SplitFields => f.write_str("save each field as its own array"),
            Advice::NotNumbers => f.write_str("only arrays of numbers can be used"),
        }
    }
}
