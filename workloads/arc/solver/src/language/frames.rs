//! How many frames of CPython's stack a primitive takes: its own, and those of what it calls.

use crate::language::primitive::PRIMITIVES;
use crate::value::Value;

/// No primitive of arc-dsl takes more frames. Those of functions that it is given are counted when they are called.
pub(crate) const N_FRAMES_MAX: u32 = 6;

/// The frames of a call of this primitive, measured with CPython 3.11: the number that is most frequent for a first
/// argument of this kind.
///
/// Comparisons, generators and some functions of C count as frames too. Further arguments that are wrong, and values
/// nested in each other, may take other numbers, so that a call within `N_FRAMES_MAX` frames of the recursion limit may
/// fail here and succeed in Python, or fail in another way.
#[cold]
pub(crate) fn n_frames(p: u16, args: &[Value]) -> u32 {
    let name = PRIMITIVES[p as usize].name;
    match args.first() {
        Some(Value::Set(set)) if set.is_empty() => of_empty_set(name),
        Some(Value::Set(_)) => of_container(name)[1],
        Some(value) if value.is_tuple() => of_container(name)[0],
        _ => of_no_container(name),
    }
}

/// The frames on a tuple, and on a set.
fn of_container(name: &str) -> [u32; 2] {
    match name {
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
    }
}

fn of_empty_set(name: &str) -> u32 {
    match name {
        "asindices" | "asobject" | "centerofmass" | "colorcount" | "colorfilter" | "dedupe"
        | "difference" | "equality" | "greater" | "hconcat" | "hfrontier" | "hline"
        | "hmatching" | "hperiod" | "insert" | "last" | "leastcolor" | "lefthalf" | "llcorner"
        | "lrcorner" | "maximum" | "merge" | "minimum" | "mostcolor" | "neighbors" | "ofcolor"
        | "pair" | "palette" | "portrait" | "positive" | "product" | "repeat" | "replace"
        | "righthalf" | "shape" | "sizefilter" | "square" | "switch" | "toobject" | "ulcorner"
        | "urcorner" | "vfrontier" | "vline" | "vmatching" | "vperiod" => 2,
        "corners" | "cover" | "dmirror" | "fgpartition" | "hmirror" | "leftmost" | "lowermost"
        | "manhattan" | "numcolors" | "objects" | "other" | "partition" | "remove"
        | "rightmost" | "subgrid" | "uppermost" | "vmirror" => 3,
        "adjacent" | "bordering" | "center" | "cmirror" | "compress" | "inbox" | "move"
        | "outbox" => 4,
        "gravitate" | "position" => 5,
        _ => 1,
    }
}

/// The frames on a number, None or a function: most primitives fail.
fn of_no_container(name: &str) -> u32 {
    match name {
        "centerofmass" | "cover" | "equality" | "even" | "fgpartition" | "greater" | "hconcat"
        | "hfrontier" | "hline" | "hmatching" | "hperiod" | "insert" | "interval" | "lefthalf"
        | "leftmost" | "llcorner" | "lowermost" | "lrcorner" | "manhattan" | "maximum"
        | "minimum" | "neighbors" | "numcolors" | "objects" | "occurrences" | "other" | "pair"
        | "partition" | "portrait" | "position" | "positive" | "product" | "recolor" | "repeat"
        | "righthalf" | "rightmost" | "shape" | "square" | "ulcorner" | "uppermost"
        | "urcorner" | "vfrontier" | "vline" | "vmatching" | "vperiod" => 2,
        "adjacent" | "bordering" | "canvas" | "center" | "corners" | "dmirror" | "hmirror"
        | "inbox" | "move" | "outbox" | "remove" | "subgrid" | "vmirror" => 3,
        "cmirror" | "gravitate" => 4,
        _ => 1,
    }
}
