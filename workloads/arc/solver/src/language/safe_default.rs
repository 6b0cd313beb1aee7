//! The value of a guarded line whose call fails: an empty value of the kind that the callee returns.

use crate::language::primitive::PRIMITIVES;
use crate::value::Value;
use crate::value::closure::{Closure, Form};
use crate::value::fault::{Fault, Result};

/// Whether a guarded line replaces this fault by the default. The dialect's functions catch every exception, but limits
/// are not exceptions, and Python's integers do not overflow.
pub(crate) fn is_caught(fault: Fault) -> bool {
    !fault.is_limit() && fault != Fault::OverflowError
}

/// The default of a callee. Only for primitives is the kind of result known; for any other callee it is the empty
/// tuple.
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
