//! Frames for `swathe ot`, in every format.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use png::{BitDepth, ColorType};
use swathe::array::{Array, Elements};
use swathe_formats::npy;
use swathe_formats::npz::{self, Compression};
use swathe_ot::{Frame, Shape, synth};
use tiff::encoder::colortype::{self, ColorType as Colors};

use super::arrays::number;
use super::vocabulary::{Said, option};
use crate::program::Random;

/// `series TO N HxW [--as FORMAT]`: masks of one shape that move and grow, into a folder as
/// `0.npy`, `1.npy` … Other formats are `png` (8 bits), `png16`, `png1`, `rgb`, `labels` and
/// `indexed` (label 3 among others), `npz` (a file each), and `u8`, `u16`, `f32`, `f64` (one TIFF
/// stack TO, of seven grey values).
pub(crate) fn series(folder: &Path, arguments: &[String]) -> Result<Said, String> {
    let mut arguments = arguments.to_vec();
    let format = option(&mut arguments, "--as").unwrap_or_else(|| "npy".to_owned());
    let [to, n, shape] = arguments.as_slice() else {
        return Err("series TO N HxW".to_owned());
    };
    let (h, w) = shape.split_once('x').ok_or("HxW")?;
    let shape = Shape::new(number(h)?, number(w)?);
    let frames = moving(number(n)?, shape);
    let to = folder.join(to);
    if matches!(format.as_str(), "u8" | "u16" | "f32" | "f64") {
        stack(&to, &format, frames);
        return Ok(Said::default());
    }
    std::fs::create_dir_all(&to).map_err(|error| error.to_string())?;
    for (t, frame) in frames.iter().enumerate() {
        write(&to, t, frame, &format)?;
    }
    Ok(Said::default())
}

/// Masks of one shape that move and grow; the last is a little away from the border.
pub(crate) fn moving(n_frames: usize, shape: Shape) -> Vec<Frame> {
    let frame = |t: usize| {
        let blob = synth::Blob {
            cy: 0.45 * shape.h_px as f64 + 0.5 * t as f64,
            cx: 0.4 * shape.w_px as f64 + 1.5 * t as f64,
            ry: 0.22 * shape.h_px as f64 + 0.1 * t as f64,
            rx: 0.2 * shape.w_px as f64,
            angle: 0.1 * t as f64,
            outline: synth::Outline::default(),
        };
        blob.mask(shape)
    };
    (0..n_frames).map(frame).collect()
}

fn write(to: &Path, t: usize, frame: &Frame, format: &str) -> Result<(), String> {
    let shape = frame.shape;
    let bytes = |value: u8| -> Vec<u8> {
        frame.density.iter().map(|v| if *v > 0.0 { value } else { 0 }).collect()
    };
    let png = |color: ColorType, depth: BitDepth, pixels: &[u8]| {
        save_png(&to.join(format!("{t}.png")), shape, color, depth, pixels);
    };
    match format {
        "npy" => save_npy(&to.join(format!("{t}.npy")), frame),
        "npz" => {
            let array = Array::new(vec![shape.h_px, shape.w_px], bytes(1)).unwrap();
            let path = to.join(format!("{t}.npz"));
            npz::save(&path, [("only", &array)], Compression::Stored).unwrap();
        }
        "png" => png(ColorType::Grayscale, BitDepth::Eight, &bytes(1)),
        "png16" => {
            let pixels: Vec<u8> = bytes(1).iter().flat_map(|&v| [0, v]).collect();
            png(ColorType::Grayscale, BitDepth::Sixteen, &pixels);
        }
        "png1" => {
            let byte = |some: &[u8]| {
                let bits = some.iter().enumerate();
                bits.fold(0u8, |byte, (at, &bit)| byte | bit << (7 - at))
            };
            let pixels = bytes(1);
            let rows = pixels.chunks(shape.w_px);
            let packed: Vec<u8> = rows.flat_map(|row| row.chunks(8).map(byte)).collect();
            png(ColorType::Grayscale, BitDepth::One, &packed);
        }
        "rgb" => {
            let pixels: Vec<u8> = bytes(9).iter().flat_map(|&v| [v, v, v]).collect();
            png(ColorType::Rgb, BitDepth::Eight, &pixels);
        }
        "labels" | "indexed" => {
            let (color, other) = match format {
                "labels" => (ColorType::Grayscale, 7),
                _ => (ColorType::Indexed, 1),
            };
            // Every third pixel outside gets another label.
            let mut pixels = bytes(3);
            for pixel in pixels.iter_mut().step_by(3).filter(|pixel| **pixel == 0) {
                *pixel = other;
            }
            png(color, BitDepth::Eight, &pixels);
        }
        other => return Err(format!("no format {other}")),
    }
    Ok(())
}

