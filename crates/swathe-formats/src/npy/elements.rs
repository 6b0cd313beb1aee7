//! Decodes and encodes an array's elements from and to the bytes of a `.npy` file.

use std::io::{self, Read, Write};

use swathe::array::Elements;
use swathe::with_elements;

use super::{ByteOrder, Header, NpyError};

/// Elements pass through a buffer of this size, which fits into the cache of one core.
const STAGE_BYTES: usize = 32 << 10;

/// How much memory is allocated before the bytes have been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Growth {
    /// All at once: the size was checked against a real file.
    Exact,
    /// At most twice the bytes read so far: the size is only declared. Elements in Fortran order
    /// are scattered as they are read, so for them all memory is allocated at once even then.
    AsRead,
}

/// Reads the elements that `header` describes and puts them in row-major order.
pub(super) fn read(
    reader: impl Read,
    header: &Header,
    growth: Growth,
) -> Result<Elements, NpyError> {
    let mut elements = Elements::empty(header.dtype);
    with_elements!(&mut elements, v => *v = read_as(reader, header, growth)?);
    Ok(elements)
}

/// Writes the elements little-endian.
pub(super) fn write(elements: &Elements, out: impl Write) -> io::Result<()> {
    with_elements!(elements, v => write_as(v, out))
}

/// An element and its bytes.
trait Element: Copy + Default {
    const N_BYTES: usize;
    fn decode(bytes: &[u8], order: ByteOrder, out: &mut Vec<Self>);
    fn encode(elements: &[Self], out: &mut [u8]);
}

macro_rules! element {
    ($($type:ty),*) => {$(
        impl Element for $type {
            const N_BYTES: usize = size_of::<$type>();

            fn decode(bytes: &[u8], order: ByteOrder, out: &mut Vec<$type>) {
                let (chunks, _) = bytes.as_chunks();
                match order {
                    ByteOrder::Little => out.extend(chunks.iter().map(|&b| <$type>::from_le_bytes(b))),
                    ByteOrder::Big => out.extend(chunks.iter().map(|&b| <$type>::from_be_bytes(b))),
                }
            }

            fn encode(elements: &[$type], out: &mut [u8]) {
                let (chunks, _) = out.as_chunks_mut();
                for (chunk, element) in chunks.iter_mut().zip(elements) {
                    *chunk = element.to_le_bytes();
                }
            }
        }
    )*};
}
element!(u8, u16, u32, u64, i8, i16, i32, i64, f32, f64);

fn read_as<T: Element>(
    reader: impl Read,
    header: &Header,
    growth: Growth,
) -> Result<Vec<T>, NpyError> {
    if header.is_row_major() {
        read_in_order(reader, header, growth)
    } else {
        let order = header.byte_order;
        read_fortran(reader, header, |bytes, out| T::decode(bytes, order, out))
    }
}

fn read_in_order<T: Element>(
    reader: impl Read,
    header: &Header,
    growth: Growth,
) -> Result<Vec<T>, NpyError> {
    let n = header.n_elements();
    let mut elements = Vec::new();
    if growth == Growth::Exact {
        make_room(&mut elements, n)?;
    }
    for_each_stage(reader, header.data_bytes(), |bytes| {
        let n_more = bytes.len() / T::N_BYTES;
        if elements.capacity() - elements.len() < n_more {
            let n_left = n - elements.len();
            let n_room = elements.len().clamp(n_more, n_left);
            make_room(&mut elements, n_room)?;
        }
        T::decode(bytes, header.byte_order, &mut elements);
        Ok(())
    })?;
    Ok(elements)
}

