//! Which blur suits some pairs, and what anybody's answer is worth.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use swathe::Stop;
use swathe_ot::{Checked, Crop, Failure, Link, Pair, Settings};
use swathe_python::ArrayView;

use crate::frame_view::PairView;
use crate::settings::settings;

/// The ε that `epsilon="auto"` takes for these pairs.
#[pyfunction]
pub(crate) fn auto_epsilon(
    py: Python<'_>,
    pairs: &Bound<'_, PyAny>,
    ot: &Bound<'_, PyDict>,
    seed: u64,
) -> PyResult<f64> {
    let settings = settings(ot)?;
    let mut views = Vec::new();
    for (number, pair) in pairs.try_iter()?.enumerate() {
        views.push(PairView::new(&pair?, number)?);
    }
    let load = |number: usize| {
        let view: &PairView = &views[number];
        let geometry = view.place(&Crop::Fixed, settings.pool).ok()?;
        geometry.live?;
        view.cut(geometry).ok()
    };
    let stop = Stop::new();
    let found =
        py.detach(|| swathe_ot_program::auto_epsilon(views.len(), load, &settings, seed, &stop));
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
    let settings = Settings {
        crop: Crop::Fixed,
        ..settings(ot)?
    };
    let view = PairView::new(pair, 0)?;
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
    for (name, value) in [
        ("residual_src", checked.residual_src),
        ("residual_tgt", checked.residual_tgt),
        ("cost", checked.cost),
        ("mass_transported", checked.mass_transported),
        ("objective", checked.objective),
        ("dual_objective", checked.dual_objective),
        ("gap", checked.gap),
    ] {
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
