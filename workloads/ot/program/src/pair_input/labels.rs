//! `--label all`: a series for every label.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{Int64Array, UInt64Array};
use arrow::compute::take;
use arrow::datatypes::DataType;
use swathe_run::store::record::Column;

use super::{CarriedColumn, Collector, NamedPair, PairInput, PairInputError};
use crate::frame::FrameRef;

/// Labels of a frame; `None` if it cannot be read.
type Labels = Option<BTreeSet<i64>>;

/// A pair for every label that one of its frames has, ordered by label. A pair of which a frame
/// cannot be read stays as it is, and fails with its reason.
pub(super) fn by_label(path: &Path, input: PairInput) -> Result<PairInput, PairInputError> {
    if input.carried.iter().any(|column| column.field.name() == "label") {
        return Err(PairInputError::ReservedColumn {
            path: path.to_owned(),
            column: "label".to_owned(),
        });
    }
    let labels: Vec<Labels> =
        input.frames.iter().map(|frame| labels_of(&input, frame)).collect::<Result<_, _>>()?;
    let mut all: Vec<(Option<i64>, usize)> = Vec::new();
    for (at, pair) in input.pairs.iter().enumerate() {
        match (&labels[pair.source], &labels[pair.target]) {
            (Some(source), Some(target)) => {
                all.extend(source.union(target).map(|label| (Some(*label), at)));
            }
            _ => all.push((None, at)),
        }
    }
    if all.is_empty() {
        return Err(PairInputError::NoLabels { path: path.to_owned() });
    }
    all.sort_unstable();
    let mut collector = Collector::default();
    for (label, at) in &all {
        let pair = &input.pairs[*at];
        let mut frame = |number: usize| {
            collector.frame(FrameRef { label: *label, ..input.frames[number].clone() })
        };
        let labelled = NamedPair {
            source: frame(pair.source),
            target: frame(pair.target),
            id: match label {
                Some(label) => format!("{}-label{label}", pair.id),
                None => pair.id.clone(),
            },
            ..pair.clone()
        };
        collector.pair(path, *at as u64, labelled)?;
    }
    let rows = UInt64Array::from_iter_values(all.iter().map(|(_, at)| *at as u64));
    let mut carried: Vec<CarriedColumn> = input
        .carried
        .into_iter()
        .map(|column| CarriedColumn {
            values: take(&column.values, &rows, None).expect("pairs and columns have one length"),
            field: column.field,
        })
        .collect();
    carried.push(CarriedColumn {
        field: label_column().field(),
        values: Arc::new(Int64Array::from_iter(all.iter().map(|(label, _)| *label))),
    });
    Ok(PairInput { pairs: collector.pairs, frames: collector.frames, carried, ..input })
}

/// The column of the labels.
pub(super) fn label_column() -> Column {
    Column::new("label", "the value of the pixels that are the mass").of(DataType::Int64, true)
}

/// The values above zero of a frame; `None` if the frame cannot be read.
fn labels_of(input: &PairInput, frame: &FrameRef) -> Result<Labels, PairInputError> {
    let Ok(read) = input.files.read(frame, None) else {
        return Ok(None);
    };
    let mut labels = BTreeSet::new();
    let mut last = 0.0;
    for &value in &read.density {
        // Neighbouring pixels mostly have the same label.
        if value == last || value == 0.0 {
            continue;
        }
        if value.fract() != 0.0 || value > (1u64 << 53) as f64 {
            return Err(PairInputError::NotALabel { frame: frame.to_string(), value });
        }
        last = value;
        labels.insert(value as i64);
    }
    Ok(Some(labels))
}
