//! Reads a zip archive's directory, which is at its end and lists the members with their offsets.

use flate2::Crc;

use super::byte_source::ByteSource;
use super::{NpzError, code_page};
use crate::name_list::NameList;

const END_SIGNATURE: u32 = 0x0605_4b50;
const END64_SIGNATURE: u32 = 0x0606_4b50;
const LOCATOR64_SIGNATURE: u32 = 0x0706_4b50;
const ENTRY_SIGNATURE: u32 = 0x0201_4b50;

const END_BYTES: u64 = 22;
const END64_BYTES: u64 = 56;
const LOCATOR64_BYTES: u64 = 20;
const ENTRY_BYTES: u64 = 46;
const COMMENT_BYTES_MAX: u64 = u16::MAX as u64;

/// One member as described by the directory; it is not yet checked against the member itself.
#[derive(Clone, Debug)]
pub struct Member {
    /// Bytes of the member when inflated, its `.npy` header included: a claim.
    pub size_bytes: u64,
    /// Its size in the file.
    pub compressed_bytes: u64,
    pub(super) offset: u64,
    pub(super) crc: u32,
    pub(super) raw_name: RawName,
    pub(super) flags: u16,
    pub(super) method: u16,
}

/// What is kept of a name as the file has it: enough to tell whether two are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RawName {
    crc: u32,
    pub(super) n_bytes: u16,
}

impl RawName {
    pub(super) fn of(bytes: &[u8]) -> RawName {
        let mut crc = Crc::new();
        crc.update(bytes);
        RawName { crc: crc.sum(), n_bytes: bytes.len() as u16 }
    }
}

impl Member {
    /// Whether the member is compressed by deflate.
    pub fn is_deflated(&self) -> bool {
        self.method == 8
    }

    /// Whether a password would be needed.
    pub fn is_encrypted(&self) -> bool {
        self.flags & 1 != 0
    }
}

/// The offset of the directory, and the members it lists.
#[derive(Debug)]
pub(super) struct Directory {
    pub(super) offset: u64,
    pub(super) members: Vec<Member>,
    /// The members' names without `.npy`.
    pub(super) names: NameList,
}

impl Directory {
    fn entries(&self) -> impl Iterator<Item = (&Member, &str)> {
        self.members.iter().zip(self.names.iter())
    }
}

/// Finds and reads the directory, and rejects overlapping members.
pub(super) fn read(source: &ByteSource) -> Result<Directory, NpzError> {
    let end = find_end(source)?;
    let limit = source.size_bytes();
    within("its end", end.offset.saturating_add(end.size_bytes), limit)?;
    // The end record must directly follow the directory: with a gap, or with data before the
    // archive, no offset could be trusted.
    if end.offset + end.size_bytes != end.at {
        return Err(NpzError::MalformedDirectory {
            what: "the byte after it",
            value: end.offset + end.size_bytes,
            limit: end.at,
        });
    }
    within("the number of members", end.n_members, end.size_bytes / ENTRY_BYTES)?;

    // The range was checked, so the allocation is at most the file's size.
    let bytes = source.read_vec_at(end.offset, end.size_bytes)?;
    let mut fields = Fields { bytes: &bytes, offset: end.offset };
    let n_members = end.n_members as usize;
    let mut directory = Directory {
        offset: end.offset,
        members: Vec::with_capacity(n_members),
        names: NameList::with_capacity(n_members),
    };
    // Folders take room in the file too, so they must not overlap, but they are not members.
    let mut folders =
        Directory { offset: end.offset, members: Vec::new(), names: NameList::default() };
    for member_idx in 0..n_members {
        let (member, full_name) = read_entry(&mut fields, member_idx)?;
        let is_folder = member.size_bytes == 0 && full_name.ends_with('/');
        let list = if is_folder { &mut folders } else { &mut directory };
        list.members.push(member);
        list.names.push(full_name.strip_suffix(".npy").unwrap_or(&full_name));
    }
    refuse_overlaps(&directory, &folders)?;
    directory.names.shrink_to_fit();
    Ok(directory)
}

/// The position of the directory from the end record or its 64-bit form.
struct End {
    /// The offset of the first record after the directory.
    at: u64,
    offset: u64,
    size_bytes: u64,
    n_members: u64,
}

