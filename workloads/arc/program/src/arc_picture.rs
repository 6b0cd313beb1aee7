//! Pictures of tasks: input, expected and output side by side, in the usual colours of these tasks.

mod page;

pub use page::page;

use crate::arc_run::{Shown, ShownOutput, ShownSample};
use swathe_arc::Grid;
use swathe_run::canvas::{Canvas, Color, Rect, Text};

/// The colours of the cells 0 to 9.
pub const COLORS: [(u8, u8, u8); 10] = [
    (0x00, 0x00, 0x00),
    (0x00, 0x74, 0xD9),
    (0xFF, 0x41, 0x36),
    (0x2E, 0xCC, 0x40),
    (0xFF, 0xDC, 0x00),
    (0xAA, 0xAA, 0xAA),
    (0xF0, 0x12, 0xBE),
    (0xFF, 0x85, 0x1B),
    (0x7F, 0xDB, 0xFF),
    (0x87, 0x0C, 0x25),
];

/// The colour of a cell whose value is not a colour.
pub const NO_COLOR: (u8, u8, u8) = (0xFF, 0xFF, 0xFF);

/// Grids with a longer side are described in words, not drawn.
pub const SIDE_DRAWN_MAX: usize = 64;

/// One of the three pictures of a sample.
#[derive(Clone, Debug, PartialEq)]
pub enum Panel {
    /// A grid, and where it differs from what is expected.
    Grid {
        /// Its rows.
        rows: Vec<Vec<i64>>,
        /// Cells that should be different, row by row; empty if that is not known.
        wrong: Vec<Vec<bool>>,
    },
    /// Words in place of a picture.
    Words(String),
}

/// The captions of the three panels.
pub const CAPTIONS: [&str; 3] = ["input", "expected", "output"];

/// The three panels of a sample: input, expected, output.
pub fn panels(sample: &ShownSample) -> [Panel; 3] {
    let plain = |grid: &Grid| Panel::Grid { rows: rows_of(grid), wrong: Vec::new() };
    let expected = sample.expected.as_ref();
    [
        plain(&sample.input),
        expected.map_or(Panel::Words("not known".to_owned()), plain),
        match &sample.output {
            ShownOutput::Grid(rows) => drawn(rows, expected),
            ShownOutput::Other(text) => Panel::Words(shortened(text)),
            ShownOutput::NotKept(n_bytes) => Panel::Words(format!("{n_bytes} bytes, not kept")),
            ShownOutput::Error(kind) => Panel::Words(kind.clone()),
            ShownOutput::Missing => Panel::Words("the sample failed".to_owned()),
        },
    ]
}

/// The verdict on a sample: right, how many cells are right, or nothing if that is not known.
pub fn verdict(sample: &ShownSample) -> String {
    match (sample.is_equal, sample.score) {
        (Some(true), _) => "right".to_owned(),
        (Some(false), Some(score)) if score > 0.0 => {
            format!("{:.1} % of cells right", 100.0 * score)
        }
        (Some(false), _) => "wrong".to_owned(),
        (None, _) => String::new(),
    }
}

/// The label of a sample, for example `train 0`.
pub fn label(sample: &ShownSample) -> String {
    let split = crate::arc_table::SPLITS[usize::from(sample.is_test)];
    format!("{split} {}", sample.index)
}

fn rows_of(grid: &Grid) -> Vec<Vec<i64>> {
    let row = |row: &[i8]| row.iter().map(|&cell| cell.into()).collect();
    grid.rows().map(row).collect()
}

fn drawn(rows: &[Vec<i64>], expected: Option<&Grid>) -> Panel {
    let (height, width) = (rows.len(), rows.first().map_or(0, Vec::len));
    if height > SIDE_DRAWN_MAX || width > SIDE_DRAWN_MAX {
        return Panel::Words(format!("a grid of {height} × {width}"));
    }
    let has_shape = |grid: &&Grid| (grid.height(), grid.width()) == (height, width);
    let wrong = match expected.filter(has_shape) {
        None => Vec::new(),
        Some(expected) => {
            let wrong = |(row, wanted): (&Vec<i64>, &[i8])| {
                let cells = row.iter().zip(wanted);
                cells.map(|(&cell, &wanted)| cell != i64::from(wanted)).collect()
            };
            rows.iter().zip(expected.rows()).map(wrong).collect()
        }
    };
    Panel::Grid { rows: rows.to_vec(), wrong }
}

