//! Reads `.npy` files that NumPy wrote, and reads back files written here.

use proptest::prelude::*;
use swathe::array::{Array, Dtype, Elements};
use swathe_formats::npy::{self, ByteOrder};

/// Reads `bytes` and compares the header and the array with the array that NumPy saved.
fn check(bytes: &[u8], shape: &[usize], elements: impl Into<Elements>) {
    let expected = Array::new(shape.to_vec(), elements).unwrap();
    let header = npy::read_header(bytes, bytes.len() as u64).unwrap();
    assert_eq!(header.shape, shape);
    assert_eq!(header.dtype, expected.dtype());
    assert_eq!(header.data_bytes(), expected.size_bytes() as u64);
    assert_eq!(header.data_offset, 128);
    assert_eq!(npy::read(bytes, bytes.len() as u64).unwrap(), expected);
}

const F4_2X3: &[u8] = b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }                                                          \n\x00\x00\x00\x00\x00\x00\x80?\x00\x00\x00@\x00\x00@@\x00\x00\x80@\x00\x00\xa0@";

#[test]
fn row_major_floats() {
    check(F4_2X3, &[2, 3], vec![0.0f32, 1.0, 2.0, 3.0, 4.0, 5.0]);
}

#[test]
fn fortran_order_is_transposed() {
    check(
        b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }                                                           \n\x00\x00\x00\x00\x00\x00@@\x00\x00\x80?\x00\x00\x80@\x00\x00\x00@\x00\x00\xa0@",
        &[2, 3],
        vec![0.0f32, 1.0, 2.0, 3.0, 4.0, 5.0],
    );
    check(
        b"\x93NUMPY\x01\x00v\x00{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 4), }                                                        \n\x00\x0c\x04\x10\x08\x14\x01\x0d\x05\x11\x09\x15\x02\x0e\x06\x12\n\x16\x03\x0f\x07\x13\x0b\x17",
        &[2, 3, 4],
        (0..24).collect::<Vec<u8>>(),
    );
}

#[test]
fn big_endian_is_turned() {
    check(
        b"\x93NUMPY\x01\x00v\x00{'descr': '>u4', 'fortran_order': False, 'shape': (3,), }                                                            \n\x00\x00\x00\x01\x00\x00\x00\x02\xde\xad\xbe\xef",
        &[3],
        vec![1u32, 2, 0xdead_beef],
    );
    check(
        b"\x93NUMPY\x01\x00v\x00{'descr': '>f8', 'fortran_order': True, 'shape': (2, 2), }                                                           \n?\xf8\x00\x00\x00\x00\x00\x00@\x08\x00\x00\x00\x00\x00\x00@\x00\x00\x00\x00\x00\x00\x00\xc0\x10\x00\x00\x00\x00\x00\x00",
        &[2, 2],
        vec![1.5f64, 2.0, 3.0, -4.0],
    );
}

#[test]
fn scalars_and_empty_arrays() {
    check(
        b"\x93NUMPY\x01\x00v\x00{'descr': '|u1', 'fortran_order': False, 'shape': (), }                                                              \n\x07",
        &[],
        vec![7u8],
    );
    check(
        b"\x93NUMPY\x01\x00v\x00{'descr': '<u8', 'fortran_order': False, 'shape': (0, 3), }                                                          \n",
        &[0, 3],
        Vec::<u64>::new(),
    );
}

#[test]
fn versions_two_and_three() {
    for version in [2u8, 3] {
        let mut bytes = b"\x93NUMPY\x02\x00t\x00\x00\x00{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }                                                          \n\x01\x02".to_vec();
        bytes[6] = version;
        check(&bytes, &[2], vec![1u8, 2]);
    }
}

#[test]
fn spellings_that_python_allows() {
    for text in [
        "{\"shape\": (2,), \"descr\": \"|u1\", \"fortran_order\": False}",
        "{ 'shape' :(2 ,) ,\t'fortran_order':False,'descr':'u1'}   \n",
        "{'descr': '=u1', 'fortran_order': True, 'shape': (2L, 1L)}",
    ] {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((text.len() as u16).to_le_bytes());
        bytes.extend(text.as_bytes());
        bytes.extend([8, 9]);
        let array = npy::read(&bytes[..], bytes.len() as u64).unwrap();
        assert_eq!(array.elements(), &Elements::U8(vec![8, 9]), "{text}");
    }
}

