//! Parses and writes the header of a `.npy` file: a Python dictionary as text. Only dictionaries
//! that NumPy itself could write are accepted.

use std::io::{self, Read};

use swathe::array::Dtype;

use super::numbers::NumberType;
use super::{Advice, NpyError, checked_volume};

/// The longest header that is accepted. NumPy's limit is 10,000 bytes.
pub const HEADER_BYTES_MAX: u64 = 1 << 20;

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// The header of a `.npy` file. The element type is a [`Dtype`] or, for number arrays, a
/// [`NumberType`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header<T = Dtype> {
    /// Extents, outermost first; their product with the element's size does not overflow.
    pub shape: Vec<usize>,
    /// The type of the elements.
    pub dtype: T,
    /// Bytes of one element.
    element_bytes: usize,
    /// The byte order of the elements in the file.
    pub byte_order: ByteOrder,
    /// Whether the first axis, instead of the last, varies fastest in the file.
    pub fortran_order: bool,
    /// The byte offset of the data in the file.
    pub data_offset: u64,
}

/// The order of an element's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteOrder {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

impl<T> Header<T> {
    /// How many elements the shape describes.
    pub fn n_elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// Bytes the elements occupy in the file.
    pub fn data_bytes(&self) -> u64 {
        (self.n_elements() * self.element_bytes) as u64
    }

    /// Whether the elements are in row-major order in the file.
    pub(super) fn is_row_major(&self) -> bool {
        !self.fortran_order || self.shape.iter().filter(|&&extent| extent > 1).count() < 2
    }
}

/// An element type, its bytes and their order.
pub(super) type Element<T> = (T, usize, ByteOrder);

/// Reads and checks the header of a file of `size_bytes`, and checks that all data are present.
/// `element` decides which types are accepted.
pub(super) fn read<T>(
    reader: &mut impl Read,
    size_bytes: u64,
    element: fn(Descr<'_>) -> Result<Element<T>, NpyError>,
) -> Result<Header<T>, NpyError> {
    let (text, data_offset) = read_text(reader, size_bytes)?;
    let described = parse(&text)?;
    let (dtype, element_bytes, byte_order) = element(described.descr)?;
    check_volume(&described.shape, element_bytes)?;
    let header = Header {
        shape: described.shape,
        dtype,
        element_bytes,
        byte_order,
        fortran_order: described.fortran_order,
        data_offset,
    };
    let expected_bytes = header.data_bytes();
    let actual_bytes = size_bytes - data_offset;
    match actual_bytes.checked_sub(expected_bytes) {
        None => Err(NpyError::Truncated { expected_bytes, actual_bytes }),
        Some(0) => Ok(header),
        Some(n_bytes) => Err(NpyError::TrailingBytes { n_bytes }),
    }
}

/// The text of the header, and the offset of the data.
fn read_text(reader: &mut impl Read, size_bytes: u64) -> Result<(Vec<u8>, u64), NpyError> {
    let mut start = [0; 8];
    let n_start = read_up_to(reader, &mut start)?;
    let magic = &start[..n_start.min(6)];
    if magic != MAGIC {
        return Err(NpyError::WrongMagic { found: magic.to_vec() });
    }
    let truncated =
        |expected_bytes| NpyError::HeaderTruncated { expected_bytes, actual_bytes: size_bytes };
    if n_start < 8 {
        return Err(truncated(10));
    }
    let (major, minor) = (start[6], start[7]);
    let n_length_bytes = match (major, minor) {
        (1, 0) => 2,
        (2 | 3, 0) => 4,
        _ => return Err(NpyError::UnknownVersion { major, minor }),
    };
    let mut length = [0; 4];
    if read_up_to(reader, &mut length[..n_length_bytes])? < n_length_bytes {
        return Err(truncated(8 + n_length_bytes as u64));
    }
    let header_bytes = u64::from(u32::from_le_bytes(length));
    let data_offset = 8 + n_length_bytes as u64 + header_bytes;
    if data_offset > size_bytes {
        return Err(truncated(data_offset));
    }
    if header_bytes > HEADER_BYTES_MAX {
        return Err(NpyError::HeaderTooLarge { header_bytes, max_bytes: HEADER_BYTES_MAX });
    }
    // No buffer of the declared length is allocated: `size_bytes` may be the declared size of a zip
    // member.
    let mut text = Vec::new();
    reader.take(header_bytes).read_to_end(&mut text)?;
    if (text.len() as u64) < header_bytes {
        return Err(truncated(data_offset));
    }
    Ok((text, data_offset))
}

/// The bytes before the data, as `numpy.save` writes them.
pub(crate) fn encode(shape: &[usize], dtype: Dtype) -> Vec<u8> {
    let extents = match shape {
        [n] => format!("{n},"),
        _ => shape.iter().map(|n| n.to_string()).collect::<Vec<_>>().join(", "),
    };
    let mut text =
        format!("{{'descr': '{}', 'fortran_order': False, 'shape': ({extents}), }}", descr(dtype));
    // NumPy leaves space for the first extent to grow to 21 digits in place.
    if let Some(first) = shape.first() {
        let n_digits = first.to_string().len();
        text.extend(std::iter::repeat_n(' ', 21 - n_digits));
    }
    let padded = |n_length_bytes: usize| {
        // NumPy always pads by at least one byte: by 64 if the length is already a multiple of 64.
        let before_padding = 8 + n_length_bytes + text.len() + 1;
        text.len() + 1 + 64 - before_padding % 64
    };
    let mut out = MAGIC.to_vec();
    let text_bytes = match u16::try_from(padded(2)) {
        Ok(n) => {
            out.extend([1, 0]);
            out.extend(n.to_le_bytes());
            usize::from(n)
        }
        Err(_) => {
            let n = padded(4);
            out.extend([2, 0]);
            out.extend(u32::try_from(n).expect("a shape's text stays under 4 GiB").to_le_bytes());
            n
        }
    };
    text.extend(std::iter::repeat_n(' ', text_bytes - text.len() - 1));
    text.push('\n');
    out.extend(text.into_bytes());
    out
}

fn descr(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::U8 => "|u1",
        Dtype::U16 => "<u2",
        Dtype::U32 => "<u4",
        Dtype::U64 => "<u8",
        Dtype::I8 => "|i1",
        Dtype::I16 => "<i2",
        Dtype::I32 => "<i4",
        Dtype::I64 => "<i8",
        Dtype::F32 => "<f4",
        Dtype::F64 => "<f8",
    }
}

