//! Where the time of grid programs goes: `profile.parquet`.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use swathe_arc::StatementTime;

use swathe_command::program::Operation;
use swathe_run::record;
use swathe_run::store::record::SideTable;
use swathe_run::store::run_folder::FolderError;

/// Where the time went.
pub(super) const PROFILE: SideTable<ProfileRow> = SideTable::new(
    "profile",
    "the row's number: primitives first, then programs, the slowest of each first",
);

record! {
    /// What one primitive or one program took.
    #[derive(Clone, Debug, PartialEq)]
    pub struct ProfileRow / ProfileColumns: read {
        /// primitive or program
        kind: String;
        /// the primitive's or the program's name
        name: String;
        /// statements evaluated; one that several programs share counts for the first of them
        n_calls: u64, name("calls");
        /// time spent in them, ms
        milliseconds: f64;
        /// the fraction of the time of all statements
        share: f64;
    }
}

/// Sums what statements took by primitive and by program, the slowest first.
pub fn profile_rows(statements: &[StatementTime]) -> Vec<ProfileRow> {
    let by_primitive = statements.iter().map(|statement| {
        let name = statement.primitive.unwrap_or("(a variable, or a tuple)");
        (name, statement)
    });
    let by_program = statements.iter().map(|statement| (statement.program.as_str(), statement));
    let mut rows = summed(PRIMITIVE, by_primitive);
    rows.extend(summed("program", by_program));
    rows
}

fn summed<'a>(
    kind: &'static str,
    statements: impl Iterator<Item = (&'a str, &'a StatementTime)>,
) -> Vec<ProfileRow> {
    let mut sums: HashMap<&str, (u64, Duration)> = HashMap::new();
    let mut total = Duration::ZERO;
    for (name, statement) in statements {
        let (n_calls, time) = sums.entry(name).or_default();
        *n_calls += statement.n_runs;
        *time += statement.time;
        total += statement.time;
    }
    let total_s = total.as_secs_f64().max(f64::MIN_POSITIVE);
    let mut sums: Vec<(&str, (u64, Duration))> = sums.into_iter().collect();
    sums.sort_by_key(|&(name, (_, time))| (Reverse(time), name));
    let row = |(name, (n_calls, time)): (&str, (u64, Duration))| ProfileRow {
        kind: kind.to_owned(),
        name: name.to_owned(),
        n_calls,
        milliseconds: time.as_secs_f64() * 1e3,
        share: time.as_secs_f64() / total_s,
    };
    sums.into_iter().map(row).collect()
}

/// The primitives of a profiled run, the slowest first.
pub(crate) fn read_operations(run: &Path) -> Result<Vec<Operation>, FolderError> {
    let rows = PROFILE.read(run)?.into_iter().filter(|row| row.kind == PRIMITIVE);
    let operation =
        |row: ProfileRow| Operation { name: row.name, n_calls: row.n_calls, ms: row.milliseconds };
    Ok(rows.map(operation).collect())
}

const PRIMITIVE: &str = "primitive";

/// Writes `profile.parquet`.
///
/// # Errors
/// If the file cannot be written.
pub fn write_profile(run: &Path, rows: &[ProfileRow]) -> Result<(), FolderError> {
    PROFILE.write(run, rows)
}