pub(crate) fn save_npy(path: &Path, frame: &Frame) {
    let shape = vec![frame.shape.h_px, frame.shape.w_px];
    let array = Array::new(shape, frame.density.clone()).unwrap();
    npy::save(path, &array).unwrap();
}

fn save_png(path: &Path, shape: Shape, color: ColorType, depth: BitDepth, pixels: &[u8]) {
    let file = BufWriter::new(File::create(path).unwrap());
    let mut encoder = png::Encoder::new(file, shape.w_px as u32, shape.h_px as u32);
    encoder.set_color(color);
    encoder.set_depth(depth);
    if color == ColorType::Indexed {
        encoder.set_palette(vec![0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255]);
    }
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(pixels).unwrap();
}

/// A stack with a page for each frame, of densities instead of masks.
fn stack(path: &Path, dtype: &str, mut frames: Vec<Frame>) {
    for frame in &mut frames {
        for (at, v) in frame.density.iter_mut().enumerate() {
            *v *= (1 + at % 7) as f64;
        }
    }
    match dtype {
        "u8" => save_tiff::<colortype::Gray8>(path, &frames, |v| v as u8),
        "u16" => save_tiff::<colortype::Gray16>(path, &frames, |v| v as u16),
        "f32" => save_tiff::<colortype::Gray32Float>(path, &frames, |v| v as f32),
        _ => save_tiff::<colortype::Gray64Float>(path, &frames, |v| v),
    }
}

fn save_tiff<C: Colors>(path: &Path, frames: &[Frame], value: impl Fn(f64) -> C::Inner)
where
    [C::Inner]: tiff::encoder::TiffValue,
{
    let mut encoder = tiff::encoder::TiffEncoder::new(File::create(path).unwrap()).unwrap();
    for frame in frames {
        let pixels: Vec<C::Inner> = frame.density.iter().map(|v| value(*v)).collect();
        let (w, h) = (frame.shape.w_px as u32, frame.shape.h_px as u32);
        encoder.write_image::<C>(w, h, &pixels).unwrap();
    }
}

/// `discs FILE.npy [--labels] Y,X,RADIUS[,VALUE]…`: a frame of 80 × 96 pixels with discs; labels
/// are bytes.
pub(crate) fn discs(folder: &Path, arguments: &[String]) -> Result<Said, String> {
    let (file, discs) = arguments.split_first().ok_or("discs FILE Y,X,RADIUS…")?;
    let is_labels = discs.first().is_some_and(|first| first == "--labels");
    let disc =
        |text: &String| -> Result<Vec<f64>, String> { text.split(',').map(number).collect() };
    let discs: Vec<Vec<f64>> =
        discs.iter().skip(is_labels.into()).map(disc).collect::<Result<_, _>>()?;
    let value = |at: usize| {
        let (y, x) = ((at / 96) as f64, (at % 96) as f64);
        let is_inside = |disc: &&Vec<f64>| (y - disc[0]).hypot(x - disc[1]) <= disc[2];
        let found = discs.iter().rfind(is_inside);
        found.map_or(0.0, |disc| disc.get(3).copied().unwrap_or(1.0))
    };
    let pixels = (0..80 * 96).map(value);
    let elements = match is_labels {
        true => Elements::from(pixels.map(|value| value as u8).collect::<Vec<_>>()),
        false => Elements::from(pixels.collect::<Vec<f64>>()),
    };
    let path = folder.join(file);
    std::fs::create_dir_all(path.parent().unwrap()).map_err(|error| error.to_string())?;
    npy::save(&path, &Array::new(vec![80, 96], elements).unwrap()).unwrap();
    Ok(Said::default())
}

/// `embryos N`: `pairs.csv` with pairs of many shapes, whose ids need escaping as file names.
pub(crate) fn embryos(folder: &Path, arguments: &[String]) -> Result<Said, String> {
    let [n] = arguments else {
        return Err("embryos N".to_owned());
    };
    embryo_pairs(folder, number(n)?);
    Ok(Said::default())
}

