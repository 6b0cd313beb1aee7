//! A zip archive's directory, which stands at its end and says where the members are.

use super::byte_source::ByteSource;
use super::{NpzError, code_page};

const END_SIGNATURE: u32 = 0x0605_4b50;
const END64_SIGNATURE: u32 = 0x0606_4b50;
const LOCATOR64_SIGNATURE: u32 = 0x0706_4b50;
const ENTRY_SIGNATURE: u32 = 0x0201_4b50;

const END_BYTES: u64 = 22;
const END64_BYTES: u64 = 56;
const LOCATOR64_BYTES: u64 = 20;
const ENTRY_BYTES: u64 = 46;
const COMMENT_BYTES_MAX: u64 = u16::MAX as u64;

/// One member as the directory describes it; nothing of it is checked against the member itself.
#[derive(Clone, Debug)]
pub struct Member {
    /// The array's name: the member's, without `.npy`.
    pub name: String,
    /// Bytes of the member when inflated, its `.npy` header included: a claim.
    pub size_bytes: u64,
    /// Bytes it occupies in the file.
    pub compressed_bytes: u64,
    pub(super) raw_name: Vec<u8>,
    pub(super) flags: u16,
    pub(super) method: u16,
    pub(super) crc: u32,
    pub(super) offset: u64,
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

/// Where the directory begins, and what it lists.
#[derive(Debug)]
pub(super) struct Directory {
    pub(super) offset: u64,
    pub(super) members: Vec<Member>,
}

/// Finds and reads the directory, and refuses one whose members overlap.
pub(super) fn read(source: &ByteSource) -> Result<Directory, NpzError> {
    let end = find_end(source)?;
    let limit = source.size_bytes();
    within("its end", end.offset.saturating_add(end.size_bytes), limit)?;
    // The end record follows the directory at once: were there a gap, or something before the
    // archive, every offset would be in doubt.
    if end.offset + end.size_bytes != end.at {
        return Err(NpzError::MalformedDirectory {
            what: "the byte after it",
            value: end.offset + end.size_bytes,
            limit: end.at,
        });
    }
    within(
        "the number of members",
        end.n_members,
        end.size_bytes / ENTRY_BYTES,
    )?;

    // Real bytes of a real file, so this is no more than the file's size.
    let bytes = source.read_vec_at(end.offset, end.size_bytes)?;
    let mut fields = Fields {
        bytes: &bytes,
        offset: end.offset,
    };
    let members = (0..end.n_members as usize)
        .map(|member_idx| read_entry(&mut fields, member_idx))
        .collect::<Result<Vec<_>, _>>()?;
    refuse_overlaps(&members)?;
    Ok(Directory {
        offset: end.offset,
        members: members.into_iter().filter(|m| !is_folder(m)).collect(),
    })
}

/// Folders are entries without content whose names end in a slash.
fn is_folder(member: &Member) -> bool {
    member.size_bytes == 0 && member.raw_name.ends_with(b"/")
}

/// What the end record, or its 64-bit form, says of the directory.
struct End {
    /// Where the first record after the directory stands.
    at: u64,
    offset: u64,
    size_bytes: u64,
    n_members: u64,
}

fn find_end(source: &ByteSource) -> Result<End, NpzError> {
    let file_bytes = source.size_bytes();
    let not_zip = || NpzError::NotZip {
        size_bytes: file_bytes,
    };
    // Without a comment, the usual case, the record is the last thing in the file.
    for tail_bytes in [END_BYTES, END_BYTES + COMMENT_BYTES_MAX] {
        let tail_bytes = tail_bytes.min(file_bytes);
        let tail_offset = file_bytes - tail_bytes;
        let tail = source.read_vec_at(tail_offset, tail_bytes)?;
        let found = tail
            .windows(END_BYTES as usize)
            .enumerate()
            .rev()
            .find(|(i, record)| {
                // The comment must reach to the end of the file, else this is data.
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
    let mut fields = Fields {
        bytes: record,
        offset: at,
    };
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

/// The 64-bit end record, found through its locator just before the end record; `None` where
/// there is no locator: the 32-bit fields may be at their limit honestly.
fn read_end64(source: &ByteSource, end_at: u64) -> Result<Option<End>, NpzError> {
    let Some(locator_at) = end_at.checked_sub(LOCATOR64_BYTES) else {
        return Ok(None);
    };
    let locator = source.read_vec_at(locator_at, LOCATOR64_BYTES)?;
    let mut fields = Fields {
        bytes: &locator,
        offset: locator_at,
    };
    if fields.u32()? != LOCATOR64_SIGNATURE {
        return Ok(None);
    }
    let disk = fields.u32()?;
    let at = fields.u64()?;
    let n_disks = fields.u32()?;
    if disk != 0 || n_disks > 1 {
        return Err(NpzError::Split);
    }
    within(
        "the 64-bit end record's end",
        at.saturating_add(END64_BYTES),
        locator_at,
    )?;
    let record = source.read_vec_at(at, END64_BYTES)?;
    let mut fields = Fields {
        bytes: &record,
        offset: at,
    };
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
    Ok(Some(End {
        at,
        offset,
        size_bytes,
        n_members,
    }))
}

fn read_entry(fields: &mut Fields<'_>, member_idx: usize) -> Result<Member, NpzError> {
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
    let raw_name = fields.take(name_bytes.into())?.to_vec();
    let extra = fields.take(extra_bytes.into())?;
    fields.take(comment_bytes.into())?;

    let mut wide = wide_fields(extra);
    let mut widen = |narrow: u32| match narrow {
        u32::MAX => wide.next().unwrap_or(u32::MAX.into()),
        narrow => narrow.into(),
    };
    // In this order, whichever of them are at their limit.
    let size_bytes = widen(size_bytes);
    let compressed_bytes = widen(compressed_bytes);
    let offset = widen(offset);

    let is_utf8 = flags & 0x800 != 0;
    let full_name = if is_utf8 {
        String::from_utf8(raw_name.clone()).map_err(|_| NpzError::NameNotUtf8 { member_idx })?
    } else {
        code_page::decode(&raw_name)
    };
    Ok(Member {
        name: full_name
            .strip_suffix(".npy")
            .map_or(full_name.clone(), str::to_owned),
        size_bytes,
        compressed_bytes,
        raw_name,
        flags,
        method,
        crc,
        offset,
    })
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

fn refuse_overlaps(members: &[Member]) -> Result<(), NpzError> {
    let mut by_offset: Vec<&Member> = members.iter().collect();
    by_offset.sort_by_key(|member| member.offset);
    for pair in by_offset.windows(2) {
        // The local header is at least as long as its fixed part and the name.
        let occupied = pair[0]
            .compressed_bytes
            .saturating_add(30 + pair[0].raw_name.len() as u64);
        if pair[0].offset.saturating_add(occupied) > pair[1].offset {
            return Err(NpzError::OverlappingMembers {
                first: pair[0].name.clone(),
                second: pair[1].name.clone(),
            });
        }
    }
    Ok(())
}

fn within(what: &'static str, value: u64, limit: u64) -> Result<(), NpzError> {
    if value <= limit {
        Ok(())
    } else {
        Err(NpzError::MalformedDirectory { what, value, limit })
    }
}

/// Little-endian fields one after another.
struct Fields<'b> {
    bytes: &'b [u8],
    /// Where `bytes` begin in the file, for errors.
    offset: u64,
}

impl<'b> Fields<'b> {
    fn take(&mut self, n_bytes: usize) -> Result<&'b [u8], NpzError> {
        within(
            "the length of a field",
            n_bytes as u64,
            self.bytes.len() as u64,
        )?;
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
            Err(NpzError::WrongSignature {
                offset,
                expected,
                found,
            })
        }
    }
}