fn find_end(source: &ByteSource) -> Result<End, NpzError> {
    let file_bytes = source.size_bytes();
    let not_zip = || NpzError::NotZip { size_bytes: file_bytes };
    // Without a comment, the usual case, the record is at the very end of the file.
    for tail_bytes in [END_BYTES, END_BYTES + COMMENT_BYTES_MAX] {
        let tail_bytes = tail_bytes.min(file_bytes);
        let tail_offset = file_bytes - tail_bytes;
        let tail = source.read_vec_at(tail_offset, tail_bytes)?;
        let found = tail.windows(END_BYTES as usize).enumerate().rev().find(|(i, record)| {
            // The comment must reach to the end of the file, or else the signature is part of
            // other data.
            let comment_bytes = usize::from(u16::from_le_bytes([record[20], record[21]]));
            record.starts_with(&END_SIGNATURE.to_le_bytes())
                && i + END_BYTES as usize + comment_bytes == tail.len()
        });
        if let Some((i, record)) = found {
            return read_end(source, record, tail_offset + i as u64);
        }
    }
    Err(not_zip())
}

fn read_end(source: &ByteSource, record: &[u8], at: u64) -> Result<End, NpzError> {
    let mut fields = Fields { bytes: record, offset: at };
    fields.signature(END_SIGNATURE)?;
    let disk = fields.u16()?;
    let directory_disk = fields.u16()?;
    let _n_members_on_disk = fields.u16()?;
    let n_members = fields.u16()?;
    let size_bytes = fields.u32()?;
    let offset = fields.u32()?;
    let end = End {
        at,
        offset: offset.into(),
        size_bytes: size_bytes.into(),
        n_members: n_members.into(),
    };
    let is_saturated = n_members == u16::MAX || size_bytes == u32::MAX || offset == u32::MAX;
    if is_saturated && let Some(end64) = read_end64(source, at)? {
        return Ok(end64);
    }
    if disk != 0 || directory_disk != 0 {
        return Err(NpzError::Split);
    }
    Ok(end)
}

/// The 64-bit end record, found through its locator just before the end record. `None` if there is
/// no locator: the 32-bit fields may really have their largest values.
fn read_end64(source: &ByteSource, end_at: u64) -> Result<Option<End>, NpzError> {
    let Some(locator_at) = end_at.checked_sub(LOCATOR64_BYTES) else {
        return Ok(None);
    };
    let locator = source.read_vec_at(locator_at, LOCATOR64_BYTES)?;
    let mut fields = Fields { bytes: &locator, offset: locator_at };
    if fields.u32()? != LOCATOR64_SIGNATURE {
        return Ok(None);
    }
    let disk = fields.u32()?;
    let at = fields.u64()?;
    let n_disks = fields.u32()?;
    if disk != 0 || n_disks > 1 {
        return Err(NpzError::Split);
    }
    within("the 64-bit end record's end", at.saturating_add(END64_BYTES), locator_at)?;
    let record = source.read_vec_at(at, END64_BYTES)?;
    let mut fields = Fields { bytes: &record, offset: at };
    fields.signature(END64_SIGNATURE)?;
    let _record_bytes = fields.u64()?;
    let _made_by = fields.u16()?;
    let _version_needed = fields.u16()?;
    let disk = fields.u32()?;
    let directory_disk = fields.u32()?;
    if disk != 0 || directory_disk != 0 {
        return Err(NpzError::Split);
    }
    let _n_members_on_disk = fields.u64()?;
    let n_members = fields.u64()?;
    let size_bytes = fields.u64()?;
    let offset = fields.u64()?;
    Ok(Some(End { at, offset, size_bytes, n_members }))
}

