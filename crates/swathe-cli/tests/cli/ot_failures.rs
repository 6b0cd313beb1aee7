//! Pairs that fail on their own, and inputs that cannot be used at all.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use swathe::array::Array;
use swathe_ot::{Frame, Settings, Shape};

use crate::ot_frames::{assert_same, bytes_of, numbers, save_npy, save_png, series, solved, texts};
use crate::program::{failures, save, swathe, swathe_with};

const SHAPE: Shape = Shape::new(20, 30);

fn with_pixel(frame: &Frame, value: f64) -> Frame {
    let mut frame = frame.clone();
    frame.density[4 * SHAPE.w_px + 7] = value;
    frame
}

/// Two valid frames, and one of every invalid kind.
fn frames(folder: &Path) -> Vec<Frame> {
    let good = series(2, SHAPE);
    save_npy(&folder.join("a.npy"), &good[0]);
    save_npy(&folder.join("b.npy"), &good[1]);
    for (name, value) in [("nan", f64::NAN), ("inf", f64::INFINITY), ("negative", -1.0)] {
        save_npy(&folder.join(format!("{name}.npy")), &with_pixel(&good[0], value));
    }
    save_npy(&folder.join("empty.npy"), &Frame::new(20, 30, vec![0.0; 600]).unwrap());
    save_npy(&folder.join("small.npy"), &series(1, Shape::new(10, 30))[0]);
    fs::write(folder.join("zero.png"), "").unwrap();
    fs::write(folder.join("text.png"), "this is no picture").unwrap();
    fs::write(folder.join("text.tif"), "this is no picture").unwrap();
    fs::write(folder.join("picture.jpeg"), "no").unwrap();
    fs::create_dir(folder.join("folder.png")).unwrap();
    let whole = fs::read(folder.join("a.npy")).unwrap();
    fs::write(folder.join("cut.npy"), &whole[..whole.len() / 2]).unwrap();
    let rgb: Vec<u8> = bytes_of(&good[0], 9).iter().flat_map(|&v| [v, v, v]).collect();
    let eight = png::BitDepth::Eight;
    save_png(&folder.join("rgb.png"), SHAPE, png::ColorType::Rgb, eight, &rgb);
    let cube = Array::new(vec![2, 3, 4], vec![1.0f32; 24]).unwrap();
    let row = Array::new(vec![1, 3], vec![1.0f32; 3]).unwrap();
    save(folder, "many.npz", &[("cube".to_owned(), cube), ("row".to_owned(), row)]);
    let masks = "frame_id,mask_rle,mask_height_px,mask_width_px\nm,\"[1, 2]\",20,30\n";
    fs::write(folder.join("masks.csv"), masks).unwrap();
    good
}

