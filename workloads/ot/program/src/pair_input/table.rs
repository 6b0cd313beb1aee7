//! Tables of pairs: the columns `pair_id`, `src` and `tgt`, and any other columns.

use std::path::Path;

use super::{Collector, NamedPair, PairInput, PairInputError};
use crate::frame::{FrameFiles, FrameRef};
use crate::text_table::TextTable;

/// The columns that define a pair; all others are carried unchanged.
const NEEDED: [&str; 3] = ["pair_id", "src", "tgt"];

/// Columns with the width of a pixel, of the source and of the target; the first that has a value
/// counts.
const UM_COLUMNS: [[&str; 2]; 2] = [["src_um_per_px", "um_per_px"], ["tgt_um_per_px", "um_per_px"]];

/// The pairs of a table. A pair with an empty cell where a name or a frame is needed fails alone.
pub(super) fn pairs(
    path: &Path,
    table: &TextTable,
    files: FrameFiles,
) -> Result<PairInput, PairInputError> {
    let texts = |name: &str| table.texts(name).map_err(PairInputError::of_table(path));
    let needed = |column: &'static str| {
        let missing = || PairInputError::MissingColumn {
            path: path.to_owned(),
            column,
            columns: table.columns().to_vec(),
        };
        texts(column)?.ok_or_else(missing)
    };
    let [ids, sources, targets] = NEEDED.map(needed);
    let (ids, sources, targets) = (ids?, sources?, targets?);
    let widths = UM_COLUMNS.map(|names| names.map(texts));
    let [[source_um, any_um], [target_um, _]] = widths;
    let (source_um, target_um, any_um) = (source_um?, target_um?, any_um?);
    if table.rows().is_empty() {
        return Err(PairInputError::NoRows { path: path.to_owned() });
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut collector = Collector::default();
    for (at, &row) in table.rows().iter().enumerate() {
        let has_id = !ids[at].trim().is_empty();
        let mut frame = |name: &str, text: &str| {
            let empty = if has_id { name } else { "pair_id" };
            collector.frame(match text.trim().is_empty() || !has_id {
                true => FrameRef::unnamed(format!("row {row}: the cell {empty} is empty")),
                false => FrameRef::parse(text).in_folder(folder),
            })
        };
        let (source, target) = (frame("src", &sources[at]), frame("tgt", &targets[at]));
        let width = |name: &str, own: &Option<Vec<String>>| {
            let first = own.as_ref().map(|texts| (name, texts[at].as_str()));
            let first = first.filter(|(_, text)| !text.trim().is_empty());
            let second = any_um.as_ref().map(|texts| ("um_per_px", texts[at].as_str()));
            match first.or(second) {
                Some((name, text)) => um_per_px(path, row, name, text),
                None => Ok(None),
            }
        };
        let pair = NamedPair {
            id: match has_id {
                true => ids[at].clone(),
                false => format!("row {row}"),
            },
            source,
            target,
            source_um_per_px: width("src_um_per_px", &source_um)?,
            target_um_per_px: width("tgt_um_per_px", &target_um)?,
        };
        collector.pair(path, row, pair)?;
    }
    let carried = table.carried(&NEEDED).map_err(PairInputError::of_table(path))?;
    Ok(collector.finish(folder, Some(path.to_owned()), carried, files))
}

/// The width of a pixel in a cell; `None` if the cell is empty.
pub(super) fn um_per_px(
    path: &Path,
    row: u64,
    column: &str,
    text: &str,
) -> Result<Option<f64>, PairInputError> {
    match text.trim().parse::<f64>() {
        _ if text.trim().is_empty() => Ok(None),
        Ok(um) if um > 0.0 && um.is_finite() => Ok(Some(um)),
        _ => Err(PairInputError::BadValue {
            path: path.to_owned(),
            row,
            column: column.to_owned(),
            value: text.to_owned(),
            expected: "a width in µm",
        }),
    }
}
