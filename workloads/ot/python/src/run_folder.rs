//! Solving pairs into a run folder, as the command does.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use swathe::{Source, Stop};
use swathe_command::setting_value::Real;
use swathe_ot::{Pair, Precision};
use swathe_ot_program::KIND;
use swathe_ot_program::pair_files::{FieldsFormat, PairFiles};
use swathe_ot_program::pair_input::NamedPair;
use swathe_ot_program::pair_table::PairRows;
use swathe_ot_program::pair_workload::{PairFailure, PairRun};
use swathe_python::{FolderRun, Progress, engine_settings, interruptible};
use swathe_run::store::run_folder::InputFile;

use crate::frame_view::PairView;
use crate::notes::Notes;

/// Solves pairs into the run folder `out`: the table, the page and, with `keeps_fields`, maps.
/// Without `ids` a pair is named by its number. Returns warnings.
#[pyfunction]
#[pyo3(signature = (pairs, engine, keeps_fields, progress, notes, *, out, resume, ids, um_per_px))]
#[expect(clippy::too_many_arguments, reason = "arguments of a Python function")]
pub(crate) fn solve_into(
    py: Python<'_>,
    pairs: &Bound<'_, PyAny>,
    engine: &Bound<'_, PyDict>,
    keeps_fields: bool,
    progress: Option<Py<PyAny>>,
    notes: Py<Notes>,
    out: PathBuf,
    resume: bool,
    ids: Option<Vec<String>>,
    um_per_px: Option<f64>,
) -> PyResult<Vec<String>> {
    let engine = engine_settings(engine, true)?;
    let mut views: Vec<PairView> = Vec::new();
    for (number, pair) in pairs.try_iter()?.enumerate() {
        views.push(PairView::new(&pair?, number)?);
    }
    let pairs = Arc::new(named_pairs(views.len(), ids)?);
    let notes = notes.get();
    let settings = (*notes.settings.solver).clone();
    let mut declared = notes.settings.declared.clone();
    notes.begin(views.iter().map(|view| view.source.shape()), true)?;
    let input = interruptible(py, |stop| fingerprint(&views, stop))?;
    if keeps_fields {
        declared.fields = FieldsFormat::Npz;
    }
    declared.um_per_px = um_per_px.map(Real);
    let is_double = settings.precision == Precision::F64;
    let files = PairFiles::new(&out, declared.fields, false, is_double);
    let run =
        Arc::new(PairRun::new(settings.clone(), files.clone(), Arc::clone(&pairs), um_per_px));
    let folder = FolderRun {
        kind: &KIND,
        call: format!("swathe.ot.solve_batch(…, out={:?})", out.display().to_string()),
        out,
        resume,
        settings: declared.provenance(&settings),
        input,
        shard: None,
        gives_up: None,
    };
    let source = source(views, &run, um_per_px, &engine);
    let progress = Progress::new(progress, pairs.len());
    let warnings = notes.of_run();
    let rows = PairRows::new(pairs, Vec::new(), settings, files, None).warning_by(warnings);
    let mut warnings = folder.execute(py, &run, &source, engine, rows, progress)?;
    warnings.extend(notes.texts());
    Ok(warnings)
}

fn named_pairs(n: usize, ids: Option<Vec<String>>) -> PyResult<Vec<NamedPair>> {
    let ids = ids.unwrap_or_else(|| (0..n).map(|number| number.to_string()).collect());
    if ids.len() != n {
        return Err(PyValueError::new_err(format!("there are {} ids for {n} pairs", ids.len())));
    }
    let mut seen = HashSet::new();
    if let Some(twice) = ids.iter().find(|id| !seen.insert(id.as_str())) {
        return Err(PyValueError::new_err(format!("the id {twice:?} names two pairs")));
    }
    let named = ids.into_iter().enumerate().map(|(number, id)| NamedPair {
        id,
        source: 2 * number,
        target: 2 * number + 1,
        source_um_per_px: None,
        target_um_per_px: None,
    });
    Ok(named.collect())
}

/// The hash of all frames: a resumed run must have the same.
fn fingerprint(views: &[PairView], stop: &Stop) -> InputFile {
    let mut hasher = blake3::Hasher::new();
    for view in views {
        view.source.hash_into(&mut hasher, &|| stop.requested());
        view.target.hash_into(&mut hasher, &|| stop.requested());
    }
    InputFile {
        name: "(arrays)".to_owned(),
        n_bytes: hasher.count(),
        blake3: hasher.finalize().to_hex().to_string(),
    }
}

fn source(
    views: Vec<PairView>,
    run: &Arc<PairRun>,
    um_per_px: Option<f64>,
    engine: &swathe::Settings,
) -> Source<Pair, PairFailure> {
    let (memory_bytes, stop) = (engine.memory.cap_bytes(), engine.stop.clone());
    let views = Arc::new(views);
    let (sizes, loads) = (Arc::clone(&views), Arc::clone(&views));
    let (size_run, load_run) = (Arc::clone(run), Arc::clone(run));
    Source::new(
        views.len(),
        move |number| {
            let settings = size_run.settings();
            Ok(sizes[number].size_while(settings, memory_bytes, &stop)?)
        },
        move |number, stop| {
            let (view, settings) = (&loads[number], load_run.settings());
            let mut pair =
                view.cut(view.place(&settings.crop, settings.pool, &|| stop.is_cancelled())?)?;
            for frame in [&mut pair.source, &mut pair.target] {
                Arc::make_mut(frame).um_per_px = um_per_px;
            }
            Ok(pair)
        },
    )
}