#[test]
fn writing_gives_numpys_bytes() {
    let array = Array::new(vec![2, 3], vec![0.0f32, 1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
    let mut bytes = Vec::new();
    npy::write(&array, &mut bytes).unwrap();
    assert_eq!(bytes, F4_2X3);
    assert_eq!(npy::encoded_bytes(&array), F4_2X3.len() as u64);
}

#[test]
fn a_shape_with_a_long_text_needs_version_two() {
    let array = Array::new(vec![1; 30_000], vec![5u64]).unwrap();
    let mut bytes = Vec::new();
    npy::write(&array, &mut bytes).unwrap();
    assert_eq!(bytes[6..8], [2, 0]);
    assert_eq!(bytes.len() % 64, 8);
    assert_eq!(npy::read(&bytes[..], bytes.len() as u64).unwrap(), array);
}

#[test]
fn saved_files_appear_whole_and_leave_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npy");
    for n in [3usize, 2] {
        let array = Array::new(vec![n], vec![1u8; n]).unwrap();
        npy::save(&path, &array).unwrap();
        assert_eq!(npy::load(&path).unwrap(), array);
        assert_eq!(npy::load_header(&path).unwrap().shape, [n]);
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// Any array of up to four axes with arbitrary bits, including NaNs with payloads.
fn arrays() -> impl Strategy<Value = Array> {
    (prop::collection::vec(0usize..7, 0..5), prop::sample::select(Dtype::ALL), any::<u64>())
        .prop_map(|(shape, dtype, seed)| array(&shape, dtype, seed))
}

fn array(shape: &[usize], dtype: Dtype, seed: u64) -> Array {
    let words = (0..shape.iter().product::<usize>() as u64)
        .map(|i| (seed ^ i).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29));
    let mut elements = Elements::empty(dtype);
    match &mut elements {
        // Arbitrary bits, including NaN.
        Elements::F32(v) => *v = words.map(|w| f32::from_bits(w as u32)).collect(),
        Elements::F64(v) => *v = words.map(f64::from_bits).collect(),
        integers => swathe::with_elements!(integers, v => *v = words.map(|w| w as _).collect()),
    }
    Array::new(shape.to_vec(), elements).unwrap()
}

fn encode(array: &Array) -> Vec<u8> {
    let mut bytes = Vec::new();
    npy::write(array, &mut bytes).unwrap();
    bytes
}

/// The bytes of `array` in these orders of axes and bytes. The index of every element is computed
/// from scratch.
fn encode_otherwise(array: &Array, fortran_order: bool, byte_order: ByteOrder) -> Vec<u8> {
    let plain = encode(array);
    let (header, data) = plain.split_at(plain.len() - array.size_bytes());
    let n_bytes = array.dtype().size_bytes();
    let mut text = String::from_utf8_lossy(&header[10..]).into_owned();
    if fortran_order {
        text = text.replace("False, ", "True, ").replace('\n', " \n");
    }
    if byte_order == ByteOrder::Big {
        text = text.replace("'<", "'>");
    }
    let mut out = header[..10].to_vec();
    out.extend(text.into_bytes());
    for n in 0..data.len() / n_bytes {
        let mut place = n;
        if fortran_order {
            let mut rest = n;
            place = 0;
            let mut stride = data.len() / n_bytes;
            for &extent in array.shape() {
                stride /= extent;
                place += rest % extent * stride;
                rest /= extent;
            }
        }
        let mut element = data[place * n_bytes..][..n_bytes].to_vec();
        if byte_order == ByteOrder::Big {
            element.reverse();
        }
        out.extend(element);
    }
    out
}

proptest! {
    #[test]
    fn what_is_written_comes_back(array in arrays(), fortran_order: bool, big: bool) {
        let byte_order = if big { ByteOrder::Big } else { ByteOrder::Little };
        let bytes = encode_otherwise(&array, fortran_order, byte_order);
        let again = npy::read(&bytes[..], bytes.len() as u64).unwrap();
        prop_assert_eq!(again.shape(), array.shape());
        // Compared as bytes: NaN equals nothing.
        prop_assert_eq!(encode(&again), encode(&array));
    }
}

#[test]
fn arrays_larger_than_one_buffer() {
    for shape in [vec![100_001], vec![211, 503], vec![3, 7001, 5], vec![40_000, 2]] {
        for dtype in [Dtype::U8, Dtype::F32, Dtype::F64] {
            let array = array(&shape, dtype, 7);
            for (fortran_order, byte_order) in
                [(false, ByteOrder::Little), (true, ByteOrder::Little), (true, ByteOrder::Big)]
            {
                let bytes = encode_otherwise(&array, fortran_order, byte_order);
                let again = npy::read(&bytes[..], bytes.len() as u64).unwrap();
                assert_eq!(encode(&again), encode(&array), "{shape:?} {dtype}");
            }
        }
    }
}