/// Writes every element to its row-major index as it is read, which avoids a second copy of the
/// array.
pub(super) fn read_fortran<T: Copy + Default, D>(
    reader: impl Read,
    header: &Header<D>,
    decode: impl Fn(&[u8], &mut Vec<T>),
) -> Result<Vec<T>, NpyError> {
    let n = header.n_elements();
    let mut elements = Vec::new();
    make_room(&mut elements, n)?;
    elements.resize(n, T::default());

    let mut places = FortranPlaces::new(&header.shape);
    let mut stage = Vec::new();
    for_each_stage(reader, header.data_bytes(), |bytes| {
        stage.clear();
        decode(bytes, &mut stage);
        let mut rest = &stage[..];
        while !rest.is_empty() {
            let run = places.take_run(rest.len());
            let (now, later) = rest.split_at(run.n);
            for (i, &element) in now.iter().enumerate() {
                elements[run.first + i * run.stride] = element;
            }
            rest = later;
        }
        Ok(())
    })?;
    Ok(elements)
}

/// Iterates over the row-major indices of elements that are read in Fortran order.
struct FortranPlaces<'s> {
    shape: &'s [usize],
    /// Row-major strides.
    strides: Vec<usize>,
    /// The multi-dimensional index of the next element.
    index: Vec<usize>,
}

/// Consecutive elements along the first axis.
struct Run {
    first: usize,
    stride: usize,
    n: usize,
}

impl<'s> FortranPlaces<'s> {
    fn new(shape: &'s [usize]) -> FortranPlaces<'s> {
        let mut strides = vec![1; shape.len()];
        for axis in (1..shape.len()).rev() {
            strides[axis - 1] = strides[axis] * shape[axis];
        }
        FortranPlaces { shape, strides, index: vec![0; shape.len()] }
    }

    /// The indices of the next elements, at most `n_max`, up to the end of the first axis.
    fn take_run(&mut self, n_max: usize) -> Run {
        let first = self.index.iter().zip(&self.strides).map(|(i, stride)| i * stride).sum();
        let n = n_max.min(self.shape[0] - self.index[0]);
        self.index[0] += n;
        for axis in 0..self.shape.len() - 1 {
            if self.index[axis] < self.shape[axis] {
                break;
            }
            self.index[axis] = 0;
            self.index[axis + 1] += 1;
        }
        Run { first, stride: self.strides[0], n }
    }
}

/// Calls `take` with the data bytes in pieces of whole elements.
pub(super) fn for_each_stage(
    mut reader: impl Read,
    n_bytes: u64,
    mut take: impl FnMut(&[u8]) -> Result<(), NpyError>,
) -> Result<(), NpyError> {
    let n_bytes = n_bytes as usize;
    let mut stage = vec![0; STAGE_BYTES.min(n_bytes)];
    let mut n_done = 0;
    while n_done < n_bytes {
        let n_now = stage.len().min(n_bytes - n_done);
        reader.read_exact(&mut stage[..n_now]).map_err(|error| match error.kind() {
            // The file was truncated after its size was read, or a declared size was wrong.
            io::ErrorKind::UnexpectedEof if error.get_ref().is_none() => {
                NpyError::Truncated { expected_bytes: n_bytes as u64, actual_bytes: n_done as u64 }
            }
            _ => NpyError::Io(error),
        })?;
        take(&stage[..n_now])?;
        n_done += n_now;
    }
    Ok(())
}

fn make_room<T>(elements: &mut Vec<T>, n_more: usize) -> Result<(), NpyError> {
    elements.try_reserve_exact(n_more).map_err(|_| NpyError::OutOfMemory {
        wanted_bytes: (elements.len() as u64 + n_more as u64) * size_of::<T>() as u64,
    })
}

fn write_as<T: Element>(elements: &[T], mut out: impl Write) -> io::Result<()> {
    let n_per_stage = STAGE_BYTES / T::N_BYTES;
    let mut stage = vec![0; STAGE_BYTES.min(size_of_val(elements))];
    for piece in elements.chunks(n_per_stage) {
        let bytes = &mut stage[..size_of_val(piece)];
        T::encode(piece, bytes);
        out.write_all(bytes)?;
    }
    Ok(())
}
