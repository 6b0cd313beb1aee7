//! Reads CSV tables as described by RFC 4180, one record at a time.
//!
//! Fields are separated by commas. A quoted field may contain commas, line breaks and doubled
//! quotes. Lines end with LF, CRLF or CR; the last line break may be missing. A byte order mark and
//! empty lines are skipped. The first record names the columns; every other record must have as
//! many fields.
//!
//! ```
//! use swathe_formats::csv::CsvReader;
//!
//! let mut reader = CsvReader::new("id,note\n7,\"a, \"\"b\"\"\"\n".as_bytes())?;
//! assert_eq!(reader.column("note"), Some(1));
//! let record = reader.next().unwrap()?;
//! assert_eq!((record.line, record.fields[1].as_str()), (2, "a, \"b\""));
//! assert!(reader.next().is_none());
//! # Ok::<(), swathe_formats::csv::CsvError>(())
//! ```

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor};
use std::path::Path;

use crate::regular_file;

/// A table that is being read: an iterator over its records.
///
/// The `csv` crate splits a record into fields. It accepts a quote anywhere in a field and an
/// unclosed quote at the end, and it counts only LF as a line break. [`RawRecords`] therefore finds
/// the ends of records, checks quotes and counts lines before `csv` parses a record.
#[derive(Debug)]
pub struct CsvReader<R> {
    records: RawRecords<R>,
    /// Parses one record at a time: the cursor holds only that record.
    parser: csv::Reader<Cursor<Vec<u8>>>,
    parsed: csv::StringRecord,
    columns: Vec<String>,
    /// Set at the end and after an error, because the position is then undefined.
    is_over: bool,
}

/// One record of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The line it begins on, from 1.
    pub line: u64,
    /// Its fields, one for each column.
    pub fields: Vec<String>,
}

/// Why a table cannot be read. The caller knows the file's name and adds it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CsvError {
    /// There is no line with the names of the columns.
    #[error("the file is empty; its first line must name the columns")]
    Empty,
    /// Two columns have the same name.
    #[error("line {line}: two columns are called {column:?}")]
    DuplicateColumn {
        /// The line of the names.
        line: u64,
        /// The name.
        column: String,
    },
    /// A record has more or fewer fields than there are columns.
    #[error("line {line}: {n_fields} fields, but there are {n_columns} columns")]
    FieldCount {
        /// The line it begins on.
        line: u64,
        /// Its fields.
        n_fields: usize,
        /// The columns.
        n_columns: usize,
    },
    /// A quote that is never closed.
    #[error("line {line}: a quote is opened here and never closed")]
    UnclosedQuote {
        /// The line it was opened on.
        line: u64,
    },
    /// A quote inside an unquoted field, or after a closing quote.
    #[error(
        "line {line}: a quote stands inside a field; quote the whole field and double the quotes in it"
    )]
    StrayQuote {
        /// The line.
        line: u64,
    },
    /// Bytes that are not text.
    #[error("line {line}: not UTF-8 text; save the table as UTF-8")]
    NotUtf8 {
        /// The line of the record.
        line: u64,
    },
    /// A record above the size limit; probably a quote was left open.
    #[error(
        "line {line}: a record of more than {n_bytes_max} bytes begins here; is a quote left open?"
    )]
    RecordTooLong {
        /// The line it begins on.
        line: u64,
        /// The limit.
        n_bytes_max: usize,
    },
    /// The file cannot be opened or read.
    #[error("cannot be read: {0}")]
    Read(#[from] io::Error),
}

/// The longest record that is accepted.
pub const RECORD_BYTES_MAX: usize = 32 << 20;

impl CsvReader<BufReader<File>> {
    /// Opens a file and reads the names of its columns.
    ///
    /// # Errors
    /// If the file cannot be opened or is not a regular file, or as for [`new`](CsvReader::new).
    pub fn open(path: &Path) -> Result<Self, CsvError> {
        CsvReader::new(BufReader::with_capacity(64 << 10, regular_file::open(path)?))
    }
}

impl<R: BufRead> CsvReader<R> {
    /// Reads the names of the columns. The iterator then reads the records.
    ///
    /// # Errors
    /// If the reader fails, or if the first record is absent, malformed, or names a column twice.
    pub fn new(mut reader: R) -> Result<Self, CsvError> {
        skip_mark(&mut reader)?;
        let mut table = Self {
            records: RawRecords { reader, line: 1, after_cr: false },
            parser: csv::ReaderBuilder::new()
                .has_headers(false)
                .flexible(true)
                .from_reader(Cursor::new(b"first\n".to_vec())),
            parsed: csv::StringRecord::new(),
            columns: Vec::new(),
            is_over: false,
        };
        // The parser drops a byte order mark before the first record it parses. Only a mark at the
        // beginning of the file must be dropped, and `skip_mark` has done that. So the parser gets
        // a dummy first record.
        table.parse(1)?;
        let Some(Record { line, fields }) = table.record()? else {
            return Err(CsvError::Empty);
        };
        let mut names = HashSet::with_capacity(fields.len());
        for name in &fields {
            if !names.insert(name) {
                return Err(CsvError::DuplicateColumn { line, column: name.clone() });
            }
        }
        table.columns = fields;
        Ok(table)
    }