/// Reads until `buffer` is full or the reader ends.
fn read_up_to(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut n = 0;
    while n < buffer.len() {
        match reader.read(&mut buffer[n..]) {
            Ok(0) => break,
            Ok(more) => n += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(n)
}

/// The parsed dictionary, with the element type still as text.
struct Described<'t> {
    descr: Descr<'t>,
    fortran_order: bool,
    shape: Vec<usize>,
}

/// Parses `{'descr': …, 'fortran_order': …, 'shape': …}`, the keys in any order.
fn parse(text: &[u8]) -> Result<Described<'_>, NpyError> {
    let mut cursor = Cursor { text, at: 0 };
    let mut descr = None;
    let mut fortran_order = None;
    let mut shape = None;
    cursor.expect(b'{', "'{'")?;
    while !cursor.accept(b'}') {
        match cursor.string("a key or '}'")? {
            b"descr" => fill("descr", &mut descr, cursor.descr()?)?,
            b"fortran_order" => fill("fortran_order", &mut fortran_order, cursor.boolean()?)?,
            b"shape" => fill("shape", &mut shape, cursor.shape()?)?,
            _ => return Err(cursor.malformed("'descr', 'fortran_order' or 'shape'")),
        }
        if !cursor.accept(b',') {
            cursor.expect(b'}', "',' or '}'")?;
            break;
        }
    }
    cursor.end()?;
    let descr = descr.ok_or(NpyError::MissingKey { key: "descr" })?;
    let fortran_order = fortran_order.ok_or(NpyError::MissingKey { key: "fortran_order" })?;
    let shape = shape.ok_or(NpyError::MissingKey { key: "shape" })?;
    Ok(Described { descr, fortran_order, shape })
}

fn check_volume(shape: &[usize], element_bytes: usize) -> Result<(), NpyError> {
    match checked_volume(shape, element_bytes) {
        Some(_) => Ok(()),
        None => Err(NpyError::ShapeOverflow {
            n_axes: shape.len(),
            first_extents: shape.iter().copied().take(8).collect(),
            element_bytes,
        }),
    }
}

