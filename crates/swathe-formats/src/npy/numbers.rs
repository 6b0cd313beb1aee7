//! Arrays of real numbers of any type, read as f64 piece by piece. Frames can be bool masks,
//! integer labels or float densities.

use std::io::Read;

use super::elements::{for_each_stage, read_fortran};
use super::{ByteOrder, Header, NpyError, header};

/// The header of a `.npy` file of real numbers.
pub type NumberHeader = Header<NumberType>;

/// A type of real numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberType {
    /// False is 0 and true is 1.
    Bool,
    /// 8 bits, unsigned.
    U8,
    /// 16 bits, unsigned.
    U16,
    /// 32 bits, unsigned.
    U32,
    /// 64 bits, unsigned; beyond 2⁵³ rounded.
    U64,
    /// 8 bits, signed.
    I8,
    /// 16 bits, signed.
    I16,
    /// 32 bits, signed.
    I32,
    /// 64 bits, signed; beyond 2⁵³ rounded.
    I64,
    /// IEEE half precision.
    F16,
    /// IEEE single precision.
    F32,
    /// IEEE double precision.
    F64,
}

/// Reads the header of a file of `size_bytes`, and checks that all data are present.
///
/// # Errors
/// If the header is malformed or not of real numbers, or if the file's size does not fit it.
pub fn read_number_header(
    mut reader: impl Read,
    size_bytes: u64,
) -> Result<NumberHeader, NpyError> {
    header::read(&mut reader, size_bytes, header::number_type)
}

/// Calls `take` with the elements in row-major order. An array in Fortran order is reordered in
/// memory first and passed in one piece.
///
/// # Errors
/// If the data cannot be read, are truncated, or do not fit into memory.
pub fn for_each_number(
    reader: impl Read,
    header: &NumberHeader,
    take: &mut dyn FnMut(&[f64]),
) -> Result<(), NpyError> {
    let decode =
        |bytes: &[u8], out: &mut Vec<f64>| header.dtype.decode(bytes, header.byte_order, out);
    if !header.is_row_major() {
        take(&read_fortran(reader, header, decode)?);
        return Ok(());
    }
    let mut stage = Vec::new();
    for_each_stage(reader, header.data_bytes(), |bytes| {
        stage.clear();
        decode(bytes, &mut stage);
        take(&stage);
        Ok(())
    })
}

impl NumberType {
    pub(super) fn of_code(code: &[u8]) -> Option<NumberType> {
        Some(match code {
            b"b1" | b"?" => NumberType::Bool,
            b"u1" => NumberType::U8,
            b"u2" => NumberType::U16,
            b"u4" => NumberType::U32,
            b"u8" => NumberType::U64,
            b"i1" => NumberType::I8,
            b"i2" => NumberType::I16,
            b"i4" => NumberType::I32,
            b"i8" => NumberType::I64,
            b"f2" => NumberType::F16,
            b"f4" => NumberType::F32,
            b"f8" => NumberType::F64,
            _ => return None,
        })
    }

    /// Bytes of one element in the file.
    pub fn size_bytes(self) -> usize {
        match self {
            NumberType::Bool | NumberType::U8 | NumberType::I8 => 1,
            NumberType::U16 | NumberType::I16 | NumberType::F16 => 2,
            NumberType::U32 | NumberType::I32 | NumberType::F32 => 4,
            NumberType::U64 | NumberType::I64 | NumberType::F64 => 8,
        }
    }

    fn decode(self, bytes: &[u8], order: ByteOrder, out: &mut Vec<f64>) {
        macro_rules! decode {
            ($type:ty, $convert:expr) => {{
                let (chunks, _) = bytes.as_chunks();
                match order {
                    ByteOrder::Little => {
                        out.extend(chunks.iter().map(|&b| $convert(<$type>::from_le_bytes(b))))
                    }
                    ByteOrder::Big => {
                        out.extend(chunks.iter().map(|&b| $convert(<$type>::from_be_bytes(b))))
                    }
                }
            }};
        }
        match self {
            NumberType::Bool => out.extend(bytes.iter().map(|&b| f64::from(u8::from(b != 0)))),
            NumberType::U8 => out.extend(bytes.iter().map(|&b| f64::from(b))),
            NumberType::I8 => out.extend(bytes.iter().map(|&b| f64::from(b as i8))),
            NumberType::U16 => decode!(u16, f64::from),
            NumberType::I16 => decode!(i16, f64::from),
            NumberType::U32 => decode!(u32, f64::from),
            NumberType::I32 => decode!(i32, f64::from),
            NumberType::U64 => decode!(u64, |n: u64| n as f64),
            NumberType::I64 => decode!(i64, |n: i64| n as f64),
            NumberType::F16 => decode!(u16, half),
            NumberType::F32 => decode!(f32, f64::from),
            NumberType::F64 => decode!(f64, |x: f64| x),
        }
    }
}

