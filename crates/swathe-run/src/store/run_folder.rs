//! Run folders: a run's answers on disk, committed so that no finished outcome is lost.
//!
//! Answers are written in *parts*. A part is a Parquet file that is written under a temporary name,
//! synced, renamed, and then announced by a line in the manifest, which is synced too. A part that
//! the manifest does not announce does not exist. A process can therefore be killed at any moment
//! and loses at most the parts in flight. At the end the parts are merged, by row, into one table.

mod bulk_column;
mod bulk_reader;
mod check;
mod group;
mod hash;
mod identity;
mod lock;
mod manifest;
mod merge;
mod on_threads;
mod own_files;
mod part;
mod remembered_files;
mod table_file;

use std::fs;
use std::io;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use swathe::{Counts, Faults};

pub(crate) use check::verify_tables;
pub use check::{Checked, check_run};
pub use hash::is_supported as can_be_in_a_table;
pub use identity::{Identity, InputFile, RunJson, RunOrigin, RunState, shard_problems};
pub use manifest::{
    Checksum, ManifestLine, RowFile, Spans, committed, committed_counts, sum_counts,
};
pub use merge::{Merged, merge_shards};
pub use on_threads::on_threads;
pub use own_files::{make_own_folder, read};
pub use part::{Failure, Timing, reference, row_column};
pub use remembered_files::remember_input_files;
pub use table_file::TableFile;

use crate::store::rows::Rows;
use lock::FolderLock;
use manifest::Manifest;
use own_files::{refuse_link, remove_temporary};

const SHARDS_NAME: &str = "shards";

/// A run folder that this process is writing.
pub struct RunFolder {
    path: PathBuf,
    run: RunJson,
    manifest: Arc<Mutex<Manifest>>,
    faults: Faults,
    warnings: Vec<String>,
    /// Lines of the manifest that an earlier process wrote.
    n_lines_found: usize,
    /// The part that is being written.
    committing: Option<JoinHandle<Result<(), FolderError>>>,
    _lock: FolderLock,
}

/// Why a run folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The folder holds a run, and resuming was not requested.
    #[error("{path} holds a run already", path = path.display())]
    Exists {
        /// The folder.
        path: PathBuf,
        /// Whether the run in it is complete.
        complete: bool,
    },
    /// The folder holds files that no run made.
    #[error("{path} is not empty and is not a run folder ({found} is in it)", path = path.display())]
    NotARun {
        /// The folder.
        path: PathBuf,
        /// One of these files.
        found: String,
    },
    /// The folder has no `run.json`, so there is nothing to resume, merge or read.
    #[error("{path} is not a run folder: it has no run.json", path = path.display())]
    NoRun {
        /// The folder.
        path: PathBuf,
    },
    /// The run in the folder was made with other settings or inputs.
    #[error("{path} was made with other settings or inputs:\n{}", differences.join("\n"), path = path.display())]
    Differs {
        /// The folder.
        path: PathBuf,
        /// A line for each difference.
        differences: Vec<String>,
    },
    /// Another process holds the folder's lock.
    #[error("another process is writing {path}", path = path.display())]
    InUse {
        /// The folder.
        path: PathBuf,
    },
    /// A file or folder of the run is a symbolic link, which may lead outside the run folder.
    #[error("{path} is a symbolic link: a run's own files and folders are none", path = path.display())]
    Link {
        /// The link.
        path: PathBuf,
    },
    /// A file or folder of the run was removed while the run was going on.
    #[error("{path} was removed or replaced while the run was writing to it", path = path.display())]
    Vanished {
        /// The file or folder.
        path: PathBuf,
    },
    /// A file of the run is damaged.
    #[error("{path} is damaged: {reason}", path = path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A file of the run was written by another run.
    #[error("{path} is of another run: {reason}", path = path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Which run it is of, and which run the folder is of.
        reason: String,
    },
    /// The run is of an earlier version, which gave its parts no id.
    #[error("{path} was written by an earlier version, whose parts do not say which run they are of", path = path.display())]
    NoId {
        /// The folder.
        path: PathBuf,
    },
    /// A line of the manifest is damaged or contradicts the files.
    #[error("{path} is damaged: line {line}: {reason}", path = path.display())]
    ManifestLine {
        /// The manifest.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// Shards are missing or unfinished.
    #[error("the run in {path} is not complete: {reason}", path = path.display())]
    Incomplete {
        /// The folder.
        path: PathBuf,
        /// What is missing.
        reason: String,
    },
    /// A file cannot be written.
    #[error("cannot write {path}: {source}", path = path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file cannot be read.
    #[error("cannot read {path}: {source}", path = path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl FolderError {
    fn exists(path: &Path) -> FolderError {
        match RunJson::read(path) {
            Ok(run) => FolderError::Exists {
                path: path.to_owned(),
                complete: run.state == RunState::Complete,
            },
            Err(error) => error,
        }
    }

    fn write(path: &Path) -> impl FnOnce(io::Error) -> FolderError + use<> {
        let path = path.to_owned();
        move |source| FolderError::Write { path, source }
    }

    pub(crate) fn read(path: &Path) -> impl FnOnce(io::Error) -> FolderError + use<> {
        let path = path.to_owned();
        move |source| FolderError::Read { path, source }
    }

    /// Turns an error into [`FolderError::Damaged`] for this file.
    pub fn damaged<E: std::fmt::Display>(path: &Path) -> impl FnOnce(E) -> FolderError + use<E> {
        let path = path.to_owned();
        move |error| FolderError::Damaged { path, reason: error.to_string() }
    }

    fn foreign(path: &Path) -> impl FnOnce(String) -> FolderError + use<> {
        let path = path.to_owned();
        move |reason| FolderError::Foreign { path, reason }
    }

    /// Turns an error about a file that no longer exists into [`FolderError::Vanished`].
    fn vanished(self) -> FolderError {
        match self {
            FolderError::Damaged { path, .. } | FolderError::Read { path, .. }
                if !path.exists() =>
            {
                FolderError::Vanished { path }
            }
            other => other,
        }
    }

    /// The reason without the path, for errors about a table.
    pub fn reason(self) -> String {
        match self {
            FolderError::Damaged { reason, .. } => reason,
            FolderError::Read { source, .. } => source.to_string(),
            other => other.to_string(),
        }
    }
}

