//! NumPy's `.npz` files: many named arrays in a zip archive.
//!
//! A member is read by name without reading the others, and several threads can read at once.
//! [`NpzWriter`] adds members one by one. Sizes that an archive declares are not trusted: memory
//! grows only with the bytes that are actually inflated, and a size that deflate cannot reach is
//! rejected before inflating.
//!
//! The zip reader is written here because a general one has two drawbacks: it opens one member at a
//! time, as all members share the file position, and it leaves the check of declared sizes to the
//! caller. Only deflate comes from a library, `flate2`.
//!
//! ```
//! use swathe::array::Array;
//! use swathe_formats::npz::{Compression, Npz, NpzWriter};
//!
//! let array = Array::new(vec![3], vec![1u32, 2, 3])?;
//! let mut writer = NpzWriter::new(std::io::Cursor::new(Vec::new()), Compression::Stored)?;
//! writer.add("weights", &array)?;
//! let bytes = writer.finish()?.into_inner();
//!
//! let npz = Npz::from_bytes(bytes)?;
//! assert_eq!(&npz.names()[0], "weights");
//! assert_eq!(npz.header("weights")?.shape, [3]);
//! assert_eq!(npz.read("weights")?, array);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod byte_source;
mod code_page;
mod directory;
mod error;
mod member;
mod writer;

pub use directory::Member;
pub use error::{MemberFault, NpzError};
pub use writer::{Compression, NpzWriter, save};

use std::io::{self, Read as _};
use std::path::Path;

use crate::regular_file;
use swathe::array::Array;

use crate::name_list::{NameIndex, NameList};
use crate::npy::{self, Growth, Header, NpyError, NumberHeader};
use byte_source::ByteSource;
use member::MemberReader;

/// An open `.npz` file: the directory is in memory, the arrays stay on disk.
#[derive(Debug)]
pub struct Npz {
    source: ByteSource,
    members: Vec<Member>,
    names: NameList,
    index: NameIndex,
    /// Where the directory begins: no member reaches beyond it.
    directory_offset: u64,
}

impl Npz {
    /// Opens the file at `path` and reads its directory.
    ///
    /// # Errors
    /// If the file cannot be read, is not a zip archive, or has a malformed directory.
    pub fn open(path: &Path) -> Result<Npz, NpzError> {
        Npz::from_source(ByteSource::from_file(regular_file::open(path)?)?)
    }

