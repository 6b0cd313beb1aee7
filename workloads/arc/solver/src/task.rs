//! Tasks and their samples, read from JSON and checked.

use crate::task_json::TaskJson;
use crate::value::grid::Grid;

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

/// An input grid and its expected output.
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
        /// The message of the JSON reader, with the position.
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
        /// What is there instead.
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
    ///
    /// # Errors
    /// If the text is not JSON, or if it is not a task: see [`TaskError`].
    pub fn from_json(name: &str, text: &str) -> Result<Task, TaskError> {
        let json: TaskJson = serde_json::from_str(text).map_err(|e| TaskError::NotJson {
            message: e.to_string(),
            line: e.line(),
            column: e.column(),
        })?;
        Task::from_value(name, &json)
    }

    /// Reads a task from parsed JSON, as combined files hold it.
    ///
    /// # Errors
    /// If a part is missing or a grid is empty, ragged, too large or has a cell that is not a
    /// colour.
    pub fn from_value(name: &str, json: &TaskJson) -> Result<Task, TaskError> {
        if !matches!(json, TaskJson::Object(_)) {
            return Err(TaskError::Expected {
                at: "the task".into(),
                wanted: "an object with `train` and `test`",
            });
        }
        Ok(Task { name: name.into(), train: samples(json, "train")?, test: samples(json, "test")? })
    }
}

/// Reads one grid, checking shape and colours; `at` names it in errors.
///
/// # Errors
/// If the value is not a list of rows, or if the grid is empty, ragged, too large or has a cell
/// that is not a colour.
pub fn grid_from_value(json: &TaskJson, at: &str) -> Result<Grid, TaskError> {
    let expected = || TaskError::Expected { at: at.into(), wanted: "a list of rows" };
    let TaskJson::List(rows) = json else {
        return Err(expected());
    };
    let length = |row: &TaskJson| match row {
        TaskJson::Colors(colors) => Some(colors.len()),
        TaskJson::List(values) => Some(values.len()),
        _ => None,
    };
    let mut grid: Vec<Vec<i8>> = Vec::with_capacity(rows.len().min(SIDE_MAX));
    let width = rows.first().map_or(Some(0), length).ok_or_else(expected)?;
    for (i, row) in rows.iter().enumerate() {
        let n = length(row).ok_or_else(expected)?;
        if n != width {
            return Err(TaskError::Ragged { at: at.into(), row: i, n, n_first: width });
        }
        match row {
            TaskJson::Colors(colors) if i < SIDE_MAX => {
                grid.push(colors.iter().map(|&color| color as i8).collect());
            }
            // A list that is not one of colours has something else in it.
            TaskJson::List(values) => {
                let is_color = |value: &TaskJson| matches!(value, TaskJson::Number(0..=9));
                if let Some(j) = values.iter().position(|value| !is_color(value)) {
                    return Err(TaskError::Color {
                        at: at.into(),
                        row: i,
                        column: j,
                        found: values[j].to_string(),
                    });
                }
            }
            _ => {}
        }
    }
    let height = rows.len();
    if height > SIDE_MAX || width > SIDE_MAX {
        return Err(TaskError::TooLarge { at: at.into(), height, width });
    }
    Grid::from_rows(&grid).ok_or_else(|| TaskError::Empty { at: at.into() })
}

fn samples(json: &TaskJson, split: &'static str) -> Result<Vec<Sample>, TaskError> {
    let Some(TaskJson::List(list)) = json.get(split) else {
        return Err(TaskError::Expected { at: split.into(), wanted: "a list of samples" });
    };
    let sample = |(k, sample): (usize, &TaskJson)| {
        let at = format!("{split}[{k}]");
        let input = sample
            .get("input")
            .ok_or_else(|| TaskError::Expected { at: at.clone(), wanted: "an `input`" })?;
        let input = grid_from_value(input, &format!("{at}.input"))?;
        let output = match sample.get("output") {
            None | Some(TaskJson::Null) if split == "test" => None,
            None => {
                return Err(TaskError::Expected { at, wanted: "an `output`" });
            }
            Some(output) => Some(grid_from_value(output, &format!("{at}.output"))?),
        };
        Ok(Sample { input, output })
    };
    list.iter().enumerate().map(sample).collect()
}
