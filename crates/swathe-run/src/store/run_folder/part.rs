//! Parts: the outcomes that are committed together.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{ArrayRef, AsArray, RecordBatch, StringBuilder, UInt64Array};
use arrow::compute::concat_batches;
use arrow::datatypes::{Field, Schema, SchemaRef, UInt64Type};
use arrow::error::ArrowError;
use serde::{Deserialize, Serialize};
use swathe::{Counts, FaultPoint, Faults, OutcomeKind};

use super::FolderError;
use super::hash::batch_hash;
use super::identity::{Identity, RUN_ID_KEY, check_run_id, with_made};
use super::manifest::{self, Checksum, ManifestLine, RowFile, Spans};
use super::own_files::remove_where;
use super::table_file::{TableFile, check, check_length, row_bytes};
use crate::record;
use crate::store::record::{self, Cells, Column, Record as _, TableReference};
use crate::store::rows::{PartTable, Rows};
use crate::store::table_reader::{TableReader, number_column, string_column};
use swathe_formats::atomic_file::temporary_target;

pub(super) const FOLDER_NAME: &str = "parts";
const N_ROWS_NAME: &str = "n_rows";

record! {
    /// How a problem was solved. These values may differ between two runs with the same identity.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Timing / TimingColumns {
        /// where it ran
        device: String;
        /// time to solve the problem, ms
        milliseconds: f64;
        /// how often it was started
        attempts: u32;
    }
}

/// Why a problem has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The kind of outcome.
    pub kind: OutcomeKind,
    /// What happened, in a sentence.
    pub message: String,
}

/// Outcomes that are not committed yet.
pub struct Part<R: Rows> {
    rows: R,
    n_bytes_max: usize,
    since: Option<Instant>,
    /// For each answer, in order of arrival: its first row and its number of rows.
    spans: Vec<(u64, usize)>,
    outcomes: Vec<OutcomeRow>,
}

record! {
    /// Which problem it is.
    pub(super) struct ProblemName / ProblemNames {
        /// the input's number, from 0
        row: u64;
        /// the problem's name
        id: String;
    }
}

record! {
    /// Why a problem has no answer, if it has none.
    pub(super) struct Reason / Reasons {
        /// the kind of outcome; null if it was solved
        kind: Option<OutcomeKind>;
        /// why there is no answer; null if there is one
        message: Option<String>;
    }
}

record! {
    /// What became of a problem.
    struct OutcomeRow / OutcomeColumns {
        /// the problem
        problem: ProblemName;
        /// how it was solved
        timing: Timing;
        /// why it was not
        reason: Reason;
        /// rows of the table that the answer made
        n_rows: u64;
    }
}

/// The schema of `timing.parquet`, which has all problems.
pub(super) fn timing_schema() -> SchemaRef {
    record::schema(ProblemName::declared().iter().chain(Timing::declared()))
}

/// The schema of `failures.parquet`, which has the problems without an answer.
pub(super) fn failures_schema() -> SchemaRef {
    record::schema(ProblemName::declared().iter().chain(Reason::declared()))
}

/// The column that every table begins with.
pub fn row_column() -> Column {
    ProblemName::declared()[0].clone()
}

/// The tables that every run has beside its results, in the reference.
pub fn reference() -> [TableReference; 2] {
    let problem = || ProblemName::declared().iter().cloned();
    let columns = |more: &[Column]| problem().chain(more.iter().cloned()).collect();
    [
        TableReference {
            name: "timing",
            about: "every run: a row for each problem",
            columns: columns(Timing::declared()),
        },
        TableReference {
            name: "failures",
            about: "every run: a row for each problem without an answer",
            columns: columns(Reason::declared()),
        },
    ]
}

impl Cells for Option<OutcomeKind> {
    type Builder = StringBuilder;

    fn columns(field: Column) -> Vec<Column> {
        <Option<String> as Cells>::columns(field)
    }