    /// The same for a file whose contents are in memory.
    ///
    /// # Errors
    /// If the bytes are not a zip archive, or if its directory is malformed.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Npz, NpzError> {
        Npz::from_source(ByteSource::from_bytes(bytes))
    }

    fn from_source(source: ByteSource) -> Result<Npz, NpzError> {
        let directory = directory::read(&source)?;
        let index = NameIndex::of(&directory.names).map_err(|duplicate| {
            NpzError::DuplicateMember { name: directory.names[duplicate.second].to_owned() }
        })?;
        Ok(Npz {
            source,
            members: directory.members,
            names: directory.names,
            index,
            directory_offset: directory.offset,
        })
    }

    /// The members in the order of the directory. A member that is not an array fails when it is
    /// read.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The names of the arrays: those of the members without `.npy`, in the same order.
    pub fn names(&self) -> &NameList {
        &self.names
    }

    /// The memory that the directory occupies.
    pub fn size_bytes(&self) -> u64 {
        let members_bytes = self.members.capacity() * size_of::<Member>();
        members_bytes as u64 + self.names.size_bytes() + self.index.size_bytes()
    }

    /// The shape, dtype and data bytes of the array `name`, without its data.
    ///
    /// # Errors
    /// If there is no such member, or if it is damaged or not a supported array.
    pub fn header(&self, name: &str) -> Result<Header, NpzError> {
        let member = self.member(name)?;
        self.read_header(member).map_err(|fault| fault.of(name))
    }

    /// The array `name`.
    ///
    /// # Errors
    /// If there is no such member, or if it is damaged or not a supported array.
    pub fn read(&self, name: &str) -> Result<Array, NpzError> {
        let member = self.member(name)?;
        self.read_member(member).map_err(|fault| fault.of(name))
    }

    /// The header of the array `name`, which may hold real numbers of any type.
    ///
    /// # Errors
    /// If there is no such member, or if it is damaged or not an array of real numbers.
    pub fn number_header(&self, name: &str) -> Result<NumberHeader, NpzError> {
        let member = self.member(name)?;
        let open = || {
            let reader = MemberReader::open(&self.source, member, self.directory_offset)?;
            npy::read_number_header(reader, member.size_bytes).map_err(fault)
        };
        open().map_err(|fault: MemberFault| fault.of(name))
    }

    /// Calls `take` with the elements of the array `name`, real numbers of any type, in row-major
    /// order, a piece at a time.
    ///
    /// # Errors
    /// If there is no such member, or if it is damaged or not an array of real numbers.
    pub fn for_each_number(
        &self,
        name: &str,
        take: &mut dyn FnMut(&[f64]),
    ) -> Result<(), NpzError> {
        let member = self.member(name)?;
        self.pass_numbers(member, take).map_err(|fault| fault.of(name))
    }

    /// The bytes of the array `name` as they are, header included, if they are at most `n_max`:
    /// for short texts, which are no numbers.
    ///
    /// # Errors
    /// If there is no such member, or if it is damaged or longer.
    pub fn read_bytes(&self, name: &str, n_max: u64) -> Result<Vec<u8>, NpzError> {
        let member = self.member(name)?;
        let read = || {
            let mut reader = MemberReader::open(&self.source, member, self.directory_offset)?;
            let mut bytes = Vec::new();
            let copied = io::copy(&mut (&mut reader).take(n_max), &mut bytes);
            copied.map_err(|error| fault(error.into()))?;
            reader.finish()?;
            Ok(bytes)
        };
        read().map_err(|fault: MemberFault| fault.of(name))
    }

    fn pass_numbers(
        &self,
        member: &Member,
        take: &mut dyn FnMut(&[f64]),
    ) -> Result<(), MemberFault> {
        let mut reader = MemberReader::open(&self.source, member, self.directory_offset)?;
        let header = npy::read_number_header(&mut reader, member.size_bytes).map_err(fault)?;
        if member.is_deflated() && header.fortran_order {
            // The reordering allocates the whole array at once, so a first pass verifies the
            // declared size.
            io::copy(&mut reader, &mut io::sink()).map_err(|error| fault(error.into()))?;
            reader.finish()?;
            reader = MemberReader::open(&self.source, member, self.directory_offset)?;
            npy::read_number_header(&mut reader, member.size_bytes).map_err(fault)?;
        }
        npy::for_each_number(&mut reader, &header, take).map_err(fault)?;
        reader.finish()
    }

    fn member(&self, name: &str) -> Result<&Member, NpzError> {
        match self.index.find(&self.names, name) {
            Some(idx) => Ok(&self.members[idx]),
            None => Err(NpzError::NoSuchMember { name: name.into() }),
        }
    }

    fn read_header(&self, member: &Member) -> Result<Header, MemberFault> {
        let reader = MemberReader::open(&self.source, member, self.directory_offset)?;
        npy::read_header(reader, member.size_bytes).map_err(fault)
    }

    fn read_member(&self, member: &Member) -> Result<Array, MemberFault> {
        let mut reader = MemberReader::open(&self.source, member, self.directory_offset)?;
        let header = npy::read_header(&mut reader, member.size_bytes).map_err(fault)?;
        let growth = if !member.is_deflated() {
            // Stored bytes are part of the file, so their number is known to be right.
            Growth::Exact
        } else if header.fortran_order {
            // The reordering allocates the whole array at once, so a first pass verifies the
            // declared size.
            io::copy(&mut reader, &mut io::sink()).map_err(|error| fault(error.into()))?;
            reader.finish()?;
            reader = MemberReader::open(&self.source, member, self.directory_offset)?;
            npy::read_header(&mut reader, member.size_bytes).map_err(fault)?;
            Growth::Exact
        } else {
            Growth::AsRead
        };
        let array = npy::read_data(&mut reader, header, growth).map_err(fault)?;
        reader.finish()?;
        Ok(array)
    }
}

/// Extracts the [`MemberFault`] that the member's reader wrapped in an I/O error.
fn fault(error: NpyError) -> MemberFault {
    match error {
        NpyError::Io(error) => match error.downcast::<MemberFault>() {
            Ok(fault) => fault,
            Err(error) => MemberFault::Npy(NpyError::Io(error)),
        },
        error => MemberFault::Npy(error),
    }
}
