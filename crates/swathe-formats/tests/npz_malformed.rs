//! Every defect of a `.npz` file has its own error, and one bad member does not affect the others.

mod npz_by_hand;

use std::io::Cursor;

use swathe::array::{Array, Elements};
use swathe_formats::npy::NpyError;
use swathe_formats::npz::{Compression, MemberFault, Npz, NpzError, NpzWriter};

/// An archive of the members `aa` (100 zeros) and `bb` (one f32), to be damaged.
struct Archive {
    bytes: Vec<u8>,
}

/// Offsets of the fields of a directory entry.
const FLAGS: usize = 8;
const METHOD: usize = 10;
const CRC: usize = 16;
const COMPRESSED_BYTES: usize = 20;
const SIZE_BYTES: usize = 24;
const NAME_BYTES: usize = 28;
const OFFSET: usize = 42;
const NAME: usize = 46;
/// The size of an entry: both have a name of six bytes and no extra fields.
const ENTRY_BYTES: usize = 52;
const END_BYTES: usize = 22;

fn archive(compression: Compression) -> Archive {
    let mut writer = NpzWriter::new(Cursor::new(Vec::new()), compression).unwrap();
    writer.add("aa", &zeros()).unwrap();
    writer.add("bb", &one()).unwrap();
    let bytes = writer.finish().unwrap().into_inner();
    Archive { bytes }
}

fn zeros() -> Array {
    Array::new(vec![100], vec![0u32; 100]).unwrap()
}

fn one() -> Array {
    Array::new(vec![1], Elements::F32(vec![1.0])).unwrap()
}

impl Archive {
    fn entry(&self, member_idx: usize) -> usize {
        self.bytes.len() - END_BYTES - ENTRY_BYTES * (2 - member_idx)
    }

    fn u32_at(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.bytes[at..at + 4].try_into().unwrap())
    }

    /// Overwrites a field of the directory's entry of `aa`.
    fn with(mut self, field: usize, value: &[u8]) -> Archive {
        let at = self.entry(0) + field;
        self.bytes[at..at + value.len()].copy_from_slice(value);
        self
    }

    /// Overwrites bytes counted from the end of the file.
    fn with_end(mut self, from_end: usize, value: &[u8]) -> Archive {
        let at = self.bytes.len() - from_end;
        self.bytes[at..at + value.len()].copy_from_slice(value);
        self
    }

    fn open_error(self) -> NpzError {
        Npz::from_bytes(self.bytes).unwrap_err()
    }

    /// The fault of `aa`, after a check that `bb` can be read.
    fn fault(self) -> MemberFault {
        let npz = Npz::from_bytes(self.bytes).unwrap();
        assert_eq!(npz.read("bb").unwrap(), one());
        match npz.read("aa").unwrap_err() {
            NpzError::Member { name, fault } if name == "aa" => fault,
            other => panic!("{other:?}"),
        }
    }
}

macro_rules! assert_matches {
    ($value:expr, $pattern:pat $(if $guard:expr)?) => {
        let value = $value;
        assert!(matches!(&value, $pattern $(if $guard)?), "{value:?}");
    };
}

#[test]
fn the_archives_of_these_tests_are_sound() {
    for compression in [Compression::Stored, Compression::Deflate] {
        let archive = archive(compression);
        let at = archive.entry(0);
        assert_eq!(&archive.bytes[at..at + 4], b"PK\x01\x02");
        assert_eq!(&archive.bytes[at + NAME..at + NAME + 6], b"aa.npy");
        let npz = Npz::from_bytes(archive.bytes).unwrap();
        assert_eq!(npz.read("aa").unwrap(), zeros());
        assert_eq!(npz.read("bb").unwrap(), one());
    }
}

#[test]
fn not_a_zip_file() {
    for bytes in [&b""[..], b"PK", b"\x93NUMPY and then some more text than 22 bytes"] {
        let size = bytes.len() as u64;
        assert_matches!(
            Npz::from_bytes(bytes.to_vec()).unwrap_err(),
            NpzError::NotZip { size_bytes } if *size_bytes == size
        );
    }
}

#[test]
fn every_truncation_is_refused() {
    let whole = archive(Compression::Stored).bytes;
    for n in 0..whole.len() {
        Npz::from_bytes(whole[..n].to_vec()).unwrap_err();
    }
}

#[test]
fn directories_that_contradict_the_file() {
    let broken = || archive(Compression::Stored);
    assert_matches!(broken().with_end(18, &[1]).open_error(), NpzError::Split);
    assert_matches!(
        broken().with_end(12, &[9]).open_error(),
        NpzError::MalformedDirectory { what: "the number of members", value: 9, limit: 2 }
    );
    assert_matches!(
        broken().with_end(10, &[0, 0, 0, 0xf0]).open_error(),
        NpzError::MalformedDirectory { what: "its end", .. }
    );
    assert_matches!(
        broken().with_end(6, &[0, 0, 0, 0]).open_error(),
        NpzError::MalformedDirectory { what: "the byte after it", .. }
    );
    assert_matches!(
        broken().with(0, b"QQQQ").open_error(),
        NpzError::WrongSignature { expected: 0x0201_4b50, found: 0x5151_5151, .. }
    );
    assert_matches!(
        broken().with(NAME_BYTES, &[0xff, 0xff]).open_error(),
        NpzError::MalformedDirectory { what: "the length of a field", value: 0xffff, .. }
    );
}

