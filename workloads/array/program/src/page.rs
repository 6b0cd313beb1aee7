//! The page section of an array run: how fast its items were, by size and shape, compared with the
//! best that one thread of the machine can do.
//!
//! Work is counted, not measured. A product of m × k by k × n is 2 m k n operations. All other
//! operations are bound by memory: their work is the bytes of the item, of the result and of the
//! second operand, if every item has one. (Keys from a seed and short repeated keys are not
//! counted.)

mod items;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use crate::array_limits::Limits;
use items::{Item, Kind, for_each_item};
use swathe_run::page::significant;
use swathe_run::store::kept_rows::{N_ROWS_MAX, greatest, kept};
use swathe_run::store::run_folder::{FolderError, RunJson};
use swathe_run::store::timing_table::Timings;

/// The data of the page.
pub(crate) fn data(run: &Path) -> Result<Value, FolderError> {
    // An interrupted run has no tables yet.
    for name in ["items.parquet", "timing.parquet"] {
        if !run.join(name).exists() {
            return Ok(json!({ "absent": name }));
        }
    }
    let settings = RunJson::read(run)?.identity.settings;
    let op = settings.get("op").and_then(Value::as_str).unwrap_or("");
    let kind = Kind::of(op, settings.contains_key("with"));
    let timings = Timings::read(run)?;
    let mut all = Group::default();
    let mut all_ms: Vec<f64> = Vec::new();
    let mut with_nan: Vec<usize> = Vec::new();
    let mut n_nan = 0;
    let mut by_size: BTreeMap<(&str, i32), Group> = BTreeMap::new();
    let mut by_shape: BTreeMap<Bucket, Group> = BTreeMap::new();
    for_each_item(run, kind, &timings, |item| {
        // Items that made NaN are what a reader looks for first.
        if item.n_nan > 0 && with_nan.len() < N_ROWS_MAX {
            with_nan.push(all_ms.len());
        }
        n_nan += item.n_nan;
        all_ms.push(item.ms.unwrap_or(0.0));
        all.add_work(item);
        if item.work > 0.0 {
            // Steps of ten: two or three of them are seen in most runs, and a dozen at most.
            let power = item.work.log10().floor() as i32;
            by_size.entry((item.dtype, power)).or_default().add(item);
        }
        by_shape.entry(Bucket::of(item)).or_default().add(item);
    })?;
    let telling = with_nan.into_iter().chain(greatest(&all_ms, N_ROWS_MAX));
    let rows = kept(all_ms.len(), N_ROWS_MAX, telling);
    let sizes = by_size.into_iter().map(|((dtype, power), group)| {
        let mut group = group.json();
        group["dtype"] = json!(dtype);
        group["power"] = json!(power);
        group
    });
    Ok(json!({
        "op": op,
        "is_product": kind == Kind::Product,
        "n_operands": kind.n_operands(),
        "limits": Limits::read(run)?,
        "n": all_ms.len(),
        "n_nan": n_nan,
        "work": significant(all.work),
        "ms": significant(all.ms),
        "rate": rate(all.work, all.ms).map(significant),
        "sizes": sizes.collect::<Value>(),
        "buckets": buckets(by_shape),
        "items": columns(run, kind, &timings, &rows)?,
    }))
}

/// The rate in billions of operations or bytes per second.
fn rate(work: f64, ms: f64) -> Option<f64> {
    (ms > 0.0).then(|| work / ms / 1e6)
}

/// The group of items of similar shape: every extent is rounded up to a power of two.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Bucket {
    dtype: &'static str,
    device: String,
    extents: Vec<u64>,
}

impl Bucket {
    fn of(item: &Item<'_>) -> Bucket {
        Bucket {
            dtype: item.dtype,
            device: item.device.to_owned(),
            extents: item.extents.iter().map(|n| n.next_power_of_two()).collect(),
        }
    }
}

/// Figures of several items.
#[derive(Default)]
struct Group {
    n: u64,
    work: f64,
    ms: f64,
    rates: Vec<f32>,
}

impl Group {
    fn add(&mut self, item: &Item<'_>) {
        self.add_work(item);
        self.rates.extend(item.rate().map(|rate| rate as f32));
    }

    fn add_work(&mut self, item: &Item<'_>) {
        self.n += 1;
        self.work += item.work;
        self.ms += item.ms.unwrap_or(0.0);
    }

    fn json(mut self) -> Value {
        self.rates.sort_by(f32::total_cmp);
        let at = |place: usize| self.rates.get(place).map(|&rate| significant(rate.into()));
        json!({
            "n": self.n,
            "work": significant(self.work),
            "ms": significant(self.ms),
            "rate": rate(self.work, self.ms).map(significant),
            "rate_median": at(self.rates.len() / 2),
            "rate_max": at(self.rates.len().wrapping_sub(1)),
        })
    }
}

/// The shapes that took longest.
fn buckets(groups: BTreeMap<Bucket, Group>) -> Value {
    const N_BUCKETS_MAX: usize = 1_000;
    let n_buckets = groups.len();
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by(|(_, a), (_, b)| b.ms.total_cmp(&a.ms));
    let groups = groups.into_iter().take(N_BUCKETS_MAX);
    let rows = groups.map(|(bucket, group)| {
        let mut group = group.json();
        group["shape"] = json!(shape_text(&bucket.extents));
        group["dtype"] = json!(bucket.dtype);
        group["device"] = json!(bucket.device);
        group
    });
    json!({ "n": n_buckets, "rows": rows.collect::<Vec<Value>>() })
}

/// The items at these places, ascending, as columns.
fn columns(
    run: &Path,
    kind: Kind,
    timings: &Timings,
    rows: &[usize],
) -> Result<BTreeMap<&'static str, Vec<Value>>, FolderError> {
    let mut columns: BTreeMap<&'static str, Vec<Value>> = BTreeMap::new();
    let mut push = |name, value: Value| columns.entry(name).or_default().push(value);
    let (mut place, mut rows) = (0, rows.iter().peekable());
    for_each_item(run, kind, timings, |item| {
        if rows.next_if(|&&row| row == place).is_some() {
            push("row", json!(item.row));
            push("name", json!(item.name));
            push("shape", json!(shape_text(item.extents)));
            push("dtype", json!(item.dtype));
            push("device", json!(item.device));
            push("work", json!(significant(item.work)));
            push("ms", json!(item.ms.map(significant)));
            push("rate", json!(item.rate().map(significant)));
            push("n_nan", json!(item.n_nan));
        }
        place += 1;
    })?;
    Ok(columns)
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

impl Item<'_> {
    /// Billions a second.
    fn rate(&self) -> Option<f64> {
        self.ms.and_then(|ms| rate(self.work, ms))
    }
}
