//! Why problems failed: the reasons of a run, the most frequent first.

use std::collections::HashMap;
use std::path::Path;

use crate::store::run_folder::FolderError;
use crate::store::table_reader::{TableReader, string_column};

/// Problems that failed for the same reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureGroup {
    /// How many.
    pub n: u64,
    /// The kind of outcome: `failed`, `timed_out` …
    pub kind: String,
    /// The id of the first problem of the group.
    pub id: String,
    /// The failure message of that problem.
    pub message: String,
}

/// Reasons beyond this number are dropped: if all messages differ, groups are of no use.
const N_GROUPS_MAX: usize = 1000;

/// The reasons in `failures.parquet` of a run. Messages that differ only in the problem's id or in
/// numbers count as one reason.
///
/// # Errors
/// If there is no such table, or it cannot be read.
pub fn failure_groups(run: &Path) -> Result<Vec<FailureGroup>, FolderError> {
    let mut groups: Vec<FailureGroup> = Vec::new();
    let mut by_reason: HashMap<String, usize> = HashMap::new();
    let table = TableReader::of_run(run, "failures")?.columns(&["id", "kind", "message"]);
    table.for_each(|batch| {
        let [id, kind, message] = [
            string_column(batch, "id")?,
            string_column(batch, "kind")?,
            string_column(batch, "message")?,
        ];
        for at in 0..batch.num_rows() {
            let reason = reason(kind.value(at), id.value(at), message.value(at));
            let number = by_reason.get(&reason).copied().unwrap_or(groups.len());
            // What no group is left for counts with the last one, so that no failure is left out.
            let number = number.min(N_GROUPS_MAX - 1);
            if let Some(group) = groups.get_mut(number) {
                group.n += 1;
            } else {
                by_reason.insert(reason, number);
                groups.push(FailureGroup {
                    n: 1,
                    kind: kind.value(at).to_owned(),
                    id: id.value(at).to_owned(),
                    message: message.value(at).to_owned(),
                });
            }
        }
        Ok(())
    })?;
    groups.sort_by_key(|group| std::cmp::Reverse(group.n));
    Ok(groups)
}

/// The grouping key of a message: its id and all its numbers are replaced by placeholders.
fn reason(kind: &str, id: &str, message: &str) -> String {
    let without_id = match id.is_empty() {
        true => message.to_owned(),
        false => message.replace(id, "ID"),
    };
    let mut reason = format!("{kind}: ");
    let mut is_in_number = false;
    for c in without_id.chars() {
        match c.is_ascii_digit() {
            true if is_in_number => {}
            true => reason.push('0'),
            false => reason.push(c),
        }
        is_in_number = c.is_ascii_digit();
    }
    reason
}

/// The most frequent reasons, a line each.
pub fn lines(groups: &[FailureGroup]) -> Vec<String> {
    const N_LINES: usize = 5;
    const N_CHARS: usize = 160;
    let mut lines: Vec<String> = groups
        .iter()
        .take(N_LINES)
        .map(|group| {
            let mut message = group.message.replace('\n', " ");
            if message.chars().count() > N_CHARS {
                message = message.chars().take(N_CHARS).chain(['…']).collect();
            }
            format!("{} {}: {message} (first: {})", group.n, group.kind, group.id)
        })
        .collect();
    if groups.len() > N_LINES {
        let n_more = groups.len() - N_LINES;
        let reasons = if n_more == 1 { "reason" } else { "reasons" };
        lines.push(format!("and {n_more} more {reasons}"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::{FailureGroup, lines, reason};

    #[test]
    fn names_and_numbers_do_not_make_a_reason() {
        let a = reason("failed", "e1", "frames/e1.npy: cannot read 17 of 96 bytes");
        let b = reason("failed", "e204", "frames/e204.npy: cannot read 3 of 128 bytes");
        assert_eq!(a, b);
        assert_ne!(a, reason("timed out", "e1", "after 300 s"));
    }

    #[test]
    fn long_messages_and_many_reasons_are_cut() {
        let group = |n| FailureGroup {
            n,
            kind: "failed".to_owned(),
            id: "x".to_owned(),
            message: "m".repeat(1000),
        };
        let lines = lines(&[group(9), group(8), group(7), group(6), group(5), group(4)]);
        assert_eq!(lines.len(), 6);
        assert!(lines.iter().all(|line| line.chars().count() < 200));
        assert_eq!(lines[5], "and 1 more reason");
    }
}
