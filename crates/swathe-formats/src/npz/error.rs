//! Errors of a `.npz` file and of its members.

use std::io;

use crate::npy::NpyError;

/// Why a `.npz` file could not be read or written. The caller knows the file's name and adds it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NpzError {
    /// There is no end record, which every zip archive has.
    #[error(
        "not a .npz file, or cut short: no zip end record in its {size_bytes} bytes; write it with numpy.savez"
    )]
    NotZip {
        /// Bytes the file has.
        size_bytes: u64,
    },
    /// The archive is split over several files.
    #[error("the zip archive is split over several files; join them first")]
    Split,
    /// The end record or directory contradicts itself or the file.
    #[error("malformed zip directory: {what} is {value}, but {limit} at most is possible")]
    MalformedDirectory {
        /// What is out of range.
        what: &'static str,
        /// Its value.
        value: u64,
        /// The largest possible value.
        limit: u64,
    },
    /// A record does not begin with its signature.
    #[error(
        "malformed zip directory: {found:#010x} at byte {offset} instead of the signature {expected:#010x}"
    )]
    WrongSignature {
        /// The offset in the file.
        offset: u64,
        /// The signature that belongs there.
        expected: u32,
        /// What is there.
        found: u32,
    },
    /// A member's name is marked as UTF-8 but is not.
    #[error("the name of member {member_idx} is not UTF-8 although it says so")]
    NameNotUtf8 {
        /// The member's index in the directory, from 0.
        member_idx: usize,
    },
    /// Two members have the same name.
    #[error("two members are called {name:?}; each array needs a name of its own")]
    DuplicateMember {
        /// The name.
        name: String,
    },
    /// Two members share bytes of the file, as in zip bombs.
    #[error("members {first:?} and {second:?} overlap in the file; this is no honest archive")]
    OverlappingMembers {
        /// The one that begins first.
        first: String,
        /// The one that begins within it.
        second: String,
    },
    /// There is no member of that name.
    #[error("no member called {name:?}")]
    NoSuchMember {
        /// The requested name.
        name: String,
    },
    /// A name that is too long for the zip format.
    #[error("the name beginning {start:?} has {name_bytes} bytes; zip allows {max_bytes}")]
    NameTooLong {
        /// The first characters.
        start: String,
        /// Its length.
        name_bytes: usize,
        /// The limit.
        max_bytes: usize,
    },
    /// One member cannot be read; the others can.
    #[error("member {name:?}: {fault}")]
    Member {
        /// The member.
        name: String,
        /// What is wrong with it.
        #[source]
        fault: MemberFault,
    },
    /// The file could not be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// What is wrong with one member of a `.npz` file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MemberFault {
    /// Encrypted members cannot be read.
    #[error("encrypted; write it again without a password")]
    Encrypted,
    /// A compression method other than none and deflate.
    #[error(
        "compressed by zip method {method}; only stored (0) and deflate (8) can be read, as numpy.savez and numpy.savez_compressed write"
    )]
    UnsupportedCompression {
        /// The method's number.
        method: u16,
    },
    /// The member's local header is not at its offset, or has another name.
    #[error("the directory points at byte {offset}, where no header of this member stands")]
    WrongLocalHeader {
        /// Where the directory points.
        offset: u64,
    },
    /// The member would overlap the directory.
    #[error("its {compressed_bytes} bytes from byte {offset} on would end after byte {limit}")]
    OutOfBounds {
        /// Where its data begin.
        offset: u64,
        /// The declared compressed size.
        compressed_bytes: u64,
        /// Where the directory begins.
        limit: u64,
    },
    /// The declared size is impossible: above the largest ratio of deflate, or not the stored size.
    #[error(
        "{compressed_bytes} compressed bytes cannot become {declared_bytes}: at most {possible_bytes} are possible, so the size is a lie"
    )]
    ImpossibleSize {
        /// Bytes in the file.
        compressed_bytes: u64,
        /// The declared inflated size.
        declared_bytes: u64,
        /// The largest possible inflated size.
        possible_bytes: u64,
    },
    /// The member inflates to more than the declared size.
    #[error("inflates beyond the {declared_bytes} bytes it declares; this may be a zip bomb")]
    InflatesBeyond {
        /// The declared size.
        declared_bytes: u64,
    },
    /// The member inflates to less than the declared size.
    #[error("inflates to {actual_bytes} bytes instead of the {declared_bytes} it declares")]
    InflatesShort {
        /// The declared size.
        declared_bytes: u64,
        /// The inflated size.
        actual_bytes: u64,
    },
    /// The compressed bytes are not valid deflate data.
    #[error("corrupt deflate data after {n_bytes} bytes: {message}; copy or write the file again")]
    CorruptDeflate {
        /// Bytes inflated before the error.
        n_bytes: u64,
        /// The decoder's message.
        message: String,
    },
    /// The checksum of the bytes does not match.
    #[error(
        "checksum {actual:#010x} instead of {declared:#010x}: damaged; copy or write the file again"
    )]
    ChecksumMismatch {
        /// The checksum in the directory.
        declared: u32,
        /// The checksum of the bytes.
        actual: u32,
    },
    /// The member is intact, but its `.npy` content is not valid.
    #[error(transparent)]
    Npy(#[from] NpyError),
}

impl MemberFault {
    /// Wraps the fault as an error of the file.
    pub(super) fn of(self, name: &str) -> NpzError {
        NpzError::Member { name: name.into(), fault: self }
    }
}

impl From<io::Error> for MemberFault {
    fn from(error: io::Error) -> MemberFault {
        MemberFault::Npy(NpyError::Io(error))
    }
}
