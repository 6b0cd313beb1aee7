//! What a guarded line goes on with when its call fails: an empty value of the kind the callee returns.

use crate::language::primitive::PRIMITIVES;
use crate::value::Value;
use crate::value::closure::{Closure, Form};
use crate::value::fault::{Fault, Result};

/// Whether a guarded line goes on after this fault. The dialect's functions catch every exception; limits are
/// no exceptions, and Python's integers would not have overflowed.
pub(crate) fn is_caught(fault: Fault) -> bool {
    !fault.is_limit() && fault != Fault::OverflowError
}

/// The default of a callee. Only primitives say what they return; for anything else it is the empty tuple.
pub(crate) fn safe_default(callee: &Value) -> Result {
    let name = match callee {
        Value::Primitive(p) => PRIMITIVES[*p as usize].name,
        _ => "",
    };
    match name {
        "even" | "flip" | "equality" | "contained" | "greater" | "both" | "either" | "positive"
        | "hmatching" | "vmatching" | "adjacent" | "bordering" | "portrait" | "square"
        | "vline" | "hline" => Ok(Value::Bool(false)),
        "size" | "maximum" | "minimum" | "valmax" | "valmin" | "uppermost" | "lowermost"
        | "leftmost" | "rightmost" | "manhattan" | "color" | "index" | "hperiod" | "vperiod"
        | "mostcolor" | "leastcolor" | "height" | "width" | "colorcount" | "numcolors" => {
            Ok(Value::Int(0))
        }
        "intersection" | "difference" | "initset" | "mfilter" | "insert" | "product" | "mapply"
        | "prapply" | "colorfilter" | "sizefilter" | "asindices" | "toindices" | "shift"
        | "normalize" | "dneighbors" | "ineighbors" | "neighbors" | "objects" | "partition"
        | "fgpartition" | "toobject" | "asobject" | "corners" | "connect" | "vfrontier"
        | "hfrontier" | "backdrop" | "delta" | "inbox" | "outbox" | "box" | "shoot"
        | "occurrences" | "frontiers" | "p_g" | "ofcolor" | "recolor" | "palette" => {
            Value::set(Vec::new())
        }
        "compose" | "chain" | "matcher" | "rbind" | "lbind" | "power" | "fork" => {
            Closure::value(Form::Nothing, [Value::None, Value::None, Value::None])
        }
        _ => Value::tuple(Vec::new()),
    }
}
