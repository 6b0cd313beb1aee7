//! Every defect of a `.npy` file has its own error with the relevant values.

use swathe_formats::npy::{self, Advice, NpyError};

/// A version 1.0 file with this header text and this many zero bytes of data.
fn file(text: &str, n_data_bytes: usize) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(u16::try_from(text.len()).unwrap().to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes.resize(bytes.len() + n_data_bytes, 0);
    bytes
}

/// A file of 16 data bytes with this dtype (a Python literal) and shape.
fn declaring(descr: &str, shape: &str) -> Vec<u8> {
    file(&format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n"), 16)
}

fn error(bytes: &[u8]) -> NpyError {
    let from_header = npy::read_header(bytes, bytes.len() as u64).unwrap_err();
    let from_whole = npy::read(bytes, bytes.len() as u64).unwrap_err();
    assert_eq!(from_header.to_string(), from_whole.to_string());
    from_whole
}

macro_rules! assert_error {
    ($bytes:expr, $pattern:pat $(if $guard:expr)?) => {
        let error = error(&$bytes);
        assert!(matches!(&error, $pattern $(if $guard)?), "{error:?}");
    };
}

#[test]
fn sound_files_of_these_makers_are_read() {
    let bytes = declaring("'<f4'", "(2, 2)");
    assert_eq!(npy::read(&bytes[..], bytes.len() as u64).unwrap().shape(), [2, 2]);
}

#[test]
fn not_an_npy_file() {
    assert_error!(*b"", NpyError::WrongMagic { found } if found.is_empty());
    assert_error!(*b"\x93NUM", NpyError::WrongMagic { found } if found == b"\x93NUM");
    assert_error!(*b"PK\x03\x04 and so on", NpyError::WrongMagic { found } if found == b"PK\x03\x04 a");
}

#[test]
fn unknown_versions() {
    for (major, minor) in [(0, 0), (1, 1), (4, 0), (255, 255)] {
        let mut bytes = declaring("'<f4'", "(4,)");
        bytes[6..8].copy_from_slice(&[major, minor]);
        assert_error!(bytes, NpyError::UnknownVersion { major: a, minor: b } if (*a, *b) == (major, minor));
    }
}

#[test]
fn every_truncation() {
    let whole = declaring("'<f4'", "(2, 2)");
    for n in 0..whole.len() {
        let header_end = whole.len() - 16;
        match error(&whole[..n]) {
            NpyError::WrongMagic { found } => assert!(n < 6 && found.len() == n),
            NpyError::HeaderTruncated { actual_bytes, .. } => {
                assert!((6..header_end).contains(&n) && actual_bytes == n as u64);
            }
            NpyError::Truncated { expected_bytes: 16, actual_bytes } => {
                assert_eq!(actual_bytes, (n - header_end) as u64)
            }
            other => panic!("{n} bytes: {other:?}"),
        }
    }
}

#[test]
fn a_file_that_shrinks_while_it_is_read() {
    let whole = declaring("'<f4'", "(2, 2)");
    let error = npy::read(&whole[..whole.len() - 1], whole.len() as u64).unwrap_err();
    assert!(matches!(error, NpyError::Truncated { expected_bytes: 16, .. }), "{error:?}");
}

#[test]
fn trailing_bytes() {
    let mut bytes = declaring("'<f4'", "(2, 2)");
    bytes.extend([0; 3]);
    assert_error!(bytes, NpyError::TrailingBytes { n_bytes: 3 });
}

#[test]
fn huge_declared_shapes() {
    assert_error!(
        declaring("'<f4'", "(1099511627776,)"),
        NpyError::Truncated { expected_bytes, actual_bytes: 16 } if *expected_bytes == 4 << 40
    );
    assert_error!(
        declaring("'<f8'", "(2305843009213693952,)"),
        NpyError::ShapeOverflow { n_axes: 1, element_bytes: 8, .. }
    );
    assert_error!(
        declaring("'<f4'", "(4294967296, 4294967296)"),
        NpyError::ShapeOverflow { n_axes: 2, first_extents, .. } if *first_extents == [1 << 32, 1 << 32]
    );
    // Zero elements, but the product of the other extents overflows.
    assert_error!(
        declaring("'<f4'", "(0, 4294967296, 4294967296)"),
        NpyError::ShapeOverflow { n_axes: 3, .. }
    );
    assert_error!(declaring("'|u1'", "(9223372036854775807, 2)"), NpyError::ShapeOverflow { .. });
}

#[test]
fn absurd_extents() {
    assert_error!(
        declaring("'<f4'", "(2, -3)"),
        NpyError::NegativeExtent { axis: 1, extent } if extent == "-3"
    );
    assert_error!(
        declaring("'<f4'", "(9223372036854775808,)"),
        NpyError::AbsurdExtent { axis: 0, extent } if extent == "9223372036854775808"
    );
    let digits = "9".repeat(5000);
    assert_error!(
        declaring("'<f4'", &format!("(1, {digits})")),
        NpyError::AbsurdExtent { axis: 1, extent } if extent.chars().count() == 61
    );
}

#[test]
fn malformed_headers() {
    for (text, expected_offset) in [
        ("", 0),
        ("[]", 0),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (4,)", 54),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (4)}", 52),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': 4}", 50),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (4.0,)}", 52),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (4,, )}", 53),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': ((4,),)}", 51),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (4, [)}", 54),
        ("{'descr': '<f4', 'fortran_order': 0, 'shape': (4,)}", 34),
        ("{'descr': 4, 'fortran_order': False, 'shape': (4,)}", 10),
        ("{'descr': '<f4, }", 10),
        ("{'de\\scr': '<f4'}", 1),
        ("{'descr': '<f4' 'fortran_order': False}", 16),
        ("{'descr': [('a', '<f4'], 'shape'", 32),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (4,)} x", 56),
        ("{'extra': 1, 'descr': '<f4'}", 9),
    ] {
        assert_error!(
            file(text, 16),
            NpyError::MalformedHeader { offset, .. } if *offset == expected_offset
        );
    }
}