/// Cuts a long encoding; the table holds all of it.
fn shortened(text: &str) -> String {
    const N_CHARACTERS_MAX: usize = 60;
    match text.char_indices().nth(N_CHARACTERS_MAX) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// The colour of a cell.
pub fn color(cell: i64) -> (u8, u8, u8) {
    let known = usize::try_from(cell).ok().and_then(|cell| COLORS.get(cell));
    known.copied().unwrap_or(NO_COLOR)
}

/// A picture of a task as a PNG file.
pub fn png(shown: &Shown) -> Vec<u8> {
    let all: Vec<[Panel; 3]> = shown.samples.iter().map(panels).collect();
    let side = all.iter().flatten().map(side).max().unwrap_or(1).max(1);
    let cell_px = (PANEL_PX / side as f64).floor().clamp(4.0, 32.0);
    let heights: Vec<f64> = all
        .iter()
        .map(|panels| {
            let n_rows = panels.iter().map(n_rows).max().unwrap_or(0);
            LABEL_PX + (n_rows as f64 * cell_px).max(LABEL_PX) + MARGIN_PX
        })
        .collect();
    let panel_px = (side as f64 * cell_px).max(PANEL_PX);
    let w_px = MARGIN_PX + 3.0 * (panel_px + MARGIN_PX);
    let h_px = TITLE_PX + heights.iter().sum::<f64>() + MARGIN_PX / 2.0;
    let mut canvas = Canvas::new(w_px as usize, h_px as usize, Color::WHITE);
    let title = format!("{}, {}", shown.task, shown.program);
    let style = Text::of_size(20.0).bold();
    let title = style.cut_to(&title, w_px - 2.0 * MARGIN_PX);
    canvas.text((MARGIN_PX, TITLE_PX * 0.6), &title, &style, INK);
    let mut y = TITLE_PX;
    for ((sample, panels), height) in shown.samples.iter().zip(&all).zip(heights) {
        let verdict = verdict(sample);
        for (k, panel) in panels.iter().enumerate() {
            let x = MARGIN_PX + k as f64 * (panel_px + MARGIN_PX);
            let caption = match k {
                0 => format!("{}: {}", label(sample), CAPTIONS[k]),
                2 if !verdict.is_empty() => format!("{}: {verdict}", CAPTIONS[k]),
                _ => CAPTIONS[k].to_owned(),
            };
            let style = Text::of_size(14.0);
            let caption = style.cut_to(&caption, panel_px);
            canvas.text((x, y + 0.62 * LABEL_PX), &caption, &style, INK);
            draw(&mut canvas, panel, (x, y + LABEL_PX), cell_px, panel_px);
        }
        y += height;
    }
    canvas.png()
}

const PANEL_PX: f64 = 240.0;
const MARGIN_PX: f64 = 24.0;
const TITLE_PX: f64 = 52.0;
const LABEL_PX: f64 = 28.0;
const INK: Color = Color::rgb(0x22, 0x22, 0x22);
const LINE: Color = Color::rgb(0x55, 0x55, 0x55);

fn side(panel: &Panel) -> usize {
    match panel {
        Panel::Grid { rows, .. } => rows.len().max(rows.first().map_or(0, Vec::len)),
        Panel::Words(_) => 0,
    }
}

fn n_rows(panel: &Panel) -> usize {
    match panel {
        Panel::Grid { rows, .. } => rows.len(),
        Panel::Words(_) => 0,
    }
}

fn draw(canvas: &mut Canvas, panel: &Panel, (x, y): (f64, f64), cell_px: f64, panel_px: f64) {
    let (rows, wrong) = match panel {
        Panel::Grid { rows, wrong } => (rows, wrong),
        Panel::Words(words) => {
            let style = Text::of_size(14.0);
            let words = style.cut_to(words, panel_px);
            return canvas.text((x, y + 0.62 * LABEL_PX), &words, &style, LINE);
        }
    };
    let width = rows.first().map_or(0, Vec::len);
    let outline = Rect::new(x, y, width as f64 * cell_px + 1.0, rows.len() as f64 * cell_px + 1.0);
    canvas.fill_rect(outline, LINE);
    for (i, row) in rows.iter().enumerate() {
        for (j, &cell) in row.iter().enumerate() {
            let (r, g, b) = color(cell);
            let at = (x + j as f64 * cell_px, y + i as f64 * cell_px);
            let inside = Rect::new(at.0 + 1.0, at.1 + 1.0, cell_px - 1.0, cell_px - 1.0);
            canvas.fill_rect(inside, Color::rgb(r, g, b));
            if wrong.get(i).is_some_and(|row| row[j]) {
                let thickness_px = (cell_px / 8.0).max(1.0);
                canvas.outline_rect(inside, thickness_px, Color::WHITE);
                canvas.outline_rect(inside.inset(thickness_px), thickness_px, Color::BLACK);
            }
        }
    }
}
