//! Frames on disk in every format, and the library's solutions of them.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use arrow::array::{Array as _, AsArray};
use arrow::datatypes::Float64Type;
use swathe::array::Array;
use swathe_formats::npy;
use swathe_ot::{Frame, Pair, Settings, Shape, Solution, Summary, solve, summarise, synth};

use crate::program::table;

/// A series of masks of one shape that move and grow; the last is a little away from the border.
pub(crate) fn series(n_frames: usize, shape: Shape) -> Vec<Frame> {
    (0..n_frames)
        .map(|t| {
            let blob = synth::Blob {
                cy: 0.45 * shape.h_px as f64 + 0.5 * t as f64,
                cx: 0.4 * shape.w_px as f64 + 1.5 * t as f64,
                ry: 0.22 * shape.h_px as f64 + 0.1 * t as f64,
                rx: 0.2 * shape.w_px as f64,
                angle: 0.1 * t as f64,
                outline: synth::Outline::default(),
            };
            blob.mask(shape)
        })
        .collect()
}

pub(crate) fn bytes_of(frame: &Frame, value: u8) -> Vec<u8> {
    let pixel = |v: &f64| if *v > 0.0 { value } else { 0 };
    frame.density.iter().map(pixel).collect()
}

pub(crate) fn save_npy(path: &Path, frame: &Frame) {
    let shape = vec![frame.shape.h_px, frame.shape.w_px];
    let array = Array::new(shape, frame.density.clone()).unwrap();
    npy::save(path, &array).unwrap();
}

pub(crate) fn save_png(
    path: &Path,
    shape: Shape,
    color: png::ColorType,
    depth: png::BitDepth,
    data: &[u8],
) {
    let file = BufWriter::new(File::create(path).unwrap());
    let mut encoder = png::Encoder::new(file, shape.w_px as u32, shape.h_px as u32);
    encoder.set_color(color);
    encoder.set_depth(depth);
    if color == png::ColorType::Indexed {
        encoder.set_palette(vec![0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255]);
    }
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(data).unwrap();
}

/// A stack with a page for each frame.
pub(crate) fn save_tiff<C>(path: &Path, frames: &[Frame], value: impl Fn(f64) -> C::Inner)
where
    C: tiff::encoder::colortype::ColorType,
    [C::Inner]: tiff::encoder::TiffValue,
{
    let mut encoder = tiff::encoder::TiffEncoder::new(File::create(path).unwrap()).unwrap();
    for frame in frames {
        let pixels: Vec<C::Inner> = frame.density.iter().map(|v| value(*v)).collect();
        let (w, h) = (frame.shape.w_px as u32, frame.shape.h_px as u32);
        encoder.write_image::<C>(w, h, &pixels).unwrap();
    }
}

/// The library's solutions of neighbouring frames.
pub(crate) fn solved(frames: &[Frame], settings: &Settings) -> Vec<(Solution, Summary)> {
    frames
        .windows(2)
        .map(|pair| {
            let pair = Pair::new(pair[0].clone(), pair[1].clone());
            let solution = solve(&pair, settings).unwrap();
            let summary = summarise(&solution).unwrap();
            (solution, summary)
        })
        .collect()
}

/// A column of numbers of `pairs.parquet`; nulls are NaN.
pub(crate) fn numbers(run: &Path, name: &str) -> Vec<f64> {
    let mut all = Vec::new();
    for batch in table(&run.join("pairs.parquet")) {
        let column = batch.column_by_name(name).unwrap_or_else(|| panic!("no {name}"));
        let column = arrow::compute::cast(column, &arrow::datatypes::DataType::Float64).unwrap();
        let values = column.as_primitive::<Float64Type>();
        all.extend(
            (0..values.len()).map(
                |at| {
                    if values.is_valid(at) { values.value(at) } else { f64::NAN }
                },
            ),
        );
    }
    all
}

/// A column of strings of `pairs.parquet`; nulls are empty.
pub(crate) fn texts(run: &Path, name: &str) -> Vec<String> {
    let mut all = Vec::new();
    for batch in table(&run.join("pairs.parquet")) {
        let column = batch.column_by_name(name).unwrap_or_else(|| panic!("no {name}"));
        let values = column.as_string::<i32>();
        all.extend((0..values.len()).map(|at| {
            if values.is_valid(at) { values.value(at).to_owned() } else { String::new() }
        }));
    }
    all
}

/// The table equals the library's solutions, to the last bit.
#[track_caller]
pub(crate) fn assert_same(run: &Path, expected: &[(Solution, Summary)]) {
    type Figure = fn(&(Solution, Summary)) -> f64;
    let figures: [(&str, Figure); 16] = [
        ("residual", |(s, _)| s.residual),
        ("cost", |(s, _)| s.cost),
        ("cost_px2", |(s, _)| s.cost_px2),
        ("objective", |(s, _)| s.objective),
        ("mass_src", |(s, _)| s.mass_src),
        ("mass_tgt", |(s, _)| s.mass_tgt),
        ("mass_transported", |(s, _)| s.mass_transported),
        ("mass_created", |(s, _)| s.mass_created),
        ("mass_destroyed_clamped", |(s, _)| s.mass_destroyed_clamped),
        ("coord_scale", |(s, _)| s.coord_scale),
        ("crop_y0", |(s, _)| s.geometry.crop.y0_px as f64),
        ("crop_w", |(s, _)| s.geometry.crop.shape.w_px as f64),
        ("displacement_mean_px", |(_, s)| s.displacement_px.mean),
        ("displacement_p95_px", |(_, s)| s.displacement_px.p95),
        ("curl_std", |(_, s)| s.curl.std),
        ("dct_div_3", |(_, s)| s.dct_div[3]),
    ];
    for (name, figure) in figures {
        let wanted: Vec<f64> = expected.iter().map(figure).collect();
        assert_eq!(numbers(run, name), wanted, "{name} of {}", run.display());
    }
}