/// As `embryos` says.
pub(crate) fn embryo_pairs(folder: &Path, n_pairs: usize) {
    let mut table = "pair_id,src,tgt\n".to_owned();
    let mut random = Random(8);
    for k in 0..n_pairs {
        let shape = Shape::new(16 + random.below(40) as usize, 20 + random.below(60) as usize);
        let pair = synth::embryo_pair(shape, k as u64, synth::Change::default());
        save_npy(&folder.join(format!("{k}a.npy")), &pair.source);
        save_npy(&folder.join(format!("{k}b.npy")), &pair.target);
        table += &format!("pair {k}/µ,{k}a.npy,{k}b.npy\n");
    }
    std::fs::write(folder.join("pairs.csv"), table).unwrap();
}

/// `lit N`: frames `0.npy` … of blobs that move by (1.5, -0.7) px, with light and noise on all
/// pixels.
pub(crate) fn lit(folder: &Path, arguments: &[String]) -> Result<Said, String> {
    let [n] = arguments else {
        return Err("lit N".to_owned());
    };
    let shape = Shape::new(64, 80);
    for t in 0..number(n)? {
        let mut state = 7 + t;
        let pixel = |k: usize| {
            let (y, x) = ((k / shape.w_px) as f64, (k % shape.w_px) as f64);
            let blob = |cy: f64, cx: f64, width: f64| {
                let (dy, dx) = (y - cy - 1.5 * t as f64, x - cx + 0.7 * t as f64);
                (-(dy * dy + dx * dx) / (2.0 * width * width)).exp()
            };
            let light = 2000.0 * (blob(20.0, 25.0, 4.0) + blob(38.0, 55.0, 5.0));
            (light + 40.0 + 12.0 * swathe::seed::unit(&mut state)).round()
        };
        let density = (0..shape.n_px()).map(pixel).collect();
        let frame = Frame::new(shape.h_px, shape.w_px, density).unwrap();
        save_npy(&folder.join(format!("{t}.npy")), &frame);
    }
    Ok(Said::default())
}

/// `masks FILE.csv N HxW [--packed]`: the masks of `series` as COCO's run lengths, listed as
/// numbers, or packed as text with ids and half a micrometre to the pixel.
pub(crate) fn masks(folder: &Path, arguments: &[String]) -> Result<Said, String> {
    let (file, n, shape, is_packed) = match arguments {
        [file, n, shape] => (file, n, shape, false),
        [file, n, shape, flag] if flag == "--packed" => (file, n, shape, true),
        _ => return Err("masks FILE N HxW [--packed]".to_owned()),
    };
    let (h, w) = shape.split_once('x').ok_or("HxW")?;
    let mut table = match is_packed {
        true => "frame_id,mask_rle,mask_height_px,mask_width_px,um_per_px\n",
        false => "mask_height_px,mask_width_px,mask_rle\n",
    }
    .to_owned();
    for (t, frame) in moving(number(n)?, Shape::new(number(h)?, number(w)?)).iter().enumerate() {
        let runs = runs(frame);
        table += &match is_packed {
            true => format!("t{t},{},{h},{w},0.5\n", packed(&runs)),
            false => format!("{h},{w},\"{runs:?}\"\n"),
        };
    }
    std::fs::write(folder.join(file), table).map_err(|error| error.to_string())?;
    Ok(Said::default())
}

/// COCO's run lengths along the columns, counted pixel by pixel.
fn runs(frame: &Frame) -> Vec<i64> {
    let mut runs = vec![0];
    let mut value = false;
    for x in 0..frame.shape.w_px {
        for y in 0..frame.shape.h_px {
            let live = frame.density[y * frame.shape.w_px + x] > 0.0;
            if live != value {
                value = live;
                runs.push(0);
            }
            *runs.last_mut().unwrap() += 1;
        }
    }
    runs
}

fn packed(runs: &[i64]) -> String {
    let mut text = String::new();
    for (at, run) in runs.iter().enumerate() {
        let mut x = run - if at > 2 { runs[at - 2] } else { 0 };
        loop {
            let digit = x & 31;
            x >>= 5;
            let is_last = x == if digit & 16 != 0 { -1 } else { 0 };
            let byte = 48 + digit as u8 + if is_last { 0 } else { 32 };
            text.push(char::from(byte));
            if is_last {
                break;
            }
        }
    }
    text
}