/// A member and its full name.
fn read_entry(fields: &mut Fields<'_>, member_idx: usize) -> Result<(Member, String), NpzError> {
    fields.signature(ENTRY_SIGNATURE)?;
    let _made_by = fields.u16()?;
    let _version_needed = fields.u16()?;
    let flags = fields.u16()?;
    let method = fields.u16()?;
    let _time = fields.u16()?;
    let _date = fields.u16()?;
    let crc = fields.u32()?;
    let compressed_bytes = fields.u32()?;
    let size_bytes = fields.u32()?;
    let name_bytes = fields.u16()?;
    let extra_bytes = fields.u16()?;
    let comment_bytes = fields.u16()?;
    let _disk = fields.u16()?;
    let _internal_attributes = fields.u16()?;
    let _external_attributes = fields.u32()?;
    let offset = fields.u32()?;
    let raw_name = fields.take(name_bytes.into())?;
    let extra = fields.take(extra_bytes.into())?;
    fields.take(comment_bytes.into())?;

    let mut wide = wide_fields(extra);
    let mut widen = |narrow: u32| match narrow {
        u32::MAX => wide.next().unwrap_or(u32::MAX.into()),
        narrow => narrow.into(),
    };
    // The 64-bit values come in this order, but only for the fields that are at their limit.
    let size_bytes = widen(size_bytes);
    let compressed_bytes = widen(compressed_bytes);
    let offset = widen(offset);

    let is_utf8 = flags & 0x800 != 0;
    let full_name = if is_utf8 {
        String::from_utf8(raw_name.to_vec()).map_err(|_| NpzError::NameNotUtf8 { member_idx })?
    } else {
        code_page::decode(raw_name)
    };
    let member = Member {
        size_bytes,
        compressed_bytes,
        offset,
        crc,
        raw_name: RawName::of(raw_name),
        flags,
        method,
    };
    Ok((member, full_name))
}

/// The 64-bit values in an entry's extra fields.
fn wide_fields(mut extra: &[u8]) -> impl Iterator<Item = u64> {
    const ZIP64: u16 = 1;
    let mut values: &[u8] = &[];
    while let [id_0, id_1, n_0, n_1, rest @ ..] = extra {
        let n_bytes = usize::from(u16::from_le_bytes([*n_0, *n_1])).min(rest.len());
        let (content, after) = rest.split_at(n_bytes);
        if u16::from_le_bytes([*id_0, *id_1]) == ZIP64 {
            values = content;
            break;
        }
        extra = after;
    }
    values.as_chunks().0.iter().map(|&b| u64::from_le_bytes(b))
}

fn refuse_overlaps(directory: &Directory, folders: &Directory) -> Result<(), NpzError> {
    let end_of = |member: &Member| {
        // The local header is at least as long as its fixed part and the name.
        let header_bytes = 30 + u64::from(member.raw_name.n_bytes);
        let occupied = member.compressed_bytes.saturating_add(header_bytes);
        member.offset.saturating_add(occupied)
    };
    // Writers put members down in the order of the directory: nothing needs to be sorted then.
    let members = &directory.members;
    let is_in_order = |pair: &[Member]| end_of(&pair[0]) <= pair[1].offset;
    if folders.members.is_empty() && members.windows(2).all(is_in_order) {
        return Ok(());
    }
    let mut by_offset: Vec<(&Member, &str)> =
        directory.entries().chain(folders.entries()).collect();
    by_offset.sort_by_key(|(member, _)| member.offset);
    for pair in by_offset.windows(2) {
        let [(member, name), (next, next_name)] = [pair[0], pair[1]];
        if end_of(member) > next.offset {
            return Err(NpzError::OverlappingMembers {
                first: name.to_owned(),
                second: next_name.to_owned(),
            });
        }
    }
    Ok(())
}

fn within(what: &'static str, value: u64, limit: u64) -> Result<(), NpzError> {
    if value <= limit { Ok(()) } else { Err(NpzError::MalformedDirectory { what, value, limit }) }
}

/// Reads little-endian fields one after another.
struct Fields<'b> {
    bytes: &'b [u8],
    /// The offset of `bytes` in the file, for errors.
    offset: u64,
}

impl<'b> Fields<'b> {
    fn take(&mut self, n_bytes: usize) -> Result<&'b [u8], NpzError> {
        within("the length of a field", n_bytes as u64, self.bytes.len() as u64)?;
        let (taken, rest) = self.bytes.split_at(n_bytes);
        self.bytes = rest;
        self.offset += n_bytes as u64;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], NpzError> {
        Ok(self.take(N)?.try_into().expect("N bytes were taken"))
    }

    fn u16(&mut self) -> Result<u16, NpzError> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    fn u32(&mut self) -> Result<u32, NpzError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn u64(&mut self) -> Result<u64, NpzError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    fn signature(&mut self, expected: u32) -> Result<(), NpzError> {
        let offset = self.offset;
        let found = self.u32()?;
        if found == expected {
            Ok(())
        } else {
            Err(NpzError::WrongSignature { offset, expected, found })
        }
    }
}
