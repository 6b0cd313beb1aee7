//! Which blur suits some pairs, and checks of other programs' solutions.

use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use swathe_ot::{Checked, Crop, Failure, Link, Pair, Settings};
use swathe_ot_program::epsilon_check::EpsilonCheck;
use swathe_ot_program::spelling::Spelling;
use swathe_python::{ArrayView, engine_settings, interruptible};

use crate::frame_view::PairView;
use crate::settings::settings;

/// The ε that `epsilon="auto"` takes for these pairs, within the memory and threads of the call.
/// With `is_lenient`, an argument that is no frame does not count instead of raising.
#[pyfunction]
pub(crate) fn auto_epsilon(
    py: Python<'_>,
    pairs: &Bound<'_, PyAny>,
    ot: &Bound<'_, PyDict>,
    engine: &Bound<'_, PyDict>,
    is_sequential: bool,
    is_lenient: bool,
) -> PyResult<f64> {
    let settings = (*settings(ot)?.solver).clone();
    let mut views = Vec::new();
    for (number, pair) in pairs.try_iter()?.enumerate() {
        match PairView::new(&pair?, number) {
            Ok(view) => views.push(Some(view)),
            Err(_) if is_lenient => views.push(None),
            Err(error) => return Err(error),
        }
    }
    // The search is on the processor, and opening a device takes up to a second.
    let engine = engine.copy()?;
    if engine.contains("device")? {
        engine.del_item("device")?;
    }
    let mut engine = engine_settings(&engine, false)?;
    let (n, seed, memory_bytes) = (views.len(), engine.seed, engine.memory.cap_bytes());
    let tight = Settings { crop: Crop::Union { padding_px: 0 }, ..settings.clone() };
    let views = Arc::new(views);
    let found = interruptible(py, |stop| {
        // Starting the engine costs more than a tiny pair takes.
        if n == 1 {
            let is_stopped = || stop.requested();
            let load = |number: usize| {
                let view: &PairView = views[number].as_ref()?;
                let placed = view.size(&tight, memory_bytes, &is_stopped).ok()?;
                let geometry = placed.geometry.filter(|geometry| geometry.live.is_some())?;
                (placed.need_bytes <= memory_bytes).then_some(())?;
                view.cut(geometry).ok()
            };
            return swathe_ot_program::auto_epsilon(n, load, &settings, seed, stop);
        }
        engine.stop = stop.clone();
        if is_sequential {
            engine.n_threads = 1;
        }
        let (sizes, loads) = (Arc::clone(&views), Arc::clone(&views));
        let (size_stop, load_stop) = (stop.clone(), stop.clone());
        let (size_settings, load_crop) = (tight.clone(), tight.crop.clone());
        let pool = tight.pool;
        let chosen = swathe_ot_program::sampled_epsilon(
            n,
            move |number| {
                let view = sizes[number].as_ref().ok_or(Failure::Stopped)?;
                let is_stopped = || size_stop.requested();
                Ok(view.size(&size_settings, memory_bytes, &is_stopped)?.size)
            },
            move |number| {
                let view = loads[number].as_ref().ok_or(Failure::Stopped)?;
                view.cut(view.place(&load_crop, pool, &|| load_stop.requested())?)
            },
            &settings,
            &engine,
        );
        chosen.map(|chosen| chosen.epsilon)
    })?;
    found.ok_or_else(|| PyValueError::new_err("the search for epsilon was stopped"))
}

/// Rows and columns of source and target pixels, flattened, and the masses between them.
type Plan = (Vec<u32>, Vec<u32>, Vec<f64>);

/// Judges potentials on the frame, or a sparse plan.
#[pyfunction]
#[pyo3(signature = (pair, ot, potentials, plan))]
pub(crate) fn check<'py>(
    py: Python<'py>,
    pair: &Bound<'py, PyAny>,
    ot: &Bound<'py, PyDict>,
    potentials: Option<(Bound<'py, PyAny>, Bound<'py, PyAny>)>,
    plan: Option<Plan>,
) -> PyResult<Bound<'py, PyDict>> {
    let settings = Settings { crop: Crop::Fixed, ..(*settings(ot)?.solver).clone() };
    let view = PairView::new(pair, 0)?;
    let mut range = EpsilonCheck::default();
    range.add(&settings, view.source.shape());
    range
        .refuse(&settings, Spelling::Python)
        .map_err(|outside| PyValueError::new_err(outside.message))?;
    let width = view.source.shape().w_px as u32;
    let potentials = potentials
        .map(|(f, g)| Ok::<_, PyErr>((on_frame(&view, &f, "f")?, on_frame(&view, &g, "g")?)))
        .transpose()?;
    let checked = py.detach(|| -> Result<Checked, Failure> {
        let whole = whole_frames(&view)?;
        match (potentials, plan) {
            (Some((f, g)), _) => swathe_ot::check(&whole, &settings, &f, &g),
            (None, plan) => {
                let (rows, columns, masses) = plan.unwrap_or_default();
                let links = rows.iter().zip(&columns).zip(&masses);
                let links: Vec<Link> = links
                    .map(|((&row, &column), &mass)| Link {
                        src_y_px: row / width,
                        src_x_px: row % width,
                        tgt_y_px: column / width,
                        tgt_x_px: column % width,
                        mass,
                    })
                    .collect();
                swathe_ot::check_plan(&whole, &settings, &links)
            }
        }
    });
    let checked = checked.map_err(|error| PyValueError::new_err(error.to_string()))?;
    let told = PyDict::new(py);
    for (name, value) in checked.figures() {
        told.set_item(name, value)?;
    }
    Ok(told)
}

/// The pair on its whole frames.
fn whole_frames(view: &PairView) -> Result<Pair, Failure> {
    let frames = (view.source.whole()?, view.target.whole()?);
    Ok(Pair::new(frames.0, frames.1))
}

fn on_frame(view: &PairView, array: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<f64>> {
    let array = ArrayView::new(array, || format!("potential {name}"))?;
    let shape = view.source.shape();
    if array.shape() != [shape.h_px, shape.w_px] {
        return Err(PyValueError::new_err(format!(
            "potential {name}: its shape is {:?}, and the frames are {shape}",
            array.shape()
        )));
    }
    let mut values = vec![0.0; shape.n_px()];
    for (y, row) in values.chunks_exact_mut(shape.w_px).enumerate() {
        array.for_row(y, 0, shape.w_px, |x, value| row[x] = value);
    }
    Ok(values)
}