    fn builder() -> StringBuilder {
        StringBuilder::new()
    }

    fn append(&self, to: &mut StringBuilder) {
        to.append_option(self.map(OutcomeKind::name));
    }

    fn take(from: &mut StringBuilder, columns: &mut Vec<ArrayRef>) {
        <String as Cells>::take(from, columns);
    }
}

impl<R: Rows> Part<R> {
    /// A part is committed when it is this large …
    pub const N_BYTES_MAX: usize = 64 << 20;
    /// … or this old.
    pub const AGE_MAX: Duration = Duration::from_secs(5);

    /// An empty part that is due for a commit when it holds `n_bytes_max`.
    pub fn new(rows: R, n_bytes_max: usize) -> Part<R> {
        let n_bytes_max = n_bytes_max.clamp(1, Self::N_BYTES_MAX);
        Part { rows, n_bytes_max, since: None, spans: Vec::new(), outcomes: Vec::new() }
    }

    /// Adds an outcome: an answer, or why there is none.
    pub fn push(&mut self, index: usize, answer: Result<&R::Solution, Failure>, timing: Timing) {
        self.since.get_or_insert_with(Instant::now);
        let (reason, n_rows) = match answer {
            Ok(solution) => {
                let n_rows = self.rows.append(index, solution);
                self.spans.push((self.rows.first_row(index), n_rows));
                (Reason { kind: None, message: None }, n_rows as u64)
            }
            Err(Failure { kind, message }) => {
                (Reason { kind: Some(kind), message: Some(message) }, 0)
            }
        };
        let problem = ProblemName { row: index as u64, id: self.rows.id(index) };
        self.outcomes.push(OutcomeRow { problem, timing, reason, n_rows });
    }

    /// Whether it should be committed now.
    pub fn is_due(&self) -> bool {
        self.since.is_some_and(|since| {
            since.elapsed() >= Self::AGE_MAX
                || self.rows.n_bytes() + self.outcomes.len() * 64 >= self.n_bytes_max
        })
    }

    /// The workload's [`Rows`].
    pub fn rows(&self) -> &R {
        &self.rows
    }

    pub(super) fn take(&mut self) -> Option<Contents> {
        self.since.take()?;
        let columns = self.rows.take();
        let (files, tables) = (self.rows.take_files(), self.rows.take_tables());
        let spans = std::mem::take(&mut self.spans);
        let mut outcomes = std::mem::take(&mut self.outcomes);
        outcomes.sort_by_key(|outcome| outcome.problem.row);
        let table = table_batch(&self.rows.schema(), columns, &spans)
            .expect("a table's columns have its schema and one length");
        let gaps = outcomes.windows(2).filter_map(|pair| {
            let (before, after) = (pair[0].problem.row, pair[1].problem.row);
            (after > before + 1).then(|| self.rows.first_row(after as usize))
        });
        let cuts = cuts(&table, gaps);
        Some(Contents { table, cuts, outcomes, files, tables })
    }
}

pub(super) struct Contents {
    table: RecordBatch,
    /// The rows at which a new row group begins.
    cuts: Vec<usize>,
    outcomes: Vec<OutcomeRow>,
    /// The files that the rows refer to.
    files: Vec<RowFile>,
    /// Files that are written with the part.
    tables: Vec<PartTable>,
}

/// Splits the rows into row groups so that every long stretch without a gap is a group of its own.
/// `gaps` are the rows after each gap. The problems in a gap are in other parts, so a stretch
/// without gaps can be merged without decoding.
fn cuts(table: &RecordBatch, gaps: impl Iterator<Item = u64>) -> Vec<usize> {
    /// A stretch is long if it takes this much memory; compressed in the file it is much smaller.
    const LONG_BYTES: usize = 4 << 20;
    let n_rows_long = LONG_BYTES / row_bytes(table).max(1);
    let rows = table.column(0).as_primitive::<UInt64Type>().values();
    let (mut cuts, mut from) = (Vec::new(), 0);
    let ends = gaps.map(|gap| rows.partition_point(|&row| row < gap));
    for to in ends.chain([rows.len()]) {
        if to - from > n_rows_long {
            cuts.extend([from, to]);
        }
        from = to;
    }
    cuts.dedup();
    cuts.retain(|&cut| cut > 0 && cut < rows.len());
    cuts
}

