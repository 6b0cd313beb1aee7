//! An `.npz` file of results that arrive in any order.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, remove_file};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use swathe::array::{Array, Dtype};
use swathe_formats::atomic_file::AtomicFile;
use swathe_formats::name_list::NameList;
use swathe_formats::npy;
use swathe_formats::npz::{Compression, NpzError, NpzWriter};

/// Writes arrays in the order of their index, whatever order they arrive in. An array that arrives
/// early waits in memory. If the waiting arrays exceed their limit, further ones are spooled to an
/// unlinked file beside the output.
pub(crate) struct NpzOutput {
    writer: NpzWriter<AtomicFile>,
    path: PathBuf,
    next: usize,
    early: BTreeMap<usize, PendingResult>,
    held_bytes: usize,
    held_bytes_max: usize,
    spool: Option<Spool>,
}

/// A result that arrived before its turn.
enum PendingResult {
    /// The index has no array.
    Nothing,
    Held(String, Array),
    Spooled(String, Spooled),
}

/// The description of an array whose elements are in the spool.
struct Spooled {
    shape: Vec<usize>,
    dtype: Dtype,
    offset: u64,
    n_bytes: u64,
}

struct Spool {
    file: File,
    end: u64,
    n_waiting: usize,
}

impl NpzOutput {
    pub(crate) fn create(path: &Path, held_bytes_max: usize) -> Result<NpzOutput, NpzError> {
        Ok(NpzOutput {
            writer: NpzWriter::create(path, Compression::Stored)?,
            path: path.to_owned(),
            next: 0,
            early: BTreeMap::new(),
            held_bytes: 0,
            held_bytes_max,
            spool: None,
        })
    }

    /// The memory of the directory of a file with these members, until it is written.
    pub(crate) fn directory_bytes(names: &NameList) -> u64 {
        /// The place and sizes of a member, and its place in the table of names.
        const MEMBER_BYTES: u64 = 48;
        names.size_bytes() + names.len() as u64 * MEMBER_BYTES
    }

    /// Adds an array before all indexed ones.
    pub(crate) fn add(&mut self, name: &str, array: &Array) -> Result<(), NpzError> {
        self.writer.add(name, array)
    }

    /// Accepts the result of an index: its array, if it has one.
    pub(crate) fn push(
        &mut self,
        index: usize,
        name: &str,
        array: Option<Array>,
    ) -> Result<(), NpzError> {
        if index != self.next {
            let early = match array {
                None => PendingResult::Nothing,
                Some(array) => self.wait(name, array)?,
            };
            self.early.insert(index, early);
            return Ok(());
        }
        if let Some(array) = array {
            self.writer.add(name, &array)?;
        }
        self.next += 1;
        while let Some(early) = self.early.remove(&self.next) {
            match early {
                PendingResult::Nothing => {}
                PendingResult::Held(name, array) => {
                    self.held_bytes -= array.size_bytes();
                    self.writer.add(&name, &array)?;
                }
                PendingResult::Spooled(name, spooled) => {
                    let spool = self.spool.as_mut().expect("it holds what was spooled");
                    spool.n_waiting -= 1;
                    let mut write = |out: &mut dyn Write| spool.copy(&spooled, out);
                    let (shape, dtype) = (&spooled.shape, spooled.dtype);
                    self.writer.add_rows(&name, shape, dtype, &mut write)?;
                }
            }
            self.next += 1;
        }
        Ok(())
    }

    /// Completes the file, which still has to be committed.
    pub(crate) fn finish(self) -> Result<AtomicFile, NpzError> {
        self.writer.finish()
    }

    fn wait(&mut self, name: &str, array: Array) -> Result<PendingResult, NpzError> {
        let n_bytes = array.size_bytes();
        if self.held_bytes + n_bytes <= self.held_bytes_max {
            self.held_bytes += n_bytes;
            return Ok(PendingResult::Held(name.to_owned(), array));
        }
        let spool = match &mut self.spool {
            Some(spool) => spool,
            none => none.insert(Spool::beside(&self.path)?),
        };
        Ok(PendingResult::Spooled(name.to_owned(), spool.append(&array)?))
    }
}

impl Spool {
    /// A file in the same folder, unlinked at once, so that it disappears with the process.
    fn beside(path: &Path) -> io::Result<Spool> {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.waiting", std::process::id()));
        let spool = path.with_file_name(name);
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).open(&spool)?;
        remove_file(&spool)?;
        Ok(Spool { file, end: 0, n_waiting: 0 })
    }

    fn append(&mut self, array: &Array) -> io::Result<Spooled> {
        if self.n_waiting == 0 {
            self.end = 0;
        }
        let n_bytes = array.size_bytes() as u64;
        self.file.seek(SeekFrom::Start(self.end))?;
        npy::write_elements(array.elements(), &mut self.file)?;
        let spooled = Spooled {
            shape: array.shape().to_vec(),
            dtype: array.dtype(),
            offset: self.end,
            n_bytes,
        };
        self.end += n_bytes;
        self.n_waiting += 1;
        Ok(spooled)
    }

    fn copy(&self, spooled: &Spooled, out: &mut dyn Write) -> io::Result<()> {
        let mut buffer = vec![0; (64 << 10).min(spooled.n_bytes) as usize];
        let mut n_done = 0;
        while n_done < spooled.n_bytes {
            let n = (spooled.n_bytes - n_done).min(buffer.len() as u64) as usize;
            self.file.read_exact_at(&mut buffer[..n], spooled.offset + n_done)?;
            out.write_all(&buffer[..n])?;
            n_done += n as u64;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use swathe_formats::npz::Npz;

    #[test]
    fn results_in_any_order_make_the_same_file() {
        let folder = tempfile::tempdir().unwrap();
        let arrays: Vec<Option<Array>> = (0..40usize)
            .map(|k| (k % 7 != 3).then(|| Array::new(vec![k], vec![k as u16; k]).unwrap()))
            .collect();
        let mut files = Vec::new();
        // In order; all but the first early; every second one early. Each in memory and on disk.
        let orders: [Vec<usize>; 3] = [
            (0..40).collect(),
            (1..40).chain([0]).collect(),
            (0..20).flat_map(|k| [2 * k + 1, 2 * k]).collect(),
        ];
        for (at, order) in orders.iter().enumerate() {
            for held_bytes_max in [0, 100, 1 << 20] {
                let path = folder.path().join(format!("{at}-{held_bytes_max}.npz"));
                let mut output = NpzOutput::create(&path, held_bytes_max).unwrap();
                for &k in order {
                    output.push(k, &format!("a{k}"), arrays[k].clone()).unwrap();
                    assert!(output.held_bytes <= held_bytes_max);
                }
                output.finish().unwrap().commit().unwrap();
                files.push(std::fs::read(&path).unwrap());
            }
        }
        assert!(files.iter().all(|file| *file == files[0]));
        let npz = Npz::from_bytes(files.remove(0)).unwrap();
        assert_eq!(npz.members().len(), 34);
        assert_eq!(npz.read("a39").unwrap(), *arrays[39].as_ref().unwrap());
        let left = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, 9, "only the outputs are left");
    }
}
