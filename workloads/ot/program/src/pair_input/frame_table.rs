//! Tables of frames: one row for each, with a mask or the path of a file. Rows of a group are
//! ordered and paired; no pair crosses from one group to another.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::path::Path;

use arrow::array::UInt64Array;
use arrow::compute::take;

use super::steps::{Steps, counting_numbers};
use super::table::um_per_px;
use super::{
    CarriedColumn, Collector, InputChoices, NamedPair, PairInput, PairInputError, natural_order,
};
use crate::frame::{FrameFiles, FrameRef, RLE_COLUMN};
use crate::text_table::TextTable;

/// Columns that can hold the paths of frames.
const PATH_COLUMNS: [&str; 2] = ["path", "file"];

/// Names of columns that usually say which series a frame belongs to.
const GROUP_NAMES: [&str; 20] = [
    "id",
    "embryo",
    "series",
    "well",
    "position",
    "pos",
    "field",
    "fov",
    "track",
    "cell",
    "object",
    "label",
    "movie",
    "video",
    "sample",
    "animal",
    "experiment",
    "group",
    "scene",
    "site",
];

/// Names of columns that usually say when a frame was taken.
const ORDER_NAMES: [&str; 13] = [
    "frame_index",
    "frame_idx",
    "frame_number",
    "frame",
    "time_index",
    "time_int",
    "timepoint",
    "time_point",
    "time",
    "t",
    "timestamp",
    "date",
    "index",
];

/// Ids of frames, as opposed to those of groups.
const FRAME_IDS: [&str; 4] = ["frame_id", "mask_id", "image_id", "pair_id"];

/// A row of a series: where it is in the table, and its value in the column that orders.
struct Placed {
    at: usize,
    order: Option<String>,
}

/// Whether a table has a frame in each row rather than a pair.
pub(super) fn is_frame_table(table: &TextTable) -> bool {
    let is_of_pairs = table.has("src") || table.has("tgt");
    !is_of_pairs && (table.has(RLE_COLUMN) || PATH_COLUMNS.iter().any(|name| table.has(name)))
}

