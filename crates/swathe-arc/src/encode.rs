use crate::primitive::PRIMITIVES;
use crate::set::Items;
use crate::value::Value;
use crate::{closure::Form, packed};
use std::fmt::Write;

/// A value as compact JSON, sets ascending: the encoding of result tables.
///
/// Integers, booleans and null stand for themselves; `{"grid":[[…]]}` is a tuple of equally long tuples of
/// integers, `{"tuple":[…]}` any other tuple, `{"obj":[[c,i,j],…]}` a set of cells, `{"idx":[[i,j],…]}`
/// a set of pairs, `{"set":[…]}` any other set, `{"fn":…}` a function; one of over a thousand parts is written
/// without them.
///
/// ```
/// use swathe_arc::{Value, encode};
/// let set = Value::set(vec![Value::Pair(1, 0), Value::Pair(0, 2)])?;
/// assert_eq!(encode(&set), r#"{"idx":[[0,2],[1,0]]}"#);
/// # Ok::<(), swathe_arc::Fault>(())
/// ```
pub fn encode(value: &Value) -> String {
    let mut out = String::new();
    write_value(value, &mut out);
    out
}

fn write_value(value: &Value, out: &mut String) {
    match value {
        Value::None => out.push_str("null"),
        Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Value::Int(n) => write_int(*n, out),
        Value::Grid(g) => {
            out.reserve(g.cells().len() * 2 + g.height() * 2 + 12);
            out.push_str("{\"grid\":");
            write_list(g.rows(), out, |row, out| {
                write_list(row.iter(), out, |&c, out| write_int(c.into(), out))
            });
            out.push('}');
        }
        Value::Set(s) => match s.items() {
            Items::Packed(items, is_cell) if !items.is_empty() => {
                let mut sorted = items.clone();
                sorted.sort_unstable();
                out.reserve(sorted.len() * 9 + 8);
                out.push_str(if *is_cell { "{\"obj\":" } else { "{\"idx\":" });
                write_list(sorted.iter(), out, |&x, out| {
                    out.push('[');
                    if *is_cell {
                        write_int(packed::color(x).into(), out);
                        out.push(',');
                    }
                    write_int(packed::row(x).into(), out);
                    out.push(',');
                    write_int(packed::col(x).into(), out);
                    out.push(']');
                });
                out.push('}');
            }
            _ => write_set((0..s.len()).map(|k| s.get(k)).collect(), out),
        },
        Value::Primitive(p) => {
            let _ = write!(out, "{{\"fn\":\"{}\"}}", PRIMITIVES[*p as usize].name);
        }
        Value::Closure(_) => {
            out.push_str("{\"fn\":");
            write_function(value, out);
            out.push('}');
        }
        _ => write_tuple(value, out),
    }
}

fn write_list<T>(items: impl Iterator<Item = T>, out: &mut String, write: impl Fn(T, &mut String)) {
    out.push('[');
    for (k, item) in items.enumerate() {
        if k > 0 {
            out.push(',');
        }
        write(item, out);
    }
    out.push(']');
}

fn write_int(n: i64, out: &mut String) {
    if (0..10).contains(&n) {
        out.push((b'0' + n as u8) as char);
    } else {
        let _ = write!(out, "{n}");
    }
}

fn write_tuple(value: &Value, out: &mut String) {
    let items = value.elements().expect("a tuple");
    let rows = items.iter().map(|v| v.tuple_len()).collect::<Vec<_>>();
    let is_int = |v: &Value| matches!(v, Value::Int(_));
    let is_grid = rows
        .first()
        .is_some_and(|n| n.is_some_and(|n| n > 0) && rows.iter().all(|m| m == n))
        && items
            .iter()
            .all(|r| r.elements().is_some_and(|r| r.iter().all(is_int)));
    if is_grid {
        out.push_str("{\"grid\":");
        write_list(items.iter(), out, |row, out| {
            write_list(row.elements().unwrap_or_default().iter(), out, write_value);
        });
    } else {
        out.push_str("{\"tuple\":");
        write_list(items.iter(), out, write_value);
    }
    out.push('}');
}

/// A set that is not packed; it may still be one of pairs or cells too large to pack.
fn write_set(mut items: Vec<Value>, out: &mut String) {
    items.sort_by(|a, b| a.ascending(b));
    let all = |f: fn(&Value) -> bool| !items.is_empty() && items.iter().all(f);
    let is_index = |v: &Value| matches!(v.elements().as_deref(), Some([Value::Int(_), Value::Int(_)]) if v.is_tuple());
    if all(is_index) {
        out.push_str("{\"idx\":");
        write_list(items.iter(), out, |v, out| {
            write_list(v.elements().unwrap_or_default().iter(), out, write_value);
        });
    } else if all(is_cell) {
        out.push_str("{\"obj\":");
        write_list(items.iter(), out, |v, out| {
            let place = v.tuple_item(1);
            write_list(
                [v.tuple_item(0), place.tuple_item(0), place.tuple_item(1)].iter(),
                out,
                write_value,
            );
        });
    } else {
        out.push_str("{\"set\":");
        write_list(items.iter(), out, write_value);
    }
    out.push('}');
}

fn is_cell(v: &Value) -> bool {
    let pair = |v: &Value| match v.tuple_len() {
        Some(2) => Some((v.tuple_item(0), v.tuple_item(1))),
        _ => None,
    };
    let Some((Value::Int(_), place)) = pair(v) else {
        return false;
    };
    matches!(pair(&place), Some((Value::Int(_), Value::Int(_))))
}

/// A primitive's name, or the call that makes the closure.
fn write_function(f: &Value, out: &mut String) {
    match f {
        Value::Primitive(p) => {
            let _ = write!(out, "\"{}\"", PRIMITIVES[*p as usize].name);
        }
        Value::Closure(c) => {
            let (name, n) = match c.form {
                Form::Compose => ("compose", 2),
                Form::Chain => ("chain", 3),
                Form::Matcher => ("matcher", 2),
                Form::Fork => ("fork", 3),
                Form::RightBound(_) => ("rbind", 2),
                Form::LeftBound(_) => ("lbind", 2),
            };
            let _ = write!(out, "[\"{name}\"");
            let n = if c.is_abbreviated() { 0 } else { n };
            for part in &c.parts[..n] {
                out.push(',');
                write_function(part, out);
            }
            out.push(']');
        }
        _ => write_value(f, out),
    }
}