fn fill<T>(key: &'static str, slot: &mut Option<T>, value: T) -> Result<(), NpyError> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(NpyError::RepeatedKey { key }),
    }
}

/// The `descr` entry: its text, and whether it was a plain string.
#[derive(Clone, Copy)]
pub(super) enum Descr<'t> {
    Plain(&'t [u8]),
    Structured(&'t [u8]),
}

/// The byte order, the type code and the whole text of an unstructured type.
fn code_of(descr: Descr<'_>) -> Result<(ByteOrder, &[u8], &[u8]), NpyError> {
    let text = match descr {
        Descr::Plain(text) => text,
        Descr::Structured(text) => {
            return Err(NpyError::UnsupportedDtype {
                descr: shorten(text),
                advice: Advice::SplitFields,
            });
        }
    };
    let native = if cfg!(target_endian = "big") { ByteOrder::Big } else { ByteOrder::Little };
    // `|` means that byte order does not apply; `=` or no prefix means native order.
    let (byte_order, code) = match text {
        [b'<', code @ ..] => (ByteOrder::Little, code),
        [b'>', code @ ..] => (ByteOrder::Big, code),
        [b'|' | b'=', code @ ..] | code => (native, code),
    };
    Ok((byte_order, code, text))
}

/// Accepts any real number.
pub(super) fn number_type(descr: Descr<'_>) -> Result<Element<NumberType>, NpyError> {
    let (byte_order, code, text) = code_of(descr)?;
    match NumberType::of_code(code) {
        Some(number) => Ok((number, number.size_bytes(), byte_order)),
        // For other types, the error for arrays is more specific.
        None => match array_type(descr) {
            Err(error) => Err(error),
            Ok(_) => {
                Err(NpyError::UnsupportedDtype { descr: shorten(text), advice: Advice::NotNumbers })
            }
        },
    }
}

/// Accepts the types that arrays support.
pub(super) fn array_type(descr: Descr<'_>) -> Result<Element<Dtype>, NpyError> {
    let unsupported = |text, advice| NpyError::UnsupportedDtype { descr: shorten(text), advice };
    let (byte_order, code, text) = code_of(descr)?;
    let dtype = match code {
        b"u1" => Dtype::U8,
        b"u2" => Dtype::U16,
        b"u4" => Dtype::U32,
        b"u8" => Dtype::U64,
        b"i1" => Dtype::I8,
        b"i2" => Dtype::I16,
        b"i4" => Dtype::I32,
        b"i8" => Dtype::I64,
        b"f4" => Dtype::F32,
        b"f8" => Dtype::F64,
        [b'O', ..] => {
            return Err(NpyError::ObjectDtype { descr: shorten(text) });
        }
        b"b1" => return Err(unsupported(text, Advice::Convert("uint8"))),
        b"f2" => return Err(unsupported(text, Advice::Convert("float32"))),
        b"f12" | b"f16" => {
            return Err(unsupported(text, Advice::ConvertRounding("float64")));
        }
        [b'c', ..] => return Err(unsupported(text, Advice::SplitComplex)),
        _ => return Err(unsupported(text, Advice::NotNumbers)),
    };
    Ok((dtype, dtype.size_bytes(), byte_order))
}

/// The header's text and how far it has been read.
struct Cursor<'t> {
    text: &'t [u8],
    at: usize,
}

