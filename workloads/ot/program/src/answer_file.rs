//! Answers of other programs: potentials and plans in files.

use std::path::{Path, PathBuf};

use swathe_formats::npy::{self, NpyError};
use swathe_formats::npz::{Npz, NpzError};
use swathe_formats::regular_file;
use swathe_ot::{Frame, Link};

use crate::frame::Format;
use crate::text_table::{TextTable, TextTableError};

/// Why a file is not an answer for two frames.
#[derive(Debug, thiserror::Error)]
pub enum AnswerFileError {
    /// An `.npz` file cannot be used.
    #[error("cannot read {}: {source}", path.display())]
    Npz {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: NpzError,
    },
    /// An `.npy` file cannot be used.
    #[error("cannot read {}: {source}", path.display())]
    Npy {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: NpyError,
    },
    /// A table cannot be used.
    #[error("cannot read {}: {source}", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: TextTableError,
    },
    /// A table lacks columns of a plan.
    #[error("{} has the columns {}, and a plan needs others", path.display(), columns.join(", "))]
    Columns {
        /// The file.
        path: PathBuf,
        /// The columns that it has.
        columns: Vec<String>,
    },
    /// A number is not what its place needs.
    #[error("{}: {name} {at} is {value}, which is not {expected}", path.display())]
    Number {
        /// The file.
        path: PathBuf,
        /// The array or column.
        name: String,
        /// Where it is in the array or column.
        at: u64,
        /// The number, or what stands in its place.
        value: String,
        /// What it should be.
        expected: &'static str,
    },
    /// Values belong neither to all pixels nor to those with mass.
    #[error(
        "{}: {name} has {n_values} values along the {side}, which has {n_px} pixels and {n_live} with mass",
        path.display()
    )]
    Length {
        /// The file.
        path: PathBuf,
        /// The array.
        name: String,
        /// The frame that they should belong to.
        side: swathe_ot::Side,
        /// How many values there are.
        n_values: usize,
        /// How many pixels the frame has.
        n_px: usize,
        /// How many of them have mass.
        n_live: usize,
    },
    /// The arrays of a sparse matrix do not fit together.
    #[error("{}: {what}", path.display())]
    Sparse {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: &'static str,
    },
    /// The file's name does not end in a known way.
    #[error("{} does not end in {endings}", path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
        /// The endings of files that can be read.
        endings: &'static str,
    },
}

impl AnswerFileError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            AnswerFileError::Columns { .. } => {
                "a plan has the columns src_y, src_x, tgt_y, tgt_x and mass, or row, col and mass"
            }
            AnswerFileError::Sparse { .. } => {
                "save it with scipy.sparse.save_npz(file, plan.tocsr())"
            }
            AnswerFileError::Length { .. } => {
                "give the frames that the answer was computed with, and flatten images row by row"
            }
            AnswerFileError::Npz { .. } | AnswerFileError::Npy { .. } => {
                "potentials are arrays of numbers, f and g in an .npz file"
            }
            AnswerFileError::Table { .. }
            | AnswerFileError::Number { .. }
            | AnswerFileError::Unknown { .. } => "`swathe ot check --help` says what can be read",
        }
    }
}

/// The two potentials on the whole frames, from an `.npz` file with the arrays f and g, or from two
/// `.npy` files. Pixels that the file says nothing of have NaN.
///
/// # Errors
/// If a file cannot be read, or the number of its values fits neither the pixels of the frame nor
/// those with mass.
pub fn read_potentials(
    paths: &[PathBuf],
    source: &Frame,
    target: &Frame,
) -> Result<[Vec<f64>; 2], AnswerFileError> {
    let on_frame = |path: &Path, name: &str, side: Side<'_>, values: Vec<f64>| {
        let places = side.places(path, name, values.len())?;
        let mut all = vec![f64::NAN; side.frame.shape.n_px()];
        for (place, value) in places.into_iter().zip(values) {
            all[place] = value;
        }
        Ok(all)
    };
    let (source, target) = (Side::source(source), Side::target(target));
    match paths {
        [f, g] => Ok([
            on_frame(f, "f", source, npy_numbers(f)?.1)?,
            on_frame(g, "g", target, npy_numbers(g)?.1)?,
        ]),
        [path] if Format::of(path) == Some(Format::Npz) => {
            let npz = open_npz(path)?;
            Ok([
                on_frame(path, "f", source, npz_numbers(path, &npz, "f")?)?,
                on_frame(path, "g", target, npz_numbers(path, &npz, "g")?)?,
            ])
        }
        _ => Err(AnswerFileError::Unknown {
            path: paths.first().cloned().unwrap_or_default(),
            endings: "npz, which a single file must",
        }),
    }
}

