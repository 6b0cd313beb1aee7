//! Guesses which input column identifies a series and which column orders it.

use serde_json::{Value, json};

use super::pair_columns::Carried;

/// Usual names of the column that identifies a series, the likeliest first.
const SERIES: [&str; 14] = [
    "series",
    "series_id",
    "sequence",
    "movie",
    "video",
    "embryo",
    "embryo_id",
    "stack",
    "position",
    "sample",
    "experiment",
    "track",
    "track_id",
    "group",
];
/// Usual names of the column that orders a series.
const TIME: [&str; 14] = [
    "time",
    "t",
    "time_s",
    "time_min",
    "time_h",
    "timepoint",
    "time_point",
    "frame",
    "frame_idx",
    "frame_index",
    "index",
    "step",
    "z",
    "slice",
];

/// The columns that the page selects at first, by name; null where no name matches. The user can
/// select others.
pub(super) fn of(carried: &[Carried]) -> Value {
    let named = |names: &[&str], is_good: &dyn Fn(&Carried) -> bool| {
        let mut names = names.iter();
        names.find_map(|name| {
            let mut columns = carried.iter();
            columns.find(|column| column.name.eq_ignore_ascii_case(name) && is_good(column))
        })
    };
    let by = named(&SERIES, &|_| true);
    let time = named(&TIME, &|column| column.is_number);
    json!({
        "by": by.map(|column| &column.name),
        "time": time.map(|column| &column.name),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(columns: &[(&str, bool)], by: Value, time: Value) {
        let carried: Vec<Carried> = columns
            .iter()
            .map(|(name, is_number)| Carried {
                name: (*name).to_owned(),
                is_number: *is_number,
                values: Vec::new(),
            })
            .collect();
        assert_eq!(of(&carried), json!({"by": by, "time": time}), "{columns:?}");
    }

    #[test]
    fn columns_are_known_by_their_names() {
        let null = || Value::Null;
        check(&[], null(), null());
        check(&[("series", false), ("time", true)], "series".into(), "time".into());
        check(&[("T", true), ("Embryo", true)], "Embryo".into(), "T".into());
        check(&[("frame", true), ("time", true)], null(), "time".into());
        // A time in text form cannot be drawn on an axis.
        check(&[("time", false), ("frame", true)], null(), "frame".into());
        check(&[("genotype", false)], null(), null());
    }
}
