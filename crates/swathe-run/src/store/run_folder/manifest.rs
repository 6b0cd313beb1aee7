//! The manifest: a line for each committed part.

use std::collections::HashMap;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use swathe::Counts;

use super::FolderError;
use super::identity::check_run_id;
use super::own_files::{self, check_there, open_own};
use super::part::check_line;

pub(super) const FILE_NAME: &str = "manifest.jsonl";

/// One line of the manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ManifestLine {
    /// The line's number in the manifest, from 0; absent in lines of earlier versions, which have
    /// no checksum either.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u64>,
    /// The id of the run that wrote the line; absent in lines of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The file of the table's rows in `parts/`.
    pub part: String,
    /// The checksum of that file.
    pub rows: Checksum,
    /// The checksum of the file of outcomes beside it.
    pub outcomes: Checksum,
    /// Rows of the table in this part.
    pub n_rows: u64,
    /// The first of these rows; absent if there are none.
    pub first_row: Option<u64>,
    /// Problems of this part that have no answer.
    pub n_failures: u64,
    /// The counts of the problems by outcome; absent in lines of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<Counts>,
    /// The problems whose outcomes are in this part.
    pub problems: Spans,
    /// The files beside the table that its rows refer to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<RowFile>,
}

/// A file beside the table that a row refers to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowFile {
    /// Its path relative to the folder of the run, also for a shard.
    pub path: String,
    /// Its checksum.
    #[serde(flatten)]
    pub seal: Checksum,
}

/// A file's length and hash, to detect later changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checksum {
    /// Its length.
    pub n_bytes: u64,
    /// BLAKE3 of its contents, in hex.
    pub blake3: String,
}

impl Checksum {
    /// The checksum of a file as it is now.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn of(path: &Path) -> io::Result<Checksum> {
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(File::open(path)?)?;
        Ok(Checksum { n_bytes: hasher.count(), blake3: hasher.finalize().to_hex().to_string() })
    }
}

/// A set of numbers as ascending spans `[from, to)`. Runs deliver outcomes nearly in input order,
/// so the problems of a part make only a few spans.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Spans(Vec<(u64, u64)>);

impl Spans {
    /// The set of these numbers.
    pub fn of(mut numbers: Vec<u64>) -> Spans {
        numbers.sort_unstable();
        numbers.dedup();
        Spans::from_iter(numbers.into_iter().map(|number| (number, number + 1)))
    }

    /// The spans, ascending; they neither touch nor overlap.
    pub fn spans(&self) -> &[(u64, u64)] {
        &self.0
    }

    /// How many numbers the set has.
    pub fn len(&self) -> u64 {
        self.0.iter().map(|(from, to)| to - from).sum()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the spans ascend and are apart: they may come from a damaged file.
    fn is_valid(&self) -> bool {
        self.0.iter().all(|(from, to)| from < to)
            && self.0.windows(2).all(|pair| pair[0].1 < pair[1].0)
    }

    /// The numbers of `from..to` that are not in the set.
    pub fn missing(&self, from: u64, to: u64) -> Spans {
        let mut missing = Vec::new();
        let mut next = from;
        for &(start, end) in self.0.iter().chain([&(to, to)]) {
            let start = start.min(to);
            if next < start {
                missing.push((next, start));
            }
            next = next.max(end);
        }
        Spans(missing)
    }
}

/// Prints the first few spans: `0 to 80, 120`.
impl fmt::Display for Spans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const N_SHOWN_MAX: usize = 4;
        let text = |&(from, to): &(u64, u64)| match to - from {
            1 => from.to_string(),
            _ => format!("{from} to {}", to - 1),
        };
        let shown: Vec<String> = self.0.iter().take(N_SHOWN_MAX).map(text).collect();
        f.write_str(&shown.join(", "))?;
        match self.0.len() > N_SHOWN_MAX {
            true => f.write_str(", …"),
            false => Ok(()),
        }
    }
}