impl RunFolder {
    /// Opens and locks a folder for a run of this identity. The folder is created if it does not
    /// exist. An existing run is resumed if `resume` is set and its identity is the same.
    ///
    /// # Errors
    /// If the folder holds another run or other files, is locked by another process, is damaged, or
    /// cannot be written.
    pub fn open(
        path: &Path,
        identity: Identity,
        resume: bool,
        faults: &Faults,
    ) -> Result<RunFolder, FolderError> {
        if identity.shard.is_some() {
            refuse_link(path)?;
        }
        let is_run = || path.join(identity::FILE_NAME).exists();
        if !is_run() {
            refuse_foreign_files(path)?;
        } else if !resume {
            return Err(FolderError::exists(path));
        }
        make_own_folder(&path.join(part::FOLDER_NAME))?;
        let lock = FolderLock::take(path)?;
        // Checked again under the lock: another process may have created a run in the meantime.
        let run = if is_run() {
            if !resume {
                return Err(FolderError::exists(path));
            }
            let run = RunJson::read(path)?;
            let differences = run.identity.differences(&identity);
            if !differences.is_empty() {
                return Err(FolderError::Differs { path: path.to_owned(), differences });
            }
            if run.run_id.is_none() {
                return Err(FolderError::NoId { path: path.to_owned() });
            }
            remove_temporary(path)?;
            run
        } else {
            // A process may have died before it renamed its first file.
            remove_temporary(path)?;
            let run = RunJson::new(identity);
            run.write(path)?;
            part::sync_folder(path)?;
            run
        };
        let run_id = run.run_id.as_deref();
        let mut warnings = Vec::new();
        if !check::has_manifest(path) {
            let lines = part::lines_of_parts(path, run_id)?;
            if !lines.is_empty() {
                let parts = if lines.len() == 1 { "part" } else { "parts" };
                warnings.push(format!(
                    "{} was gone and was made again from {} {parts}",
                    manifest::FILE_NAME,
                    lines.len()
                ));
            }
            Manifest::make(path, lines)?;
        }
        let manifest = Manifest::open(path, run_id)?;
        part::remove_unannounced(path, manifest.lines())?;
        let base = part::files_folder(path, &run.identity);
        part::check_files(&base, manifest.lines())?;
        let n_lines_found = manifest.lines().len();
        Ok(RunFolder {
            path: path.to_owned(),
            run,
            n_lines_found,
            manifest: Arc::new(Mutex::new(manifest)),
            faults: faults.clone(),
            warnings,
            committing: None,
            _lock: lock,
        })
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The contents of `run.json`.
    pub fn run(&self) -> &RunJson {
        &self.run
    }

    /// The problems whose outcomes are committed.
    pub fn committed(&self) -> Spans {
        let manifest = lock(&self.manifest);
        let lines = manifest.lines().iter();
        Spans::from_iter(lines.flat_map(|line| line.problems.spans().iter().copied()))
    }

    /// Records in `run.json` what made the run, unless it was recorded before a resume. The tables
    /// get the same metadata.
    ///
    /// # Errors
    /// If `run.json` cannot be written.
    pub fn made_by(&mut self, made: RunOrigin) -> Result<(), FolderError> {
        if self.run.made.is_none() {
            self.run.made = Some(made);
            self.run.write(&self.path)?;
        }
        Ok(())
    }

    /// Warnings from opening the folder, in sentences for the user.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The counts of the committed problems.
    pub fn committed_counts(&self) -> Counts {
        lock(&self.manifest).counts()
    }

    /// Writes a part and announces it. After this returns, the outcomes in it are safe.
    ///
    /// # Errors
    /// If this part, or the part that was being written, cannot be written or announced.
    pub fn commit<R: Rows>(&mut self, part: &mut Part<R>) -> Result<(), FolderError> {
        self.start_commit(part)?;
        self.end_commit()
    }

    /// Starts to write a part on a background thread, which announces the part once it is written.
    /// If the previous part is still being written, this waits for it and returns its error.
    ///
    /// # Errors
    /// If the previous part could not be committed, or if no thread can be spawned and this part
    /// cannot be written.
    pub fn start_commit<R: Rows>(&mut self, part: &mut Part<R>) -> Result<(), FolderError> {
        self.end_commit()?;
        let Some(contents) = part.take() else {
            return Ok(());
        };
        let (path, faults) = (self.path.clone(), self.faults.clone());
        let base = part::files_folder(&self.path, &self.run.identity);
        let manifest = Arc::clone(&self.manifest);
        let run_id = self.run.run_id.clone();
        let write = Arc::new(move || {
            let number = lock(&manifest).next_number();
            let line = part::write(&path, &base, number, &contents, run_id.as_deref(), &faults)?;
            lock(&manifest).announce(line)
        });
        let thread = thread::Builder::new().name("swathe-commit".to_owned());
        let beside = Arc::clone(&write);
        match thread.spawn(move || beside()) {
            Ok(committing) => self.committing = Some(committing),
            // If no thread can be spawned, this thread does the work.
            Err(_) => write()?,
        }
        Ok(())
    }

    /// Returns the error of the part that was being written, if its thread has ended; does not
    /// wait.
    ///
    /// # Errors
    /// If that part could not be committed.
    pub fn end_commit_if_written(&mut self) -> Result<(), FolderError> {
        match &self.committing {
            Some(committing) if committing.is_finished() => self.end_commit(),
            _ => Ok(()),
        }
    }

    /// Waits for the part that is being written and returns its error.
    fn end_commit(&mut self) -> Result<(), FolderError> {
        match self.committing.take() {
            Some(committing) => committing.join().unwrap_or_else(|panic| resume_unwind(panic)),
            None => Ok(()),
        }
    }

    /// Records in `run.json` that the run stopped before its end.
    ///
    /// # Errors
    /// If the last part could not be committed, or if `run.json` cannot be written.
    pub fn interrupted(mut self) -> Result<(), FolderError> {
        self.end_commit()?;
        self.run.state = RunState::Interrupted;
        self.run.write(&self.path)
    }

    /// Merges the parts into the tables on `n_threads` threads and records that the run is
    /// complete.
    ///
    /// # Errors
    /// If a problem has no outcome, a part is damaged or gone, or a table cannot be written.
    pub fn finish<R: Rows>(self, rows: &R, n_threads: usize) -> Result<Merged, FolderError> {
        let (merged, ()) = self.finish_during(rows, n_threads, || Ok(()))?;
        Ok(merged)
    }

    /// The same, and calls `beside` once the tables are written, while other threads hash them.
    ///
    /// # Errors
    /// As for [`finish`](RunFolder::finish), or if `beside` fails.
    pub fn finish_during<R: Rows, T>(
        mut self,
        rows: &R,
        n_threads: usize,
        beside: impl FnOnce() -> Result<T, FolderError>,
    ) -> Result<(Merged, T), FolderError> {
        self.end_commit()?;
        let tables = {
            let manifest = lock(&self.manifest);
            let base = part::files_folder(&self.path, &self.run.identity);
            manifest.check_there()?;
            let merged = part::check_files(&base, manifest.lines()).and_then(|()| {
                merge::merge(
                    &self.path,
                    &[(self.path.clone(), manifest.lines())],
                    self.run.identity.problems(),
                    (rows.table(), &part::table_schema(&rows.schema())),
                    (self.run.run_id.as_deref(), self.run.made.as_ref()),
                    (self.n_lines_found, n_threads),
                )
            });
            merged.map_err(FolderError::vanished)?
        };
        let hash = || hash::table_hashes(&tables.table, n_threads);
        let (hash, done) = thread::scope(|scope| {
            // If no thread can be spawned, this thread does the work.
            match thread::Builder::new().spawn_scoped(scope, hash) {
                Err(_) => (hash(), beside()),
                Ok(hashing) => {
                    let done = beside();
                    let hash = hashing.join();
                    (hash.unwrap_or_else(|panic| resume_unwind(panic)), done)
                }
            }
        });
        let merged = tables.merged(hash?);
        let done = done?;
        self.run.state = RunState::Complete;
        self.run.table = Some(rows.table().to_owned());
        self.run.tables = tables.seals.clone();
        self.run.result_hash = Some(merged.result_hash.clone());
        self.run.values_hash = Some(merged.values_hash.clone());
        self.run.write(&self.path)?;
        Ok((merged, done))
    }
}

/// Keeps the folder locked until the part that is being written is done.
impl Drop for RunFolder {
    fn drop(&mut self) {
        if let Some(committing) = self.committing.take() {
            // The caller already has the error that made it drop the folder.
            let _ = committing.join();
        }
    }
}

fn lock(manifest: &Mutex<Manifest>) -> MutexGuard<'_, Manifest> {
    manifest.lock().unwrap_or_else(PoisonError::into_inner)
}