/// The entries of a plan that are not zero, in pixels of the frames: from a sparse matrix of SciPy
/// (`.npz`), a matrix (`.npy`) or a table.
///
/// # Errors
/// If the file cannot be read or is no plan between these frames.
pub fn read_plan(
    path: &Path,
    source: &Frame,
    target: &Frame,
) -> Result<Vec<Link>, AnswerFileError> {
    let matrix = match Format::of(path) {
        Some(Format::Npz) => sparse(path, &open_npz(path)?)?,
        Some(Format::Npy) => dense(path)?,
        Some(Format::Masks) => return of_table(path, source, target),
        _ => {
            return Err(AnswerFileError::Unknown {
                path: path.to_owned(),
                endings: "npz, npy, csv or parquet",
            });
        }
    };
    let [n_rows, n_columns] = matrix.shape;
    let rows = Side::source(source).places(path, "the plan", n_rows)?;
    let columns = Side::target(target).places(path, "the plan", n_columns)?;
    let entries = matrix.entries.into_iter();
    Ok(entries.map(|(row, column, mass)| link(source, rows[row], columns[column], mass)).collect())
}

/// A frame, and which one it is.
#[derive(Clone, Copy)]
struct Side<'a> {
    frame: &'a Frame,
    side: swathe_ot::Side,
}

