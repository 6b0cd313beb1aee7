//! A solution as Python sees it. The package's own class wraps it.

use std::sync::Arc;

use numpy::ndarray::{Array2, Array3};
use numpy::{PyArray1, PyArray2, PyArray3, ToPyArray};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use swathe_ot::{Coupling, Fields, Scratch, Settings, lift, lift_potentials};
use swathe_ot_program::pair_table::PairRow;
use swathe_ot_program::pair_workload::PairAnswer;
use swathe_python::{Interrupt, figures};

use crate::frame_view::PairView;

/// The solution of a pair, and the pair itself for what is computed on request.
#[pyclass(frozen, module = "swathe._swathe.ot")]
pub(crate) struct RawSolution {
    answer: PairAnswer,
    view: Arc<PairView>,
    settings: Arc<Settings>,
}

impl RawSolution {
    pub(crate) fn new(
        answer: PairAnswer,
        view: Arc<PairView>,
        settings: Arc<Settings>,
    ) -> RawSolution {
        RawSolution { answer, view, settings }
    }

    fn frame_shape(&self) -> (usize, usize) {
        let shape = self.answer.solution.geometry.frame;
        (shape.h_px, shape.w_px)
    }
}

/// The velocity, the three maps and the raw velocity, on the frame.
type Maps<'py> = (
    Bound<'py, PyArray3<f64>>,
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray3<f64>>,
);

/// The crop, the work grid, where the crop lies in it, and the pool.
type Placement = ((usize, usize, usize, usize), (usize, usize), (usize, usize), usize);

/// Two maps on the frame.
type TwoMaps<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<f64>>);

/// Rows and columns of source and target pixels, and the masses that move between them.
type Links<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f64>>);