impl FromIterator<(u64, u64)> for Spans {
    /// Joins spans, in any order, where they touch or overlap.
    fn from_iter<I: IntoIterator<Item = (u64, u64)>>(spans: I) -> Spans {
        let mut all: Vec<(u64, u64)> = spans.into_iter().filter(|(from, to)| from < to).collect();
        all.sort_unstable();
        let mut joined: Vec<(u64, u64)> = Vec::new();
        for (from, to) in all {
            match joined.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => joined.push((from, to)),
            }
        }
        Spans(joined)
    }
}

pub(super) struct Manifest {
    path: PathBuf,
    file: File,
    /// The id of the run, which new lines get.
    run_id: Option<String>,
    lines: Vec<ManifestLine>,
}

impl Manifest {
    /// Opens or creates a folder's manifest. A torn last line, left by a process that died while
    /// writing it, is cut off: its part was never announced.
    pub(super) fn open(folder: &Path, run_id: Option<&str>) -> Result<Manifest, FolderError> {
        let path = folder.join(FILE_NAME);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = open_own(&path, &mut options)?;
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(FolderError::read(&path))?;
        let (lines, n_whole) = parse(&text).map_err(LineError::at(&path))?;
        check_run(&lines, run_id).map_err(FolderError::foreign(&path))?;
        if n_whole < text.len() {
            file.set_len(n_whole as u64).map_err(FolderError::write(&path))?;
        }
        file.seek(SeekFrom::End(0)).map_err(FolderError::write(&path))?;
        check_unsealed(folder, &lines)?;
        Ok(Manifest { path, file, run_id: run_id.map(str::to_owned), lines })
    }

    /// Creates a manifest with these lines atomically.
    pub(super) fn make(folder: &Path, lines: Vec<ManifestLine>) -> Result<(), FolderError> {
        let lines = lines.into_iter().zip(0..).map(|(line, sequence)| {
            let line = ManifestLine { sequence: Some(sequence), ..line };
            line.sealed_text()
        });
        let text: String = lines.collect();
        super::write_file(&folder.join(FILE_NAME), text.as_bytes())
    }

    /// Reads a folder's manifest without changing it.
    pub(super) fn read(
        folder: &Path,
        run_id: Option<&str>,
    ) -> Result<Vec<ManifestLine>, FolderError> {
        let path = folder.join(FILE_NAME);
        let text = own_files::read(&path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => FolderError::Incomplete {
                path: folder.to_owned(),
                reason: format!(
                    "{FILE_NAME} is gone: go on with it by --resume, which makes it again"
                ),
            },
            _ => FolderError::read(&path)(source),
        })?;
        let (lines, _) = parse(&text).map_err(LineError::at(&path))?;
        check_run(&lines, run_id).map_err(FolderError::foreign(&path))?;
        Ok(lines)
    }

    /// Checks that the manifest was not removed or replaced.
    pub(super) fn check_there(&self) -> Result<(), FolderError> {
        check_there(&self.path, &self.file)
    }

    /// The counts of the announced problems.
    pub(super) fn counts(&self) -> Counts {
        sum_counts(self.lines.iter().map(ManifestLine::counts))
    }

    pub(super) fn lines(&self) -> &[ManifestLine] {
        &self.lines
    }

    /// The number of the next part: one more than the largest so far.
    pub(super) fn next_number(&self) -> u64 {
        let numbers =
            self.lines.iter().filter_map(|line| line.part.split('.').next()?.parse::<u64>().ok());
        numbers.max().map_or(0, |number| number + 1)
    }

    /// Adds a line and syncs it: from here on the part exists.
    pub(super) fn announce(&mut self, line: ManifestLine) -> Result<(), FolderError> {
        let sequence = Some(self.lines.len() as u64);
        let line = ManifestLine { sequence, run: self.run_id.clone(), ..line };
        let text = line.sealed_text();
        self.check_there()?;
        let end = self.file.stream_position().map_err(FolderError::write(&self.path))?;
        let written = self.file.write_all(text.as_bytes()).and_then(|()| self.file.sync_data());
        if let Err(source) = written {
            // A torn line would be cut off when the manifest is opened again, but a later line must
            // not follow it.
            let _ = self.file.set_len(end);
            let _ = self.file.seek(SeekFrom::Start(end));
            return Err(FolderError::Write { path: self.path.clone(), source });
        }
        self.lines.push(line);
        Ok(())
    }
}

