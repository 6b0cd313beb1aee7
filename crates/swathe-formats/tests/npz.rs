//! Reads `.npz` files that Python wrote, and reads back files written here.

mod npz_by_hand;

use std::fs::{self, File};
use std::io::{Cursor, Seek, SeekFrom};

use proptest::prelude::*;
use swathe::array::{Array, Elements};
use swathe_formats::npz::{self, Compression, Npz, NpzError, NpzWriter};

const SAVEZ: &[u8] = b"PK\x03\x04-\x00\x00\x00\x00\x00\x00\x00!\x00b\x02e_\xff\xff\xff\xff\xff\xff\xff\xff\x05\x00\x14\x00a.npy\x01\x00\x10\x00\x82\x00\x00\x00\x00\x00\x00\x00\x82\x00\x00\x00\x00\x00\x00\x00\x93NUMPY\x01\x00v\x00{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }                                                            \n\x01\x02PK\x01\x02-\x03-\x00\x00\x00\x00\x00\x00\x00!\x00b\x02e_\x82\x00\x00\x00\x82\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x01\x00\x00\x00\x00a.npyPK\x05\x06\x00\x00\x00\x00\x01\x00\x01\x003\x00\x00\x00\xb9\x00\x00\x00\x00\x00";

const SAVEZ_COMPRESSED: &[u8] = b"PK\x03\x04-\x00\x00\x00\x08\x00\x00\x00!\x00_\x9c\xe2q\xff\xff\xff\xff\xff\xff\xff\xff\x05\x00\x14\x00z.npy\x01\x00\x10\x00\xc0\x01\x00\x00\x00\x00\x00\x00J\x00\x00\x00\x00\x00\x00\x00\x9b\xec\x17\xea\x1b\x10\xc9\xc8P\xc6P\xad\x9e\x92Z\x9c\x5c\xa4n\xa5\xa0n\x93f\xa1\xae\xa3\xa0\x9e\x96_TR\x94\x98\x17\x9f_\x94\x92\n\x12wK\xcc)N\x05\x8a\x17g$\x16\xa4\x02\xf9\x1a&\x06:\x9a:\n\xb5\n\xe4\x03.\x86Q@\x11\x00\x00PK\x01\x02-\x03-\x00\x00\x00\x08\x00\x00\x00!\x00_\x9c\xe2qJ\x00\x00\x00\xc0\x01\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x01\x00\x00\x00\x00z.npyPK\x05\x06\x00\x00\x00\x00\x01\x00\x01\x003\x00\x00\x00\x81\x00\x00\x00\x00\x00";

/// Written by Python to a pipe: sizes and checksum follow the data.
const DATA_DESCRIPTOR: &[u8] = b"PK\x03\x04\x14\x00\x08\x00\x08\x00\x00\x00!\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00d.npy\x9b\xec\x17\xea\x1b\x10\xc9\xc8P\xc6P\xad\x9e\x92Z\x9c\x5c\xa4n\xa5\xa0nSj\xa2\xae\xa3\xa0\x9e\x96_TR\x94\x98\x17\x9f_\x94\x92\n\x12wK\xcc)N\x05\x8a\x17g$\x16\xa4\x02\xf9\x1a\xa6:\x9a:\n\xb5\n\x14\x00.\x06,\x00\x00PK\x07\x08\xce\xa6\x07LG\x00\x00\x00\x94\x00\x00\x00PK\x01\x02\x14\x03\x14\x00\x08\x00\x08\x00\x00\x00!\x00\xce\xa6\x07LG\x00\x00\x00\x94\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x01\x00\x00\x00\x00d.npyPK\x05\x06\x00\x00\x00\x00\x01\x00\x01\x003\x00\x00\x00z\x00\x00\x00\x00\x00";

fn array(shape: &[usize], elements: impl Into<Elements>) -> Array {
    Array::new(shape.to_vec(), elements).unwrap()
}