impl<'a> Side<'a> {
    fn source(frame: &'a Frame) -> Side<'a> {
        let side = swathe_ot::Side::Source;
        Side { frame, side }
    }

    fn target(frame: &'a Frame) -> Side<'a> {
        let side = swathe_ot::Side::Target;
        Side { frame, side }
    }

    /// The pixels that `n_values` values belong to.
    fn places(
        &self,
        path: &Path,
        name: &str,
        n_values: usize,
    ) -> Result<Vec<usize>, AnswerFileError> {
        let mass = &self.frame.density;
        if n_values == mass.len() {
            return Ok((0..n_values).collect());
        }
        let live: Vec<usize> = (0..mass.len()).filter(|&at| mass[at] > 0.0).collect();
        if n_values == live.len() {
            return Ok(live);
        }
        Err(AnswerFileError::Length {
            path: path.to_owned(),
            name: name.to_owned(),
            side: self.side,
            n_values,
            n_px: mass.len(),
            n_live: live.len(),
        })
    }
}

fn link(frame: &Frame, from: usize, to: usize, mass: f64) -> Link {
    let w_px = frame.shape.w_px;
    let [src_y_px, src_x_px, tgt_y_px, tgt_x_px] =
        [from / w_px, from % w_px, to / w_px, to % w_px].map(|place| place as u32);
    Link { src_y_px, src_x_px, tgt_y_px, tgt_x_px, mass }
}

fn open_npz(path: &Path) -> Result<Npz, AnswerFileError> {
    Npz::open(path).map_err(|source| AnswerFileError::Npz { path: path.to_owned(), source })
}

fn npz_numbers(path: &Path, npz: &Npz, name: &str) -> Result<Vec<f64>, AnswerFileError> {
    let mut all = Vec::new();
    let read = npz.for_each_number(name, &mut |some| all.extend_from_slice(some));
    read.map_err(|source| AnswerFileError::Npz { path: path.to_owned(), source })?;
    Ok(all)
}

/// The shape of an array and its values.
fn npy_numbers(path: &Path) -> Result<(Vec<usize>, Vec<f64>), AnswerFileError> {
    let read = || -> Result<(Vec<usize>, Vec<f64>), NpyError> {
        let mut file = regular_file::open(path)?;
        let n_bytes = file.metadata()?.len();
        let header = npy::read_number_header(&mut file, n_bytes)?;
        let mut all = Vec::new();
        npy::for_each_number(file, &header, &mut |some| all.extend_from_slice(some))?;
        Ok((header.shape, all))
    };
    read().map_err(|source| AnswerFileError::Npy { path: path.to_owned(), source })
}

/// Entries (row, column, mass) of a matrix.
struct Matrix {
    shape: [usize; 2],
    entries: Vec<(usize, usize, f64)>,
}

fn dense(path: &Path) -> Result<Matrix, AnswerFileError> {
    let (shape, values) = npy_numbers(path)?;
    let [n_rows, n_columns] = shape[..] else {
        return Err(AnswerFileError::Sparse {
            path: path.to_owned(),
            what: "its array is not a matrix of source x target pixels",
        });
    };
    let entries = values.into_iter().enumerate();
    let entries = entries.filter(|(_, mass)| *mass != 0.0);
    Ok(Matrix {
        shape: [n_rows, n_columns],
        entries: entries.map(|(at, mass)| (at / n_columns, at % n_columns, mass)).collect(),
    })
}

/// A matrix that `scipy.sparse.save_npz` wrote, in the formats csr, csc and coo.
fn sparse(path: &Path, npz: &Npz) -> Result<Matrix, AnswerFileError> {
    let wrong = |what| AnswerFileError::Sparse { path: path.to_owned(), what };
    let whole = |name: &str| -> Result<Vec<usize>, AnswerFileError> {
        let numbers = npz_numbers(path, npz, name)?;
        let each = numbers.iter().enumerate().map(|(at, value)| {
            let is_whole = *value >= 0.0 && value.fract() == 0.0 && *value <= 2_f64.powi(53);
            is_whole.then_some(*value as usize).ok_or_else(|| AnswerFileError::Number {
                path: path.to_owned(),
                name: name.to_owned(),
                at: at as u64,
                value: value.to_string(),
                expected: "a whole number",
            })
        });
        each.collect()
    };
    let header = npz.read_bytes("format", 1024);
    let header =
        header.map_err(|_| wrong("it is not a sparse matrix: there is no array format"))?;
    let [n_rows, n_columns] = whole("shape")?[..] else {
        return Err(wrong("its shape is not that of a matrix"));
    };
    let data = npz_numbers(path, npz, "data")?;
    let (rows, columns) = if header.ends_with(b"coo") {
        (whole("row")?, whole("col")?)
    } else if header.ends_with(b"csr") {
        (spread(&whole("indptr")?), whole("indices")?)
    } else if header.ends_with(b"csc") {
        (whole("indices")?, spread(&whole("indptr")?))
    } else {
        return Err(wrong("its sparse format is none of csr, csc and coo"));
    };
    if rows.len() != data.len() || columns.len() != data.len() {
        return Err(wrong("its arrays of rows, columns and data differ in length"));
    }
    let is_outside = |(row, column): (&usize, &usize)| *row >= n_rows || *column >= n_columns;
    if rows.iter().zip(&columns).any(is_outside) {
        return Err(wrong("an entry is outside of the matrix"));
    }
    let entries = rows.into_iter().zip(columns).zip(data);
    let entries = entries.map(|((row, column), mass)| (row, column, mass));
    Ok(Matrix {
        shape: [n_rows, n_columns],
        entries: entries.filter(|(_, _, mass)| *mass != 0.0).collect(),
    })
}

/// The row of every entry, from the number of the first entry of each row.
fn spread(starts: &[usize]) -> Vec<usize> {
    let rows = starts.windows(2).enumerate();
    rows.flat_map(|(row, ends)| std::iter::repeat_n(row, ends[1].saturating_sub(ends[0]))).collect()
}

/// The entries of a table: by pixels, or by numbers of pixels.
fn of_table(path: &Path, source: &Frame, target: &Frame) -> Result<Vec<Link>, AnswerFileError> {
    let unusable = |source| AnswerFileError::Table { path: path.to_owned(), source };
    let table = TextTable::read(path).map_err(unusable)?;
    let column = |name: &str| -> Result<Option<Vec<f64>>, AnswerFileError> {
        let Some(texts) = table.texts(name).map_err(unusable)? else {
            return Ok(None);
        };
        let numbers = texts.iter().zip(table.rows()).map(|(text, row)| {
            let number = text.trim().parse::<f64>().ok();
            number.ok_or_else(|| AnswerFileError::Number {
                path: path.to_owned(),
                name: format!("{name} in row"),
                at: *row,
                value: format!("{text:?}"),
                expected: "a number",
            })
        });
        numbers.collect::<Result<Vec<f64>, _>>().map(Some)
    };
    let missing =
        || AnswerFileError::Columns { path: path.to_owned(), columns: table.columns().to_vec() };
    let masses = column("mass")?.ok_or_else(missing)?;
    // A pixel of a frame, or its number in it.
    let places = |names: [&str; 2], number: &str, frame: &Frame| {
        let (ys, xs) = (column(names[0])?, column(names[1])?);
        let bounds = [frame.shape.h_px, frame.shape.w_px].map(|side| side as f64);
        let (first, second, bounds) = match (ys, xs, column(number)?) {
            (Some(ys), Some(xs), _) => (ys, xs, bounds),
            (_, _, Some(numbers)) => {
                let zeros = vec![0.0; numbers.len()];
                (zeros, numbers, [1.0, bounds[0] * bounds[1]])
            }
            _ => return Err(missing()),
        };
        let pixels = first.iter().zip(&second).zip(table.rows());
        let pixels = pixels.map(|((y, x), row)| {
            let fits = |v: f64, bound: f64| v >= 0.0 && v < bound && v.fract() == 0.0;
            (fits(*y, bounds[0]) && fits(*x, bounds[1]))
                .then_some((*y * frame.shape.w_px as f64 + *x) as usize)
                .ok_or_else(|| AnswerFileError::Number {
                    path: path.to_owned(),
                    name: format!("the place ({}) in row", names.join(", ")),
                    at: *row,
                    value: format!("({y}, {x})"),
                    expected: "a pixel of the frame",
                })
        });
        pixels.collect::<Result<Vec<usize>, _>>()
    };
    let from = places(["src_y", "src_x"], "row", source)?;
    let to = places(["tgt_y", "tgt_x"], "col", target)?;
    let entries = from.into_iter().zip(to).zip(masses);
    let entries = entries.filter(|(_, mass)| *mass != 0.0);
    Ok(entries.map(|((from, to), mass)| link(source, from, to, mass)).collect())
}