impl<'t> Cursor<'t> {
    fn skip_spaces(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn accept(&mut self, byte: u8) -> bool {
        self.skip_spaces();
        let found = self.text.get(self.at) == Some(&byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8, expected: &'static str) -> Result<(), NpyError> {
        if self.accept(byte) { Ok(()) } else { Err(self.malformed(expected)) }
    }

    fn end(&mut self) -> Result<(), NpyError> {
        self.skip_spaces();
        if self.at == self.text.len() {
            Ok(())
        } else {
            Err(self.malformed("the end of the header"))
        }
    }

    /// A key: a quoted string without escapes, followed by a colon.
    fn string(&mut self, expected: &'static str) -> Result<&'t [u8], NpyError> {
        let key = self.quoted(expected)?;
        self.expect(b':', "':'")?;
        Ok(key)
    }

    fn quoted(&mut self, expected: &'static str) -> Result<&'t [u8], NpyError> {
        self.skip_spaces();
        let quote = match self.text.get(self.at) {
            Some(&quote @ (b'\'' | b'"')) => quote,
            _ => return Err(self.malformed(expected)),
        };
        let start = self.at + 1;
        let n_bytes = self.text[start..]
            .iter()
            .position(|&byte| byte == quote || byte == b'\\')
            .filter(|&n| self.text[start + n] == quote)
            .ok_or_else(|| self.malformed("a string without escapes, closed by its quote"))?;
        self.at = start + n_bytes + 1;
        Ok(&self.text[start..start + n_bytes])
    }

    fn boolean(&mut self) -> Result<bool, NpyError> {
        self.skip_spaces();
        for (word, value) in [(&b"True"[..], true), (b"False", false)] {
            if self.text[self.at..].starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.malformed("True or False"))
    }

    fn descr(&mut self) -> Result<Descr<'t>, NpyError> {
        self.skip_spaces();
        match self.text.get(self.at) {
            Some(b'[' | b'(') => Ok(Descr::Structured(self.brackets()?)),
            _ => Ok(Descr::Plain(self.quoted("a dtype in quotes or a list")?)),
        }
    }

    /// Skips a bracketed literal. It counts brackets instead of recursing, because nesting may be
    /// as deep as the header is long.
    fn brackets(&mut self) -> Result<&'t [u8], NpyError> {
        let start = self.at;
        let mut depth = 0usize;
        while let Some(&byte) = self.text.get(self.at) {
            match byte {
                b'\'' | b'"' => {
                    self.quoted("a string")?;
                    continue;
                }
                b'[' | b'(' | b'{' => depth += 1,
                b']' | b')' | b'}' => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Ok(&self.text[start..self.at]);
            }
        }
        Err(self.malformed("a closing bracket"))
    }

    fn shape(&mut self) -> Result<Vec<usize>, NpyError> {
        self.expect(b'(', "'(' and the shape")?;
        let mut shape = Vec::new();
        while !self.accept(b')') {
            shape.push(self.extent(shape.len())?);
            if !self.accept(b',') {
                // `(3)` is a number in Python; a shape of one axis is `(3,)`.
                if shape.len() == 1 {
                    return Err(self.malformed("',' after the only extent"));
                }
                self.expect(b')', "',' or ')'")?;
                break;
            }
        }
        Ok(shape)
    }

    fn extent(&mut self, axis: usize) -> Result<usize, NpyError> {
        self.skip_spaces();
        let start = self.at;
        self.at += usize::from(self.text.get(self.at) == Some(&b'-'));
        let digits_at = self.at;
        while self.text.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        let digits = &self.text[digits_at..self.at];
        if digits.is_empty() {
            return Err(self.malformed("an extent or ')'"));
        }
        let spelled = || shorten(&self.text[start..self.at]);
        if digits_at > start && digits.iter().any(|&digit| digit != b'0') {
            return Err(NpyError::NegativeExtent { axis, extent: spelled() });
        }
        let extent = digits
            .iter()
            .try_fold(0usize, |n, &digit| n.checked_mul(10)?.checked_add(usize::from(digit - b'0')))
            .filter(|&extent| isize::try_from(extent).is_ok())
            .ok_or_else(|| NpyError::AbsurdExtent { axis, extent: spelled() })?;
        // Python 2 wrote long integers with an L.
        self.at += usize::from(self.text.get(self.at) == Some(&b'L'));
        Ok(extent)
    }

    fn malformed(&self, expected: &'static str) -> NpyError {
        NpyError::MalformedHeader {
            offset: self.at,
            expected,
            found: shorten(&self.text[self.at.min(self.text.len())..]),
        }
    }
}

/// The first bytes as text, so that the size of an error is bounded.
fn shorten(text: &[u8]) -> String {
    const N_MAX: usize = 60;
    let shown = String::from_utf8_lossy(&text[..text.len().min(N_MAX)]).into_owned();
    if text.len() > N_MAX { shown + "…" } else { shown }
}