/// The counts of the problems that the manifest in a folder of this run announces. A run that has
/// just begun has no manifest yet.
///
/// # Errors
/// If the manifest cannot be read, is damaged or is of another run.
pub fn committed(folder: &Path, run_id: Option<&str>) -> Result<Counts, FolderError> {
    match Manifest::read(folder, run_id) {
        Ok(lines) => Ok(sum_counts(lines.iter().map(ManifestLine::counts))),
        Err(FolderError::Incomplete { .. }) => Ok(Counts::default()),
        Err(error) => Err(error),
    }
}

/// The counts of the problems that a manifest of this run announces, given its text.
///
/// # Errors
/// If the manifest is damaged or of another run; the error says which line and why.
pub fn committed_counts(manifest: &[u8], run_id: Option<&str>) -> Result<Counts, String> {
    let (lines, _) =
        parse(manifest).map_err(|error| format!("line {}: {}", error.line, error.reason))?;
    check_run(&lines, run_id)?;
    Ok(sum_counts(lines.iter().map(ManifestLine::counts)))
}

/// The sum of several counts.
pub fn sum_counts(counts: impl IntoIterator<Item = Counts>) -> Counts {
    counts.into_iter().fold(Counts::default(), |sum, counts| sum + counts)
}

/// Checks that all lines are of this run: the checksums of another run's manifest are valid too.
fn check_run(lines: &[ManifestLine], run_id: Option<&str>) -> Result<(), String> {
    for (at, line) in lines.iter().enumerate() {
        check_run_id(run_id, line.run.as_deref())
            .map_err(|error| format!("line {}: {error}", at + 1))?;
    }
    Ok(())
}

/// Lines of earlier versions have no checksum, so they are compared with the contents of their
/// parts before a run relies on them.
fn check_unsealed(folder: &Path, lines: &[ManifestLine]) -> Result<(), FolderError> {
    for (at, line) in lines.iter().enumerate() {
        if line.sequence.is_none() {
            check_line(folder, at, line)?;
        }
    }
    Ok(())
}

const CHECKSUM_KEY: &str = ",\"checksum\":\"";

impl ManifestLine {
    /// The counts of the problems. Lines of earlier versions do not distinguish kinds of failures.
    fn counts(&self) -> Counts {
        self.counts.unwrap_or_else(|| {
            let n_problems = self.problems.len();
            Counts {
                n_problems,
                n_solved: n_problems.saturating_sub(self.n_failures),
                n_failed: self.n_failures,
                ..Counts::default()
            }
        })
    }

    /// The line as written to the file. The checksum is its last member and covers all bytes before
    /// it.
    fn sealed_text(&self) -> String {
        let mut text = serde_json::to_string(self).unwrap_or_default();
        text.pop();
        let checksum = checksum(text.as_bytes());
        text + CHECKSUM_KEY + &checksum + "\"}\n"
    }

    /// Parses a line and verifies its checksum if it has one.
    fn parse(text: &[u8]) -> Result<ManifestLine, LineFault> {
        let line: ManifestLine =
            serde_json::from_slice(text).map_err(|error| LineFault::Text(error.to_string()))?;
        if line.sequence.is_some() {
            let body = text.trim_ascii_end();
            let body = body.strip_suffix(b"\"}").unwrap_or(body);
            let n_body = body.len().saturating_sub(N_CHECKSUM + CHECKSUM_KEY.len());
            let (body, tail) = body.split_at(n_body);
            if tail.strip_prefix(CHECKSUM_KEY.as_bytes()) != Some(checksum(body).as_bytes()) {
                return Err(LineFault::Changed);
            }
        }
        Ok(line)
    }
}

/// Digits of a line's checksum.
const N_CHECKSUM: usize = 32;

fn checksum(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex()[..N_CHECKSUM].to_owned()
}