#[test]
fn missing_and_repeated_keys() {
    assert_error!(file("{}", 16), NpyError::MissingKey { key: "descr" });
    assert_error!(
        file("{'descr': '<f4', 'shape': (4,)}", 16),
        NpyError::MissingKey { key: "fortran_order" }
    );
    assert_error!(
        file("{'descr': '<f4', 'fortran_order': True}", 16),
        NpyError::MissingKey { key: "shape" }
    );
    assert_error!(
        file("{'shape': (4,), 'descr': '<f4', 'shape': (5,)}", 16),
        NpyError::RepeatedKey { key: "shape" }
    );
}

#[test]
fn deep_nesting_is_no_recursion() {
    let nested = format!("{}{}", "[".repeat(30_000), "]".repeat(30_000));
    assert_error!(
        declaring(&nested, "(4,)"),
        NpyError::UnsupportedDtype { advice: Advice::SplitFields, .. }
    );
    assert_error!(declaring(&"(".repeat(60_000), "(4,)"), NpyError::MalformedHeader { .. });
}

#[test]
fn headers_beyond_the_limit() {
    let text = " ".repeat(2 << 20);
    let mut bytes = b"\x93NUMPY\x02\x00".to_vec();
    bytes.extend((text.len() as u32).to_le_bytes());
    bytes.extend(text.as_bytes());
    assert_error!(
        bytes,
        NpyError::HeaderTooLarge { header_bytes, max_bytes: npy::HEADER_BYTES_MAX } if *header_bytes == 2 << 20
    );
}

#[test]
fn unsupported_dtypes_say_what_to_do() {
    for (descr, advice) in [
        ("'|b1'", "arr.astype('uint8')"),
        ("'<f2'", "arr.astype('float32')"),
        ("'<f16'", "arr.astype('float64')"),
        ("'<c8'", "arr.real and arr.imag"),
        ("'<U3'", "only arrays of numbers"),
        ("'<M8[ns]'", "only arrays of numbers"),
        ("''", "only arrays of numbers"),
        ("[('a', '<f4'), ('b', '<i2', (3,))]", "each field"),
    ] {
        let error = error(&declaring(descr, "(4,)"));
        assert!(matches!(error, NpyError::UnsupportedDtype { .. }), "{error:?}");
        let text = error.to_string();
        assert!(text.contains(advice) && text.contains(descr.trim_matches('\'')), "{text}");
    }
}

#[test]
fn objects_are_never_unpickled() {
    for descr in ["'|O'", "'O8'"] {
        assert_error!(declaring(descr, "(2,)"), NpyError::ObjectDtype { .. });
    }
}

#[test]
fn a_missing_file() {
    let error = npy::load("/no/such/file.npy".as_ref()).unwrap_err();
    assert!(matches!(error, NpyError::Io(_)), "{error:?}");
}