#[test]
fn bad_pairs_fail_alone_and_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let good = frames(folder.path());
    let cases = [
        ("nan", "nan.npy", "nan_pixel: source ./nan.npy: pixel (4, 7) is not a number"),
        ("inf", "inf.npy", "infinite_pixel: "),
        ("negative", "negative.npy", "negative_pixel: "),
        ("missing", "nowhere.npy", "missing_frame: "),
        ("zero", "zero.png", "empty_file: "),
        ("text", "text.png", "damaged_frame: "),
        ("tiff", "text.tif", "damaged_frame: "),
        ("format", "picture.jpeg", "unknown_format: "),
        ("folder", "folder.png", "unreadable_frame: "),
        ("cut", "cut.npy", "damaged_frame: "),
        ("rgb", "rgb.png", "not_grey: "),
        ("shape", "small.npy", "unequal_shapes: source is 10x30, target is 20x30"),
        ("which", "many.npz", "which_frame: "),
        ("member", "many.npz:other", "missing_frame: "),
        ("cube", "many.npz:cube", "which_frame: "),
        ("mask", "masks.csv:m", "bad_mask: source ./masks.csv:m: line 2: mask_rle has runs of 3"),
        ("no mask", "masks.csv:n", "missing_frame: "),
    ];
    let mut table =
        "pair_id,src,tgt,src_um_per_px,tgt_um_per_px\ngood,a.npy,b.npy,1,1\n".to_owned();
    for (id, frame, _) in cases {
        let _ = writeln!(table, "{id},{frame},b.npy,,");
    }
    table += "pixels,a.npy,b.npy,0.5,0.6\n";
    table += "empty source,empty.npy,b.npy,,\nempty target,a.npy,empty.npy,,\nempty,empty.npy,empty.npy,,\n";
    fs::write(folder.path().join("pairs.csv"), table).unwrap();
    for crop in ["union", "fixed"] {
        let line = format!("ot ./pairs.csv --fields npz --crop {crop} --out {crop}");
        let ended = swathe(folder.path(), &line).expect(1);
        assert!(ended.stderr.contains("18 problems without an answer"), "{}", ended.stderr);
        let run = folder.path().join(crop);
        let failures = failures(&run);
        let mut expected = cases.to_vec();
        expected.push(("pixels", "", "unequal_pixel_sizes: source pixels are 0.5"));
        assert_eq!(failures.len(), expected.len(), "{failures:?}");
        for ((_, id, kind, message), (name, _, start)) in failures.iter().zip(expected) {
            assert_eq!((id.as_str(), kind.as_str()), (name, "failed"));
            assert!(message.starts_with(start), "{id}: {message}");
        }
        assert_eq!(
            texts(&run, "status"),
            ["converged", "empty_source", "empty_target", "both_empty"]
        );
        let created = numbers(&run, "mass_created");
        assert_eq!(created[1..], [1.0, 0.0, 0.0]);
        assert!(numbers(&run, "displacement_mean_px")[1].is_nan());
        for path in texts(&run, "fields_path") {
            let npz = swathe_formats::npz::Npz::open(&run.join(path)).unwrap();
            assert_eq!(npz.header("velocity_yx").unwrap().shape, [20, 30, 2]);
        }
    }
    let table = "pair_id,src,tgt\ngood,a.npy,b.npy\n";
    fs::write(folder.path().join("one.csv"), table).unwrap();
    swathe(folder.path(), "ot one.csv --epsilon 1e-3 --out one").expect(0);
    assert_same(&folder.path().join("one"), &solved(&good, &Settings::default()));
}

#[test]
fn an_empty_cell_fails_its_pair_alone() {
    let folder = tempfile::tempdir().unwrap();
    frames(folder.path());
    let table = "pair_id,src,tgt\ngood,a.npy,b.npy\n,a.npy,b.npy\nx,a.npy,\n";
    fs::write(folder.path().join("pairs.csv"), table).unwrap();
    swathe(folder.path(), "ot pairs.csv --out run").expect(1);
    let run = folder.path().join("run");
    let told: Vec<(String, String)> =
        failures(&run).into_iter().map(|(_, id, _, message)| (id, message)).collect();
    let expected = [
        ("row 3", "empty_cell: source frame: row 3: the cell pair_id is empty"),
        ("x", "empty_cell: target frame: row 4: the cell tgt is empty"),
    ];
    assert_eq!(told.len(), expected.len(), "{told:?}");
    for ((id, message), (name, start)) in told.iter().zip(expected) {
        assert_eq!(id, name);
        assert!(message.starts_with(start), "{id}: {message}");
    }
    assert_eq!(texts(&run, "status"), ["converged"]);
}