    /// The names of the columns.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The index of the column with this name.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }

    fn checked_record(&mut self) -> Result<Option<Record>, CsvError> {
        let Some(record) = self.record()? else {
            return Ok(None);
        };
        if record.fields.len() != self.columns.len() {
            return Err(CsvError::FieldCount {
                line: record.line,
                n_fields: record.fields.len(),
                n_columns: self.columns.len(),
            });
        }
        Ok(Some(record))
    }

    fn record(&mut self) -> Result<Option<Record>, CsvError> {
        let mut raw = std::mem::take(self.parser.get_mut()).into_inner();
        let Some(line) = self.records.next_into(&mut raw)? else {
            return Ok(None);
        };
        *self.parser.get_mut() = Cursor::new(raw);
        self.parse(line)?;
        let fields = self.parsed.iter().map(str::to_owned).collect();
        Ok(Some(Record { line, fields }))
    }

    /// Parses what the cursor holds.
    fn parse(&mut self, line: u64) -> Result<(), CsvError> {
        // Reading from memory cannot fail and any number of fields is accepted, so this is the only
        // error.
        let read = self.parser.read_record(&mut self.parsed);
        let is_read = read.map_err(|_| CsvError::NotUtf8 { line })?;
        debug_assert!(is_read, "the record of line {line} is not an empty line");
        Ok(())
    }
}

impl<R: BufRead> Iterator for CsvReader<R> {
    type Item = Result<Record, CsvError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let next = self.checked_record().transpose();
        self.is_over = !matches!(next, Some(Ok(_)));
        next
    }
}

/// Splits bytes into records without parsing their fields.
#[derive(Debug)]
struct RawRecords<R> {
    reader: R,
    /// The line the next byte is on.
    line: u64,
    /// Whether the last byte was CR: an LF after it belongs to the same line break.
    after_cr: bool,
}

impl<R: BufRead> RawRecords<R> {
    /// Replaces `raw` by the next record that is not an empty line, followed by a line break.
    /// Returns the line the record begins on, or `None` at the end of the table.
    fn next_into(&mut self, raw: &mut Vec<u8>) -> Result<Option<u64>, CsvError> {
        raw.clear();
        let mut first_line = self.line;
        let mut quote_line = 0;
        let mut is_quoted = false;
        loop {
            let byte = self.byte()?;
            let is_break = byte == Some(b'\r') || (byte == Some(b'\n') && !self.after_cr);
            self.after_cr = byte == Some(b'\r');
            if is_quoted {
                match byte {
                    None => return Err(CsvError::UnclosedQuote { line: quote_line }),
                    Some(byte) => is_quoted = byte != b'"',
                }
            } else {
                match (raw.last(), byte) {
                    (None, None) => return Ok(None),
                    // An empty line, or the second half of a line break.
                    (None, Some(b'\r' | b'\n')) => {
                        self.line += u64::from(is_break);
                        first_line = self.line;
                        continue;
                    }
                    (_, None | Some(b'\r' | b'\n')) => {
                        self.line += u64::from(is_break);
                        raw.push(b'\n');
                        return Ok(Some(first_line));
                    }
                    (None | Some(b','), Some(b'"')) => (is_quoted, quote_line) = (true, self.line),
                    // The second half of a doubled quote.
                    (Some(b'"'), Some(b'"')) => is_quoted = true,
                    (Some(b'"'), Some(b',')) => {}
                    (Some(b'"'), _) | (_, Some(b'"')) => {
                        return Err(CsvError::StrayQuote { line: self.line });
                    }
                    _ => {}
                }
            }
            self.line += u64::from(is_break);
            raw.extend(byte);
            if raw.len() > RECORD_BYTES_MAX {
                return Err(CsvError::RecordTooLong {
                    line: first_line,
                    n_bytes_max: RECORD_BYTES_MAX,
                });
            }
        }
    }

