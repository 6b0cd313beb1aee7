//! NumPy's `.npz` files: many named arrays in a zip archive.
//!
//! Members are read by name without touching the others, from several threads at once if need
//! be; [`NpzWriter`] adds them one by one. Sizes an archive declares are claims: no more room is
//! made than bytes really come out, and what deflate cannot do is refused before it is tried.
//!
//! The zip reader is our own for these two reasons: a general one lends one member at a time,
//! because members share the file's position, and leaves it to its caller to distrust declared
//! sizes. Only deflate itself comes from a library, `flate2`.
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
//! assert_eq!(npz.members()[0].name, "weights");
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

use std::collections::HashMap;
use std::io;
use std::path::Path;

use crate::regular_file;
use swathe::array::Array;

use crate::npy::{self, Growth, Header, NpyError, NumberHeader};
use byte_source::ByteSource;
use member::MemberReader;

/// An open `.npz` file: its directory in memory, its arrays still on disk.
#[derive(Debug)]
pub struct Npz {
    source: ByteSource,
    members: Vec<Member>,
    idx_by_name: HashMap<String, usize>,
    /// Where the directory begins: no member reaches beyond it.
    directory_offset: u64,
}

impl Npz {
    /// Opens the file at `path` and reads its directory.
    pub fn open(path: &Path) -> Result<Npz, NpzError> {
        Npz::from_source(ByteSource::from_file(regular_file::open(path)?)?)
    }

    /// The same for a file that is in memory already.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Npz, NpzError> {
        Npz::from_source(ByteSource::from_bytes(bytes))
    }

    fn from_source(source: ByteSource) -> Result<Npz, NpzError> {
        let directory = directory::read(&source)?;
        let mut idx_by_name = HashMap::with_capacity(directory.members.len());
        for (idx, member) in directory.members.iter().enumerate() {
            if idx_by_name.insert(member.name.clone(), idx).is_some() {
                return Err(NpzError::DuplicateMember {
                    name: member.name.clone(),
                });
            }
        }
        Ok(Npz {
            source,
            members: directory.members,
            idx_by_name,
            directory_offset: directory.offset,
        })
    }

    /// The members in the order of the directory. Every one is meant as an array; those that are
    /// not say so when they are read.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The shape, dtype and data bytes of the array `name`, without its data.
    pub fn header(&self, name: &str) -> Result<Header, NpzError> {
        let member = self.member(name)?;
        self.read_header(member).map_err(|fault| fault.of(name))
    }

    /// The array `name`.
    pub fn read(&self, name: &str) -> Result<Array, NpzError> {
        let member = self.member(name)?;
        self.read_member(member).map_err(|fault| fault.of(name))
    }

    /// The shape of the array `name` of any real numbers, and where its data begin.
    pub fn number_header(&self, name: &str) -> Result<NumberHeader, NpzError> {
        let member = self.member(name)?;
        let open = || {
            let reader = MemberReader::open(&self.source, member, self.directory_offset)?;
            npy::read_number_header(reader, member.size_bytes).map_err(fault)
        };
        open().map_err(|fault: MemberFault| fault.of(name))
    }

    /// The elements of the array `name`, of any real numbers, in row-major order, some at a time.
    pub fn for_each_number(
        &self,
        name: &str,
        take: &mut dyn FnMut(&[f64]),
    ) -> Result<(), NpzError> {
        let member = self.member(name)?;
        self.pass_numbers(member, take)
            .map_err(|fault| fault.of(name))
    }

    fn pass_numbers(
        &self,
        member: &Member,
        take: &mut dyn FnMut(&[f64]),
    ) -> Result<(), MemberFault> {
        let mut reader = MemberReader::open(&self.source, member, self.directory_offset)?;
        let header = npy::read_number_header(&mut reader, member.size_bytes).map_err(fault)?;
        if member.is_deflated() && header.fortran_order {
            // These need all their room at once; a first pass shows that the size is no lie.
            io::copy(&mut reader, &mut io::sink()).map_err(|error| fault(error.into()))?;
            reader.finish()?;
            reader = MemberReader::open(&self.source, member, self.directory_offset)?;
            npy::read_number_header(&mut reader, member.size_bytes).map_err(fault)?;
        }
        npy::for_each_number(&mut reader, &header, take).map_err(fault)?;
        reader.finish()
    }

    fn member(&self, name: &str) -> Result<&Member, NpzError> {
        match self.idx_by_name.get(name) {
            Some(&idx) => Ok(&self.members[idx]),
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
            // Stored bytes are part of the file, so their number is real.
            Growth::Exact
        } else if header.fortran_order {
            // These need all their room at once; a first pass shows that the size is no lie.
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

/// Takes out of an error what the member's reader put into it.
fn fault(error: NpyError) -> MemberFault {
    match error {
        NpyError::Io(error) => match error.downcast::<MemberFault>() {
            Ok(fault) => fault,
            Err(error) => MemberFault::Npy(NpyError::Io(error)),
        },
        error => MemberFault::Npy(error),
    }
}