impl Contents {
    fn first_row(&self) -> Option<u64> {
        let rows = self.table.column(0).as_primitive::<UInt64Type>();
        (!rows.is_empty()).then(|| rows.value(0))
    }
}

/// The schema of a table in the run folder: `row`, then the workload's columns.
pub(super) fn table_schema(columns: &Schema) -> SchemaRef {
    let fields: Vec<Field> = std::iter::once(row_column().field())
        .chain(columns.fields().iter().map(|field| field.as_ref().clone()))
        .collect();
    Arc::new(Schema::new(fields))
}

/// The table of a part, with rows in ascending order: a merge reads parts front to back.
fn table_batch(
    columns_schema: &Schema,
    columns: Vec<ArrayRef>,
    spans: &[(u64, usize)],
) -> Result<RecordBatch, ArrowError> {
    let rows = spans.iter().flat_map(|&(first, n)| first..first + n as u64);
    let rows: Vec<u64> = rows.collect();
    let mut columns = columns;
    let sorted = rows.is_sorted();
    let mut order: Vec<u64> = Vec::new();
    if !sorted {
        order = (0..rows.len() as u64).collect();
        order.sort_by_key(|&at| rows[at as usize]);
        let order = UInt64Array::from(order.clone());
        columns = columns
            .iter()
            .map(|column| arrow::compute::take(column, &order, None))
            .collect::<Result<_, _>>()?;
    }
    let rows = if sorted { rows } else { order.iter().map(|&at| rows[at as usize]).collect() };
    let row_column: ArrayRef = Arc::new(UInt64Array::from(rows));
    columns.insert(0, row_column);
    RecordBatch::try_new(table_schema(columns_schema), columns)
}

/// The schema of a part's outcomes: the columns of `timing.parquet` and of `failures.parquet`, and
/// how many rows each problem has.
pub(super) fn outcomes_schema() -> SchemaRef {
    OutcomeRow::schema()
}

fn outcomes_batch(outcomes: &[OutcomeRow]) -> Result<RecordBatch, ArrowError> {
    let mut builder = OutcomeRow::builder();
    outcomes.iter().for_each(|outcome| outcome.append(&mut builder));
    RecordBatch::try_new(outcomes_schema(), OutcomeRow::arrays(&mut builder))
}

/// The name of the file of outcomes beside a part's rows.
pub(super) fn outcomes_name(part: &str) -> String {
    part.replace(".parquet", ".outcomes.parquet")
}