#[test]
fn bytes_before_the_archive() {
    let mut bytes = b"#!".to_vec();
    bytes.extend(archive(Compression::Stored).bytes);
    assert_matches!(
        Npz::from_bytes(bytes).unwrap_err(),
        NpzError::MalformedDirectory { what: "the byte after it", .. }
    );
}

#[test]
fn duplicate_names() {
    assert_matches!(
        archive(Compression::Stored).with(NAME, b"bb").open_error(),
        NpzError::DuplicateMember { name } if name == "bb"
    );
}

#[test]
fn names_that_are_not_utf8() {
    let broken = archive(Compression::Stored).with(FLAGS, &[0, 8]).with(NAME, &[0xff]);
    assert_matches!(broken.open_error(), NpzError::NameNotUtf8 { member_idx: 0 });
}

#[test]
fn members_that_overlap() {
    let archive = archive(Compression::Stored);
    let offset = archive.u32_at(archive.entry(1) + OFFSET) - 1;
    assert_matches!(
        archive.with(OFFSET, &offset.to_le_bytes()).open_error(),
        NpzError::OverlappingMembers { first, second } if first == "aa" && second == "bb"
    );
}

#[test]
fn encrypted_members() {
    assert_matches!(archive(Compression::Stored).with(FLAGS, &[1]).fault(), MemberFault::Encrypted);
}

#[test]
fn other_compressions() {
    assert_matches!(
        archive(Compression::Stored).with(METHOD, &[93]).fault(),
        MemberFault::UnsupportedCompression { method: 93 }
    );
}

#[test]
fn local_headers_that_are_elsewhere_or_anothers() {
    assert_matches!(
        archive(Compression::Stored).with(NAME, b"cc").fault_of_cc(),
        MemberFault::WrongLocalHeader { offset: 0 }
    );
    let mut archive = archive(Compression::Stored);
    archive.bytes[3] = 9;
    assert_matches!(archive.fault(), MemberFault::WrongLocalHeader { offset: 0 });
}

