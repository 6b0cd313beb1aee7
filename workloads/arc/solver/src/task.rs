use crate::value::grid::Grid;
use serde_json::Value as Json;

/// A task: demonstrations and tests, each an input with its output.
#[derive(Debug)]
pub struct Task {
    /// The task's name, for example `67a3c6ac`.
    pub name: String,
    /// The demonstrations.
    pub train: Vec<Sample>,
    /// The tests; the output may be unknown.
    pub test: Vec<Sample>,
}

/// An input grid and what it should become.
#[derive(Debug)]
pub struct Sample {
    /// The input.
    pub input: Grid,
    /// The expected output, where it is known.
    pub output: Option<Grid>,
}

/// The side of the largest grid that tasks may hold.
pub const SIDE_MAX: usize = 30;

/// Why a task cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TaskError {
    /// The text is not JSON.
    #[error("not JSON: {message}")]
    NotJson {
        /// What the JSON reader says, and where.
        message: String,
        /// Counted from 1.
        line: usize,
        /// Counted from 1.
        column: usize,
    },
    /// A part is missing or is something else.
    #[error("{at}: expected {wanted}")]
    Expected {
        /// Where in the task, for example `train[2].input`.
        at: String,
        /// What should be there.
        wanted: &'static str,
    },
    /// A grid without rows or columns.
    #[error("{at}: the grid is empty")]
    Empty {
        /// Where in the task.
        at: String,
    },
    /// Rows of different lengths.
    #[error("{at}: row {row} has {n} cells, the first has {n_first}")]
    Ragged {
        /// Where in the task.
        at: String,
        /// The row, counted from 0.
        row: usize,
        /// Its length.
        n: usize,
        /// The first row's length.
        n_first: usize,
    },
    /// A cell that is not a colour.
    #[error("{at}: the cell in row {row}, column {column} is {found}, not a colour from 0 to 9")]
    Color {
        /// Where in the task.
        at: String,
        /// Counted from 0.
        row: usize,
        /// Counted from 0.
        column: usize,
        /// What stands there.
        found: String,
    },
    /// A grid larger than 30 × 30.
    #[error("{at}: the grid is {height} × {width}, the largest is {SIDE_MAX} × {SIDE_MAX}")]
    TooLarge {
        /// Where in the task.
        at: String,
        /// Its rows.
        height: usize,
        /// Its columns.
        width: usize,
    },
}

impl Task {
    /// Reads a task from the text of its file.
    ///
    /// ```
    /// use swathe_arc::{Task, TaskError};
    /// let text = r#"{"train": [{"input": [[1]], "output": [[2]]}], "test": [{"input": [[3]]}]}"#;
    /// let task = Task::from_json("mine", text)?;
    /// assert_eq!((task.train.len(), task.test[0].output.is_none()), (1, true));
    /// let ragged = Task::from_json("mine", &text.replace("[[3]]", "[[3, 3], [3]]"));
    /// assert_eq!(ragged.unwrap_err().to_string(), "test[0].input: row 1 has 1 cells, the first has 2");
    /// # Ok::<(), TaskError>(())
    /// ```
    pub fn from_json(name: &str, text: &str) -> Result<Task, TaskError> {
        let json: Json = serde_json::from_str(text).map_err(|e| TaskError::NotJson {
            message: e.to_string(),
            line: e.line(),
            column: e.column(),
        })?;
        Task::from_value(name, &json)
    }

    /// Reads a task from parsed JSON, as combined files hold it.
    pub fn from_value(name: &str, json: &Json) -> Result<Task, TaskError> {
        if !json.is_object() {
            return Err(TaskError::Expected {
                at: "the task".into(),
                wanted: "an object with `train` and `test`",
            });
        }
        Ok(Task {
            name: name.into(),
            train: samples(json, "train")?,
            test: samples(json, "test")?,
        })
    }
}

/// Reads one grid, checking shape and colours; `at` names it in errors.
pub fn grid_from_value(json: &Json, at: &str) -> Result<Grid, TaskError> {
    let expected = |wanted: &'static str| TaskError::Expected {
        at: at.into(),
        wanted,
    };
    let rows = json.as_array().ok_or_else(|| expected("a list of rows"))?;
    let mut grid: Vec<Vec<i8>> = Vec::with_capacity(rows.len());
    for (i, row) in rows.iter().enumerate() {
        let row = row.as_array().ok_or_else(|| expected("a list of rows"))?;
        let n_first = grid.first().map_or(row.len(), Vec::len);
        if row.len() != n_first {
            return Err(TaskError::Ragged {
                at: at.into(),
                row: i,
                n: row.len(),
                n_first,
            });
        }
        let cells = row.iter().enumerate().map(|(j, cell)| match cell.as_i64() {
            Some(c @ 0..=9) => Ok(c as i8),
            _ => Err(TaskError::Color {
                at: at.into(),
                row: i,
                column: j,
                found: cell.to_string(),
            }),
        });
        grid.push(cells.collect::<Result<_, _>>()?);
    }
    let (height, width) = (grid.len(), grid.first().map_or(0, Vec::len));
    if height > SIDE_MAX || width > SIDE_MAX {
        return Err(TaskError::TooLarge {
            at: at.into(),
            height,
            width,
        });
    }
    Grid::from_rows(&grid).ok_or_else(|| TaskError::Empty { at: at.into() })
}

fn samples(json: &Json, split: &'static str) -> Result<Vec<Sample>, TaskError> {
    let list = json.get(split).and_then(Json::as_array);
    let list = list.ok_or_else(|| TaskError::Expected {
        at: split.into(),
        wanted: "a list of samples",
    })?;
    let sample = |(k, sample): (usize, &Json)| {
        let at = format!("{split}[{k}]");
        let input = sample.get("input").ok_or_else(|| TaskError::Expected {
            at: at.clone(),
            wanted: "an `input`",
        })?;
        let input = grid_from_value(input, &format!("{at}.input"))?;
        let output = match sample.get("output") {
            None | Some(Json::Null) if split == "test" => None,
            None => {
                return Err(TaskError::Expected {
                    at,
                    wanted: "an `output`",
                });
            }
            Some(output) => Some(grid_from_value(output, &format!("{at}.output"))?),
        };
        Ok(Sample { input, output })
    };
    list.iter().enumerate().map(sample).collect()
}
