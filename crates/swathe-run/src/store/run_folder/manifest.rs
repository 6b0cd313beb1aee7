//! The manifest: a line for each part that is safely written.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::FolderError;

pub(super) const FILE_NAME: &str = "manifest.jsonl";

/// One line of the manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ManifestLine {
    /// The file of the table's rows in `parts/`.
    pub part: String,
    /// What that file was when it was written.
    pub rows: Seal,
    /// The same of the file beside it, which tells what became of the problems.
    pub outcomes: Seal,
    /// Rows of the table in it.
    pub n_rows: u64,
    /// The first of them; none if there are none.
    pub first_row: Option<u64>,
    /// Rows in it that tell of failures.
    pub n_failures: u64,
    /// The problems whose outcomes are in it.
    pub problems: Spans,
}

/// A file's length and contents, to know it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seal {
    /// Its length.
    pub n_bytes: u64,
    /// BLAKE3 of its contents, in hex.
    pub blake3: String,
}

/// A set of numbers as ascending spans `[from, to)`: runs deliver in nearly the order of the
/// input, so a part's problems make a handful of spans.
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

    /// The spans, ascending, apart from one another.
    pub fn spans(&self) -> &[(u64, u64)] {
        &self.0
    }

    /// How many numbers there are.
    pub fn len(&self) -> u64 {
        self.0.iter().map(|(from, to)| to - from).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The numbers of `from..to` that are not in the set, ascending.
    pub fn missing(&self, from: u64, to: u64) -> Vec<u64> {
        let mut missing = Vec::new();
        let mut next = from;
        for &(start, end) in &self.0 {
            missing.extend(next..start.clamp(next, to.max(next)));
            next = next.max(end);
        }
        missing.extend(next..to.max(next));
        missing
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
    lines: Vec<ManifestLine>,
}

impl Manifest {
    /// Opens a folder's manifest, or begins one. A torn last line, left by a process that died
    /// while writing it, is cut off: its part was never announced.
    pub(super) fn open(folder: &Path) -> Result<Manifest, FolderError> {
        let path = folder.join(FILE_NAME);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(FolderError::write(&path))?;
        let mut text = Vec::new();
        file.read_to_end(&mut text)
            .map_err(FolderError::read(&path))?;
        let (lines, n_whole) = parse(&text).map_err(|reason| FolderError::Damaged {
            path: path.clone(),
            reason,
        })?;
        if n_whole < text.len() {
            file.set_len(n_whole as u64)
                .map_err(FolderError::write(&path))?;
        }
        file.seek(SeekFrom::End(0))
            .map_err(FolderError::write(&path))?;
        Ok(Manifest { path, file, lines })
    }

    /// Reads a folder's manifest without touching it.
    pub(super) fn read(folder: &Path) -> Result<Vec<ManifestLine>, FolderError> {
        let path = folder.join(FILE_NAME);
        let text = std::fs::read(&path).map_err(FolderError::read(&path))?;
        let (lines, _) = parse(&text).map_err(|reason| FolderError::Damaged { path, reason })?;
        Ok(lines)
    }

    pub(super) fn lines(&self) -> &[ManifestLine] {
        &self.lines
    }

    /// The number of the next part: one more than any before.
    pub(super) fn next_number(&self) -> u64 {
        let numbers = self
            .lines
            .iter()
            .filter_map(|line| line.part.split('.').next()?.parse::<u64>().ok());
        numbers.max().map_or(0, |number| number + 1)
    }

    /// Adds a line and syncs it: from here on the part exists.
    pub(super) fn announce(&mut self, line: ManifestLine) -> Result<(), FolderError> {
        let mut text = serde_json::to_string(&line).unwrap_or_default();
        text.push('\n');
        let end = self
            .file
            .stream_position()
            .map_err(FolderError::write(&self.path))?;
        let written = self
            .file
            .write_all(text.as_bytes())
            .and_then(|()| self.file.sync_data());
        if let Err(source) = written {
            // Half a line would be cut off by the next one to open it; better to leave none.
            let _ = self.file.set_len(end);
            let _ = self.file.seek(SeekFrom::Start(end));
            return Err(FolderError::Write {
                path: self.path.clone(),
                source,
            });
        }
        self.lines.push(line);
        Ok(())
    }
}

/// The lines, and how many bytes of the text they take up.
fn parse(text: &[u8]) -> Result<(Vec<ManifestLine>, usize), String> {
    let mut lines = Vec::new();
    let mut n_whole = 0;
    for (number, line) in text.split_inclusive(|&byte| byte == b'\n').enumerate() {
        if !line.ends_with(b"\n") {
            break;
        }
        match serde_json::from_slice(line) {
            Ok(parsed) => lines.push(parsed),
            // A crash of the whole machine can leave the last line as zeros.
            Err(_) if n_whole + line.len() == text.len() => break,
            Err(error) => return Err(format!("line {}: {error}", number + 1)),
        }
        n_whole += line.len();
    }
    Ok((lines, n_whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_join_and_know_what_is_missing() {
        let spans = Spans::of(vec![5, 1, 2, 3, 9, 10, 2]);
        assert_eq!(spans.spans(), [(1, 4), (5, 6), (9, 11)]);
        assert_eq!(spans.len(), 6);
        assert_eq!(spans.missing(0, 12), [0, 4, 6, 7, 8, 11]);
        assert_eq!(spans.missing(2, 6), [4]);
        assert_eq!(spans.missing(20, 22), [20, 21]);
        assert_eq!(Spans::default().missing(3, 3), [0u64; 0]);
        assert_eq!(
            Spans::from_iter([(4, 6), (0, 2), (2, 4), (9, 9)]).spans(),
            [(0, 6)]
        );
    }

    fn line(part: &str) -> ManifestLine {
        let seal = Seal {
            n_bytes: 1,
            blake3: "00".to_owned(),
        };
        ManifestLine {
            part: part.to_owned(),
            rows: seal.clone(),
            outcomes: seal,
            n_rows: 1,
            first_row: Some(0),
            n_failures: 0,
            problems: Spans::of(vec![0]),
        }
    }

    #[test]
    fn numbers_go_on_beyond_six_digits() {
        let folder = tempfile::tempdir().unwrap();
        let mut manifest = Manifest::open(folder.path()).unwrap();
        assert_eq!(manifest.next_number(), 0);
        manifest.announce(line("999999.parquet")).unwrap();
        assert_eq!(manifest.next_number(), 1_000_000);
        manifest.announce(line("1000000.parquet")).unwrap();
        assert_eq!(manifest.next_number(), 1_000_001);
    }

    #[test]
    fn a_torn_last_line_is_cut_off_and_an_earlier_one_is_damage() {
        let text = |line: &ManifestLine| serde_json::to_string(line).unwrap() + "\n";
        let (a, b) = (line("000000.parquet"), line("000001.parquet"));
        let whole = text(&a) + &text(&b);
        for torn in [
            &whole[..whole.len() - 1],
            &whole[..text(&a).len() + 5],
            &(text(&a) + "\0\0\n"),
        ] {
            let (lines, n_whole) = parse(torn.as_bytes()).unwrap();
            assert_eq!(lines, std::slice::from_ref(&a));
            assert_eq!(n_whole, text(&a).len());
        }
        assert!(
            parse(("{}\n".to_owned() + &text(&b)).as_bytes())
                .unwrap_err()
                .starts_with("line 1")
        );
    }
}
