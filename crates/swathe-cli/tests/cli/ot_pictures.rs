//! `swathe ot synth` and `ot show`.

use std::fs;
use std::path::Path;

use crate::program::swathe;

/// Two short series of small frames, solved.
fn solved(folder: &Path, more: &str) {
    swathe(folder, "ot synth --series 2 --frames 4 --shape 24x40 --seed 3 --out data").expect(0);
    swathe(folder, &format!("ot data/pairs.csv --out run {more}")).expect(0);
}

/// Width and height of a PNG, and its bytes.
fn picture(path: &Path) -> ((u32, u32), Vec<u8>) {
    let bytes = fs::read(path).unwrap();
    assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n"), "{}", path.display());
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    ((number(16), number(20)), bytes)
}

#[test]
fn synthetic_series_are_solved_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let line = "ot synth --series 2 --frames 4 --shape 24x40 --seed 3 --out";
    let ended = swathe(folder.path(), &format!("{line} data")).expect(0);
    assert_eq!(ended.stdout, "data/pairs.csv\n");
    assert!(ended.stderr.contains("8 frames of 2 series, 6 pairs"), "{}", ended.stderr);
    swathe(folder.path(), "ot data/pairs.csv --out run").expect(0);
    swathe(folder.path(), &format!("{line} again")).expect(0);
    for name in ["pairs.csv", "series_01/frame_003.png"] {
        let read = |data: &str| fs::read(folder.path().join(data).join(name)).unwrap();
        assert_eq!(read("data"), read("again"));
    }
    let ended = swathe(folder.path(), &format!("{line} data")).expect(2);
    assert!(ended.stderr.contains("is there already"), "{}", ended.stderr);
    for (flag, words) in
        [("--shape 24", "24"), ("--shape 4x9", "4x9"), ("--frames 1", "1"), ("--series 0", "0")]
    {
        let ended = swathe(folder.path(), &format!("ot synth --out other {flag}")).expect(2);
        assert!(ended.stderr.contains(words), "{}", ended.stderr);
        assert!(!folder.path().join("other").exists());
    }
}

#[test]
fn a_pair_is_drawn_from_kept_maps_or_solved_again_alike() {
    let folder = tempfile::tempdir().unwrap();
    let settings = "--epsilon 1e-4 --relaxation 10 --precision f64";
    solved(folder.path(), &format!("{settings} --fields npz"));
    swathe(folder.path(), &format!("ot data/pairs.csv --out bare {settings}")).expect(0);
    let kept = swathe(folder.path(), "ot show run s01_t002 -o kept.png").expect(0);
    assert_eq!(kept.stdout, "kept.png\n");
    assert_eq!(kept.stderr, "");
    let again = swathe(folder.path(), "ot show bare s01_t002 -o again.png").expect(0);
    assert!(again.stderr.contains("solved again"), "{}", again.stderr);
    let (size, bytes) = picture(&folder.path().join("kept.png"));
    assert!(size.0 > 600 && size.0 <= 1920 && size.1 > 400 && size.1 <= 1080, "{size:?}");
    assert_eq!(bytes, picture(&folder.path().join("again.png")).1);
    swathe(folder.path(), "ot show run s00_t002 -o other.png").expect(0);
    assert_ne!(bytes, picture(&folder.path().join("other.png")).1);
}

#[test]
fn what_cannot_be_shown_is_told_with_what_is_nearest() {
    let folder = tempfile::tempdir().unwrap();
    solved(folder.path(), "");
    let ended = swathe(folder.path(), "ot show run s01_t003 -o x.png").expect(2);
    assert!(ended.stderr.contains("no pair \"s01_t003\""), "{}", ended.stderr);
    assert!(ended.stderr.contains("s01_t000, s01_t001, s01_t002"), "{}", ended.stderr);
    swathe(folder.path(), "ot show missing s01_t002 -o x.png").expect(2);
    let ended = swathe(folder.path(), "ot show run s01_t002 -o no/such/x.png").expect(4);
    assert!(ended.stderr.contains("no/such/x.png"), "{}", ended.stderr);
    assert!(!folder.path().join("x.png").exists());
    // The input was moved.
    fs::rename(folder.path().join("data"), folder.path().join("moved")).unwrap();
    let ended = swathe(folder.path(), "ot show run s01_t002 -o x.png").expect(2);
    assert!(ended.stderr.contains("--input"), "{}", ended.stderr);
    let line = "ot show run s01_t002 -o x.png --input moved/pairs.csv";
    let ended = swathe(folder.path(), line).expect(0);
    assert!(!ended.stderr.contains("warning"), "{}", ended.stderr);
    // A frame was changed.
    let frames = folder.path().join("moved/series_01");
    let mut changed = fs::read(frames.join("frame_003.png")).unwrap();
    changed.extend_from_slice(b"more");
    fs::write(frames.join("frame_003.png"), changed).unwrap();
    let ended = swathe(folder.path(), line).expect(0);
    assert!(ended.stderr.contains("frame_003.png is not what the run read"), "{}", ended.stderr);
}

#[test]
fn a_run_of_a_folder_of_frames_is_shown_too() {
    let folder = tempfile::tempdir().unwrap();
    swathe(folder.path(), "ot synth --series 1 --frames 3 --shape 40x24 --out data").expect(0);
    swathe(folder.path(), "ot data/series_00 --out run --um-per-px 0.65 --pool 2").expect(0);
    let ended = swathe(folder.path(), "ot show run nothing -o x.png").expect(2);
    let nearest = ended.stderr.split("nearest are ").nth(1).unwrap();
    let id = nearest.split(',').next().unwrap().trim();
    swathe(folder.path(), &format!("ot show run {id} -o x.png")).expect(0);
    picture(&folder.path().join("x.png"));
}