/// Whether a name in `parts/` is the name of a part: `000000.parquet`, `000000.outcomes.parquet`.
fn is_part_name(name: &str) -> bool {
    let number = name.strip_suffix(".parquet");
    let number = number.map(|number| number.strip_suffix(".outcomes").unwrap_or(number));
    number
        .is_some_and(|number| number.len() >= 6 && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Writes a part's files. They do not count until the manifest announces them. `base` is the folder that the paths of
/// the tables beside the rows are relative to.
pub(super) fn write(
    folder: &Path,
    base: &Path,
    number: u64,
    contents: &Contents,
    run_id: Option<&str>,
    faults: &Faults,
) -> Result<ManifestLine, FolderError> {
    let part = format!("{number:06}.parquet");
    let path = folder.join(FOLDER_NAME).join(&part);
    let outcomes = outcomes_batch(&contents.outcomes).expect("the columns have one length");
    let mut files = contents.files.clone();
    for table in &contents.tables {
        let path = base.join(&table.path);
        let seal = retrying(faults, || write_batch(&path, &table.batch, &[], run_id, None))
            .map_err(FolderError::write(&path))?;
        files.push(RowFile { path: table.path.clone(), seal });
    }
    // The files that a row names must exist.
    let paths = files.iter().map(|file| base.join(&file.path));
    let folders: BTreeSet<PathBuf> =
        paths.filter_map(|path| path.parent().map(Path::to_owned)).collect();
    folders.iter().try_for_each(|folder| sync_folder(folder))?;
    let rows_seal =
        retrying(faults, || write_batch(&path, &contents.table, &contents.cuts, run_id, None))
            .map_err(FolderError::write(&path))?;
    let note = PartNote {
        rows: rows_seal.clone(),
        first_row: contents.first_row(),
        files,
        outcomes_hash: batch_hash(&outcomes),
    };
    let outcomes_path = path.with_file_name(outcomes_name(&part));
    let outcomes_seal =
        retrying(faults, || write_batch(&outcomes_path, &outcomes, &[], run_id, Some(&note)))
            .map_err(FolderError::write(&outcomes_path))?;
    sync_folder(&folder.join(FOLDER_NAME))?;
    let outcomes = contents.outcomes.iter();
    let kinds = outcomes.clone().map(|outcome| outcome.reason.kind.unwrap_or(OutcomeKind::Solved));
    let problems = outcomes.map(|outcome| outcome.problem.row);
    let n_rows = contents.table.num_rows() as u64;
    Ok(note.line(part, outcomes_seal, n_rows, problems.collect(), kinds))
}

/// Metadata in a part's file of outcomes, from which a lost manifest can be rebuilt.
#[derive(Debug, Serialize, Deserialize)]
struct PartNote {
    rows: Checksum,
    first_row: Option<u64>,
    files: Vec<RowFile>,
    /// The hash of the outcomes: the file cannot hold its own checksum.
    outcomes_hash: String,
}

/// The metadata key of the note.
const NOTE_KEY: &str = "swathe.part";

impl PartNote {
    /// The line of the manifest that announces the part.
    fn line(
        self,
        part: String,
        outcomes: Checksum,
        n_rows: u64,
        problems: Vec<u64>,
        kinds: impl Iterator<Item = OutcomeKind>,
    ) -> ManifestLine {
        let mut counts = Counts { n_problems: problems.len() as u64, ..Counts::default() };
        kinds.for_each(|kind| counts.add(kind));
        ManifestLine {
            sequence: None,
            run: None,
            part,
            rows: self.rows,
            outcomes,
            n_rows,
            first_row: self.first_row,
            n_failures: counts.n_unsolved(),
            counts: Some(counts),
            problems: Spans::of(problems),
            files: self.files,
        }
    }
}

/// The manifest lines of the parts in a folder, rebuilt from the parts' notes. Rows without a file
/// of outcomes belong to a part that was incomplete when its process died.
pub(super) fn lines_of_parts(
    folder: &Path,
    run_id: Option<&str>,
) -> Result<Vec<ManifestLine>, FolderError> {
    let parts = folder.join(FOLDER_NAME);
    let entries = fs::read_dir(&parts).map_err(FolderError::read(&parts))?;
    let names = entries.flatten().filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let part = name.strip_suffix(".outcomes.parquet")?;
        is_part_name(&name).then(|| format!("{part}.parquet"))
    });
    let mut names: Vec<String> = names.collect();
    names.sort_by_key(|name| (name.len(), name.clone()));
    names.into_iter().map(|name| line_of_part(&parts, name, run_id)).collect()
}

