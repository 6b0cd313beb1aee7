//! The table of transport results: `pairs.parquet`.

mod columns;

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, Float64Builder, StringBuilder, UInt32Builder, UInt64Array, UInt64Builder,
};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use swathe_ot::{Reference, Settings};

use crate::frame_cache::FrameCache;
use crate::pair_files::PairFiles;
use crate::pair_input::{CarriedColumn, NamedPair};
use crate::pair_survey::{KnownOutlines, PairSurvey};
use crate::pair_workload::PairAnswer;
use crate::run_warnings::{RunWarnings, SolvedPair};
use crate::spelling::Spelling;
pub use columns::is_result_column;
use columns::{Column, Value, columns};
use swathe_formats::described_field::{described, mark_values, measured};
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
    columns: Vec<Column>,
    builders: Vec<Builder>,
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

enum Builder {
    Text(StringBuilder),
    Count(UInt64Builder),
    Pixels(UInt32Builder),
    Number(Float64Builder),
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
        let columns = columns();
        let builders = columns.iter().map(|column| column.value.builder()).collect();
        PairRows {
            pairs,
            carried,
            warnings: RunWarnings::new(settings.clone(), false, Spelling::Command),
            settings,
            files,
            memory,
            columns,
            builders,
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

impl Value {
    fn builder(&self) -> Builder {
        match self {
            Value::Text(_) => Builder::Text(StringBuilder::new()),
            Value::Count(_) => Builder::Count(UInt64Builder::new()),
            Value::Pixels(_) => Builder::Pixels(UInt32Builder::new()),
            Value::Number(_) => Builder::Number(Float64Builder::new()),
        }
    }

    fn data_type(&self) -> DataType {
        match self {
            Value::Text(_) => DataType::Utf8,
            Value::Count(_) => DataType::UInt64,
            Value::Pixels(_) => DataType::UInt32,
            Value::Number(_) => DataType::Float64,
        }
    }
}

/// The columns that `values_hash` covers. New columns go to the end of the list, and a renamed
/// column keeps its place.
const VALUES: &[&str] = &[
    "status",
    "iterations",
    "residual",
    "cost",
    "cost_px2",
    "objective",
    "mass_src",
    "mass_tgt",
    "mass_transported",
    "mass_created",
    "mass_destroyed",
    "mass_created_clamped",
    "mass_destroyed_clamped",
    "displacement_mean_px",
    "displacement_std_px",
    "displacement_p50_px",
    "displacement_p90_px",
    "displacement_p95_px",
    "displacement_max_px",
];

impl Rows for PairRows {
    type Solution = PairAnswer;

    fn table(&self) -> &'static str {
        "pairs"
    }

    fn schema(&self) -> SchemaRef {
        let id = described("pair_id", DataType::Utf8, "the pair's name in the input");
        let carried = self.carried.iter().map(|column| column.field.clone());
        let results = self.columns.iter().map(|column| {
            let data_type = column.value.data_type();
            measured(&column.name, data_type, &column.description, column.unit)
                .with_nullable(column.is_nullable)
        });
        let fields: Vec<Field> = std::iter::once(id).chain(carried).chain(results).collect();
        Arc::new(Schema::new(mark_values(fields, VALUES)))
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
        for (column, builder) in self.columns.iter().zip(&mut self.builders) {
            match (&column.value, builder) {
                (Value::Text(value), Builder::Text(out)) => {
                    out.append_option(value(answer, &self.settings));
                }
                (Value::Count(value), Builder::Count(out)) => out.append_value(value(answer)),
                (Value::Pixels(value), Builder::Pixels(out)) => out.append_value(value(answer)),
                (Value::Number(value), Builder::Number(out)) => {
                    out.append_option(value(answer, &self.settings).filter(|v| !v.is_nan()));
                }
                _ => unreachable!("a column's builder is made by its value"),
            }
        }
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
        self.n_bytes += id.len() + 16 * self.columns.len();
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
        let carried: Vec<ArrayRef> = carried.collect();
        let results = self.builders.iter_mut().map(|builder| -> ArrayRef {
            match builder {
                Builder::Text(out) => Arc::new(out.finish()),
                Builder::Count(out) => Arc::new(out.finish()),
                Builder::Pixels(out) => Arc::new(out.finish()),
                Builder::Number(out) => Arc::new(out.finish()),
            }
        });
        let results: Vec<ArrayRef> = results.collect();
        debug_assert!(results.iter().all(|column| column.len() == indices.len()));
        std::iter::once(id).chain(carried).chain(results).collect()
    }
}

/// The name of a reference measure.
pub const fn reference_name(reference: Reference) -> &'static str {
    match reference {
        Reference::Product => "product",
        Reference::Counting => "counting",
    }
}
