use crate::primitive::PRIMITIVES;
use crate::set::Items;
use crate::value::Value;
use crate::{closure::Form, packed};
use std::sync::Arc;

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
    let mut out = Text::new(usize::MAX);
    write_value(value, &mut out);
    String::from_utf8(out.kept).expect("only ASCII is written")
}

/// An output as result tables hold it: its encoding, or what is left of one that is too long to be kept.
///
/// ```
/// use swathe_arc::{Grid, Output};
/// let grid = Grid::from_rows(&[vec![1, 2]]).unwrap();
/// let short = Output::of(&grid.clone().into(), 1000);
/// assert_eq!(short.text.as_deref(), Some(r#"{"grid":[[1,2]]}"#));
/// let long = Output::of(&grid.into(), 10);
/// assert_eq!((long.text, long.n_bytes, long.hash), (None, 16, short.hash));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Output {
    /// The encoding; None if it is longer than was asked for.
    pub text: Option<Arc<str>>,
    /// How long it is.
    pub n_bytes: usize,
    /// The first 16 bytes of its BLAKE3 hash, little-endian: equal outputs have equal hashes.
    pub hash: u128,
}

impl Output {
    /// Encodes a value. Of an encoding longer than `n_bytes_max` no more than that is in memory at once.
    pub fn of(value: &Value, n_bytes_max: usize) -> Output {
        let mut out = Text::new(n_bytes_max);
        write_value(value, &mut out);
        let (hash, n_bytes) = match &mut out.spilled {
            None => (blake3::hash(&out.kept), out.kept.len()),
            Some(spilled) => {
                spilled.hasher.update(&out.kept);
                (spilled.hasher.finalize(), spilled.n_bytes + out.kept.len())
            }
        };
        let is_kept = out.spilled.is_none() && n_bytes <= n_bytes_max;
        let text = is_kept.then(|| {
            let text = std::str::from_utf8(&out.kept).expect("only ASCII is written");
            Arc::from(text)
        });
        let [first, ..] = hash.as_bytes().as_chunks::<16>().0 else {
            unreachable!("a hash has 32 bytes")
        };
        Output {
            text,
            n_bytes,
            hash: u128::from_le_bytes(*first),
        }
    }
}

/// An encoding in the making. What goes beyond the limit is hashed and forgotten.
struct Text {
    kept: Vec<u8>,
    n_bytes_max: usize,
    spilled: Option<Box<Spilled>>,
}

struct Spilled {
    hasher: blake3::Hasher,
    n_bytes: usize,
}

impl Text {
    fn new(n_bytes_max: usize) -> Text {
        Text {
            kept: Vec::new(),
            n_bytes_max,
            spilled: None,
        }
    }

    fn push(&mut self, byte: u8) {
        self.kept.push(byte);
    }

    fn push_str(&mut self, text: &str) {
        self.kept.extend_from_slice(text.as_bytes());
    }

    /// Makes room after an element, if it is needed.
    #[inline]
    fn spill(&mut self) {
        if self.kept.len() > self.n_bytes_max {
            self.spill_now();
        }
    }

    /// Apart, because a hasher on the stack at every level of a nested value would overflow it.
    #[cold]
    #[inline(never)]
    fn spill_now(&mut self) {
        let spilled = self.spilled.get_or_insert_with(|| {
            Box::new(Spilled {
                hasher: blake3::Hasher::new(),
                n_bytes: 0,
            })
        });
        spilled.hasher.update(&self.kept);
        spilled.n_bytes += self.kept.len();
        self.kept.clear();
    }
}

fn write_value(value: &Value, out: &mut Text) {
    match value {
        Value::None => out.push_str("null"),
        Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Value::Int(n) => write_int(*n, out),
        Value::Grid(g) => {
            out.push_str("{\"grid\":");
            write_list(g.rows(), out, write_row);
            out.push(b'}');
        }
        Value::Set(s) => match s.items() {
            Items::Packed(items, is_cell) if !items.is_empty() => {
                let mut sorted = items.clone();
                sorted.sort_unstable();
                out.push_str(if *is_cell { "{\"obj\":" } else { "{\"idx\":" });
                write_list(sorted.iter(), out, |&x, out| {
                    out.push(b'[');
                    if *is_cell {
                        write_int(packed::color(x).into(), out);
                        out.push(b',');
                    }
                    write_int(packed::row(x).into(), out);
                    out.push(b',');
                    write_int(packed::col(x).into(), out);
                    out.push(b']');
                });
                out.push(b'}');
            }
            _ => write_set((0..s.len()).map(|k| s.get(k)).collect(), out),
        },
        Value::Primitive(p) => {
            out.push_str("{\"fn\":\"");
            out.push_str(PRIMITIVES[*p as usize].name);
            out.push_str("\"}");
        }
        Value::Closure(_) => {
            out.push_str("{\"fn\":");
            write_function(value, out);
            out.push(b'}');
        }
        _ => write_tuple(value, out),
    }
}

fn write_list<T>(items: impl Iterator<Item = T>, out: &mut Text, write: impl Fn(T, &mut Text)) {
    out.push(b'[');
    for (k, item) in items.enumerate() {
        if k > 0 {
            out.push(b',');
        }
        write(item, out);
        out.spill();
    }
    out.push(b']');
}

/// A row of a grid: nearly always digits, which are written all at once.
fn write_row(cells: &[i8], out: &mut Text) {
    if cells.iter().any(|c| !(0..10).contains(c)) {
        return write_list(cells.iter(), out, |&c, out| write_int(c.into(), out));
    }
    out.push(b'[');
    let at = out.kept.len();
    out.kept.resize(at + 2 * cells.len(), b',');
    for (digit, &cell) in out.kept[at..].iter_mut().step_by(2).zip(cells) {
        *digit = b'0' + cell as u8;
    }
    // The last comma.
    out.kept.pop();
    out.push(b']');
}

fn write_int(n: i64, out: &mut Text) {
    if (0..10).contains(&n) {
        return out.push(b'0' + n as u8);
    }
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut left = n.unsigned_abs();
    while left > 0 {
        at -= 1;
        digits[at] = b'0' + (left % 10) as u8;
        left /= 10;
    }
    if n < 0 {
        out.push(b'-');
    }
    out.kept.extend_from_slice(&digits[at..]);
}

fn write_tuple(value: &Value, out: &mut Text) {
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
    out.push(b'}');
}

/// A set that is not packed; it may still be one of pairs or cells too large to pack.
fn write_set(mut items: Vec<Value>, out: &mut Text) {
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
    out.push(b'}');
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
fn write_function(f: &Value, out: &mut Text) {
    match f {
        Value::Primitive(p) => {
            out.push(b'"');
            out.push_str(PRIMITIVES[*p as usize].name);
            out.push(b'"');
        }
        Value::Closure(c) => {
            let (name, n) = match c.form {
                Form::Compose => ("compose", 2),
                Form::Chain => ("chain", 3),
                Form::Matcher => ("matcher", 2),
                Form::Fork => ("fork", 3),
                Form::RightBound(_) => ("rbind", 2),
                Form::LeftBound(_) => ("lbind", 2),
                Form::Nothing => ("nothing", 0),
            };
            out.push_str("[\"");
            out.push_str(name);
            out.push(b'"');
            let n = if c.is_abbreviated() { 0 } else { n };
            for part in &c.parts[..n] {
                out.push(b',');
                write_function(part, out);
            }
            out.push(b']');
        }
        _ => write_value(f, out),
    }
}