pub use part::Part;

/// The folder of one shard inside a run's folder.
pub fn shard_path(run: &Path, shard: usize, n_shards: usize) -> PathBuf {
    run.join(SHARDS_NAME).join(format!("{shard}-of-{n_shards}"))
}

/// Writes a file into a run folder atomically.
///
/// # Errors
/// If the file cannot be written.
pub fn write_file(path: &Path, contents: &[u8]) -> Result<(), FolderError> {
    use std::io::Write as _;
    let write = || {
        let mut file = swathe_formats::atomic_file::AtomicFile::create(path)?;
        file.write_all(contents)?;
        file.commit()
    };
    write().map_err(FolderError::write(path))
}

/// Writes a table into a run folder atomically, with metadata that records what made the run.
///
/// # Errors
/// If the file cannot be written.
pub fn write_table(path: &Path, batch: &arrow::array::RecordBatch) -> Result<(), FolderError> {
    let run = path.parent().and_then(|run| RunJson::read(run).ok());
    let (run_id, made) = run.map_or((None, None), |run| (run.run_id, run.made));
    let write = || {
        let schema = identity::with_made(&batch.schema(), run_id.as_deref(), made.as_ref());
        let mut file = TableFile::create(path, schema)?;
        file.write(batch)?;
        file.commit()
    };
    write().map_err(FolderError::write(path))?;
    Ok(())
}