/// The pairs of a table of frames.
pub(super) fn pairs(
    path: &Path,
    table: &TextTable,
    choices: &InputChoices,
    files: FrameFiles,
) -> Result<PairInput, PairInputError> {
    if choices.group_by.is_none() && choices.order_by.is_none() {
        refuse_unsaid(path, table)?;
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let frames = frames(path, table, folder, &files)?;
    // Ids of masks are unique in the table.
    let has_ids = table.has(RLE_COLUMN) && table.has("frame_id");
    let series = Series::of(path, table, choices)?;
    let mut collector = Collector::default();
    let mut rows: Vec<[u64; 2]> = Vec::new();
    let mut notes = Vec::new();
    let mut n_short = 0;
    for (group, placed) in &series.groups {
        n_short += u64::from(placed.len() <= choices.step);
        for two in placed.windows(choices.step + 1) {
            let ends = [&two[0], &two[choices.step]];
            let [source, target] = ends.map(|end| &frames[end.at]);
            let [first, last] = ends.map(|end| match &end.order {
                Some(order) if !has_ids => order,
                _ => &frames[end.at].name,
            });
            let id = match group.is_empty() || has_ids {
                true => format!("{first}-{last}"),
                false => format!("{group}-{first}-{last}"),
            };
            let pair = NamedPair {
                id,
                source: collector.frame(source.frame.clone()),
                target: collector.frame(target.frame.clone()),
                source_um_per_px: source.um_per_px,
                target_um_per_px: target.um_per_px,
            };
            collector.pair(path, table.rows()[ends[0].at], pair)?;
            rows.push(ends.map(|end| end.at as u64));
        }
    }
    for (at, column) in &series.unplaced {
        let row = table.rows()[*at];
        let reason = format!("row {row}: the cell {column} is empty");
        let frame = collector.frame(FrameRef::unnamed(reason));
        let pair = NamedPair {
            id: format!("row {row}"),
            source: frame,
            target: frame,
            source_um_per_px: None,
            target_um_per_px: None,
        };
        collector.pair(path, row, pair)?;
        rows.push([*at as u64; 2]);
    }
    if collector.pairs.is_empty() {
        return Err(PairInputError::TooFewFrames {
            path: path.to_owned(),
            n_frames: table.rows().len(),
        });
    }
    if n_short > 0 {
        notes.push(format!(
            "{n_short} of {} groups have at most {} and make no pair",
            series.groups.len(),
            match choices.step {
                1 => "one frame".to_owned(),
                n => format!("{n} frames"),
            }
        ));
    }
    let steps = Steps::of(&series.places(&frames), choices.step);
    let what = series.order_by.as_deref().unwrap_or("the names of frames");
    notes.extend(steps.note(&collector.pairs, what));
    let mut carried = carried(path, table, choices, &rows)?;
    if let Some(column) = steps.column(rows.len())
        && carried.iter().all(|known| known.field.name() != column.field.name())
    {
        carried.push(column);
    }
    // The frames of a table of masks are in the table itself.
    let own_table = (!table.has(RLE_COLUMN)).then(|| path.to_owned());
    let mut input = collector.finish(folder, own_table, carried, files);
    input.notes = notes;
    Ok(input)
}

/// A frame of the table.
struct TableFrame {
    /// The id of a mask, or the name of a file without its ending.
    name: String,
    frame: FrameRef,
    um_per_px: Option<f64>,
}

fn frames(
    path: &Path,
    table: &TextTable,
    folder: &Path,
    files: &FrameFiles,
) -> Result<Vec<TableFrame>, PairInputError> {
    if table.has(RLE_COLUMN) {
        let masks = files
            .masks(path)
            .map_err(|source| PairInputError::Frames { path: path.to_owned(), source })?;
        let frames = masks.masks().iter().map(|mask| TableFrame {
            name: mask.id.clone(),
            frame: FrameRef { path: path.to_owned(), part: Some(mask.id.clone()), label: None },
            um_per_px: mask.um_per_px,
        });
        return Ok(frames.collect());
    }
    let texts = |name: &str| table.texts(name).map_err(PairInputError::of_table(path));
    let column = PATH_COLUMNS.iter().find(|name| table.has(name)).unwrap_or(&"path");
    let paths = texts(column)?.unwrap_or_default();
    let widths = texts("um_per_px")?;
    let rows = table.rows().iter().enumerate();
    rows.map(|(at, &row)| {
        let frame = match paths[at].trim().is_empty() {
            true => FrameRef::unnamed(format!("row {row}: the cell {column} is empty")),
            false => FrameRef::parse(&paths[at]).in_folder(folder),
        };
        let width = widths.as_ref().map_or("", |widths| &widths[at]);
        let stem = Path::new(&paths[at]).file_stem().unwrap_or_default();
        Ok(TableFrame {
            name: stem.to_string_lossy().into_owned(),
            frame,
            um_per_px: um_per_px(path, row, "um_per_px", width)?,
        })
    })
    .collect()
}

/// The rows of a table by group, in order.
struct Series {
    groups: Vec<(String, Vec<Placed>)>,
    /// Rows without a group or an order, with the column that is empty.
    unplaced: Vec<(usize, String)>,
    order_by: Option<String>,
}

impl Series {
    fn of(
        path: &Path,
        table: &TextTable,
        choices: &InputChoices,
    ) -> Result<Series, PairInputError> {
        let column = |name: &String| -> Result<(String, Vec<String>), PairInputError> {
            let texts = table.texts(name).map_err(PairInputError::of_table(path))?;
            let texts = texts.ok_or_else(|| PairInputError::NoSuchColumn {
                path: path.to_owned(),
                column: name.clone(),
                columns: table.columns().to_vec(),
            })?;
            Ok((name.clone(), texts))
        };
        let group_by = choices.group_by.iter().flatten().filter(|name| *name != "none");
        let group_columns: Vec<_> = group_by.map(column).collect::<Result<_, _>>()?;
        let order_by = choices.order_by.as_ref().filter(|name| *name != "none");
        let order_column = order_by.map(column).transpose()?;
        let mut place_by_group: HashMap<String, usize> = HashMap::new();
        let mut series =
            Series { groups: Vec::new(), unplaced: Vec::new(), order_by: order_by.cloned() };
        for at in 0..table.rows().len() {
            let mut needed = group_columns.iter().chain(&order_column);
            if let Some((name, _)) = needed.find(|(_, texts)| texts[at].trim().is_empty()) {
                series.unplaced.push((at, name.clone()));
                continue;
            }
            let group: Vec<&str> =
                group_columns.iter().map(|(_, texts)| texts[at].trim()).collect();
            let group = group.join("-");
            let place = *place_by_group.entry(group.clone()).or_insert_with(|| {
                series.groups.push((group, Vec::new()));
                series.groups.len() - 1
            });
            let order = order_column.as_ref().map(|(_, texts)| texts[at].trim().to_owned());
            series.groups[place].1.push(Placed { at, order });
        }
        if let Some((name, _)) = &order_column {
            for (group, placed) in &mut series.groups {
                placed.sort_by(|a, b| compare(a.order(), b.order()));
                let same = |two: &&[Placed]| compare(two[0].order(), two[1].order()).is_eq();
                if let Some(two) = placed.windows(2).find(same) {
                    return Err(PairInputError::DuplicateOrder {
                        path: path.to_owned(),
                        column: name.clone(),
                        value: two[0].order().to_owned(),
                        group: group.clone(),
                        rows: [table.rows()[two[0].at], table.rows()[two[1].at]],
                    });
                }
            }
        }
        Ok(series)
    }

    /// The places of the frames in their groups: by the column that orders, or by their names.
    fn places(&self, frames: &[TableFrame]) -> Vec<Vec<Option<f64>>> {
        let places = |placed: &[Placed]| match self.order_by {
            Some(_) => placed.iter().map(|row| row.order().parse().ok()).collect(),
            None => {
                let names = placed.iter().map(|row| frames[row.at].name.as_str());
                counting_numbers(&names.collect::<Vec<_>>())
            }
        };
        self.groups.iter().map(|(_, placed)| places(placed)).collect()
    }
}

impl Placed {
    fn order(&self) -> &str {
        self.order.as_deref().unwrap_or_default()
    }
}

/// Numbers by value, other texts in natural order.
fn compare(a: &str, b: &str) -> Ordering {
    match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a), Ok(b)) => a.total_cmp(&b),
        // Numbers come before other texts, so that the order is one.
        (Ok(_), Err(_)) => Ordering::Less,
        (Err(_), Ok(_)) => Ordering::Greater,
        (Err(_), Err(_)) => natural_order(a, b),
    }
}

