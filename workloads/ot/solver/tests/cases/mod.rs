//! The reference pairs on disk, with the settings they were solved under.
//! `SWATHE_OT_REFERENCE=DIR` reads another folder of such pairs.

use npyz::npz::NpzArchive;
use serde_json::Value;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use swathe_ot::{CoordScale, Frame, Pair, Precision, Reference, Settings};

pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) json: Value,
    arrays: NpzArchive<BufReader<File>>,
}

impl Case {
    pub(crate) fn load(json_path: &Path) -> Case {
        let json: Value =
            serde_json::from_str(&std::fs::read_to_string(json_path).unwrap()).unwrap();
        let arrays = NpzArchive::open(json_path.with_extension("npz")).unwrap();
        Case { name: json["name"].as_str().unwrap().to_owned(), json, arrays }
    }

    pub(crate) fn array(&mut self, name: &str) -> Vec<f64> {
        self.arrays.by_name(name).unwrap().unwrap().into_vec::<f64>().unwrap()
    }

    pub(crate) fn pair(&mut self) -> Pair {
        let side = |i: usize| self.json["shape"][i].as_u64().unwrap() as usize;
        let (h, w) = (side(0), side(1));
        let frame = |density| Frame::new(h, w, density).unwrap();
        Pair::new(frame(self.array("src")), frame(self.array("tgt")))
    }

    pub(crate) fn settings(
        &self,
        reference: Reference,
        tolerance: f64,
        precision: Precision,
    ) -> Settings {
        let number = |v: &Value| v.as_f64().unwrap_or(f64::INFINITY);
        Settings {
            epsilon: number(&self.json["eps"]),
            relaxation: number(&self.json["rho"]),
            reference,
            coord_scale: CoordScale::Fixed(number(&self.json["coord_scale"])),
            normalize: self.json["normalize"].as_bool().unwrap(),
            tolerance,
            precision,
            raw_velocity: true,
            ..Settings::default()
        }
    }
}

pub(crate) fn cases() -> Vec<Case> {
    let folder = std::env::var_os("SWATHE_OT_REFERENCE").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/reference"),
        PathBuf::from,
    );
    let mut paths: Vec<_> = std::fs::read_dir(&folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "no reference cases in {}", folder.display());
    paths.iter().map(|path| Case::load(path)).collect()
}
