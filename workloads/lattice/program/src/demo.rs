//! The lattice part of `swathe demo`.

use std::path::Path;

use swathe::seed::{log_uniform, unit};
use swathe_command::program::Demo;

pub(crate) const DEMO: Demo = Demo {
    make,
    commands: &["lattice path {data}/mazes.csv --out {out}/paths"],
    close: |_| Ok(None),
};

/// Sixty path queries on lattices of two to four axes, from the first vertex to the last, with a
/// quarter of the vertices blocked.
fn make(folder: &Path) -> std::io::Result<()> {
    let mut random = 0xA243_7FC5_4D4A_0028;
    let mut table = "id,size,from,to,blocked\n".to_owned();
    for index in 0..60 {
        let n_axes = 2 + index % 3;
        let longest = [30.0, 12.0, 6.0][n_axes - 2];
        let sizes: Vec<usize> =
            (0..n_axes).map(|_| log_uniform(&mut random, 3.0, longest)).collect();
        let last = sizes.iter().product::<usize>() - 1;
        let blocked: Vec<String> =
            (1..last).filter(|_| unit(&mut random) < 0.25).map(|id| id.to_string()).collect();
        let size = sizes.iter().map(usize::to_string).collect::<Vec<_>>().join("x");
        table.push_str(&format!("maze_{index:02},{size},0,{last},{}\n", blocked.join(" ")));
    }
    std::fs::write(folder.join("mazes.csv"), table)
}