enum LineFault {
    /// It is not a line of a manifest.
    Text(String),
    /// Its checksum does not match.
    Changed,
}

/// A line that is damaged.
#[derive(Debug)]
struct LineError {
    /// From 1.
    line: usize,
    reason: String,
}

impl LineError {
    fn at(path: &Path) -> impl FnOnce(LineError) -> FolderError + use<> {
        let path = path.to_owned();
        move |error| FolderError::ManifestLine { path, line: error.line, reason: error.reason }
    }
}

/// The lines, and how many bytes of the text are whole lines.
fn parse(text: &[u8]) -> Result<(Vec<ManifestLine>, usize), LineError> {
    let mut lines: Vec<ManifestLine> = Vec::new();
    let mut n_whole = 0;
    for (at, text_line) in text.split_inclusive(|&byte| byte == b'\n').enumerate() {
        if !text_line.ends_with(b"\n") {
            break;
        }
        let fault = |reason| LineError { line: at + 1, reason };
        match ManifestLine::parse(text_line) {
            Ok(line) => lines.push(line),
            // A crash of the whole machine can leave the last line as zeros.
            Err(LineFault::Text(_)) if n_whole + text_line.len() == text.len() => break,
            Err(LineFault::Text(reason)) => return Err(fault(reason)),
            Err(LineFault::Changed) => {
                return Err(fault("it was changed after it was written".to_owned()));
            }
        }
        check_sequence(&lines).map_err(fault)?;
        n_whole += text_line.len();
    }
    check_overlaps(&lines)?;
    Ok((lines, n_whole))
}

/// Checks that the last line is the successor of the lines before it.
fn check_sequence(lines: &[ManifestLine]) -> Result<(), String> {
    let Some((last, before)) = lines.split_last() else {
        return Ok(());
    };
    if !last.problems.is_valid() {
        return Err("its problems are not ascending spans".to_owned());
    }
    let expected = before.len() as u64;
    match last.sequence {
        Some(sequence) if sequence < expected => Err(format!("it repeats line {}", sequence + 1)),
        Some(sequence) if sequence > expected => Err(format!(
            "it was written as line {}: {} before it are missing",
            sequence + 1,
            counted_lines(sequence - expected)
        )),
        None if before.iter().any(|line| line.sequence.is_some()) => {
            Err("it has no checksum, unlike the lines before it".to_owned())
        }
        _ => Ok(()),
    }
}

fn counted_lines(n: u64) -> String {
    match n {
        1 => "1 line".to_owned(),
        n => format!("{n} lines"),
    }
}