/// Checks that shards may be written under `run`: the folder is new, or already holds shards.
///
/// # Errors
/// If the folder holds an unsharded run or other files, or if its folder of shards is a symbolic
/// link.
pub fn check_shards_folder(run: &Path) -> Result<(), FolderError> {
    refuse_link(&run.join(SHARDS_NAME))?;
    if run.join(SHARDS_NAME).is_dir() {
        Ok(())
    } else if run.join(identity::FILE_NAME).exists() {
        Err(FolderError::exists(run))
    } else {
        refuse_foreign_files(run)
    }
}

/// Refuses a folder with foreign files: a typo in `--out` must not mix a run with a user's
/// documents.
fn refuse_foreign_files(path: &Path) -> Result<(), FolderError> {
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(source) => {
            return Err(FolderError::Write { path: path.to_owned(), source });
        }
    };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        // Shards, and files that a run leaves if it dies before it writes `run.json`.
        let ours = match name.as_str() {
            lock::FILE_NAME | SHARDS_NAME => true,
            part::FOLDER_NAME => {
                fs::read_dir(entry.path()).is_ok_and(|mut parts| parts.next().is_none())
            }
            name => name.starts_with(".run.json."),
        };
        if !ours {
            return Err(FolderError::NotARun { path: path.to_owned(), found: name });
        }
    }
    Ok(())
}
