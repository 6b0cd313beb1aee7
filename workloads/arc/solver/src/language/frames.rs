//! How many frames of CPython's stack a primitive takes: its own, and those of what it calls.

use crate::language::primitive::PRIMITIVES;
use crate::value::Value;

/// No primitive of arc-dsl takes more frames. Those of functions that it is given are counted when they are called.
pub(crate) const N_FRAMES_MAX: u32 = 6;

/// The frames of a call of this primitive, measured with CPython 3.11 on ordinary arguments.
///
/// Comparisons, generators and some functions of C count as frames too. Arguments that are empty or wrong may take fewer
/// frames, so that a call within `N_FRAMES_MAX` frames of the recursion limit may fail here and succeed in Python.
#[cold]
pub(crate) fn n_frames(p: u16, args: &[Value]) -> u32 {
    let [other, of_set] = match PRIMITIVES[p as usize].name {
        "height" | "hmirror" | "width" => [1, 4],
        "contained" => [2, 1],
        "asobject" | "cellwise" | "colorfilter" | "crop" | "downscale" | "equality" | "even"
        | "fill" | "greater" | "hconcat" | "hfrontier" | "hupscale" | "insert" | "interval"
        | "merge" | "neighbors" | "ofcolor" | "paint" | "pair" | "palette" | "positive"
        | "product" | "recolor" | "repeat" | "rot180" | "rot270" | "rot90" | "shift"
        | "sizefilter" | "trim" | "vfrontier" | "vupscale" => [2, 2],
        "dmirror" | "upscale" | "vmirror" => [2, 4],
        "cmirror" | "portrait" | "shape" | "square" => [2, 5],
        "difference" => [3, 2],
        "asindices" | "canvas" | "centerofmass" | "compress" | "connect" | "dedupe"
        | "frontiers" | "hmatching" | "lefthalf" | "leftmost" | "lowermost" | "lrcorner"
        | "maximum" | "minimum" | "numcolors" | "other" | "partition" | "replace" | "righthalf"
        | "rightmost" | "switch" | "toobject" | "ulcorner" | "uppermost" | "vmatching" => [3, 3],
        "colorcount" => [4, 3],
        "backdrop" | "bordering" | "box" | "hsplit" | "inbox" | "last" | "leastcolor"
        | "leastcommon" | "llcorner" | "mostcolor" | "mostcommon" | "normalize" | "objects"
        | "outbox" | "shoot" | "urcorner" | "vsplit" => [4, 4],
        "remove" => [5, 3],
        "center" | "corners" | "cover" | "delta" | "fgpartition" | "hline" | "hperiod"
        | "manhattan" | "underfill" | "underpaint" | "vline" | "vperiod" => [5, 5],
        "adjacent" | "gravitate" | "move" | "occurrences" | "position" | "subgrid" => [6, 6],
        _ => [1, 1],
    };
    match args.first() {
        Some(Value::Set(set)) if set.is_empty() => 1,
        Some(Value::Set(_)) => of_set,
        _ => other,
    }
}
