//! Runs of pairs that are killed, and resumed.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::cases::frames::embryo_pairs;
use crate::program::{Random, announced, command, json, result_hash, swathe};

const N_PAIRS: usize = 30;

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Many small parts: one for every pair or two.
const SLOW: &str = "slow%100=10ms:seed=1";

#[test]
fn killed_and_resumed_runs_end_the_same() {
    let folder = tempfile::tempdir().unwrap();
    embryo_pairs(folder.path(), N_PAIRS);
    let line = "ot pairs.csv --fields npz --coupling topk:1 --batch-size 1 --threads 2";
    swathe(folder.path(), &format!("{line} --out whole")).expect(0);
    let whole = folder.path().join("whole");
    let hash = result_hash(&whole);
    let since = Instant::now();
    let mut timed = command(folder.path(), &format!("{line} --out timed"));
    assert!(timed.env("SWATHE_FAULTS", SLOW).status().unwrap().success());
    let wall_us = since.elapsed().as_micros() as u64;
    let mut random = Random(4);
    for moment in 0..6 {
        let out = format!("run{moment}");
        let run = folder.path().join(&out);
        let line = format!("{line} --out {out}");
        let mut child = command(folder.path(), &line).env("SWATHE_FAULTS", SLOW).spawn().unwrap();
        std::thread::sleep(Duration::from_micros(random.below(wall_us)));
        child.kill().unwrap();
        child.wait().unwrap();
        let before = announced(&run);
        // A half-written file, and a complete one that no row announces, must not be used.
        let fields = run.join("fields");
        if fields.is_dir() {
            fs::write(fields.join(".pair%2029%2F%C2%B5.npz.1-1.tmp"), "half").unwrap();
            if !before.contains(&29) {
                fs::write(fields.join("pair%2029%2F%C2%B5.npz"), "rubbish").unwrap();
            }
        }
        swathe(folder.path(), &format!("{line} --resume")).expect(0);
        assert_eq!(result_hash(&run), hash, "moment {moment}");
        assert_eq!(announced(&run)[..before.len()], before);
        for side in ["fields", "coupling", "views"] {
            let names = names_in(&whole.join(side));
            assert_eq!(names.len(), N_PAIRS);
            if !before.contains(&29) {
                assert_eq!(names_in(&run.join(side)), names, "{side}");
            }
            for name in names {
                let contents = |run: &Path| fs::read(run.join(side).join(&name)).unwrap();
                assert!(contents(&run) == contents(&whole), "{side}/{name}");
            }
        }
    }
    // A resumed run uses the recorded survey instead of reading the frames again.
    let mut cut_short = command(folder.path(), &format!("{line} --out survey"));
    let mut child = cut_short.env("SWATHE_FAULTS", SLOW).spawn().unwrap();
    let survey = folder.path().join("survey/survey.json");
    let since = Instant::now();
    while !survey.exists() {
        assert!(since.elapsed() < Duration::from_secs(30));
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(json(&survey)["frames"].as_array().unwrap().len(), 2 * N_PAIRS);
    swathe(folder.path(), &format!("{line} --out survey --resume")).expect(0);
    assert_eq!(result_hash(&folder.path().join("survey")), hash);
}
