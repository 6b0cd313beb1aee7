//! What `--explain` prints: the plan of a run in words and units.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use swathe::{DeviceKind, PlacedOn, Plan, Routing, Settings, Shape, Workload};
use swathe_run::explain::quantity;

/// A line for each kind of problem, what it will take, and why it runs where it does. `id` gives
/// the name of a problem.
pub(crate) fn plan_text<W: Workload>(
    workload: &W,
    plan: &Plan,
    settings: &Settings,
    has_kernels: bool,
    id: impl Fn(usize) -> String,
) -> String {
    let n_problems: usize = plan.batches.iter().map(|batch| batch.problems.len()).sum();
    let mut text = format!(
        "{} in {} on {}, within {} of memory\n",
        counted(n_problems, "problem", "problems"),
        counted(plan.batches.len(), "batch", "batches"),
        counted(settings.n_threads, "thread", "threads"),
        quantity::bytes(settings.memory.cap_bytes()),
    );
    let rows = rows(workload, plan);
    if !rows.is_empty() {
        let titles = ["problems", "kind", "shapes up to", "batches", "memory a batch", "on"];
        let mut cells = vec![titles.map(str::to_owned)];
        cells.extend(rows.iter().map(Row::cells));
        write_table(&mut text, &cells);
    }
    let _ = writeln!(text, "{}", reason(settings, has_kernels));
    const N_NAMED_MAX: usize = 10;
    for &(index, wanted_bytes) in plan.too_large.iter().take(N_NAMED_MAX) {
        let _ = writeln!(
            text,
            "{} does not fit: it needs {} (give more with --memory)",
            id(index),
            quantity::bytes(wanted_bytes)
        );
    }
    if plan.too_large.len() > N_NAMED_MAX {
        let n_more = plan.too_large.len() - N_NAMED_MAX;
        let _ = writeln!(text, "and {n_more} more do not fit");
    }
    text
}

/// Batches of one kind.
struct Row {
    device: DeviceKind,
    class_name: String,
    bin: Shape,
    n_problems: usize,
    n_batches: usize,
    bytes_max: u64,
}

impl Row {
    fn cells(&self) -> [String; 6] {
        [
            self.n_problems.to_string(),
            self.class_name.clone(),
            self.bin.to_string(),
            self.n_batches.to_string(),
            quantity::bytes(self.bytes_max),
            match self.device {
                DeviceKind::Gpu => "graphics processors".to_owned(),
                other => other.to_string().to_uppercase(),
            },
        ]
    }
}

fn rows<W: Workload>(workload: &W, plan: &Plan) -> Vec<Row> {
    const N_ROWS_MAX: usize = 24;
    let of = |has_classes: bool| {
        let mut rows: BTreeMap<(DeviceKind, u32, Shape), Row> = BTreeMap::new();
        for batch in &plan.batches {
            let class = if has_classes { batch.class } else { 0 };
            let (device, bin) = (batch.device, batch.shape.bin());
            let row = rows.entry((device, class, bin)).or_insert_with(|| Row {
                device,
                class_name: match has_classes {
                    true => workload.class_name(class),
                    false => W::NAME.to_owned(),
                },
                bin,
                n_problems: 0,
                n_batches: 0,
                bytes_max: 0,
            });
            row.n_problems += batch.problems.len();
            row.n_batches += 1;
            row.bytes_max = row.bytes_max.max(batch.bytes);
        }
        rows.into_values().collect::<Vec<_>>()
    };
    // Where every problem is of a class of its own, the shapes tell more.
    let rows = of(true);
    match rows.len() > N_ROWS_MAX {
        true => of(false),
        false => rows,
    }
}

/// Why problems run where they do.
fn reason(settings: &Settings, has_kernels: bool) -> String {
    let n_devices = settings.devices.len();
    if !has_kernels {
        return "All on the CPU: there are no kernels for graphics processors.".to_owned();
    }
    if n_devices == 0 {
        return "All on the CPU: no graphics processor is used (`swathe devices` says why)."
            .to_owned();
    }
    let devices = counted(n_devices, "graphics processor", "graphics processors");
    match (&settings.placement, settings.routing) {
        (Some(placement), _) => {
            let rows = placement.rows();
            let n_rows = rows.len();
            let n_devices = rows.iter().filter(|row| row.on == PlacedOn::Devices).count();
            format!(
                "{devices}: by measured costs they solve {n_devices} of {n_rows} sizes, the CPU the others."
            )
        }
        (None, Routing::Launch) => {
            format!("{devices}: what has a kernel runs there, as --device says.")
        }
        (None, _) => {
            format!("{devices}: idle workers of the CPU and of devices take what has a kernel.")
        }
    }
}

/// Columns of equal width; text to the left, numbers to the right.
fn write_table(text: &mut String, rows: &[[String; 6]]) {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..6).map(|column| width(column).unwrap_or(0)).collect();
    for row in rows {
        let cells = row.iter().enumerate().map(|(column, cell)| {
            let width = widths[column];
            match column {
                1 => format!("{cell:<width$}"),
                5 => cell.clone(),
                _ => format!("{cell:>width$}"),
            }
        });
        let _ = writeln!(text, "{}", cells.collect::<Vec<_>>().join("  "));
    }
}

fn counted(n: usize, one: &str, many: &str) -> String {
    let name = if n == 1 { one } else { many };
    format!("{} {name}", quantity::count(n as u64))
}
