//! Builds a zip archive field by field, with contents that no writer would produce.

use std::io::Write;

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

/// An archive with one member `f.npy`: `content` deflated, with a declared size chosen by the
/// caller.
pub(crate) fn archive(content: &[u8], declared_bytes: usize) -> Vec<u8> {
    let mut deflater = DeflateEncoder::new(Vec::new(), Compression::best());
    deflater.write_all(content).unwrap();
    let block = deflater.finish().unwrap();
    let mut crc = Crc::new();
    crc.update(content);

    // The fields from the required version to the length of the extra fields, which both headers
    // share.
    let mut shared = Vec::new();
    for field in [20u16, 0, 8, 0, 33] {
        shared.extend(field.to_le_bytes());
    }
    for field in [crc.sum(), block.len() as u32, declared_bytes as u32] {
        shared.extend(field.to_le_bytes());
    }
    shared.extend(5u16.to_le_bytes());
    shared.extend(0u16.to_le_bytes());

    let mut out = [b"PK\x03\x04", &shared[..], b"f.npy", &block].concat();
    let directory_at = out.len() as u32;
    let entry = [b"PK\x01\x02\x14\x03", &shared[..], &[0; 14], b"f.npy"].concat();
    out.extend(&entry);
    out.extend(b"PK\x05\x06\x00\x00\x00\x00\x01\x00\x01\x00");
    out.extend((entry.len() as u32).to_le_bytes());
    out.extend(directory_at.to_le_bytes());
    out.extend([0; 2]);
    out
}