fn line_of_part(
    parts: &Path,
    part: String,
    run_id: Option<&str>,
) -> Result<ManifestLine, FolderError> {
    let path = parts.join(outcomes_name(&part));
    let table = open_part(&path, run_id)?;
    let notes = table.builder.metadata().file_metadata();
    let notes = notes.key_value_metadata().into_iter().flatten();
    let note = notes.into_iter().find(|note| note.key == NOTE_KEY);
    let note = note.and_then(|note| serde_json::from_str(note.value.as_deref()?).ok());
    let note: PartNote = note
        .ok_or_else(|| FolderError::damaged(&path)("it does not say which rows it belongs to"))?;
    let schema = table.builder.schema().clone();
    let batches = table.batches()?.collect::<Result<Vec<_>, _>>()?;
    let batch = concat_batches(&schema, &batches).map_err(FolderError::damaged(&path))?;
    if batch_hash(&batch) != note.outcomes_hash {
        let reason = "its contents are not what was written";
        return Err(FolderError::damaged(&path)(reason));
    }
    let rows_path = parts.join(&part);
    check(&rows_path, &note.rows)?;
    let read = || -> Result<_, String> {
        let problems = number_column::<UInt64Type>(&batch, "row")?.values().to_vec();
        let kinds = string_column(&batch, "kind")?;
        let kinds = kinds.iter().map(|kind| match kind {
            None => Ok(OutcomeKind::Solved),
            Some(name) => outcome_kind(name).ok_or_else(|| format!("it has a kind {name:?}")),
        });
        Ok((problems, kinds.collect::<Result<Vec<_>, _>>()?))
    };
    let (problems, kinds) = read().map_err(FolderError::damaged(&path))?;
    let rows = open_part(&rows_path, run_id)?.builder;
    let n_rows = rows.metadata().file_metadata().num_rows() as u64;
    let seal = Checksum::of(&path).map_err(FolderError::read(&path))?;
    let line = note.line(part, seal, n_rows, problems, kinds.into_iter());
    Ok(ManifestLine { run: run_id.map(str::to_owned), ..line })
}

/// Opens a file of a part of this run.
fn open_part(path: &Path, run_id: Option<&str>) -> Result<TableReader, FolderError> {
    let table = TableReader::open(path)?;
    let found = table.builder.schema().metadata().get(RUN_ID_KEY);
    check_run_id(run_id, found.map(String::as_str)).map_err(FolderError::foreign(path))?;
    Ok(table)
}

/// The kind of outcome that has this name.
fn outcome_kind(name: &str) -> Option<OutcomeKind> {
    use OutcomeKind::{Failed, Panicked, Solved, TimedOut, TooLarge, WrongSize};
    let all = [Solved, Failed, WrongSize, TooLarge, TimedOut, Panicked];
    all.into_iter().find(|kind| kind.name() == name)
}

/// The folder that the paths of [`RowFile`]s are relative to: the run's folder, also for a shard.
pub(super) fn files_folder(folder: &Path, identity: &Identity) -> PathBuf {
    match identity.shard {
        Some(_) => folder.join("..").join(".."),
        None => folder.to_owned(),
    }
}

/// Checks that the files which committed rows refer to exist and have the right length.
pub(super) fn check_files(base: &Path, lines: &[ManifestLine]) -> Result<(), FolderError> {
    for file in lines.iter().flat_map(|line| &line.files) {
        check_length(&base.join(&file.path), &file.seal)?;
    }
    Ok(())
}