impl Archive {
    /// Like [`Archive::fault`], for the member that the directory now calls `cc`.
    fn fault_of_cc(self) -> MemberFault {
        match Npz::from_bytes(self.bytes).unwrap().read("cc").unwrap_err() {
            NpzError::Member { fault, .. } => fault,
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn offsets_outside_the_file() {
    let archive = archive(Compression::Stored);
    let offset = archive.bytes.len() as u32 - 10;
    assert_matches!(
        archive.with(OFFSET, &offset.to_le_bytes()).fault(),
        MemberFault::WrongLocalHeader { offset: at } if *at == u64::from(offset)
    );
}

#[test]
fn members_that_reach_into_the_directory() {
    // Only the last member can reach into the directory: others would overlap their neighbours.
    let mut archive = archive(Compression::Stored);
    let at = archive.entry(1);
    for field in [COMPRESSED_BYTES, SIZE_BYTES] {
        let more = archive.u32_at(at + field) + 1;
        archive.bytes[at + field..at + field + 4].copy_from_slice(&more.to_le_bytes());
    }
    let npz = Npz::from_bytes(archive.bytes).unwrap();
    assert_matches!(
        npz.read("bb").unwrap_err(),
        NpzError::Member { fault: MemberFault::OutOfBounds { .. }, .. }
    );
    assert_eq!(npz.read("aa").unwrap(), zeros());
}

#[test]
fn stored_members_whose_sizes_differ() {
    assert_matches!(
        archive(Compression::Stored).with(SIZE_BYTES, &[1, 0, 0, 0]).fault(),
        MemberFault::ImpossibleSize { declared_bytes: 1, compressed_bytes: 528, .. }
    );
}

#[test]
fn sizes_that_deflate_cannot_reach() {
    let archive = archive(Compression::Deflate);
    let compressed = archive.u32_at(archive.entry(0) + COMPRESSED_BYTES);
    let declared = compressed * 1032 + 1;
    assert_matches!(
        archive.with(SIZE_BYTES, &declared.to_le_bytes()).fault(),
        MemberFault::ImpossibleSize { possible_bytes, .. } if *possible_bytes == u64::from(compressed) * 1032
    );
}

/// An archive with one member `f`: `content` deflated, with a declared size chosen by the caller.
fn lying(content: &[u8], declared_bytes: usize) -> Npz {
    Npz::from_bytes(npz_by_hand::archive(content, declared_bytes)).unwrap()
}

fn npy_zeros(n: usize, fortran_order: bool) -> Vec<u8> {
    let order = if fortran_order { "True" } else { "False" };
    let text = format!("{{'descr': '|u1', 'fortran_order': {order}, 'shape': ({n}, 2), }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes.resize(bytes.len() + 2 * n, 0);
    bytes
}

#[test]
fn members_that_inflate_to_more_or_less_than_they_say() {
    for fortran_order in [false, true] {
        let content = npy_zeros(50_000, fortran_order);
        let honest = lying(&content, content.len());
        assert_eq!(honest.read("f").unwrap().shape(), [50_000, 2]);

        let mut longer = content.clone();
        longer.extend([0; 100_000]);
        assert_matches!(
            lying(&longer, content.len()).read("f").unwrap_err(),
            NpzError::Member { fault: MemberFault::InflatesBeyond { declared_bytes }, .. }
                if *declared_bytes == content.len() as u64
        );
        assert_matches!(
            lying(&content[..60_000], content.len()).read("f").unwrap_err(),
            NpzError::Member { fault: MemberFault::InflatesShort { actual_bytes: 60_000, .. }, .. }
        );
    }
}

#[test]
fn a_size_that_is_not_the_arrays() {
    let content = npy_zeros(50, false);
    assert_matches!(
        lying(&content, content.len() + 1).read("f").unwrap_err(),
        NpzError::Member { fault: MemberFault::Npy(NpyError::TrailingBytes { n_bytes: 1 }), .. }
    );
    assert_matches!(
        lying(&content, content.len() - 1).read("f").unwrap_err(),
        NpzError::Member { fault: MemberFault::Npy(NpyError::Truncated { .. }), .. }
    );
}

#[test]
fn damaged_data() {
    let mut archive = archive(Compression::Stored);
    // The last data byte of `aa`, just before the local header of `bb`.
    let at = archive.u32_at(archive.entry(1) + OFFSET) as usize - 1;
    archive.bytes[at] ^= 1;
    assert_matches!(archive.fault(), MemberFault::ChecksumMismatch { .. });
    assert_matches!(
        self::archive(Compression::Deflate).with(CRC, &[0, 0, 0, 0]).fault(),
        MemberFault::ChecksumMismatch { declared: 0, .. }
    );
}

#[test]
fn damaged_deflate() {
    let mut archive = archive(Compression::Deflate);
    // The first byte of the compressed data: block type 3 does not exist.
    let at = 30 + 6 + 20;
    archive.bytes[at] |= 0b110;
    assert_matches!(archive.fault(), MemberFault::CorruptDeflate { n_bytes: 0, .. });
}

#[test]
fn errors_of_the_npy_inside() {
    let content = b"not an array at all, but text in a zip file";
    assert_matches!(
        lying(content, content.len()).read("f").unwrap_err(),
        NpzError::Member { fault: MemberFault::Npy(NpyError::WrongMagic { .. }), .. }
    );
    assert_eq!(
        lying(content, content.len()).header("f").unwrap_err().to_string(),
        "member \"f\": not a .npy file: it begins with [6e, 6f, 74, 20, 61, 6e] instead of the magic \\x93NUMPY; write it with numpy.save"
    );
}

#[test]
fn sixty_four_bit_fields() {
    // The same archive with every 32-bit field at its limit and the values in 64-bit fields.
    let plain = archive(Compression::Stored);
    let directory_at = plain.entry(0);
    let mut out = plain.bytes[..directory_at].to_vec();
    for member_idx in 0..2 {
        let at = plain.entry(member_idx);
        let mut entry = plain.bytes[at..at + ENTRY_BYTES].to_vec();
        // An extra field of another kind comes first.
        entry.extend(*b"UT\x02\x00??\x01\x00\x18\x00");
        for field in [SIZE_BYTES, COMPRESSED_BYTES, OFFSET] {
            entry.extend(u64::from(plain.u32_at(at + field)).to_le_bytes());
            entry[field..field + 4].fill(0xff);
        }
        entry[30] = 34;
        out.extend(entry);
    }
    let end_at = out.len() as u64;
    out.extend(b"PK\x06\x06\x2c\0\0\0\0\0\0\0\x2d\x03\x2d\0\0\0\0\0\0\0\0\0");
    for field in [2, 2, end_at - directory_at as u64, directory_at as u64] {
        out.extend(field.to_le_bytes());
    }
    out.extend(b"PK\x06\x07\0\0\0\0");
    out.extend(end_at.to_le_bytes());
    out.extend(b"\x01\0\0\0PK\x05\x06\0\0\0\0");
    out.extend([0xff; 12]);
    out.extend([0; 2]);
    let npz = Npz::from_bytes(out.clone()).unwrap();
    assert_eq!(npz.read("aa").unwrap(), zeros());
    assert_eq!(npz.read("bb").unwrap(), one());

    let n = out.len();
    out[n - 22 - 12..n - 22 - 4].fill(0xff);
    assert_matches!(
        Npz::from_bytes(out).unwrap_err(),
        NpzError::MalformedDirectory { what: "the 64-bit end record's end", .. }
    );
}