/// Checks that no part and no problem is announced twice.
fn check_overlaps(lines: &[ManifestLine]) -> Result<(), LineError> {
    let mut parts = HashMap::new();
    let mut spans: Vec<(u64, u64, usize)> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if let Some(first) = parts.insert(&line.part, at) {
            let reason = format!("it announces {} again, after line {}", line.part, first + 1);
            return Err(LineError { line: at + 1, reason });
        }
        spans.extend(line.problems.spans().iter().map(|&(from, to)| (from, to, at)));
    }
    spans.sort_unstable();
    for pair in spans.windows(2) {
        let ((_, end, one), (start, _, other)) = (pair[0], pair[1]);
        if start < end {
            let (first, second) = (one.min(other) + 1, one.max(other) + 1);
            return Err(LineError {
                line: second,
                reason: format!("it announces problem {start} again, after line {first}"),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_join_and_know_what_is_missing() {
        let spans = Spans::of(vec![5, 1, 2, 3, 9, 10, 2]);
        assert_eq!(spans.spans(), [(1, 4), (5, 6), (9, 11)]);
        assert_eq!(spans.len(), 6);
        let missing = |from, to| spans.missing(from, to).0;
        assert_eq!(missing(0, 12), [(0, 1), (4, 5), (6, 9), (11, 12)]);
        assert_eq!(missing(2, 6), [(4, 5)]);
        assert_eq!(missing(20, 22), [(20, 22)]);
        assert!(Spans::default().missing(3, 3).is_empty());
        assert_eq!(Spans::from_iter([(4, 6), (0, 2), (2, 4), (9, 9)]).spans(), [(0, 6)]);
    }

    fn line(number: u64) -> ManifestLine {
        let seal = Checksum { n_bytes: 1, blake3: "00".to_owned() };
        ManifestLine {
            sequence: None,
            run: None,
            part: format!("{number:06}.parquet"),
            rows: seal.clone(),
            outcomes: seal,
            n_rows: 1,
            first_row: Some(0),
            n_failures: 0,
            counts: None,
            problems: Spans::of(vec![number]),
            files: Vec::new(),
        }
    }

    /// The lines of a manifest for these parts, with checksums.
    fn texts(numbers: &[u64]) -> Vec<String> {
        let lines = numbers.iter().zip(0..).map(|(&number, sequence)| {
            let line = ManifestLine { sequence: Some(sequence), ..line(number) };
            line.sealed_text()
        });
        lines.collect()
    }

    #[test]
    fn numbers_go_on_beyond_six_digits() {
        let folder = tempfile::tempdir().unwrap();
        let mut manifest = Manifest::open(folder.path(), Some("one")).unwrap();
        assert_eq!(manifest.next_number(), 0);
        manifest.announce(line(999_999)).unwrap();
        assert_eq!(manifest.next_number(), 1_000_000);
        manifest.announce(line(1_000_000)).unwrap();
        assert_eq!(manifest.next_number(), 1_000_001);
        let read = Manifest::read(folder.path(), Some("one")).unwrap();
        assert_eq!(read, manifest.lines());
        assert_eq!(read[1].sequence, Some(1));
        for other in [None, Some("other")] {
            assert!(matches!(
                Manifest::read(folder.path(), other),
                Err(FolderError::Foreign { .. })
            ));
        }
    }

    #[test]
    fn a_torn_last_line_is_cut_off_and_an_earlier_one_is_damage() {
        let [a, b] = <[String; 2]>::try_from(texts(&[0, 1])).unwrap();
        let whole = a.clone() + &b;
        for torn in [&whole[..whole.len() - 1], &whole[..a.len() + 5], &(a.clone() + "\0\0\n")] {
            let (lines, n_whole) = parse(torn.as_bytes()).unwrap();
            assert_eq!(lines.len(), 1);
            assert_eq!(n_whole, a.len());
        }
        assert_eq!(parse(("{}\n".to_owned() + &b).as_bytes()).unwrap_err().line, 1);
    }

    #[test]
    fn lines_that_were_changed_repeated_or_lost_are_named() {
        let check = |lines: &[&str], line: usize, reason: &str| {
            let error = parse(lines.concat().as_bytes()).unwrap_err();
            assert_eq!(error.line, line, "{error:?}");
            assert!(error.reason.contains(reason), "{error:?}");
        };
        let sealed = texts(&[0, 1, 2]);
        let [a, b, c] =
            <[&str; 3]>::try_from(sealed.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
        parse([a, b, c].concat().as_bytes()).unwrap();
        check(&[a, a, b], 2, "it repeats line 1");
        check(&[a, b, c, b], 4, "it repeats line 2");
        check(&[a, c], 2, "written as line 3: 1 line before it");
        check(&[b, a], 1, "written as line 2");
        // A changed last line is an error too: it is whole, so it is not torn.
        let raised = c.replace("[[2,3]]", "[[2,9]]");
        check(&[a, b, &raised], 3, "changed after it was written");
        let bare = |number| serde_json::to_string(&line(number)).unwrap() + "\n";
        check(&[a, &bare(1)], 2, "no checksum");
        // Lines of earlier versions.
        parse([bare(0), bare(1)].concat().as_bytes()).unwrap();
        check(&[&bare(0), &bare(0)], 2, "000000.parquet again, after line 1");
        let twice = bare(1).replace("[[1,2]]", "[[0,2]]");
        check(&[&bare(0), &twice], 2, "problem 0 again, after line 1");
        check(&[&bare(0).replace("[[0,1]]", "[[1,0]]"), &bare(1)], 1, "ascending");
    }
}