/// Compares a line of the manifest with the contents of its part.
pub(super) fn check_line(folder: &Path, at: usize, line: &ManifestLine) -> Result<(), FolderError> {
    let wrong = |reason: String| FolderError::ManifestLine {
        path: folder.join(manifest::FILE_NAME),
        line: at + 1,
        reason,
    };
    let rows_path = folder.join(FOLDER_NAME).join(&line.part);
    let outcomes_path = rows_path.with_file_name(outcomes_name(&line.part));
    let (mut problems, mut n_rows_told) = (Vec::new(), None);
    let outcomes = open_part(&outcomes_path, line.run.as_deref())?.columns(&["row", N_ROWS_NAME]);
    outcomes.for_each(|batch| {
        problems.extend(number_column::<UInt64Type>(batch, "row")?.values());
        // Parts of earlier versions do not have this column.
        if let Ok(n_rows) = number_column::<UInt64Type>(batch, N_ROWS_NAME) {
            *n_rows_told.get_or_insert(0) += n_rows.values().iter().sum::<u64>();
        }
        Ok(())
    })?;
    let n_outcomes = problems.len() as u64;
    let held = Spans::of(problems);
    if held.len() != n_outcomes {
        return Err(FolderError::damaged(&outcomes_path)("a problem has two outcomes in it"));
    }
    if held != line.problems {
        return Err(wrong(format!(
            "it announces the problems {}, but {} holds {}",
            line.problems, line.part, held
        )));
    }
    let rows = open_part(&rows_path, line.run.as_deref())?.builder;
    let n_rows = rows.metadata().file_metadata().num_rows() as u64;
    if n_rows != n_rows_told.unwrap_or(line.n_rows) || n_rows != line.n_rows {
        return Err(wrong(format!(
            "it announces {} rows, but {} holds {n_rows}",
            line.n_rows, line.part
        )));
    }
    Ok(())
}

/// Retries transient errors, which network file systems return now and then.
fn retrying(faults: &Faults, write: impl Fn() -> io::Result<Checksum>) -> io::Result<Checksum> {
    const N_TRIES_MAX: u32 = 8;
    let mut n_tries = 0;
    loop {
        n_tries += 1;
        let result = if faults.refuses(FaultPoint::Store) {
            Err(io::Error::from(io::ErrorKind::ResourceBusy))
        } else {
            write()
        };
        match result {
            Err(error) if n_tries < N_TRIES_MAX && is_passing(&error) => {
                std::thread::sleep(Duration::from_millis(1 << n_tries));
            }
            result => return result,
        }
    }
}

fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, ResourceBusy, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | ResourceBusy | TimedOut | WouldBlock)
}

fn write_batch(
    path: &Path,
    batch: &RecordBatch,
    cuts: &[usize],
    run_id: Option<&str>,
    note: Option<&PartNote>,
) -> io::Result<Checksum> {
    let mut file = TableFile::create(path, with_made(&batch.schema(), run_id, None))?;
    let mut from = 0;
    for &to in cuts.iter().chain([&batch.num_rows()]) {
        file.write(&batch.slice(from, to - from))?;
        file.end_group()?;
        from = to;
    }
    if let Some(note) = note {
        file.note(NOTE_KEY, serde_json::to_string(note)?);
    }
    file.commit()
}

/// Syncs a folder, because a rename is durable only after that.
pub(super) fn sync_folder(path: &Path) -> Result<(), FolderError> {
    // Other systems cannot open a folder as a file.
    if !cfg!(unix) {
        return Ok(());
    }
    fs::File::open(path).and_then(|folder| folder.sync_all()).map_err(FolderError::write(path))
}

/// Removes unannounced parts, which a process left in `parts/` when it died, and checks the length
/// of the announced ones. Files with other names are left alone.
pub(super) fn remove_unannounced(folder: &Path, lines: &[ManifestLine]) -> Result<(), FolderError> {
    let parts = folder.join(FOLDER_NAME);
    let announced: std::collections::HashSet<String> =
        lines.iter().flat_map(|line| [line.part.clone(), outcomes_name(&line.part)]).collect();
    // This process holds the folder's lock, so no other process has a temporary file there.
    remove_where(&parts, |name| {
        let whole = temporary_target(name).map_or(name, |(whole, _)| whole);
        is_part_name(whole) && !announced.contains(name)
    })?;
    for line in lines {
        check_length(&parts.join(&line.part), &line.rows)?;
        check_length(&parts.join(outcomes_name(&line.part)), &line.outcomes)?;
    }
    Ok(())
}
