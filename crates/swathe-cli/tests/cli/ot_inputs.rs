//! Every input format gives the library's answers.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow::array::TimestampMillisecondArray;
use arrow::array::{ArrayRef, BooleanArray, Int32Array, RecordBatch, StringArray};
use arrow::datatypes::DataType;
use parquet::arrow::ArrowWriter;
use swathe::array::Array;
use swathe_ot::{Frame, Settings, Shape};
use tiff::encoder::colortype::{Gray8, Gray16, Gray32Float, Gray64Float};

use crate::ot_frames::{
    assert_same, bytes_of, numbers, save_npy, save_png, save_tiff, series, solved, texts,
};
use crate::program::{json, save, swathe, table};

const SHAPE: Shape = Shape::new(25, 38);

fn run(folder: &Path, input: &str) -> std::path::PathBuf {
    let out = format!("run-{}", input.replace(['/', ' ', '.'], "_"));
    swathe(folder, &format!("ot {input} --epsilon 1e-3 --out {out}")).expect(0);
    folder.join(out)
}

#[test]
fn folders_in_natural_order() {
    let folder = tempfile::tempdir().unwrap();
    let frames = series(12, SHAPE);
    let expected = solved(&frames, &Settings::default());
    for kind in ["npy", "png", "png16", "png1", "npz"] {
        let inside = folder.path().join(kind);
        fs::create_dir(&inside).unwrap();
        fs::write(inside.join("notes.txt"), "not a frame").unwrap();
        fs::write(inside.join(".hidden.npy"), "not a frame").unwrap();
        for (t, frame) in frames.iter().enumerate() {
            let name = |extension: &str| inside.join(format!("frame{t}.{extension}"));
            match kind {
                "npy" => save_npy(&name("npy"), frame),
                "png" => {
                    let (color, depth) = (png::ColorType::Grayscale, png::BitDepth::Eight);
                    save_png(&name("png"), SHAPE, color, depth, &bytes_of(frame, 1));
                }
                "png16" => {
                    let (color, depth) = (png::ColorType::Grayscale, png::BitDepth::Sixteen);
                    let data: Vec<u8> = bytes_of(frame, 1).iter().flat_map(|&v| [0, v]).collect();
                    save_png(&name("PNG"), SHAPE, color, depth, &data);
                }
                "png1" => {
                    let rows = bytes_of(frame, 1);
                    let rows = rows.chunks(SHAPE.w_px).flat_map(|row| {
                        row.chunks(8).map(|some| {
                            let bits = some.iter().enumerate();
                            bits.fold(0u8, |byte, (at, &bit)| byte | bit << (7 - at))
                        })
                    });
                    let data: Vec<u8> = rows.collect();
                    let (color, depth) = (png::ColorType::Grayscale, png::BitDepth::One);
                    save_png(&name("png"), SHAPE, color, depth, &data);
                }
                _ => {
                    let shape = vec![SHAPE.h_px, SHAPE.w_px];
                    let array = Array::new(shape, bytes_of(frame, 1)).unwrap();
                    let file = format!("frame{t}.npz");
                    save(&inside, &file, &[("only".to_owned(), array)]);
                }
            }
        }
        let run = run(folder.path(), &format!("{kind}/"));
        let ids: Vec<String> = (0..11).map(|t| format!("frame{t}-frame{}", t + 1)).collect();
        assert_eq!(texts(&run, "pair_id"), ids);
        assert_same(&run, &expected);
        let figures = &json(&run.join("report.json"))["figures"];
        assert_eq!(figures["frames read"], 12, "every frame once");
    }
}