fn write(members: &[(&str, &Array)], compression: Compression) -> Vec<u8> {
    let mut writer = NpzWriter::new(Cursor::new(Vec::new()), compression).unwrap();
    for (name, array) in members {
        writer.add(name, array).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

#[test]
fn files_from_python() {
    for (bytes, name, expected) in [
        (SAVEZ, "a", array(&[2], vec![1u8, 2])),
        (SAVEZ_COMPRESSED, "z", array(&[40], vec![0.0f64; 40])),
        (DATA_DESCRIPTOR, "d", array(&[5], vec![0u32; 5])),
    ] {
        let npz = Npz::from_bytes(bytes.to_vec()).unwrap();
        assert_eq!(npz.members().len(), 1);
        assert_eq!(&npz.names()[0], name);
        assert_eq!(npz.header(name).unwrap().shape, expected.shape());
        assert_eq!(npz.read(name).unwrap(), expected);
    }
}

#[test]
fn writing_gives_numpys_bytes() {
    assert_eq!(write(&[("a", &array(&[2], vec![1u8, 2]))], Compression::Stored), SAVEZ);
}

#[test]
fn an_archive_with_a_comment_and_an_empty_one() {
    let mut bytes = SAVEZ.to_vec();
    let comment = b"made on a Sunday, PK\x05\x06 and all";
    let n = bytes.len();
    bytes[n - 2..].copy_from_slice(&(comment.len() as u16).to_le_bytes());
    bytes.extend(comment);
    let npz = Npz::from_bytes(bytes).unwrap();
    assert_eq!(npz.read("a").unwrap(), array(&[2], vec![1u8, 2]));

    assert!(Npz::from_bytes(write(&[], Compression::Stored)).unwrap().members().is_empty());
}

#[test]
fn names_are_kept_as_given() {
    let one = array(&[], vec![1u8]);
    let names = ["", "a/b", "x.npy", "größe µm", "日本", "..", "C:\\x"];
    let members: Vec<_> = names.iter().map(|&name| (name, &one)).collect();
    let npz = Npz::from_bytes(write(&members, Compression::Stored)).unwrap();
    let read: Vec<_> = npz.names().iter().collect();
    assert_eq!(read, names);
    for name in names {
        assert_eq!(npz.read(name).unwrap(), one);
    }
}

#[test]
fn names_in_the_old_code_page() {
    let mut bytes = SAVEZ.to_vec();
    // The name is in the local header and in the directory; 0x84 is ä in code page 437.
    for at in [30, bytes.len() - 22 - 5] {
        assert_eq!(&bytes[at..at + 5], b"a.npy");
        bytes[at] = 0x84;
    }
    let npz = Npz::from_bytes(bytes).unwrap();
    assert_eq!(&npz.names()[0], "ä");
    assert_eq!(npz.read("ä").unwrap(), array(&[2], vec![1u8, 2]));
}

#[test]
fn members_without_the_suffix_are_arrays_too() {
    let one = array(&[1], vec![1.0f32]);
    let mut bytes = write(&[("ab", &one), ("cd", &one)], Compression::Stored);
    let text = b"cd.npy";
    let places: Vec<_> = (0..bytes.len() - 6).filter(|&i| &bytes[i..i + 6] == text).collect();
    assert_eq!(places.len(), 2);
    for at in places {
        bytes[at..at + 6].copy_from_slice(b"readme");
    }
    let npz = Npz::from_bytes(bytes).unwrap();
    assert_eq!(&npz.names()[1], "readme");
    assert_eq!(npz.read("readme").unwrap(), one);
    assert_eq!(npz.read("ab").unwrap(), one);
    assert!(matches!(npz.read("cd"), Err(NpzError::NoSuchMember { name }) if name == "cd"));
}

#[test]
fn fortran_order_in_a_deflated_member() {
    let npy = b"\x93NUMPY\x01\x00v\x00{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }                                                           \n\x00\x03\x01\x04\x02\x05";
    let npz = Npz::from_bytes(npz_by_hand::archive(npy, npy.len())).unwrap();
    assert!(npz.members()[0].is_deflated());
    assert_eq!(npz.read("f").unwrap(), array(&[2, 3], vec![0u8, 1, 2, 3, 4, 5]));
}

#[test]
fn more_members_than_sixteen_bits_count() {
    let names: Vec<String> = (0..70_000).map(|i| i.to_string()).collect();
    let mut writer = NpzWriter::new(Cursor::new(Vec::new()), Compression::Stored).unwrap();
    for (i, name) in names.iter().enumerate() {
        writer.add(name, &array(&[1], vec![i as u32])).unwrap();
    }
    let npz = Npz::from_bytes(writer.finish().unwrap().into_inner()).unwrap();
    assert_eq!(npz.members().len(), 70_000);
    for i in [0, 65_534, 65_535, 65_536, 69_999] {
        assert_eq!(npz.read(&names[i]).unwrap(), array(&[1], vec![i as u32]));
    }
}

#[test]
fn offsets_beyond_four_gigabytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("far.npz");
    // A sparse file: the archive begins after a hole of 5 GiB.
    let mut file = File::create(&path).unwrap();
    file.seek(SeekFrom::Start(5 << 30)).unwrap();
    let one = array(&[3], vec![1.0f64, 2.0, 3.0]);
    let mut writer = NpzWriter::new(file, Compression::Stored).unwrap();
    writer.add("one", &one).unwrap();
    writer.add("two", &one).unwrap();
    writer.finish().unwrap().sync_all().unwrap();
    let npz = Npz::open(&path).unwrap();
    assert_eq!(npz.read("one").unwrap(), one);
    assert_eq!(npz.read("two").unwrap(), one);
}

#[test]
fn saved_files_appear_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npz");
    let one = array(&[1], vec![1u8]);

    let mut writer = NpzWriter::create(&path, Compression::Stored).unwrap();
    writer.add("one", &one).unwrap();
    assert!(!path.exists());
    drop(writer);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);

    npz::save(&path, [("one", &one)], Compression::Deflate).unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    assert_eq!(Npz::open(&path).unwrap().read("one").unwrap(), one);

    let error = npz::save(&path, [("x", &one), ("x", &one)], Compression::Stored).unwrap_err();
    assert!(matches!(error, NpzError::DuplicateMember { name } if name == "x"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    assert_eq!(Npz::open(&path).unwrap().read("one").unwrap(), one);
}

#[test]
fn names_too_long_for_zip() {
    let mut writer = NpzWriter::new(Cursor::new(Vec::new()), Compression::Stored).unwrap();
    let one = array(&[], vec![1u8]);
    let error = writer.add(&"n".repeat(65_532), &one).unwrap_err();
    assert!(matches!(error, NpzError::NameTooLong { name_bytes: 65_532, max_bytes: 65_531, .. }));
    writer.add(&"n".repeat(65_531), &one).unwrap();
    let npz = Npz::from_bytes(writer.finish().unwrap().into_inner()).unwrap();
    assert_eq!(npz.read(&"n".repeat(65_531)).unwrap(), one);
}

#[test]
fn threads_read_one_archive_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("many.npz");
    let arrays: Vec<Array> = (0..40)
        .map(|i| array(&[5000], (0..5000).map(|j| i * 5000 + j).collect::<Vec<u32>>()))
        .collect();
    let names: Vec<String> = (0..40).map(|i| i.to_string()).collect();
    let members = names.iter().map(String::as_str).zip(&arrays);
    npz::save(&path, members, Compression::Deflate).unwrap();
    let npz = Npz::open(&path).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (npz, names, arrays) = (&npz, &names, &arrays);
            scope.spawn(move || {
                for i in 0..40 {
                    let i = (i * 7 + thread * 11) % 40;
                    assert_eq!(npz.read(&names[i]).unwrap(), arrays[i]);
                }
            });
        }
    });
}

proptest! {
    #[test]
    fn what_is_written_comes_back(
        members in prop::collection::btree_map("\\PC{0,12}", prop::collection::vec(any::<u32>(), 0..300), 0..6),
        deflate: bool,
    ) {
        let compression = if deflate { Compression::Deflate } else { Compression::Stored };
        let arrays: Vec<_> = members
            .iter()
            .map(|(name, v)| (name.as_str(), array(&[v.len()], v.clone())))
            .collect();
        let borrowed: Vec<_> = arrays.iter().map(|(name, array)| (*name, array)).collect();
        let npz = Npz::from_bytes(write(&borrowed, compression)).unwrap();
        prop_assert_eq!(npz.members().len(), arrays.len());
        for (name, array) in &arrays {
            prop_assert_eq!(&npz.header(name).unwrap().shape, array.shape());
            prop_assert_eq!(&npz.read(name).unwrap(), array);
        }
    }
}
