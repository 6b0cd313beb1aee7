//! What can be wrong with a `.npz` file.

use std::io;

use crate::npy::NpyError;

/// Why a `.npz` file could not be read or written. The caller knows the file's name and adds it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NpzError {
    /// There is no end record, with which every zip archive closes.
    #[error(
        "not a .npz file, or cut short: no zip end record in its {size_bytes} bytes; write it with numpy.savez"
    )]
    NotZip {
        /// Bytes the file has.
        size_bytes: u64,
    },
    /// The archive is a piece of several.
    #[error("the zip archive is split over several files; join them first")]
    Split,
    /// The end record or directory contradicts itself or the file.
    #[error("malformed zip directory: {what} is {value}, but {limit} at most is possible")]
    MalformedDirectory {
        /// What is out of range.
        what: &'static str,
        /// Its value.
        value: u64,
        /// The largest it could be.
        limit: u64,
    },
    /// A record does not begin with its signature.
    #[error(
        "malformed zip directory: {found:#010x} at byte {offset} instead of the signature {expected:#010x}"
    )]
    WrongSignature {
        /// Where in the file.
        offset: u64,
        /// The signature that belongs there.
        expected: u32,
        /// What is there.
        found: u32,
    },
    /// A member's name claims to be UTF-8 and is not.
    #[error("the name of member {member_idx} is not UTF-8 although it says so")]
    NameNotUtf8 {
        /// The member's place in the directory, from 0.
        member_idx: usize,
    },
    /// Two members have one name.
    #[error("two members are called {name:?}; each array needs a name of its own")]
    DuplicateMember {
        /// The name.
        name: String,
    },
    /// Two members claim the same bytes, as zip bombs do.
    #[error("members {first:?} and {second:?} overlap in the file; this is no honest archive")]
    OverlappingMembers {
        /// The one that begins first.
        first: String,
        /// The one that begins within it.
        second: String,
    },
    /// No member of that name.
    #[error("no member called {name:?}")]
    NoSuchMember {
        /// The name asked for.
        name: String,
    },
    /// A name that the zip format cannot hold.
    #[error("the name beginning {start:?} has {name_bytes} bytes; zip allows {max_bytes}")]
    NameTooLong {
        /// The first characters.
        start: String,
        /// Its length.
        name_bytes: usize,
        /// The limit.
        max_bytes: usize,
    },
    /// One member is at fault; the others can be read.
    #[error("member {name:?}: {fault}")]
    Member {
        /// The member.
        name: String,
        /// What is wrong with it.
        #[source]
        fault: MemberFault,
    },
    /// The bytes could not be read or written at all.
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
    /// A compression other than none and deflate.
    #[error(
        "compressed by zip method {method}; only stored (0) and deflate (8) can be read, as numpy.savez and numpy.savez_compressed write"
    )]
    UnsupportedCompression {
        /// The method's number.
        method: u16,
    },
    /// The member's own header is not where the directory says, or says another name.
    #[error("the directory points at byte {offset}, where no header of this member stands")]
    WrongLocalHeader {
        /// Where the directory points.
        offset: u64,
    },
    /// The member would reach into the directory.
    #[error("its {compressed_bytes} bytes from byte {offset} on would end after byte {limit}")]
    OutOfBounds {
        /// Where its data begin.
        offset: u64,
        /// How many they are said to be.
        compressed_bytes: u64,
        /// Where the directory begins.
        limit: u64,
    },
    /// Deflate cannot make that much of that little, nor storing anything but the same.
    #[error(
        "{compressed_bytes} compressed bytes cannot become {declared_bytes}: at most {possible_bytes} are possible, so the size is a lie"
    )]
    ImpossibleSize {
        /// Bytes in the file.
        compressed_bytes: u64,
        /// Bytes they are said to become.
        declared_bytes: u64,
        /// The most they can become.
        possible_bytes: u64,
    },
    /// More came out than was declared.
    #[error("inflates beyond the {declared_bytes} bytes it declares; this may be a zip bomb")]
    InflatesBeyond {
        /// The declared size.
        declared_bytes: u64,
    },
    /// Less came out than was declared.
    #[error("inflates to {actual_bytes} bytes instead of the {declared_bytes} it declares")]
    InflatesShort {
        /// The declared size.
        declared_bytes: u64,
        /// What came out.
        actual_bytes: u64,
    },
    /// The compressed bytes are not deflate's.
    #[error("corrupt deflate data after {n_bytes} bytes: {message}; copy or write the file again")]
    CorruptDeflate {
        /// Bytes that came out before.
        n_bytes: u64,
        /// What the decoder says.
        message: String,
    },
    /// The bytes are not those that were written.
    #[error(
        "checksum {actual:#010x} instead of {declared:#010x}: damaged; copy or write the file again"
    )]
    ChecksumMismatch {
        /// The checksum the directory has.
        declared: u32,
        /// The checksum of the bytes.
        actual: u32,
    },
    /// The member is sound but the `.npy` in it is not.
    #[error(transparent)]
    Npy(#[from] NpyError),
}

impl MemberFault {
    /// The same as an error of the file.
    pub(super) fn of(self, name: &str) -> NpzError {
        NpzError::Member {
            name: name.into(),
            fault: self,
        }
    }
}

impl From<io::Error> for MemberFault {
    fn from(error: io::Error) -> MemberFault {
        MemberFault::Npy(NpyError::Io(error))
    }
}
