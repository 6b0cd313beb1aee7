//! NumPy's `.npy` files: one array each.
//!
//! Format versions 1 to 3, C and Fortran order and both byte orders can be read; the elements are
//! returned in row-major order and native byte order. Memory is allocated only after the declared
//! shape was checked against the actual number of bytes. Pickled objects are rejected.
//! [`write`](write()) produces the same bytes as `numpy.save`.
//!
//! ```
//! use swathe::array::Array;
//! use swathe_formats::npy;
//!
//! let array = Array::new(vec![2, 2], vec![1.0f32, 2.0, 3.0, 4.0])?;
//! let mut bytes = Vec::new();
//! npy::write(&array, &mut bytes)?;
//!
//! let header = npy::read_header(&bytes[..], bytes.len() as u64)?;
//! assert_eq!((header.shape.as_slice(), header.data_bytes()), (&[2, 2][..], 16));
//! assert_eq!(npy::read(&bytes[..], bytes.len() as u64)?, array);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod elements;
mod error;
mod header;
mod numbers;

pub use error::{Advice, NpyError};
pub use header::{ByteOrder, HEADER_BYTES_MAX, Header};
pub use numbers::{NumberHeader, NumberType};

use std::io::{self, Read, Write};
use std::path::Path;

use crate::regular_file;
use swathe::array::{Array, Elements, volume};

use crate::atomic_file::AtomicFile;

pub(crate) use elements::Growth;
pub(crate) use header::encode as encode_header;
pub use numbers::{for_each_number, read_number_header};

/// Reads one array from `reader`; `size_bytes` is the actual size of the file.
///
/// # Errors
/// If the file is malformed, truncated or of an unsupported dtype, or if it cannot be read.
pub fn read(mut reader: impl Read, size_bytes: u64) -> Result<Array, NpyError> {
    let header = read_header(&mut reader, size_bytes)?;
    read_data(reader, header, Growth::Exact)
}

/// Reads the elements; `reader` must be positioned after the header.
pub(crate) fn read_data(
    reader: impl Read,
    header: Header,
    growth: Growth,
) -> Result<Array, NpyError> {
    let elements = elements::read(reader, &header, growth)?;
    Ok(Array::new(header.shape, elements).expect("as many elements as the shape says were read"))
}

/// Reads only the header, for surveys.
///
/// The file's size is checked against the shape, so after a success all data bytes are present.
///
/// # Errors
/// If the header is malformed or of an unsupported dtype, or if the file's size does not fit it.
pub fn read_header(mut reader: impl Read, size_bytes: u64) -> Result<Header, NpyError> {
    header::read(&mut reader, size_bytes, header::array_type)
}

/// Reads the array in the file at `path`.
///
/// # Errors
/// If the file cannot be opened, or as for [`read`].
pub fn load(path: &Path) -> Result<Array, NpyError> {
    let file = regular_file::open(path)?;
    let size_bytes = file.metadata()?.len();
    read(file, size_bytes)
}

/// Reads the header of the file at `path`.
///
/// # Errors
/// If the file cannot be opened, or as for [`read_header`].
pub fn load_header(path: &Path) -> Result<Header, NpyError> {
    let file = regular_file::open(path)?;
    let size_bytes = file.metadata()?.len();
    read_header(file, size_bytes)
}

/// Writes `array` as `numpy.save` does: version 1.0 (2.0 if the header is too long for 1.0),
/// little-endian, C order.
///
/// # Errors
/// If `out` cannot be written.
pub fn write(array: &Array, mut out: impl Write) -> io::Result<()> {
    out.write_all(&header::encode(array.shape(), array.dtype()))?;
    elements::write(array.elements(), out)
}

/// Writes elements without a header, little-endian.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_elements(elements: &Elements, out: impl Write) -> io::Result<()> {
    elements::write(elements, out)
}

/// Writes `array` to `path` atomically.
///
/// # Errors
/// If the file cannot be created, written or renamed.
pub fn save(path: &Path, array: &Array) -> io::Result<()> {
    let mut file = AtomicFile::create(path)?;
    write(array, &mut file)?;
    file.commit()
}

/// How many bytes [`write`](write()) will write for `array`.
pub fn encoded_bytes(array: &Array) -> u64 {
    header::encode(array.shape(), array.dtype()).len() as u64 + array.size_bytes() as u64
}

/// The number of elements of a shape; `None` if the product of its non-zero extents, in bytes,
/// overflows. NumPy rejects the same shapes, even if a zero extent makes the volume zero.
fn checked_volume(shape: &[usize], element_bytes: usize) -> Option<usize> {
    let n_if_no_zero = shape
        .iter()
        .filter(|&&extent| extent != 0)
        .try_fold(element_bytes, |n, &extent| n.checked_mul(extent))?;
    isize::try_from(n_if_no_zero).ok()?;
    volume(shape)
}