/// Refuses a table with columns that tell series apart, if the user does not say what they mean.
fn refuse_unsaid(path: &Path, table: &TextTable) -> Result<(), PairInputError> {
    let lower = |name: &String| name.to_lowercase();
    let is_group = |name: &&String| {
        let name = lower(name);
        let is_id = name.ends_with("_id") && !FRAME_IDS.contains(&name.as_str());
        is_id || GROUP_NAMES.contains(&name.as_str())
    };
    let rank = |name: &String| ORDER_NAMES.iter().position(|known| *known == lower(name));
    let group = table.columns().iter().find(is_group);
    let order = table.columns().iter().filter(|name| rank(name).is_some());
    let order = order.min_by_key(|name| rank(name));
    if group.is_none() && order.is_none() {
        return Ok(());
    }
    Err(PairInputError::UnsaidSeries {
        path: path.to_owned(),
        group: group.cloned(),
        order: order.cloned(),
    })
}

/// The columns of both frames of each pair, and those of the group under their own names.
fn carried(
    path: &Path,
    table: &TextTable,
    choices: &InputChoices,
    rows: &[[u64; 2]],
) -> Result<Vec<CarriedColumn>, PairInputError> {
    let columns = table.carried(&[RLE_COLUMN]).map_err(PairInputError::of_table(path))?;
    let side = |which: usize| UInt64Array::from_iter_values(rows.iter().map(|row| row[which]));
    let sides = [("src_", side(0)), ("tgt_", side(1))];
    let of = |column: &CarriedColumn, name: String, rows: &UInt64Array| CarriedColumn {
        field: column.field.clone().with_name(name),
        values: take(&column.values, rows, None).expect("rows of the table"),
    };
    let is_group = |column: &&CarriedColumn| {
        let mut names = choices.group_by.iter().flatten();
        names.any(|name| name == column.field.name())
    };
    let mut carried: Vec<CarriedColumn> = columns
        .iter()
        .filter(is_group)
        .map(|column| of(column, column.field.name().clone(), &sides[0].1))
        .collect();
    for (prefix, rows) in &sides {
        let names = columns.iter().map(|column| format!("{prefix}{}", column.field.name()));
        carried.extend(columns.iter().zip(names).map(|(column, name)| of(column, name, rows)));
    }
    Ok(carried)
}