#[test]
fn unusable_inputs_and_flags_are_told_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    frames(folder.path());
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("missing_column.csv", "pair_id,src\nx,a.npy\n");
    write("duplicate.csv", "pair_id,src,tgt\nx,a.npy,b.npy\ny,a.npy,b.npy\nx,b.npy,a.npy\n");
    write("ragged.csv", "pair_id,src,tgt\nx,a.npy\n");
    write("width.csv", "pair_id,src,tgt,um_per_px\nx,a.npy,b.npy,wide\n");
    write("reserved.csv", "pair_id,src,tgt,cost\nx,a.npy,b.npy,3\n");
    write("broken.parquet", "PAR1 this is none");
    write("mask_columns.csv", "mask_rle,mask_height_px\n4,2\n");
    write("mask_extent.csv", "mask_rle,mask_height_px,mask_width_px\n4,two,2\n");
    write("notes.txt", "hello");
    write("ot.toml", "[ot]\nepsilom = 1\n");
    write("pairs.csv", "pair_id,src,tgt\nx,a.npy,b.npy\n");
    fs::create_dir(folder.path().join("nothing")).unwrap();
    let mut lines: Vec<String> = [
        "nowhere.csv",
        "missing_column.csv",
        "duplicate.csv",
        "ragged.csv",
        "width.csv",
        "reserved.csv",
        "broken.parquet",
        "mask_columns.csv",
        "mask_extent.csv",
        "notes.txt",
        "text.tif",
        "nothing",
    ]
    .iter()
    .map(|input| format!("ot {input} --out run"))
    .collect();
    lines.push("ot".to_owned());
    lines.push("ot pairs.csv".to_owned());
    for flags in [
        "--epsilon 0",
        "--epsilon small",
        "--relaxation -1",
        "--relaxation nan",
        "--tolerance 2",
        "--max-iterations 0",
        "--max-iterations many",
        "--pool 0",
        "--padding -3",
        "--reference both",
        "--coord-scale 0",
        "--precision f16",
        "--crop tight",
        "--crop bucketed --buckets exact",
        "--crop bucketed --buckets 4x4x4",
        "--fields csv",
        "--coupling topk:0",
        "--coupling threshold:-1",
        "--coupling most",
        "--label red",
        "--um-per-px 0",
        "--config ot.toml",
        "--memory lots",
    ] {
        lines.push(format!("ot pairs.csv --out run {flags}"));
    }
    let mut told = String::new();
    for line in &lines {
        let ended = swathe(folder.path(), line);
        assert_eq!(ended.code, 2, "{line}: {}", ended.stderr);
        assert_eq!(ended.stdout, "", "{line}");
        assert!(!folder.path().join("run").exists(), "{line}");
        let _ = writeln!(told, "$ swathe {line}\n{}", ended.stderr);
    }
    insta::assert_snapshot!(told);
}

#[test]
fn settings_come_from_flags_variables_and_the_file() {
    let folder = tempfile::tempdir().unwrap();
    frames(folder.path());
    let table = "pair_id,src,tgt\nx,a.npy,b.npy\n";
    fs::write(folder.path().join("pairs.csv"), table).unwrap();
    let epsilon = |out: &str| numbers(&folder.path().join(out), "epsilon");
    let config = "[ot]\nepsilon = 0.01\nnormalize = false\nrelaxation = \"inf\"\n";
    fs::write(folder.path().join("swathe.toml"), config).unwrap();
    let line = |out: &str| format!("ot run pairs.csv --relaxation 2 --out {out}");
    swathe(folder.path(), &line("file")).expect(0);
    assert_eq!(epsilon("file"), [0.01]);
    assert_eq!(numbers(&folder.path().join("file"), "relaxation"), [2.0]);
    assert!(numbers(&folder.path().join("file"), "mass_transported")[0] > 50.0);
    swathe_with(folder.path(), "SWATHE_EPSILON", "0.02", &line("variable")).expect(0);
    assert_eq!(epsilon("variable"), [0.02]);
    let flag = line("flag") + " --epsilon 0.03 --normalize";
    swathe_with(folder.path(), "SWATHE_EPSILON", "0.02", &flag).expect(0);
    assert_eq!(epsilon("flag"), [0.03]);
    assert!(numbers(&folder.path().join("flag"), "mass_transported")[0] <= 1.0);
    // Balanced transport of unequal masses has no plan.
    let ended = swathe(folder.path(), "ot pairs.csv --out balanced").expect(1);
    assert!(ended.stderr.contains("1 problem without an answer"), "{}", ended.stderr);
    let failures = failures(&folder.path().join("balanced"));
    assert!(failures[0].3.starts_with("unequal_masses: "), "{failures:?}");
}
