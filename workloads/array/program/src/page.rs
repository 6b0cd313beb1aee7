//! What a run over arrays puts on its page: how fast its items were, by size and shape, beside what
//! one thread of the machine can do at best.
//!
//! Work is counted, not measured. A product of m × k by k × n is 2 m k n operations. Everything
//! else moves memory: the item is read and the result written, and where every item has a second
//! operand that is read too. (A key that is made of a seed, and one that is short and repeats, are
//! not counted.)

mod items;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use crate::array_limits::Limits;
use items::{Item, Kind, items};
use swathe_run::page::significant;
use swathe_run::store::kept_rows::{N_ROWS_MAX, kept};
use swathe_run::store::run_folder::{FolderError, RunJson};
use swathe_run::store::timing_table::Timings;

/// The data of the page.
pub(crate) fn data(run: &Path) -> Result<Value, FolderError> {
    // A run that was interrupted has no tables yet.
    for name in ["items.parquet", "timing.parquet"] {
        if !run.join(name).exists() {
            return Ok(json!({ "absent": name }));
        }
    }
    let settings = RunJson::read(run)?.identity.settings;
    let op = settings.get("op").and_then(Value::as_str).unwrap_or("");
    let kind = Kind::of(op, settings.contains_key("with"));
    let items = items(run, kind, &Timings::read(run)?)?;
    let work: f64 = items.iter().map(|item| item.work).sum();
    let ms: f64 = items.iter().filter_map(|item| item.ms).sum();
    Ok(json!({
        "op": op,
        "is_product": kind == Kind::Product,
        "n_operands": kind.n_operands(),
        "limits": Limits::read(run)?,
        "n": items.len(),
        "n_nan": items.iter().map(|item| item.n_nan).sum::<u64>(),
        "work": significant(work),
        "ms": significant(ms),
        "rate": rate(work, ms).map(significant),
        "sizes": sizes(&items),
        "buckets": buckets(&items),
        "items": columns(&items),
    }))
}

/// Billions a second: of operations, or of bytes.
fn rate(work: f64, ms: f64) -> Option<f64> {
    (ms > 0.0).then(|| work / ms / 1e6)
}

/// Items of about the same work together, by element type.
fn sizes(items: &[Item]) -> Value {
    let mut groups: BTreeMap<(&str, i32), Vec<&Item>> = BTreeMap::new();
    for item in items.iter().filter(|item| item.work > 0.0) {
        // Steps of ten: two or three of them are seen in most runs, and a dozen at most.
        let power = item.work.log10().floor() as i32;
        groups.entry((&item.dtype, power)).or_default().push(item);
    }
    let groups = groups.into_iter().map(|((dtype, power), items)| {
        let mut group = group_json(&items);
        group["dtype"] = json!(dtype);
        group["power"] = json!(power);
        group
    });
    groups.collect()
}

/// Items of about the same shape together: every extent is rounded up to a power of two.
fn buckets(items: &[Item]) -> Value {
    const N_BUCKETS_MAX: usize = 1_000;
    let mut groups: BTreeMap<(&str, &str, Vec<u64>), Vec<&Item>> = BTreeMap::new();
    for item in items {
        let rounded = item.extents.iter().map(|n| n.next_power_of_two()).collect();
        let key = (item.dtype.as_str(), item.device.as_str(), rounded);
        groups.entry(key).or_default().push(item);
    }
    let n_buckets = groups.len();
    let mut groups: Vec<_> = groups.into_iter().collect();
    let ms = |items: &[&Item]| -> f64 { items.iter().filter_map(|item| item.ms).sum() };
    groups.sort_by(|(_, a), (_, b)| ms(b).total_cmp(&ms(a)));
    let groups = groups.into_iter().take(N_BUCKETS_MAX);
    let rows: Vec<Value> = groups
        .map(|((dtype, device, extents), items)| {
            let mut group = group_json(&items);
            group["shape"] = json!(shape_text(&extents));
            group["dtype"] = json!(dtype);
            group["device"] = json!(device);
            group
        })
        .collect();
    json!({ "n": n_buckets, "rows": rows })
}

fn group_json(items: &[&Item]) -> Value {
    let work: f64 = items.iter().map(|item| item.work).sum();
    let ms: f64 = items.iter().filter_map(|item| item.ms).sum();
    let mut rates: Vec<f64> = items.iter().filter_map(|item| item.rate()).collect();
    rates.sort_by(f64::total_cmp);
    json!({
        "n": items.len(),
        "work": significant(work),
        "ms": significant(ms),
        "rate": rate(work, ms).map(significant),
        "rate_median": rates.get(rates.len() / 2).copied().map(significant),
        "rate_max": rates.last().copied().map(significant),
    })
}

/// A row for each item, as columns; of many the slowest and others between them.
fn columns(items: &[Item]) -> Value {
    let mut slowest: Vec<usize> = (0..items.len()).collect();
    slowest.sort_by(|&a, &b| {
        let ms = |at: usize| items[at].ms.unwrap_or(0.0);
        ms(b).total_cmp(&ms(a))
    });
    // Items that made NaN are what somebody looks for first.
    let with_nan = (0..items.len()).filter(|&at| items[at].n_nan > 0);
    let telling: Vec<usize> = with_nan.chain(slowest).collect();
    let rows = kept(items.len(), N_ROWS_MAX, telling);
    let column = |value: &dyn Fn(&Item) -> Value| -> Vec<Value> {
        rows.iter().map(|&at| value(&items[at])).collect()
    };
    json!({
        "row": column(&|item| json!(item.row)),
        "name": column(&|item| json!(item.name)),
        "shape": column(&|item| json!(shape_text(&item.extents))),
        "dtype": column(&|item| json!(item.dtype)),
        "device": column(&|item| json!(item.device)),
        "work": column(&|item| json!(significant(item.work))),
        "ms": column(&|item| json!(item.ms.map(significant))),
        "rate": column(&|item| json!(item.rate().map(significant))),
        "n_nan": column(&|item| json!(item.n_nan)),
    })
}

fn shape_text(extents: &[u64]) -> String {
    match extents {
        [] => "scalar".to_owned(),
        extents => {
            let extents: Vec<String> = extents.iter().map(u64::to_string).collect();
            extents.join("×")
        }
    }
}

impl Item {
    /// Billions a second.
    fn rate(&self) -> Option<f64> {
        self.ms.and_then(|ms| rate(self.work, ms))
    }
}
