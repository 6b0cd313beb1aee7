//! Files of runs, damage to them, and what a case needs of the machine.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use swathe_testing::python;

use super::arrays::number;
use super::vocabulary::Said;
use crate::program::{Ended, command, result_hash};

/// `json FILE PATH…`: prints what stands at paths such as `settings.only.0`, a line each; without a
/// path, all.
pub(crate) fn json(folder: &Path, arguments: &[String]) -> Result<Said, String> {
    let (file, paths) = arguments.split_first().ok_or("json FILE PATH…")?;
    let text = fs::read_to_string(folder.join(file)).map_err(|error| error.to_string())?;
    let document: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    if paths.is_empty() {
        return Ok(Said::printed(format!("{document}\n")));
    }
    let line = |path: &String| {
        let found = path.split('.').try_fold(&document, |value, name| match value {
            Value::Array(items) => items.get(name.parse::<usize>().ok()?),
            value => value.get(name),
        });
        format!("{path}: {}\n", found.map_or("missing".to_owned(), Value::to_string))
    };
    Ok(Said::printed(paths.iter().map(line).collect()))
}

/// `same RUN RUN…`: the runs are complete and have the same `result_hash`. `run-*` names all that
/// begin so.
pub(crate) fn same(folder: &Path, arguments: &[String]) -> Result<Said, String> {
    let hashes = hashes(folder, arguments)?;
    match hashes.iter().find(|hash| hash.1 != hashes[0].1) {
        Some((run, _)) => Err(format!("{run} has other results than {}", hashes[0].0)),
        None => Ok(Said::default()),
    }
}

/// `differ RUN RUN`: the runs are complete and have different results.
pub(crate) fn differ(folder: &Path, arguments: &[String]) -> Result<Said, String> {
    match hashes(folder, arguments)?.as_slice() {
        [a, b] if a.1 != b.1 => Ok(Said::default()),
        [a, b] => Err(format!("{} and {} have the same results", a.0, b.0)),
        _ => Err("differ RUN RUN".to_owned()),
    }
}

/// Every run and its `result_hash`.
fn hashes(folder: &Path, runs: &[String]) -> Result<Vec<(String, String)>, String> {
    let mut hashes = Vec::new();
    for run in runs {
        let runs = match run.strip_suffix('*') {
            Some(prefix) => {
                let entries = fs::read_dir(folder).unwrap();
                let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
                names.filter(|name| name.starts_with(prefix)).collect()
            }
            None => vec![run.clone()],
        };
        for run in runs {
            if !folder.join(&run).join("run.json").exists() {
                return Err(format!("{run} is no run"));
            }
            let state = &crate::program::json(&folder.join(&run).join("run.json"))["state"];
            if state != "complete" {
                return Err(format!("{run} is {state}"));
            }
            let hash = result_hash(&folder.join(&run));
            hashes.push((run, hash));
        }
    }
    if hashes.len() < 2 {
        return Err("two runs at least".to_owned());
    }
    Ok(hashes)
}

/// `flip FILE [M/N] [COUNT]`: changes COUNT bytes (1) behind that part of a file (a third).
pub(crate) fn flip(folder: &Path, arguments: &[String]) -> Result<Said, String> {
    let (file, rest) = arguments.split_first().ok_or("flip FILE")?;
    let (part, of) = match rest.first() {
        Some(text) => text.split_once('/').ok_or("M/N")?,
        None => ("1", "3"),
    };
    let n = rest.get(1).map_or(Ok(1), |text| number(text))?;
    let path = folder.join(file);
    let mut bytes = fs::read(&path).map_err(|error| error.to_string())?;
    let at = bytes.len() * number::<usize>(part)? / number::<usize>(of)?;
    bytes[at..at + n].iter_mut().for_each(|byte| *byte ^= 1);
    fs::write(path, bytes).map_err(|error| error.to_string())?;
    Ok(Said::default())
}

/// `replace FILE FROM TO [N]`: replaces the Nth (first) FROM in a file. `\x41` is a byte.
pub(crate) fn replace(folder: &Path, arguments: &[String]) -> Result<Said, String> {
    let (file, from, to, nth) = match arguments {
        [file, from, to] => (file, from, to, 1),
        [file, from, to, nth] => (file, from, to, number(nth)?),
        _ => return Err("replace FILE FROM TO [N]".to_owned()),
    };
    let (from, to) = (bytes(from)?, bytes(to)?);
    let mut contents = fs::read(folder.join(file)).map_err(|error| error.to_string())?;
    let mut places = contents.windows(from.len()).enumerate().filter(|(_, some)| *some == from);
    let (at, _) = places.nth(nth - 1).ok_or_else(|| format!("{file} does not have that"))?;
    contents.splice(at..at + from.len(), to);
    fs::write(folder.join(file), contents).map_err(|error| error.to_string())?;
    Ok(Said::default())
}

/// The bytes that a text stands for, with `\\x41` for one of them.
pub(crate) fn bytes(text: &str) -> Result<Vec<u8>, String> {
    let mut parts = text.split("\\x");
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let digits = part.get(..2).ok_or("two digits follow \\x")?;
        bytes.push(u8::from_str_radix(digits, 16).map_err(|error| error.to_string())?);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    Ok(bytes)
}

/// `samples STEP`: the project's own programs as `programs.py`, and one in STEP of its tasks in
/// `tasks`.
pub(crate) fn samples(folder: &Path, arguments: &[String]) -> Result<Said, String> {
    let [step] = arguments else {
        return Err("samples STEP".to_owned());
    };
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads/arc/solver/samples");
    fs::copy(samples.join("programs.py"), folder.join("programs.py")).unwrap();
    fs::create_dir(folder.join("tasks")).map_err(|error| error.to_string())?;
    let entries = fs::read_dir(samples.join("tasks")).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths.iter().step_by(number(step)?) {
        fs::copy(path, folder.join("tasks").join(path.file_name().unwrap())).unwrap();
    }
    Ok(Said::default())
}

/// `needs gpu`, `needs numpy`: skips the rest of a case where they are not there.
pub(crate) fn needs(folder: &Path, what: &[String]) -> Result<(), String> {
    match what.join(" ").as_str() {
        "gpu" => {
            let mut devices = command(folder, "devices --json");
            let output = devices.env("SWATHE_SOFTWARE_GPU", "1").output().unwrap();
            let found: Value = serde_json::from_str(&Ended::of(output).stdout).unwrap();
            match found["devices"].as_array().map_or(0, Vec::len) {
                0 | 1 => Err(format!("no graphics processor: {}", found["why_no_gpu"])),
                _ => Ok(()),
            }
        }
        "numpy" => match python::with_numpy() {
            Some(_) => Ok(()),
            None => Err("no NumPy".to_owned()),
        },
        other => panic!("no machine is asked for {other:?}"),
    }
}
