//! `swathe demo`: sample data, every workload, and where to look.

use std::fs;
use std::path::Path;

use clap::Parser;
use swathe_array::Array;
use swathe_io::npz::{self, Compression};
use swathe_ot::Shape;
use swathe_ot::synth::{Change, embryo_pair};

use crate::fault::{Code, Fault};
use crate::flags::{Cli, DemoFlags};

/// A file that says the folder is a demo's, and may be replaced by the next.
const MARK: &str = ".swathe-demo";

pub(crate) fn demo(flags: &DemoFlags) -> Result<Code, Fault> {
    let out = &flags.out;
    let output_fault = |error: &dyn std::fmt::Display| {
        Fault::new(
            Code::Output,
            format!("cannot write {}: {error}", out.display()),
        )
        .hint("choose another folder with --out")
    };
    clear(out)?;
    fs::create_dir_all(out.join("data")).map_err(|error| output_fault(&error))?;
    fs::write(out.join(MARK), "").map_err(|error| output_fault(&error))?;
    eprintln!("making sample data in {}", out.join("data").display());
    let mut random = Random(1);
    write_samples(&out.join("data"), &mut random).map_err(|error| output_fault(&error))?;
    write_mazes(&out.join("data/mazes.csv"), &mut random).map_err(|error| output_fault(&error))?;
    write_grids(&out.join("data")).map_err(|error| output_fault(&error))?;
    write_embryos(&out.join("data"), &mut random).map_err(|error| output_fault(&error))?;

    let at = |name: &str| out.join(name).display().to_string();
    let data = |name: &str| at(&format!("data/{name}"));
    let commands: Vec<Vec<String>> = vec![
        words(&[
            "array",
            "matmul",
            &data("left.npz"),
            "--with",
            &data("right.npz"),
            "--out",
            &at("matmul"),
            "--verify",
            "20",
        ]),
        words(&[
            "array",
            "xor",
            &data("bytes.npz"),
            "--key-seed",
            "42",
            "--out",
            &at("hidden.npz"),
        ]),
        words(&[
            "array",
            "xor",
            &at("hidden.npz"),
            "--out",
            &at("restored.npz"),
        ]),
        words(&[
            "array",
            "map",
            "sqrt",
            &data("signals.npz"),
            "--out",
            &at("roots"),
        ]),
        words(&["lattice", "path", &data("mazes.csv"), "--out", &at("paths")]),
        words(&[
            "arc",
            "--programs",
            &data("programs.py"),
            "--tasks",
            &data("tasks.json"),
            "--out",
            &at("grids"),
            "--verify",
            "5",
        ]),
        words(&[
            "ot",
            &data("pairs.csv"),
            "--out",
            &at("transport"),
            "--fields",
            "npz",
            "--verify",
            "5",
        ]),
    ];
    for command in commands {
        eprintln!("\n$ swathe {}", command.join(" "));
        let mut words = vec!["swathe".to_owned()];
        words.extend(command);
        words.extend(["--progress".to_owned(), flags.progress.clone()]);
        let cli = Cli::try_parse_from(&words).map_err(|error| Fault::usage(error.to_string()))?;
        crate::settings::set_words(words);
        let code = crate::dispatch(cli)?;
        if code != Code::Solved {
            return Ok(code);
        }
    }
    let contents = |name: &str| fs::read(out.join(name)).ok();
    let same = contents("data/bytes.npz") == contents("restored.npz");
    if !same {
        return Err(Fault::new(
            Code::Mismatch,
            "XOR applied twice did not restore the data",
        ));
    }
    eprintln!(
        "\nXOR applied twice restored every byte. Open {} in a browser.",
        out.join("matmul/report.html").display()
    );
    crate::stdout::line(out.display())?;
    Ok(Code::Solved)
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// Removes an earlier demo, and nothing else.
fn clear(out: &Path) -> Result<(), Fault> {
    if out.join(MARK).exists() {
        return fs::remove_dir_all(out).map_err(|error| {
            Fault::new(
                Code::Output,
                format!("cannot replace {}: {error}", out.display()),
            )
        });
    }
    match fs::read_dir(out).map(|mut entries| entries.next().is_some()) {
        Ok(true) => Err(Fault::usage(format!(
            "{} is not empty and no demo made it",
            out.display()
        ))
        .hint("choose another folder with --out")),
        _ => Ok(()),
    }
}

/// Ragged batches, as real ones are: 300 products of 4 to 128 rows, 200 byte strings, 100 signals.
fn write_samples(folder: &Path, random: &mut Random) -> Result<(), npz::NpzError> {
    let mut left = Vec::new();
    let mut right = Vec::new();
    for index in 0..300 {
        let [n_rows, n_inner, n_cols] = [(); 3].map(|()| random.log_uniform(4.0, 128.0));
        let name = format!("product_{index:03}");
        left.push((name.clone(), random.floats(&[n_rows, n_inner])));
        right.push((name, random.floats(&[n_inner, n_cols])));
    }
    let bytes = (0..200).map(|index| {
        let n = random.log_uniform(1.0, 20_000.0);
        let data: Vec<u8> = (0..n).map(|_| random.next() as u8).collect();
        (
            format!("bytes_{index:03}"),
            Array::new(vec![n], data).expect("a list has its own length"),
        )
    });
    let bytes: Vec<(String, Array)> = bytes.collect();
    let signals = (0..100).map(|index| {
        let shape = [
            random.log_uniform(1.0, 50.0),
            random.log_uniform(10.0, 500.0),
        ];
        (format!("signal_{index:03}"), random.floats(&shape))
    });
    let signals: Vec<(String, Array)> = signals.collect();
    for (file, arrays) in [
        ("left.npz", &left),
        ("right.npz", &right),
        ("bytes.npz", &bytes),
        ("signals.npz", &signals),
    ] {
        let named = arrays.iter().map(|(name, array)| (name.as_str(), array));
        npz::save(&folder.join(file), named, Compression::Stored)?;
    }
    Ok(())
}

/// Sixty lattices of two to four axes, a quarter of their vertices blocked, to be crossed from the
/// first vertex to the last.
fn write_mazes(path: &Path, random: &mut Random) -> std::io::Result<()> {
    let mut table = "id,size,from,to,blocked\n".to_owned();
    for index in 0..60 {
        let n_axes = 2 + index % 3;
        let longest = [30.0, 12.0, 6.0][n_axes - 2];
        let sizes: Vec<usize> = (0..n_axes)
            .map(|_| random.log_uniform(3.0, longest))
            .collect();
        let last = sizes.iter().product::<usize>() - 1;
        let blocked: Vec<String> = (1..last)
            .filter(|_| random.unit() < 0.25)
            .map(|id| id.to_string())
            .collect();
        let size = sizes
            .iter()
            .map(usize::to_string)
            .collect::<Vec<_>>()
            .join("x");
        table.push_str(&format!(
            "maze_{index:02},{size},0,{last},{}\n",
            blocked.join(" ")
        ));
    }
    fs::write(path, table)
}

/// The project's own grid programs, and their tasks in one file.
fn write_grids(folder: &Path) -> std::io::Result<()> {
    fs::write(folder.join("programs.py"), swathe_arc::samples::PROGRAMS)?;
    fs::write(folder.join("tasks.json"), swathe_arc::samples::tasks_json())
}

/// Forty masks of embryos and their successors, in frames of many shapes, and the table of pairs.
fn write_embryos(folder: &Path, random: &mut Random) -> Result<(), npz::NpzError> {
    let mut table = "pair_id,stage,src,tgt,um_per_px\n".to_owned();
    let mut frames: Vec<(String, Array)> = Vec::new();
    for index in 0..40 {
        let shape = Shape::new(
            random.log_uniform(48.0, 160.0),
            random.log_uniform(64.0, 224.0),
        );
        let change = Change {
            growth: 0.95 + 0.2 * random.unit(),
            ..Change::default()
        };
        let pair = embryo_pair(shape, index, change);
        for (side, frame) in [("src", &pair.source), ("tgt", &pair.target)] {
            let mask: Vec<u8> = frame.density.iter().map(|&v| v as u8).collect();
            let array = Array::new(vec![shape.h_px, shape.w_px], mask);
            let array = array.expect("a frame has its shape");
            frames.push((format!("{side}_{index:02}"), array));
        }
        table.push_str(&format!(
            "embryo_{index:02},{},embryos.npz:src_{index:02},embryos.npz:tgt_{index:02},0.65\n",
            index / 10 + 1
        ));
    }
    let named = frames.iter().map(|(name, array)| (name.as_str(), array));
    npz::save(&folder.join("embryos.npz"), named, Compression::Stored)?;
    Ok(fs::write(folder.join("pairs.csv"), table)?)
}

/// SplitMix64: small, and the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        swathe::seed::draw(&mut self.0)
    }

    /// In [0, 1).
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn log_uniform(&mut self, low: f64, high: f64) -> usize {
        (low * (high / low).powf(self.unit())).round() as usize
    }

    fn floats(&mut self, shape: &[usize]) -> Array {
        let n: usize = shape.iter().product();
        let data: Vec<f32> = (0..n).map(|_| (2.0 * self.unit() - 1.0) as f32).collect();
        Array::new(shape.to_vec(), data).expect("a shape has its volume")
    }
}