/// The value of a half-precision number.
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    match exponent {
        0 => sign * fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => sign * f64::INFINITY,
        31 => f64::NAN,
        _ => sign * (1024.0 + fraction) * 2f64.powi(exponent - 25),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
        let order = if fortran { "True" } else { "False" };
        let text =
            format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((text.len() as u16).to_le_bytes());
        bytes.extend(text.as_bytes());
        bytes.extend(data);
        bytes
    }

    fn read(bytes: &[u8]) -> Result<Vec<f64>, NpyError> {
        let mut reader = bytes;
        let header = read_number_header(&mut reader, bytes.len() as u64)?;
        let mut all = Vec::new();
        for_each_number(reader, &header, &mut |some| all.extend_from_slice(some))?;
        Ok(all)
    }

    #[test]
    fn every_type_and_order() {
        let check = |descr: &str, data: &[u8], expected: [f64; 2]| {
            assert_eq!(read(&file(descr, false, "(1, 2)", data)).unwrap(), expected, "{descr}");
        };
        check("|b1", &[1, 0], [1.0, 0.0]);
        check("|u1", &[255, 3], [255.0, 3.0]);
        check("|i1", &[255, 3], [-1.0, 3.0]);
        check("<u2", &[1, 2, 0, 0], [513.0, 0.0]);
        check(">u2", &[1, 2, 0, 0], [258.0, 0.0]);
        check("<i2", &[0xFE, 0xFF, 7, 0], [-2.0, 7.0]);
        check("<f2", &[0, 0x3C, 0, 0xC0], [1.0, -2.0]);
        check(">i4", &[255, 255, 255, 255, 0, 0, 1, 0], [-1.0, 256.0]);
        check("<u4", &[0, 0, 0, 128, 1, 0, 0, 0], [2147483648.0, 1.0]);
        let long: Vec<u8> = [-5i64, 6].iter().flat_map(|n| n.to_le_bytes()).collect();
        check("<i8", &long, [-5.0, 6.0]);
        let double: Vec<u8> = [0.1f64, -0.0].iter().flat_map(|n| n.to_be_bytes()).collect();
        check(">f8", &double, [0.1, -0.0]);
    }

    #[test]
    fn halves() {
        for (bits, value) in [
            (0x0001, 2f64.powi(-24)),
            (0x03FF, 1023.0 * 2f64.powi(-24)),
            (0x0400, 2f64.powi(-14)),
            (0x3555, 0.333251953125),
            (0x7BFF, 65504.0),
            (0x7C00, f64::INFINITY),
            (0xFC00, f64::NEG_INFINITY),
        ] {
            assert_eq!(half(bits), value, "{bits:#06x}");
        }
        assert!(half(0x7C01).is_nan());
    }

    #[test]
    fn columns_become_rows() {
        let bytes = file("|u1", true, "(2, 3)", &[1, 4, 2, 5, 3, 6]);
        assert_eq!(read(&bytes).unwrap(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    }

    #[test]
    fn what_is_no_number_or_not_there_is_refused() {
        assert!(matches!(
            read(&file("<c8", false, "(1,)", &[0; 8])),
            Err(NpyError::UnsupportedDtype { .. })
        ));
        assert!(matches!(
            read(&file("|O", false, "(1,)", &[0; 8])),
            Err(NpyError::ObjectDtype { .. })
        ));
        assert!(matches!(
            read(&file("<u2", false, "(2, 2)", &[0; 7])),
            Err(NpyError::Truncated { .. })
        ));
    }
}
