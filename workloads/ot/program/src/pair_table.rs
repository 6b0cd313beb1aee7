//! The table of transport results: `pairs.parquet`.

mod number_group;
mod pair_row;

use std::sync::Arc;

use arrow::array::{ArrayRef, StringBuilder, UInt64Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use swathe_ot::{Reference, Settings};

use crate::frame_cache::FrameCache;
use crate::pair_files::PairFiles;
use crate::pair_input::{CarriedColumn, NamedPair, input_columns};
use crate::pair_survey::{KnownOutlines, PairSurvey};
use crate::pair_workload::PairAnswer;
use crate::run_warnings::{RunWarnings, SolvedPair};
use crate::spelling::Spelling;
use pair_row::PairBuilders;
pub use pair_row::{PairRow, is_result_column};
use swathe_run::store::record::{Cells as _, Column, Record as _, TableReference};
use swathe_run::store::row_numbers::RowNumbers;
use swathe_run::store::rows::Rows;
use swathe_run::store::run_folder::{FolderError, RowFile, write_file};

/// Transport results as rows: the pair's name, carried columns, figures, and the files of its maps.
pub struct PairRows {
    pairs: Arc<Vec<NamedPair>>,
    carried: Vec<CarriedColumn>,
    settings: Settings,
    files: PairFiles,
    memory: Option<OutlineStore>,
    columns: PairBuilders,
    ids: StringBuilder,
    /// The pairs of the rows that are not committed yet.
    indices: Vec<u64>,
    /// The files of the rows that are not committed yet.
    row_files: Vec<RowFile>,
    n_bytes: usize,
    warnings: RunWarnings,
}

/// What the file of known outlines is written from.
pub struct OutlineStore {
    /// The frames.
    pub cache: Arc<FrameCache>,
    /// Their survey.
    pub survey: Arc<PairSurvey>,
    /// The label whose pixels form the masks.
    pub label: Option<f64>,
    /// The folder of this run or shard.
    pub folder: std::path::PathBuf,
}

impl PairRows {
    /// Rows for these pairs, solved by these settings.
    pub fn new(
        pairs: Arc<Vec<NamedPair>>,
        carried: Vec<CarriedColumn>,
        settings: Settings,
        files: PairFiles,
        memory: Option<OutlineStore>,
    ) -> PairRows {
        PairRows {
            pairs,
            carried,
            warnings: RunWarnings::new(settings.clone(), false, Spelling::Command),
            settings,
            files,
            memory,
            columns: PairRow::builder(),
            ids: StringBuilder::new(),
            indices: Vec::new(),
            row_files: Vec::new(),
            n_bytes: 0,
        }
    }

    /// Collects warnings here instead of as for a command with an ε that the user chose.
    #[must_use]
    pub fn warning_by(mut self, warnings: RunWarnings) -> PairRows {
        self.warnings = warnings;
        self
    }
}

fn id_column() -> Column {
    Column::new("pair_id", "the pair's name in the input").of(DataType::Utf8, false)
}

/// The table in the reference.
pub(crate) fn reference() -> TableReference {
    let about = "a row for each pair with an answer. Further columns of the input stand after `tgt`, \
                 `label` is there with `--label all`, `steps` for series whose frames say it";
    let columns = std::iter::once(id_column()).chain(input_columns());
    TableReference::of_results(TABLE, about, columns.chain(PairRow::declared().iter().cloned()))
}

/// The table's name.
const TABLE: &str = "pairs";

impl Rows for PairRows {
    type Solution = PairAnswer;

    fn table(&self) -> &'static str {
        TABLE
    }

    fn schema(&self) -> SchemaRef {
        let carried = self.carried.iter().map(|column| column.field.clone());
        let results = PairRow::declared().iter().map(Column::field);
        let id = std::iter::once(id_column().field());
        Arc::new(Schema::new(id.chain(carried).chain(results).collect::<Vec<Field>>()))
    }

    fn id(&self, index: usize) -> String {
        self.pairs[index].id.clone()
    }

    fn begin(&mut self, problems: &RowNumbers) -> Result<(), FolderError> {
        let mut ids = problems.iter().map(|index| self.pairs[index as usize].id.as_str());
        self.files.prepare(&mut ids)?;
        self.files.views().prepare(problems)?;
        if let Some(memory) = self.memory.take() {
            let (path, contents) =
                KnownOutlines::file(&memory.folder, memory.label, &memory.cache, &memory.survey);
            write_file(&path, &contents)?;
            self.memory = Some(memory);
        }
        Ok(())
    }

    fn write_error(&self) -> Option<FolderError> {
        let error = self.files.trouble().take()?;
        let FolderError::Write { path, source } = &*error else {
            return None;
        };
        // The failed pair shares the error, and `io::Error` cannot be cloned: a new one is made
        // from the system's error number.
        let source = match source.raw_os_error() {
            Some(number) => std::io::Error::from_raw_os_error(number),
            None => std::io::Error::new(source.kind(), source.to_string()),
        };
        Some(FolderError::Write { path: path.clone(), source })
    }

    fn append(&mut self, index: usize, answer: &PairAnswer) -> usize {
        let id = &self.pairs[index].id;
        self.ids.append_value(id);
        self.indices.push(index as u64);
        PairRow::of(answer, &self.settings, answer.um_per_px).append(&mut self.columns);
        self.warnings.add(&SolvedPair {
            row: index,
            name: format_args!("{id}"),
            doubt: answer.doubt,
            solution: &answer.solution,
            summary: answer.summary.as_ref(),
            blurring: answer.blurring.as_ref(),
            live_share: answer.live_share,
        });
        for file in [&answer.fields, &answer.coupling].into_iter().flatten() {
            // The path counts twice: in the table, and with its checksum in the manifest.
            self.n_bytes += 2 * file.path.len() + size_of::<RowFile>() + file.seal.blake3.len();
            self.row_files.push(file.clone());
        }
        self.n_bytes += id.len() + 16 * PairRow::declared().len();
        1
    }

    fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    fn figures(&self) -> Vec<(&'static str, u64)> {
        let n_reads = self.memory.as_ref().map(|memory| memory.cache.n_reads());
        let mut figures = vec![
            ("pairs that stopped at --max-iterations", self.warnings.n_unconverged()),
            (
                "pairs without mass in a frame: their rows have the status empty_source, empty_target or both_empty",
                self.warnings.n_without_mass(),
            ),
        ];
        figures.extend(n_reads.map(|n_reads| ("frames read", n_reads)));
        figures
    }

    fn warnings(&self) -> Vec<String> {
        let mut warnings = self.warnings.texts();
        if let Some(trouble) = self.files.views().trouble() {
            warnings.push(format!(
                "{} small pictures for the report page could not be written ({}): the page shows these pairs without; results are not concerned",
                trouble.n_lost, trouble.first
            ));
        }
        warnings
    }

    fn take_files(&mut self) -> Vec<RowFile> {
        std::mem::take(&mut self.row_files)
    }

    fn take(&mut self) -> Vec<ArrayRef> {
        self.n_bytes = 0;
        let indices = UInt64Array::from(std::mem::take(&mut self.indices));
        let id: ArrayRef = Arc::new(self.ids.finish());
        let carried = self.carried.iter().map(|column| {
            arrow::compute::take(&column.values, &indices, None)
                .expect("a carried column has a value for each pair")
        });
        let mut columns: Vec<ArrayRef> = std::iter::once(id).chain(carried).collect();
        PairRow::take(&mut self.columns, &mut columns);
        columns
    }
}

/// The name of a reference measure.
pub const fn reference_name(reference: Reference) -> &'static str {
    match reference {
        Reference::Product => "product",
        Reference::Counting => "counting",
    }
}
