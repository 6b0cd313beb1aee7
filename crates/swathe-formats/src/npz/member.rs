//! Reads one member's bytes; they are inflated and checked while reading.

use std::io::{self, BufReader, Read};

use flate2::Crc;
use flate2::bufread::DeflateDecoder;

use super::byte_source::{ByteSource, Section};
use super::directory::RawName;
use super::{Member, MemberFault};
use crate::npy::NpyError;

/// A deflate match takes at least two bits and yields at most 258 bytes.
const DEFLATE_RATIO_MAX: u64 = 8 / 2 * 258;

const BUFFER_BYTES: u64 = 32 << 10;

/// Reads a member up to its declared size. Faults are returned as an `io::Error` that wraps a
/// [`MemberFault`].
#[derive(Debug)]
pub(super) struct MemberReader<'s> {
    body: Body<'s>,
    declared_bytes: u64,
    declared_crc: u32,
    n_done: u64,
    crc: Crc,
}

#[derive(Debug)]
enum Body<'s> {
    Stored(BufReader<Section<'s>>),
    // Boxed, because the decoder is large and stored members do not need it.
    Deflated(Box<DeflateDecoder<BufReader<Section<'s>>>>),
}

impl<'s> MemberReader<'s> {
    pub(super) fn open(
        source: &'s ByteSource,
        member: &Member,
        directory_offset: u64,
    ) -> Result<MemberReader<'s>, MemberFault> {
        if member.is_encrypted() {
            return Err(MemberFault::Encrypted);
        }
        let possible_bytes = match member.method {
            0 => member.compressed_bytes,
            8 => member.compressed_bytes.saturating_mul(DEFLATE_RATIO_MAX),
            method => return Err(MemberFault::UnsupportedCompression { method }),
        };
        let is_possible = if member.is_deflated() {
            member.size_bytes <= possible_bytes
        } else {
            member.size_bytes == possible_bytes
        };
        if !is_possible {
            return Err(MemberFault::ImpossibleSize {
                compressed_bytes: member.compressed_bytes,
                declared_bytes: member.size_bytes,
                possible_bytes,
            });
        }
        let offset = data_offset(source, member)?;
        if offset.checked_add(member.compressed_bytes).is_none_or(|end| end > directory_offset) {
            return Err(MemberFault::OutOfBounds {
                offset,
                compressed_bytes: member.compressed_bytes,
                limit: directory_offset,
            });
        }
        let section = BufReader::with_capacity(
            member.compressed_bytes.clamp(1, BUFFER_BYTES) as usize,
            source.section(offset, member.compressed_bytes),
        );
        Ok(MemberReader {
            body: if member.is_deflated() {
                Body::Deflated(Box::new(DeflateDecoder::new(section)))
            } else {
                Body::Stored(section)
            },
            declared_bytes: member.size_bytes,
            declared_crc: member.crc,
            n_done: 0,
            crc: Crc::new(),
        })
    }

    /// Checks, after all declared bytes were read, that no more follow and that the checksum
    /// matches.
    pub(super) fn finish(&mut self) -> Result<(), MemberFault> {
        if self.read_body(&mut [0])? > 0 {
            return Err(MemberFault::InflatesBeyond { declared_bytes: self.declared_bytes });
        }
        if self.crc.sum() != self.declared_crc {
            return Err(MemberFault::ChecksumMismatch {
                declared: self.declared_crc,
                actual: self.crc.sum(),
            });
        }
        Ok(())
    }

    fn read_body(&mut self, buffer: &mut [u8]) -> Result<usize, MemberFault> {
        match &mut self.body {
            Body::Stored(section) => Ok(section.read(buffer)?),
            Body::Deflated(decoder) => decoder.read(buffer).map_err(|error| match error.kind() {
                io::ErrorKind::InvalidInput
                | io::ErrorKind::InvalidData
                | io::ErrorKind::UnexpectedEof => {
                    MemberFault::CorruptDeflate { n_bytes: self.n_done, message: error.to_string() }
                }
                _ => error.into(),
            }),
        }
    }
}

impl Read for MemberReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_left = self.declared_bytes - self.n_done;
        let n_max = usize::try_from(n_left).unwrap_or(usize::MAX).min(buffer.len());
        if n_max == 0 {
            return Ok(0);
        }
        let n = self.read_body(&mut buffer[..n_max]).map_err(|fault| match fault {
            MemberFault::Npy(NpyError::Io(error)) => error,
            fault => io::Error::other(fault),
        })?;
        if n == 0 {
            return Err(io::Error::other(MemberFault::InflatesShort {
                declared_bytes: self.declared_bytes,
                actual_bytes: self.n_done,
            }));
        }
        self.crc.update(&buffer[..n]);
        self.n_done += n as u64;
        Ok(n)
    }
}

/// The offset of the member's data, after its local header. The header must have the member's name.
fn data_offset(source: &ByteSource, member: &Member) -> Result<u64, MemberFault> {
    const FIXED_BYTES: u64 = 30;
    let offset = member.offset;
    let name_bytes = u64::from(member.raw_name.n_bytes);
    // Fewer bytes than these, and the header is not this member's.
    let wrong = || MemberFault::WrongLocalHeader { offset };
    let header = match source.read_vec_at(offset, FIXED_BYTES + name_bytes) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Err(wrong()),
        other => other?,
    };
    let (fixed, name) = header.split_at(FIXED_BYTES as usize);
    let local_name_bytes = u16::from_le_bytes([fixed[26], fixed[27]]);
    let extra_bytes = u16::from_le_bytes([fixed[28], fixed[29]]);
    if !fixed.starts_with(b"PK\x03\x04")
        || u64::from(local_name_bytes) != name_bytes
        || RawName::of(name) != member.raw_name
    {
        return Err(wrong());
    }
    Ok(offset + FIXED_BYTES + name_bytes + u64::from(extra_bytes))
}
