//! Selections: the part of an input that `--limit` and `--only` select.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};

use crate::cli_error::CliError;
use crate::run_flags::RunFlags;

/// Which problems of an input to run: those with the ids of `--only`, and of these the first
/// `--limit`.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    limit: Option<usize>,
    only: Vec<String>,
    /// Whether the program has applied the selection. If it never does, these flags are an error.
    is_applied: Cell<bool>,
}

impl Selection {
    /// The selection from the flags.
    pub(crate) fn of(flags: &RunFlags) -> Selection {
        let (limit, only) = (flags.limit, flags.only.clone());
        Selection { limit, only, is_applied: Cell::new(false) }
    }

    /// The numbers of the selected problems in input order; `None` selects all. `what` names the
    /// things that have these ids: `pair`, `task` …
    ///
    /// # Errors
    /// If an id of `--only` is not in the input.
    pub fn choose<'a>(
        &self,
        what: &str,
        ids: impl ExactSizeIterator<Item = &'a str>,
    ) -> Result<Option<Vec<usize>>, CliError> {
        self.is_applied.set(true);
        if !self.is_some() {
            return Ok(None);
        }
        let limit = self.limit.unwrap_or(usize::MAX);
        if self.only.is_empty() {
            return Ok(Some((0..ids.len().min(limit)).collect()));
        }
        let mut wanted: HashMap<&str, bool> =
            self.only.iter().map(|id| (id.as_str(), false)).collect();
        let mut chosen = Vec::new();
        let mut first = None;
        for (number, id) in ids.enumerate() {
            first.get_or_insert(id);
            if let Some(is_found) = wanted.get_mut(id) {
                *is_found = true;
                chosen.push(number);
            }
        }
        if let Some(missing) = self.only.iter().find(|id| !wanted[id.as_str()]) {
            let fault = CliError::usage(format!("the input has no {what} {missing:?}"));
            return Err(match first {
                Some(first) => fault.hint(format!("ids look like {first:?}")),
                None => fault.hint("it has none at all"),
            });
        }
        chosen.truncate(limit);
        Ok(Some(chosen))
    }

    /// Whether only a part of the input is selected.
    pub(crate) fn is_some(&self) -> bool {
        self.limit.is_some() || !self.only.is_empty()
    }

    /// Records the selection in the settings of a run.
    ///
    /// # Errors
    /// If the program did not apply the selection.
    pub(crate) fn record(&self, settings: &mut BTreeMap<String, Value>) -> Result<(), CliError> {
        if self.is_some() && !self.is_applied.get() {
            return Err(CliError::usage("this command has no --limit and --only"));
        }
        if let Some(limit) = self.limit {
            settings.insert("limit".to_owned(), json!(limit));
        }
        if !self.only.is_empty() {
            settings.insert("only".to_owned(), json!(self.only));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_a_limit_are_looked_up_in_the_input() {
        let of = |limit: Option<usize>, only: &[&str]| {
            let only = only.iter().map(|&id| id.to_owned()).collect();
            Selection { limit, only, is_applied: Cell::new(false) }
        };
        let ids = ["a", "b", "c"];
        let choose = |selection: Selection| selection.choose("pair", ids.iter().copied()).unwrap();
        assert_eq!(choose(of(None, &[])), None);
        assert_eq!(choose(of(Some(2), &[])), Some(vec![0, 1]));
        assert_eq!(choose(of(Some(9), &[])), Some(vec![0, 1, 2]));
        assert_eq!(choose(of(None, &["c", "a"])), Some(vec![0, 2]));
        assert_eq!(choose(of(Some(1), &["c", "a"])), Some(vec![0]));
        let missing = of(None, &["d"]);
        let error = missing.choose("pair", ids.iter().copied()).unwrap_err();
        assert!(format!("{error:?}").contains("no pair \\\"d\\\""), "{error:?}");
        let unseen = of(Some(1), &[]);
        assert!(unseen.record(&mut BTreeMap::new()).is_err());
    }
}
