//! The part of `swathe demo` that solves pairs of frames.

use std::path::Path;

use swathe::array::Array;
use swathe::seed::{log_uniform, unit};
use swathe_command::program::Demo;
use swathe_formats::npz::{self, Compression};
use swathe_ot::Shape;
use swathe_ot::synth::{Change, embryo_pair};

pub(crate) const DEMO: Demo = Demo {
    make,
    commands: &["ot {data}/pairs.csv --out {out}/transport --fields npz --verify 5"],
    close: |_| Ok(None),
};

/// Writes forty masks of embryos with their successors, in frames of many shapes, and the table of
/// pairs.
fn make(folder: &Path) -> std::io::Result<()> {
    let mut random = 0x12D7_B215_48C0_8F6B;
    let mut table = "pair_id,stage,src,tgt,um_per_px\n".to_owned();
    let mut frames: Vec<(String, Array)> = Vec::new();
    for index in 0..40 {
        let shape = Shape::new(
            log_uniform(&mut random, 48.0, 160.0),
            log_uniform(&mut random, 64.0, 224.0),
        );
        let change = Change { growth: 0.95 + 0.2 * unit(&mut random), ..Change::default() };
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
    let saved = npz::save(&folder.join("embryos.npz"), named, Compression::Stored);
    saved.map_err(std::io::Error::other)?;
    std::fs::write(folder.join("pairs.csv"), table)
}
