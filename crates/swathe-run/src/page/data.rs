//! The data of a report page, read from the files of a run folder.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::{failures, headline, launches};
use crate::kind::{Apart, RunKind};
use crate::store::report_file::ReportFile;
use crate::store::run_folder::{FolderError, RunJson};

/// Everything that a report page shows.
pub struct PageData {
    /// The title of the browser window.
    pub title: String,
    /// How many problems were solved, in a few words.
    pub headline: String,
    /// Time, rate and setbacks, in a sentence.
    pub lead: String,
    apart: Option<Apart>,
    run: RunJson,
    file: ReportFile,
    failures: Value,
    workload_page: Value,
}

impl PageData {
    /// Reads the files of a run folder, which must have a `report.json`.
    ///
    /// # Errors
    /// If a file is missing or damaged.
    pub fn read(run: &Path, kind: Option<&RunKind>) -> Result<PageData, FolderError> {
        let section = match kind {
            Some(kind) => (kind.page)(run)?,
            None => Value::Null,
        };
        PageData::read_with(run, kind, section)
    }

    /// The same, given the data of the kind's own section.
    pub(crate) fn read_with(
        run: &Path,
        kind: Option<&RunKind>,
        workload_page: Value,
    ) -> Result<PageData, FolderError> {
        let file = ReportFile::read(run)?;
        let (of_kind, apart) = match kind {
            Some(kind) if !file.report.cancelled => ((kind.headline)(run)?, (kind.apart)(run)?),
            _ => (None, None),
        };
        let headline = of_kind.unwrap_or_else(|| headline::headline(&file, apart));
        Ok(PageData {
            title: format!("{headline} – swathe {}", file.report.workload),
            lead: headline::lead(&file, kind.map_or(&file.report.workload, |kind| kind.title)),
            headline,
            apart,
            run: RunJson::read(run)?,
            failures: failures::columns(run)?,
            workload_page,
            file,
        })
    }

    /// The workload's name.
    pub fn workload(&self) -> &str {
        &self.file.report.workload
    }

    /// The JSON that the scripts read.
    pub(super) fn json(&self) -> Value {
        let mut report = json!(self.file.report);
        if let Some(report) = report.as_object_mut() {
            // Launches are embedded separately as columns. The page does not show the costs, only
            // the figures of buckets and routes.
            report.remove("launches");
            report.remove("costs");
            report.insert("solved_per_s".to_owned(), json!(self.file.report.solved_per_s()));
        }
        let mut run = json!(self.run);
        let n_inputs = self.run.identity.inputs.len();
        if let Some(inputs) = run.get_mut("inputs").and_then(Value::as_array_mut) {
            inputs.truncate(N_INPUTS_MAX);
        }
        let buckets = &self.file.report.buckets;
        let class_names: BTreeMap<u32, &String> =
            buckets.iter().map(|bucket| (bucket.class, &bucket.class_name)).collect();
        json!({
            "kind": "report",
            "run": run,
            "n_inputs": n_inputs,
            "report": report,
            "launches": launches::columns(&self.file.report.launches),
            "class_names": class_names,
            "counts": self.file.whole_counts(),
            "apart": self.apart.map(|apart| json!({"n": apart.n, "what": apart.what})),
            "n_before": self.file.n_before,
            "figures": self.file.figures,
            "warnings": self.file.warnings,
            "command": self.file.command,
            "result_hash": self.file.result_hash,
            "places": self.file.places,
            "failures": self.failures,
            "workload_page": self.workload_page,
        })
    }
}

/// More input names than a user reads on a page; `run.json` has all of them.
const N_INPUTS_MAX: usize = 1_000;
