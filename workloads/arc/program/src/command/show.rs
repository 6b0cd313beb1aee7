//! `swathe arc show`: a task and what a program made of it, on the terminal or as a picture.

use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::path::Path;

use crate::arc_picture::{self, CAPTIONS, Panel};
use crate::arc_run::{ShowError, Shown, shown};
use swathe_run::store::run_folder::write_file;

use crate::flags::ArcShowFlags;
use swathe_command::cli_error::{CliError, Code};
use swathe_command::visible::visible;

pub(super) fn show(flags: &ArcShowFlags) -> Result<Code, CliError> {
    let form = flags.output.as_deref().map(Form::of).transpose()?;
    super::check_kind(&flags.run)?;
    let shown = shown(&flags.run, &flags.task, flags.program.as_deref())?;
    let (Some(form), Some(path)) = (form, &flags.output) else {
        let has_colors = std::io::stdout().is_terminal() && !is_set("NO_COLOR");
        swathe_command::stdout::print_as_is(&text(&shown, has_colors))?;
        return Ok(Code::Solved);
    };
    let contents = match form {
        Form::Png => arc_picture::png(&shown),
        Form::Html => arc_picture::page(&shown).into_bytes(),
    };
    write_file(path, &contents)?;
    swathe_command::stdout::line(path.display())?;
    Ok(Code::Solved)
}

enum Form {
    Png,
    Html,
}

impl Form {
    fn of(path: &Path) -> Result<Form, CliError> {
        let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase());
        match extension.as_deref() {
            Some("png") => Ok(Form::Png),
            Some("html") => Ok(Form::Html),
            _ => Err(CliError::usage(format!("-o {} is no picture's name", path.display()))
                .hint("end it in .png or .html")),
        }
    }
}

fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| !value.is_empty())
}

impl From<ShowError> for CliError {
    fn from(error: ShowError) -> CliError {
        let message = error.to_string();
        let some = match error {
            ShowError::Folder(error) => return error.into(),
            ShowError::NoTask { some, .. } | ShowError::NoProgram { some, .. } => some,
        };
        let fault = CliError::usage(message);
        if some.is_empty() {
            fault
        } else {
            fault.hint(format!("there are, for example: {}", some.join(", ")))
        }
    }
}

/// The samples one below the other, the three grids of each side by side.
fn text(shown: &Shown, has_colors: bool) -> String {
    let mut out = format!("{}, {}\n", visible(&shown.task), visible(&shown.program));
    for sample in &shown.samples {
        let verdict = arc_picture::verdict(sample);
        let label = arc_picture::label(sample);
        let comma = if verdict.is_empty() { "" } else { ", " };
        let _ = writeln!(out, "\n{label}{comma}{verdict}");
        let blocks: Vec<Block> = CAPTIONS
            .iter()
            .zip(arc_picture::panels(sample))
            .map(|(caption, panel)| Block::of(caption, &panel, has_colors))
            .collect();
        let n_lines = blocks.iter().map(|block| block.lines.len()).max();
        for at in 0..n_lines.unwrap_or(0) {
            let mut line = String::new();
            for block in &blocks {
                let empty = (String::new(), 0);
                let (text, width) = block.lines.get(at).unwrap_or(&empty);
                line.push_str(text);
                line.push_str(&" ".repeat(block.width - width + GAP));
            }
            let _ = writeln!(out, "{}", line.trim_end());
        }
    }
    out
}

/// Columns between two grids.
const GAP: usize = 4;

/// Lines of text, each with its width in columns: escape codes for colours have none.
struct Block {
    lines: Vec<(String, usize)>,
    width: usize,
}

impl Block {
    fn of(caption: &str, panel: &Panel, has_colors: bool) -> Block {
        let mut lines = vec![(caption.to_owned(), caption.chars().count())];
        match panel {
            Panel::Words(words) => {
                let words = visible(words).into_owned();
                let width = words.chars().count();
                lines.push((words, width));
            }
            Panel::Grid { rows, wrong } => {
                for (i, row) in rows.iter().enumerate() {
                    let is_wrong = |j: usize| wrong.get(i).is_some_and(|row| row[j]);
                    let cells = row.iter().enumerate();
                    let mut text: String = cells
                        .map(|(j, &cell)| {
                            if has_colors {
                                colored(cell, is_wrong(j))
                            } else {
                                plain(cell, is_wrong(j))
                            }
                        })
                        .collect();
                    if has_colors {
                        text.push_str("\x1b[0m");
                    }
                    lines.push((text, 2 * row.len()));
                }
            }
        }
        let width = lines.iter().map(|(_, width)| *width).max().unwrap_or(0);
        Block { lines, width }
    }
}

/// Two columns: a dot for the background, a digit for a colour, and a mark where it is wrong.
fn plain(cell: i64, is_wrong: bool) -> String {
    let digit = match cell {
        0 => '.',
        1..=9 => (b'0' + cell as u8) as char,
        _ => '?',
    };
    format!("{digit}{}", if is_wrong { '*' } else { ' ' })
}

/// Two columns in the cell's colour, with a mark that can be seen on it.
fn colored(cell: i64, is_wrong: bool) -> String {
    let (r, g, b) = arc_picture::color(cell);
    let is_light = 3 * u32::from(r) + 6 * u32::from(g) + u32::from(b) > 1275;
    let ink = if is_light { "0;0;0" } else { "255;255;255" };
    let mark = match (is_wrong, (0..10).contains(&cell)) {
        (true, _) => "><",
        (false, true) => "  ",
        (false, false) => "??",
    };
    format!("\x1b[48;2;{r};{g};{b};38;2;{ink}m{mark}")
}