#[pymethods]
impl RawSolution {
    /// All figures by name: those of the table of a run that one solution has, and two more.
    fn figures<'py>(
        &self,
        py: Python<'py>,
        um_per_px: Option<f64>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let solution = &self.answer.solution;
        let figures = figures(py, &PairRow::of(&self.answer, &self.settings, um_per_px))?;
        // No file belongs to it.
        figures.del_item("fields_path")?;
        figures.del_item("coupling_path")?;
        figures.set_item("iterations_coarse", solution.iterations_coarse)?;
        figures.set_item("used_f64", solution.used_f64)?;
        Ok(figures)
    }

    /// The crop `(y0, x0, height, width)`, the work grid, where the crop lies in it, and the pool.
    #[getter]
    fn geometry(&self) -> Placement {
        let geometry = &self.answer.solution.geometry;
        let cut = geometry.crop;
        (
            (cut.y0_px, cut.x0_px, cut.shape.h_px, cut.shape.w_px),
            (geometry.work.h_px, geometry.work.w_px),
            (geometry.pad_y_px, geometry.pad_x_px),
            geometry.pool,
        )
    }

    #[getter]
    fn has_fields(&self) -> bool {
        self.answer.solution.fields.is_some()
    }

    /// Velocity, created, destroyed, cost and raw velocity on the frame; NaN off the support.
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Maps<'py>> {
        let whole = py.detach(|| self.fields_on_frame())?;
        let (h, w) = self.frame_shape();
        let map = |values: Vec<f64>| {
            let map = Array2::from_shape_vec((h, w), values);
            map.expect("a value for every pixel").to_pyarray(py)
        };
        let velocity = |values: Vec<[f64; 2]>| {
            let map = Array3::from_shape_vec((h, w, 2), values.into_iter().flatten().collect());
            map.expect("two values for every pixel").to_pyarray(py)
        };
        Ok((
            velocity(whole.velocity_yx_px),
            map(whole.created),
            map(whole.destroyed),
            map(whole.cost_map),
            velocity(whole.velocity_raw_yx_px),
        ))
    }

    /// The potentials on the frame, in cost units; NaN off the support.
    fn potentials<'py>(&self, py: Python<'py>) -> PyResult<TwoMaps<'py>> {
        if self.answer.solution.potentials.is_none() {
            return Err(PyValueError::new_err(
                "the potentials were not kept: pass potentials=True",
            ));
        }
        let geometry = &self.answer.solution.geometry;
        let pair = self.view.cut(*geometry);
        let pair = pair.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        let lifted = lift_potentials(&self.answer.solution, &pair.source, &pair.target);
        let on_frame = |values: &[f64]| {
            let (h, w) = self.frame_shape();
            let mut whole = Array2::from_elem((h, w), f64::NAN);
            if let Some(live) = geometry.live {
                for (at, value) in values.iter().enumerate() {
                    let (y, x) = (at / live.shape.w_px, at % live.shape.w_px);
                    whole[[live.y0_px + y, live.x0_px + x]] = *value;
                }
            }
            whole.to_pyarray(py)
        };
        let potentials = lifted.unwrap_or_default();
        Ok((on_frame(&potentials.f), on_frame(&potentials.g)))
    }

    /// Entries of the plan: those of at least this mass, or the `top_k` largest of every source
    /// pixel. The pair is solved again for them.
    #[pyo3(signature = (top_k, threshold))]
    fn coupling<'py>(
        &self,
        py: Python<'py>,
        top_k: Option<usize>,
        threshold: Option<f64>,
    ) -> PyResult<Links<'py>> {
        let coupling = match (top_k, threshold) {
            (Some(k), None) => Coupling::TopK(k),
            (None, Some(mass)) => Coupling::Threshold(mass),
            _ => {
                return Err(PyValueError::new_err("give either top_k or threshold"));
            }
        };
        let settings = Settings { coupling, fields: false, ..(*self.settings).clone() };
        settings.check().map_err(|error| PyValueError::new_err(error.to_string()))?;
        let links = py.detach(|| {
            let interrupt = std::cell::RefCell::new(Interrupt::new());
            let stop = || interrupt.borrow_mut().is_due();
            let pair = self.view.cut(self.answer.solution.geometry);
            let solved = pair.and_then(|pair| {
                swathe_ot::solve_with(&pair, &settings, &mut Scratch::new(), &stop)
            });
            interrupt.into_inner().finish()?;
            let solved = solved.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
            Ok::<_, PyErr>(solved.coupling)
        })?;
        let (_, w) = self.frame_shape();
        let pixel = |y: u32, x: u32| i64::from(y) * w as i64 + i64::from(x);
        let rows: Vec<i64> = links.iter().map(|l| pixel(l.src_y_px, l.src_x_px)).collect();
        let columns: Vec<i64> = links.iter().map(|l| pixel(l.tgt_y_px, l.tgt_x_px)).collect();
        let masses: Vec<f64> = links.iter().map(|link| link.mass).collect();
        Ok((
            PyArray1::from_vec(py, rows),
            PyArray1::from_vec(py, columns),
            PyArray1::from_vec(py, masses),
        ))
    }

    /// Height and width of the frames.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        self.frame_shape()
    }
}

impl RawSolution {
    fn fields_on_frame(&self) -> PyResult<Fields> {
        let wrong = |error: swathe_ot::Failure| PyRuntimeError::new_err(error.to_string());
        if self.answer.solution.fields.is_none() {
            return Err(PyValueError::new_err(
                "the maps were not kept: pass fields=True, or the names of those you want",
            ));
        }
        let (h, w) = self.frame_shape();
        let mut whole = Fields {
            velocity_yx_px: vec![[f64::NAN; 2]; h * w],
            velocity_raw_yx_px: vec![[f64::NAN; 2]; h * w],
            created: vec![f64::NAN; h * w],
            destroyed: vec![f64::NAN; h * w],
            cost_map: vec![f64::NAN; h * w],
            ..Fields::default()
        };
        let Some(live) = self.answer.solution.geometry.live else {
            return Ok(whole);
        };
        let pair = self.view.cut(self.answer.solution.geometry).map_err(wrong)?;
        let Some(cut) = lift(&self.answer.solution, &pair.source, &pair.target) else {
            return Ok(whole);
        };
        for y in 0..live.shape.h_px {
            for x in 0..live.shape.w_px {
                let from = y * live.shape.w_px + x;
                let to = (live.y0_px + y) * w + live.x0_px + x;
                whole.velocity_yx_px[to] = cut.velocity_yx_px[from];
                whole.velocity_raw_yx_px[to] = cut.raw_velocity()[from];
                whole.created[to] = cut.created[from];
                whole.destroyed[to] = cut.destroyed[from];
                whole.cost_map[to] = cut.cost_map[from];
            }
        }
        Ok(whole)
    }
}
