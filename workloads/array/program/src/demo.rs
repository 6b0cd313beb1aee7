//! The array part of `swathe demo`.

use std::fs;
use std::path::Path;

use swathe::array::Array;
use swathe::seed::{draw, log_uniform, unit};
use swathe_command::cli_error::{CliError, Code};
use swathe_command::program::Demo;
use swathe_formats::npz::{self, Compression};

pub(crate) const DEMO: Demo = Demo {
    make,
    commands: &[
        "array matmul {data}/left.npz --with {data}/right.npz --out {out}/matmul --verify 20",
        "array xor {data}/bytes.npz --key-seed 42 --out {out}/hidden.npz",
        "array xor {out}/hidden.npz --out {out}/restored.npz",
        "array map sqrt {data}/signals.npz --out {out}/roots",
    ],
    close,
};

/// Batches of varied shapes, as in practice: 300 products of 4 to 128 rows, 200 byte strings, 100
/// signals.
fn make(folder: &Path) -> std::io::Result<()> {
    let mut random = 1;
    let mut left = Vec::new();
    let mut right = Vec::new();
    for index in 0..300 {
        let [n_rows, n_inner, n_cols] = [(); 3].map(|()| log_uniform(&mut random, 4.0, 128.0));
        let name = format!("product_{index:03}");
        left.push((name.clone(), floats(&mut random, &[n_rows, n_inner])));
        right.push((name, floats(&mut random, &[n_inner, n_cols])));
    }
    let mut bytes = Vec::new();
    for index in 0..200 {
        let n = log_uniform(&mut random, 1.0, 20_000.0);
        let data: Vec<u8> = (0..n).map(|_| draw(&mut random) as u8).collect();
        let array = Array::new(vec![n], data).expect("a list has its own length");
        bytes.push((format!("bytes_{index:03}"), array));
    }
    let mut signals = Vec::new();
    for index in 0..100 {
        let shape = [log_uniform(&mut random, 1.0, 50.0), log_uniform(&mut random, 10.0, 500.0)];
        signals.push((format!("signal_{index:03}"), floats(&mut random, &shape)));
    }
    for (file, arrays) in [
        ("left.npz", &left),
        ("right.npz", &right),
        ("bytes.npz", &bytes),
        ("signals.npz", &signals),
    ] {
        let named = arrays.iter().map(|(name, array)| (name.as_str(), array));
        let saved = npz::save(&folder.join(file), named, Compression::Stored);
        saved.map_err(std::io::Error::other)?;
    }
    Ok(())
}

fn floats(random: &mut u64, shape: &[usize]) -> Array {
    let n: usize = shape.iter().product();
    let data: Vec<f32> = (0..n).map(|_| (2.0 * unit(random) - 1.0) as f32).collect();
    Array::new(shape.to_vec(), data).expect("a shape has its volume")
}

fn close(out: &Path) -> Result<Option<String>, CliError> {
    let contents = |name: &str| fs::read(out.join(name)).ok();
    match contents("data/bytes.npz") == contents("restored.npz") {
        true => Ok(Some("XOR applied twice restored every byte.".to_owned())),
        false => Err(CliError::new(Code::Mismatch, "XOR applied twice did not restore the data")),
    }
}
