//! Groups of columns: statistics, spectra, and lengths in pixels and in µm.

use std::array;
use std::marker::PhantomData;
use std::slice::Iter;

use arrow::array::{ArrayRef, Float64Builder, RecordBatch};
use swathe_ot::{N_BANDS, Spread};
use swathe_run::store::record::{Cells, Column, Figure, Figures, ReadCells};

/// Numbers that fill several columns, whose names and meanings come from those of the field.
#[derive(Clone, Copy, Debug)]
pub struct NumberGroup<G, const N: usize> {
    values: [Option<f64>; N],
    group: PhantomData<G>,
}

/// The columns of a group.
pub trait Group {
    /// The columns of a field that is declared so; their type is not set yet.
    fn columns(field: &Column) -> Vec<Column>;
}

impl<G, const N: usize> NumberGroup<G, N> {
    fn new(values: [Option<f64>; N]) -> NumberGroup<G, N> {
        NumberGroup { values, group: PhantomData }
    }
}

impl<G: Group, const N: usize> Cells for NumberGroup<G, N> {
    type Builder = [Float64Builder; N];

    fn columns(field: Column) -> Vec<Column> {
        let columns = G::columns(&field).into_iter();
        columns.flat_map(<Option<f64> as Cells>::columns).collect()
    }

    fn builder() -> [Float64Builder; N] {
        array::from_fn(|_| <Option<f64> as Cells>::builder())
    }

    fn append(&self, to: &mut [Float64Builder; N]) {
        self.values.iter().zip(to).for_each(|(value, to)| value.append(to));
    }

    fn take(from: &mut [Float64Builder; N], columns: &mut Vec<ArrayRef>) {
        from.iter_mut().for_each(|from| <Option<f64> as Cells>::take(from, columns));
    }
}

impl<G: Group, const N: usize> Figures for NumberGroup<G, N> {
    fn figures(&self, figures: &mut Vec<Figure>) {
        self.values.iter().for_each(|value| value.figures(figures));
    }
}

impl<G: Group, const N: usize> ReadCells for NumberGroup<G, N> {
    fn read(batch: &RecordBatch, columns: &mut Iter<'_, Column>) -> Result<Vec<Self>, String> {
        let values = (0..N).map(|_| <Option<f64>>::read(batch, columns));
        let values = values.collect::<Result<Vec<_>, _>>()?;
        let row = |at: usize| NumberGroup::new(array::from_fn(|column| values[column][at]));
        Ok((0..batch.num_rows()).map(row).collect())
    }
}

/// A length in pixels, then in µm (null if the width of a pixel is unknown).
#[derive(Clone, Copy, Debug)]
pub struct Length;

impl Group for Length {
    fn columns(field: &Column) -> Vec<Column> {
        let column = |unit| field.clone().name(format!("{}_{unit}", field.name)).unit(unit);
        UNITS.map(column).to_vec()
    }
}

impl NumberGroup<Length, 2> {
    pub(super) fn length(px: Option<f64>, um_per_px: Option<f64>) -> NumberGroup<Length, 2> {
        NumberGroup::new([px, in_um(px, um_per_px)])
    }
}

fn in_um(px: Option<f64>, um_per_px: Option<f64>) -> Option<f64> {
    Some(px? * um_per_px?)
}

const UNITS: [&str; 2] = ["px", "um"];

/// Statistics in the order of the columns.
const STATISTICS: [(&str, &str); 7] = [
    ("mean", "mean"),
    ("std", "standard deviation"),
    ("p50", "median"),
    ("p90", "90th percentile"),
    ("p95", "95th percentile"),
    ("max", "largest"),
    ("min", "smallest"),
];

fn statistics(spread: &Spread) -> [f64; 7] {
    let Spread { mean, std, p50, p90, p95, max, min } = *spread;
    [mean, std, p50, p90, p95, max, min]
}

/// The statistics of a displacement's length but for the smallest: in pixels, then in µm (null if the width of a pixel is
/// unknown). Only those in pixels are values; the page shows three of them.
#[derive(Clone, Copy, Debug)]
pub struct Displacement;

const N_STATISTICS: usize = 6;

impl Group for Displacement {
    fn columns(field: &Column) -> Vec<Column> {
        let column = |unit: &'static str, at: usize| {
            let (name, words) = STATISTICS[at];
            Column {
                name: format!("{}_{name}_{unit}", field.name),
                meaning: format!(
                    "{words} of the length of the {} over the source's pixels",
                    field.meaning
                ),
                unit,
                value_place: field.value_place.filter(|_| unit == "px").map(|place| place + at),
                is_on_page: field.is_on_page && ["mean", "p95", "max"].contains(&name),
                is_ranked: field.is_ranked && (name, unit) == ("max", "px"),
                ..field.clone()
            }
        };
        let columns = |unit| (0..N_STATISTICS).map(move |at| column(unit, at));
        UNITS.into_iter().flat_map(columns).collect()
    }
}

impl NumberGroup<Displacement, 12> {
    pub(super) fn displacement(
        px: Option<&Spread>,
        um_per_px: Option<f64>,
    ) -> NumberGroup<Displacement, 12> {
        let px = px.map(statistics);
        NumberGroup::new(array::from_fn(|at| {
            let value = px.map(|px| px[at % N_STATISTICS]);
            if at < N_STATISTICS { value } else { in_um(value, um_per_px) }
        }))
    }
}

/// The statistics of a derivative of the displacement.
#[derive(Clone, Copy, Debug)]
pub struct Gradient;

impl Group for Gradient {
    fn columns(field: &Column) -> Vec<Column> {
        let column = |(name, words): (&str, &str)| Column {
            name: format!("{}_{name}", field.name),
            meaning: format!("{words} of the {} over the source's pixels", field.meaning),
            ..field.clone()
        };
        STATISTICS.map(column).to_vec()
    }
}

impl NumberGroup<Gradient, 7> {
    pub(super) fn gradient(spread: Option<Spread>) -> NumberGroup<Gradient, 7> {
        let values = spread.as_ref().map(statistics);
        NumberGroup::new(array::from_fn(|at| values.map(|values| values[at])))
    }
}

/// The energies of a cosine transform by band. The field's meaning is the name of what is transformed.
#[derive(Clone, Copy, Debug)]
pub struct Spectrum;

impl Group for Spectrum {
    fn columns(field: &Column) -> Vec<Column> {
        let column = |band: usize| Column {
            name: format!("{}_{band}", field.name),
            meaning: format!(
                "energy of {} in radial band {band} of {N_BANDS} of its cosine transform, slow to fast",
                field.meaning
            ),
            ..field.clone()
        };
        (0..N_BANDS).map(column).collect()
    }
}

impl NumberGroup<Spectrum, N_BANDS> {
    pub(super) fn spectrum(energies: Option<[f64; N_BANDS]>) -> NumberGroup<Spectrum, N_BANDS> {
        NumberGroup::new(array::from_fn(|band| energies.map(|energies| energies[band])))
    }
}
