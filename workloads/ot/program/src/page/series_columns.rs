//! Which of the input's columns tell what belongs to one series, and in which order.

use serde_json::{Value, json};

use super::pair_columns::Carried;

/// Names that people give to what holds a series together, the likeliest first.
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
/// Names of what orders a series.
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

/// The columns to begin with, by name; null where none tells. Readers can choose others.
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
        check(
            &[("series", false), ("time", true)],
            "series".into(),
            "time".into(),
        );
        check(
            &[("T", true), ("Embryo", true)],
            "Embryo".into(),
            "T".into(),
        );
        check(&[("frame", true), ("time", true)], null(), "time".into());
        // A time that is a text has no place on an axis.
        check(&[("time", false), ("frame", true)], null(), "frame".into());
        check(&[("genotype", false)], null(), null());
    }
}