    fn byte(&mut self) -> io::Result<Option<u8>> {
        loop {
            match self.reader.fill_buf() {
                Ok(bytes) => {
                    let byte = bytes.first().copied();
                    self.reader.consume(usize::from(byte.is_some()));
                    return Ok(byte);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Skips a byte order mark, which some programs write and which is not part of the first column's
/// name.
fn skip_mark(reader: &mut impl BufRead) -> io::Result<()> {
    const MARK: &[u8] = b"\xef\xbb\xbf";
    // The first buffer of a file has fewer than three bytes only if the whole file has.
    if reader.fill_buf()?.starts_with(MARK) {
        reader.consume(MARK.len());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    type Rows = Vec<(u64, Vec<String>)>;

    fn read(bytes: &[u8]) -> Result<(Vec<String>, Rows), CsvError> {
        let reader = CsvReader::new(bytes)?;
        let columns = reader.columns().to_vec();
        let records = reader.map(|record| record.map(|record| (record.line, record.fields)));
        Ok((columns, records.collect::<Result<_, _>>()?))
    }

    #[track_caller]
    fn check(text: &str, columns: &[&str], rows: &[(u64, &[&str])]) {
        let (found_columns, found_rows) = read(text.as_bytes()).unwrap();
        assert_eq!(found_columns, columns);
        let found: Vec<(u64, Vec<&str>)> = found_rows
            .iter()
            .map(|(line, fields)| (*line, fields.iter().map(String::as_str).collect()))
            .collect();
        let expected: Vec<(u64, Vec<&str>)> =
            rows.iter().map(|(line, fields)| (*line, fields.to_vec())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn lines_of_every_kind() {
        let rows: [(u64, &[&str]); 2] = [(2, &["1", "2"]), (3, &["3", ""])];
        check("a,b\n1,2\n3,\n", &["a", "b"], &rows);
        check("a,b\r\n1,2\r\n3,", &["a", "b"], &rows);
        check("a,b\r1,2\r3,\r", &["a", "b"], &rows);
        check("\u{feff}a,b\n1,2\n3,", &["a", "b"], &rows);
        check("a,b\n\n1,2\r\n\r\n\n", &["a", "b"], &[(3, &["1", "2"])]);
        check("\n\u{feff}\n1\n", &["\u{feff}"], &[(3, &["1"])]);
        check("a\n\n\"\"\n", &["a"], &[(3, &[""])]);
        check("a,b\n", &["a", "b"], &[]);
        check("a,b\n,\n", &["a", "b"], &[(2, &["", ""])]);
    }

    #[test]
    fn quotes() {
        check(
            "\"a\",b\n\"x,\"\"y\"\"\r\nz\",\" \"\nü,é\n",
            &["a", "b"],
            &[(2, &["x,\"y\"\r\nz", " "]), (4, &["ü", "é"])],
        );
        check("a\n\"\"\"\"", &["a"], &[(2, &["\""])]);
        check("a\n\"1\r2\n3\"\nx\n", &["a"], &[(2, &["1\r2\n3"]), (5, &["x"])]);
    }

    #[test]
    fn what_is_malformed_is_named_with_its_line() {
        let message = |bytes: &[u8]| read(bytes).unwrap_err().to_string();
        assert!(message(b"").contains("empty"));
        assert!(message(b"\n\n").contains("empty"));
        assert!(message(b"a,b,a\n").contains("two columns are called \"a\""));
        assert!(message(b"a,b\n1,2\n3\n").starts_with("line 3: 1 fields"));
        assert!(message(b"a,b\n1,2,3\n").starts_with("line 2: 3 fields"));
        assert!(message(b"a\n1\n\"x\ny\n").starts_with("line 3: a quote is opened"));
        assert!(message(b"a\nx\"y\n").starts_with("line 2: a quote stands"));
        assert!(message(b"a\n\"x\"y\n").starts_with("line 2: a quote stands"));
        assert!(message(b"a\n\xff\n").starts_with("line 2: not UTF-8"));
        assert!(message(b"a,b\n\xc3,\xa9\n").starts_with("line 2: not UTF-8"));
    }

    #[test]
    fn nothing_follows_an_error() {
        let mut reader = CsvReader::new("a\n1,2\n3\n".as_bytes()).unwrap();
        assert!(reader.next().unwrap().is_err());
        assert!(reader.next().is_none());
    }

    /// Any table that is written with all fields quoted is read back unchanged.
    #[test]
    fn quoted_fields_come_back() {
        use proptest::prelude::*;
        let field = "[ -~\r\n,\"ü]{0,8}";
        let table = proptest::collection::vec(proptest::collection::vec(field, 3), 0..6);
        proptest!(|(rows in table, ending in prop_oneof!["\n", "\r\n", "\r"])| {
            let mut text = format!("a,b,c{ending}");
            for row in &rows {
                let quoted = row.iter().map(|field| format!("\"{}\"", field.replace('"', "\"\"")));
                text.push_str(&quoted.collect::<Vec<_>>().join(","));
                text.push_str(&ending);
            }
            let (_, found) = read(text.as_bytes()).unwrap();
            let found: Vec<Vec<String>> = found.into_iter().map(|(_, fields)| fields).collect();
            prop_assert_eq!(found, rows);
        });
    }
}