#[test]
fn stacks_of_every_type() {
    let folder = tempfile::tempdir().unwrap();
    // Densities instead of masks: seven grey values.
    let mut frames = series(4, SHAPE);
    for frame in &mut frames {
        for (at, v) in frame.density.iter_mut().enumerate() {
            *v *= (1 + at % 7) as f64;
        }
    }
    let expected = solved(&frames, &Settings::default());
    let at = |name: &str| folder.path().join(name);
    save_tiff::<Gray8>(&at("u8.tif"), &frames, |v| v as u8);
    save_tiff::<Gray16>(&at("u16.tiff"), &frames, |v| v as u16);
    save_tiff::<Gray32Float>(&at("f32.tif"), &frames, |v| v as f32);
    save_tiff::<Gray64Float>(&at("f64.tif"), &frames, |v| v);
    for name in ["u8.tif", "u16.tiff", "f32.tif", "f64.tif"] {
        let run = run(folder.path(), name);
        assert_eq!(texts(&run, "pair_id"), ["0-1", "1-2", "2-3"]);
        assert_same(&run, &expected);
    }
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

fn compressed(runs: &[i64]) -> String {
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

#[test]
fn masks_listed_and_compressed() {
    let folder = tempfile::tempdir().unwrap();
    let frames = series(5, SHAPE);
    let expected = solved(&frames, &Settings::default());
    let (h, w) = (SHAPE.h_px, SHAPE.w_px);
    let mut listed = "mask_height_px,mask_width_px,mask_rle\n".to_owned();
    let mut packed = "frame_id,mask_rle,mask_height_px,mask_width_px,um_per_px\n".to_owned();
    for (t, frame) in frames.iter().enumerate() {
        listed += &format!("{h},{w},\"{:?}\"\n", runs(frame));
        packed += &format!("t{t},{},{h},{w},0.5\n", compressed(&runs(frame)));
    }
    fs::write(folder.path().join("listed.csv"), listed).unwrap();
    fs::write(folder.path().join("packed.csv"), packed).unwrap();
    let rows = run(folder.path(), "listed.csv");
    assert_eq!(texts(&rows, "pair_id"), ["0-1", "1-2", "2-3", "3-4"]);
    assert_same(&rows, &expected);
    let named = run(folder.path(), "packed.csv");
    assert_eq!(texts(&named, "pair_id"), ["t0-t1", "t1-t2", "t2-t3", "t3-t4"]);
    assert_same(&named, &expected);
    let halves: Vec<f64> =
        numbers(&named, "displacement_max_px").iter().map(|px| px * 0.5).collect();
    assert_eq!(numbers(&named, "displacement_max_um"), halves);
    let table = "pair_id,src,tgt\nx,packed.csv:t0,listed.csv:1\n";
    fs::write(folder.path().join("pairs.csv"), table).unwrap();
    assert_same(&run(folder.path(), "pairs.csv"), &expected[..1]);
}

#[test]
fn labels_become_masks() {
    let folder = tempfile::tempdir().unwrap();
    let frames = series(3, SHAPE);
    let expected = solved(&frames, &Settings::default());
    for (kind, other) in [("grey", 7), ("indexed", 1)] {
        let inside = folder.path().join(kind);
        fs::create_dir(&inside).unwrap();
        for (t, frame) in frames.iter().enumerate() {
            // Every pixel without a label gets another one.
            let data: Vec<u8> = bytes_of(frame, 3)
                .iter()
                .enumerate()
                .map(|(at, &v)| if v == 0 && at % 3 == 0 { other } else { v })
                .collect();
            let color =
                if kind == "grey" { png::ColorType::Grayscale } else { png::ColorType::Indexed };
            let path = inside.join(format!("{t}.png"));
            save_png(&path, SHAPE, color, png::BitDepth::Eight, &data);
        }
        assert_same(&run(folder.path(), &format!("{kind} --label 3")), &expected);
    }
}

#[test]
fn tables_carry_their_columns() {
    let folder = tempfile::tempdir().unwrap();
    let frames = series(3, SHAPE);
    let expected = solved(&frames, &Settings::default());
    let arrays: Vec<(String, Array)> = frames
        .iter()
        .enumerate()
        .map(|(t, frame)| {
            let shape = vec![SHAPE.h_px, SHAPE.w_px];
            (format!("t{t}"), Array::new(shape, frame.density.clone()).unwrap())
        })
        .collect();
    fs::create_dir(folder.path().join("sub")).unwrap();
    save(&folder.path().join("sub"), "stack.npz", &arrays);
    let rows = "stage,pair_id,src,hours,tgt,well,src_um_per_px,tgt_um_per_px\n\
        4,first,stack.npz:t0,0.5,stack.npz:t1,A01,0.65,0.65\n\
        ,second/2,stack.npz:t1,1,stack.npz:t2,007,,\n";
    fs::write(folder.path().join("sub/pairs.csv"), rows).unwrap();
    let from_csv = run(folder.path(), "sub/pairs.csv");
    assert_same(&from_csv, &expected);
    let batch = &table(&from_csv.join("pairs.parquet"))[0];
    let schema = batch.schema();
    let names: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
    let first = [
        "row",
        "pair_id",
        "src",
        "tgt",
        "stage",
        "hours",
        "well",
        "src_um_per_px",
        "tgt_um_per_px",
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
        "epsilon",
        "relaxation",
        "relaxation_tgt",
        "reference",
        "coord_scale",
        "crop_y0",
        "crop_x0",
        "crop_h",
        "crop_w",
        "pool",
        "displacement_mean_px",
        "displacement_std_px",
        "displacement_p50_px",
        "displacement_p90_px",
        "displacement_p95_px",
        "displacement_max_px",
        "displacement_mean_um",
    ];
    assert_eq!(names[..first.len()], first);
    let data_type = |name: &str| schema.field_with_name(name).unwrap().data_type().clone();
    assert_eq!(data_type("stage"), DataType::Int64);
    assert_eq!(data_type("hours"), DataType::Float64);
    assert_eq!(data_type("well"), DataType::Utf8);
    assert_eq!(texts(&from_csv, "well"), ["A01", "007"]);
    assert!(numbers(&from_csv, "stage")[1].is_nan(), "null");
    let um = numbers(&from_csv, "displacement_mean_um");
    assert_eq!(um[0], numbers(&from_csv, "displacement_mean_px")[0] * 0.65);
    assert!(um[1].is_nan());
    for field in schema.fields().iter().filter(|f| !first[4..9].contains(&f.name().as_str())) {
        assert!(field.metadata().contains_key("description"), "{}", field.name());
    }
    assert_eq!(schema.field_with_name("cost_px2").unwrap().metadata()["unit"], "px^2");

    let columns: Vec<(&str, ArrayRef)> = vec![
        ("src", Arc::new(StringArray::from(vec!["stack.npz:t0", "stack.npz:t1"]))),
        ("tgt", Arc::new(StringArray::from(vec!["stack.npz:t1", "stack.npz:t2"]))),
        ("pair_id", Arc::new(Int32Array::from(vec![10, 11]))),
        ("when", Arc::new(TimestampMillisecondArray::from(vec![Some(5), None]))),
        ("good", Arc::new(BooleanArray::from(vec![true, false]))),
    ];
    let pairs = RecordBatch::try_from_iter(columns).unwrap();
    let file = fs::File::create(folder.path().join("sub/pairs.parquet")).unwrap();
    let mut writer = ArrowWriter::try_new(file, pairs.schema(), None).unwrap();
    writer.write(&pairs).unwrap();
    writer.close().unwrap();
    let from_parquet = run(folder.path(), "sub/pairs.parquet --um-per-px 2");
    assert_same(&from_parquet, &expected);
    assert_eq!(texts(&from_parquet, "pair_id"), ["10", "11"]);
    let batch = &table(&from_parquet.join("pairs.parquet"))[0];
    for name in ["when", "good"] {
        let carried = batch.column_by_name(name).unwrap();
        assert_eq!(carried.as_ref(), pairs.column_by_name(name).unwrap().as_ref());
    }
    assert!(numbers(&from_parquet, "displacement_mean_um").iter().all(|um| *um > 0.0));
}

#[test]
fn a_background_is_noticed_and_taken_off() {
    let folder = tempfile::tempdir().unwrap();
    let shape = Shape::new(64, 80);
    // Blobs that move by (1.5, -0.7), with light and noise on all pixels.
    for t in 0..3 {
        let mut state = 7 + t;
        let mut density = Vec::with_capacity(shape.n_px());
        for k in 0..shape.n_px() {
            let (y, x) = ((k / shape.w_px) as f64, (k % shape.w_px) as f64);
            let blob = |cy: f64, cx: f64, width: f64| {
                let (dy, dx) = (y - cy - 1.5 * t as f64, x - cx + 0.7 * t as f64);
                (-(dy * dy + dx * dx) / (2.0 * width * width)).exp()
            };
            let light = 2000.0 * (blob(20.0, 25.0, 4.0) + blob(38.0, 55.0, 5.0));
            density.push((light + 40.0 + 12.0 * swathe::seed::unit(&mut state)).round());
        }
        let frame = Frame::new(shape.h_px, shape.w_px, density).unwrap();
        save_npy(&folder.path().join(format!("{t}.npy")), &frame);
    }
    let moved = |run: &str| numbers(&folder.path().join(run), "displacement_p50_px");
    let as_it_is = swathe(folder.path(), "ot . --epsilon 1e-3 --out with").expect(0);
    let told = "2 of the pairs have mass on more than 75 % of their pixels";
    assert!(as_it_is.stderr.contains(told), "{}", as_it_is.stderr);
    assert!(as_it_is.stderr.contains("--background auto"), "{}", as_it_is.stderr);
    assert!(moved("with").iter().all(|px| *px < 1.0), "{:?}", moved("with"));
    fs::create_dir(folder.path().join("runs")).unwrap();
    let line = "ot . --epsilon 1e-3 --background auto --out runs/without";
    let without = swathe(folder.path(), line).expect(0);
    assert!(!without.stderr.contains("background"), "{}", without.stderr);
    let known = 1.5f64.hypot(0.7);
    let near = |px: &f64| (px / known - 1.0).abs() < 0.03;
    assert!(moved("runs/without").iter().all(near), "{:?}", moved("runs/without"));
    let settings = &json(&folder.path().join("runs/without/run.json"))["settings"];
    assert_eq!(settings["background"], "auto");
    // A resumed run and a picture read the frames in the same way.
    swathe(folder.path(), &format!("{line} --resume")).expect(0);
    swathe(folder.path(), "ot show runs/without 0-1 -o pair.png").expect(0);
    let both = swathe(folder.path(), "ot . --background 40 --label 3 --out x").expect(2);
    assert!(both.stderr.contains("exclude each other"), "{}", both.stderr);
    let bad = swathe(folder.path(), "ot . --background dark --out x").expect(2);
    assert!(bad.stderr.contains("write auto"), "{}", bad.stderr);
}
