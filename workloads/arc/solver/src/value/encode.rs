//! The encoding of values as text, as result tables hold them.

use crate::evaluate::meter;
use crate::language::primitive::Primitive;
use crate::set::{Items, Set};
use crate::value::Value;
use crate::value::closure::Form;
use crate::value::packed::{self, ElementKind};
use crate::value::tuple::Tuple;
use std::rc::Rc;
use std::sync::Arc;

/// A value as compact JSON, sets ascending: the encoding of result tables.
///
/// Integers, booleans and null stand for themselves; `{"grid":[[…]]}` is a tuple of equally long tuples of
/// integers, `{"tuple":[…]}` any other tuple, `{"obj":[[c,i,j],…]}` a set of cells (`{"cells":[[i,j,c],…]}` in the
/// `batt` dialect, which also has `{"float":"nan"}`, `inf` and `-inf`), `{"idx":[[i,j],…]}`
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

/// An output as result tables hold it: its encoding, or only the length and hash of one that is too long to be kept.
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
    /// The encoding; None if it is longer than the limit.
    pub text: Option<Arc<str>>,
    /// The length of the encoding.
    pub n_bytes: usize,
    /// The first 16 bytes of its BLAKE3 hash, little-endian: equal outputs have equal hashes.
    pub hash: u128,
}

impl Output {
    /// Encodes a value. No more than about `n_bytes_max` bytes of the encoding are in memory at once, and as much again
    /// where a part is repeated.
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
        Output { text, n_bytes, hash: first_bytes(&hash) }
    }

    /// The output that has this encoding.
    ///
    /// ```
    /// use swathe_arc::{Output, Value};
    /// let output = Output::of(&Value::Int(7), 100);
    /// assert_eq!(Output::from_text("7".into()), output);
    /// ```
    pub fn from_text(text: Arc<str>) -> Output {
        Output {
            n_bytes: text.len(),
            hash: first_bytes(&blake3::hash(text.as_bytes())),
            text: Some(text),
        }
    }
}

fn first_bytes(hash: &blake3::Hash) -> u128 {
    let [first, ..] = hash.as_bytes().as_chunks::<16>().0 else {
        unreachable!("a hash has 32 bytes")
    };
    u128::from_le_bytes(*first)
}

/// An encoding under construction. Text beyond the limit is hashed and dropped.
struct Text {
    kept: Vec<u8>,
    n_bytes_max: usize,
    spilled: Option<Box<Spilled>>,
    /// The heaviest set sorted so far, with its elements ascending. A repeated set whose text is too long to keep is at
    /// least not sorted again.
    sorted: Option<(Rc<Set>, Rc<[Value]>)>,
    #[cfg(test)]
    n_sorts: usize,
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
            sorted: None,
            #[cfg(test)]
            n_sorts: 0,
        }
    }

    fn push(&mut self, byte: u8) {
        self.kept.push(byte);
    }

    fn push_str(&mut self, text: &str) {
        self.kept.extend_from_slice(text.as_bytes());
    }

    /// How many bytes have been hashed and dropped.
    fn n_bytes_spilled(&self) -> usize {
        self.spilled.as_ref().map_or(0, |spilled| spilled.n_bytes)
    }

    /// The elements of a set, ascending.
    fn ascending(&mut self, set: &Rc<Set>) -> Rc<[Value]> {
        if let Some((known, items)) = &self.sorted
            && Rc::ptr_eq(known, set)
        {
            return Rc::clone(items);
        }
        let mut items = (0..set.len()).map(|k| set.get(k)).collect::<Vec<_>>();
        items.sort_by(|a, b| a.ascending(b));
        #[cfg(test)]
        {
            self.n_sorts += 1;
        }
        let items = Rc::<[Value]>::from(items);
        // Not the last set sorted: that would always be a part of the repeated set.
        let is_heaviest = |(known, _): &(Rc<Set>, _)| known.weight() <= set.weight();
        if self.sorted.as_ref().is_none_or(is_heaviest) {
            self.sorted = Some((Rc::clone(set), Rc::clone(&items)));
        }
        items
    }

    /// Hashes and drops the text after an element, if it is longer than the limit.
    #[inline]
    fn spill(&mut self) {
        if self.kept.len() > self.n_bytes_max {
            self.spill_now();
        }
    }

    /// A separate function, because a hasher in the frame of every level of a nested value would overflow the stack.
    #[cold]
    #[inline(never)]
    fn spill_now(&mut self) {
        let spilled = self
            .spilled
            .get_or_insert_with(|| Box::new(Spilled { hasher: blake3::Hasher::new(), n_bytes: 0 }));
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
        Value::Float(x) => write_float(*x, out),
        Value::Big(n) => out.push_str(&n.to_string()),
        Value::Grid(g) => {
            out.push_str("{\"grid\":");
            write_list(g.rows(), out, write_row);
            out.push(b'}');
        }
        Value::Set(s) => match s.items() {
            Items::Packed(items, kind) if !items.is_empty() => {
                let mut sorted = items.to_vec();
                sorted.sort_unstable_by_key(|&x| kind.sort_key(x));
                out.push_str(match kind {
                    ElementKind::Place => "{\"idx\":",
                    ElementKind::Cell => "{\"obj\":",
                    ElementKind::Triple => "{\"cells\":",
                });
                write_list(sorted.iter(), out, |&x, out| {
                    out.push(b'[');
                    if *kind == ElementKind::Cell {
                        write_int(packed::color(x).into(), out);
                        out.push(b',');
                    }
                    write_int(packed::row(x).into(), out);
                    out.push(b',');
                    write_int(packed::col(x).into(), out);
                    if *kind == ElementKind::Triple {
                        out.push(b',');
                        write_int(packed::color(x).into(), out);
                    }
                    out.push(b']');
                });
                out.push(b'}');
            }
            _ => {
                let items = out.ascending(s);
                write_set(&items, out);
            }
        },
        Value::Primitive(p) => {
            out.push_str("{\"fn\":\"");
            out.push_str(Primitive::at(*p).name);
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
    // Without an early exit, so that the loop can be vectorised.
    let is_digits = cells.iter().fold(true, |all, &c| all & ((c as u8) < 10));
    if !is_digits {
        return write_list(cells.iter(), out, |&c, out| write_int(c.into(), out));
    }
    out.push(b'[');
    let at = out.kept.len();
    out.kept.resize(at + 2 * cells.len(), 0);
    let (pairs, _) = out.kept[at..].as_chunks_mut::<2>();
    for (pair, &cell) in pairs.iter_mut().zip(cells) {
        *pair = [b'0' + cell as u8, b','];
    }
    // Drops the last comma, if there is one.
    out.kept.truncate(out.kept.len().max(at + 1) - 1);
    out.push(b']');
}

fn write_float(x: f64, out: &mut Text) {
    let text = if x.is_nan() { "nan".to_string() } else { format!("{x:?}") };
    out.push_str("{\"float\":\"");
    out.push_str(&text);
    out.push_str("\"}");
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
    if let Value::Tuple(tuple) = value
        && write_rows(tuple, out)
    {
        return;
    }
    let items = value.elements().expect("a tuple");
    let rows = items.iter().map(|v| v.tuple_len()).collect::<Vec<_>>();
    let is_int = |v: &Value| matches!(v, Value::Int(_));
    let is_grid =
        rows.first().is_some_and(|n| n.is_some_and(|n| n > 0) && rows.iter().all(|m| m == n))
            && items.iter().all(|r| r.elements().is_some_and(|r| r.iter().all(is_int)));
    if is_grid {
        out.push_str("{\"grid\":");
        write_list(items.iter(), out, |row, out| {
            write_list(row.elements().unwrap_or_default().iter(), out, write_value);
        });
    } else {
        out.push_str("{\"tuple\":");
        write_values(&items, out);
    }
    out.push(b'}');
}

/// Writes a row of a grid, or a tuple of rows that form a grid, without making values of the cells. False if the tuple
/// is neither.
fn write_rows(tuple: &Tuple, out: &mut Text) -> bool {
    fn cells(value: &Value) -> Option<&[i8]> {
        match value {
            Value::Tuple(row) => row.cells(),
            _ => None,
        }
    }
    if let Some(row) = tuple.cells() {
        out.push_str("{\"tuple\":");
        write_row(row, out);
    } else {
        if tuple.chained().is_some() {
            return false;
        }
        let rows = tuple.items();
        let Some(width) = rows.first().and_then(cells).map(<[i8]>::len) else {
            return false;
        };
        let is_grid = |row: &Value| cells(row).is_some_and(|row| row.len() == width);
        if width == 0 || !rows.iter().all(is_grid) {
            return false;
        }
        out.push_str("{\"grid\":");
        write_list(rows.iter().filter_map(cells), out, write_row);
    }
    out.push(b'}');
    true
}

/// The elements of a tuple. The text of a repeated element, as in `canvas(x, (70000, 3))`, is made once; otherwise a
/// set would be sorted each time it is written.
fn write_values(items: &[Value], out: &mut Text) {
    // The text of the previous element, if this one is the same.
    let mut text = Vec::new();
    out.push(b'[');
    for (k, item) in items.iter().enumerate() {
        if k > 0 {
            out.push(b',');
        }
        let is_repeated = items.get(k + 1).is_some_and(|next| is_same(item, next));
        if text.is_empty() {
            let (start, n_bytes_spilled) = (out.kept.len(), out.n_bytes_spilled());
            write_value(item, out);
            if is_repeated && out.n_bytes_spilled() == n_bytes_spilled {
                text.extend_from_slice(&out.kept[start..]);
            }
        } else {
            out.kept.extend_from_slice(&text);
        }
        if !is_repeated {
            text = Vec::new();
        }
        out.spill();
    }
    out.push(b']');
}

/// Whether two values are one in memory. Equal values may differ in their text: `True` equals 1.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Set(a), Value::Set(b)) => Rc::ptr_eq(a, b),
        (Value::Tuple(a), Value::Tuple(b)) => Rc::ptr_eq(a, b),
        (Value::Grid(a), Value::Grid(b)) => Rc::ptr_eq(a, b),
        _ => false,
    }
}

/// A set that is not packed, ascending; it may still be one of pairs or cells too large to pack.
fn write_set(items: &[Value], out: &mut Text) {
    let all = |f: fn(&Value) -> bool| !items.is_empty() && items.iter().all(f);
    let is_index = |v: &Value| matches!(v.elements().as_deref(), Some([Value::Int(_), Value::Int(_)]) if v.is_tuple());
    let are_triples = meter::cell_kind() == ElementKind::Triple;
    if all(is_index) || (are_triples && all(is_triple)) {
        let is_place = items[0].len() == Some(2);
        out.push_str(if is_place { "{\"idx\":" } else { "{\"cells\":" });
        write_list(items.iter(), out, |v, out| {
            write_list(v.elements().unwrap_or_default().iter(), out, write_value);
        });
    } else if !are_triples && all(is_cell) {
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

fn is_triple(v: &Value) -> bool {
    let is_int = |v: &Value| matches!(v, Value::Int(_));
    v.tuple_len() == Some(3) && v.elements().is_some_and(|v| v.iter().all(is_int))
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
            out.push_str(Primitive::at(*p).name);
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
                Form::Nothing => {
                    out.push_str("\"safe_callable\"");
                    return;
                }
            };
            out.push_str("[\"");
            out.push_str(name);
            out.push(b'"');
            let n = if c.is_abbreviated() { 0 } else { n };
            for part in &c.parts()[..n] {
                out.push(b',');
                write_function(part, out);
            }
            out.push(b']');
        }
        _ => write_value(f, out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A set of sets that are not packed: three lines, one of them with an element too far away to pack.
    fn lines(n: i32) -> Value {
        let line = |i: i32| Value::set((0..n).map(|j| Value::Pair(i, j)).collect()).unwrap();
        let far = Value::set(vec![Value::Pair(1 << 20, 0), Value::Pair(0, 1)]).unwrap();
        Value::set(vec![line(2), far, line(0)]).unwrap()
    }

    /// As `canvas` makes it: one row, again and again.
    fn canvas(value: &Value, height: usize, width: usize) -> Value {
        let row = Value::tuple(vec![value.clone(); width]).unwrap();
        Value::tuple(vec![row; height]).unwrap()
    }

    fn text_of(value: &Value, n_bytes_max: usize) -> Text {
        let mut out = Text::new(n_bytes_max);
        write_value(value, &mut out);
        out
    }

    #[test]
    fn repeated_parts_are_written_as_if_they_were_not() {
        let inner =
            r#"{"set":[{"idx":[[0,0],[0,1]]},{"idx":[[0,1],[1048576,0]]},{"idx":[[2,0],[2,1]]}]}"#;
        let row = format!(r#"{{"tuple":[{inner},{inner},{inner}]}}"#);
        let shared = canvas(&lines(2), 3, 3);
        // The same without anything shared, then with other values in between.
        let fresh_row = || Value::tuple((0..3).map(|_| lines(2)).collect()).unwrap();
        let fresh = Value::tuple((0..3).map(|_| fresh_row()).collect()).unwrap();
        let set = lines(2);
        let mixed = [&set, &set, &Value::Int(1), &set, &lines(1), &set, &set, &Value::Bool(true)];
        let mixed = Value::tuple(mixed.map(Value::clone).to_vec()).unwrap();
        let one = encode(&lines(1));
        let wanted = [
            (shared, format!(r#"{{"tuple":[{row},{row},{row}]}}"#)),
            (fresh, format!(r#"{{"tuple":[{row},{row},{row}]}}"#)),
            (
                mixed,
                format!(r#"{{"tuple":[{inner},{inner},1,{inner},{one},{inner},{inner},true]}}"#),
            ),
        ];
        for (value, wanted) in wanted {
            assert_eq!(encode(&value), wanted);
            let whole = Output::of(&value, usize::MAX);
            assert_eq!(whole.text.as_deref(), Some(wanted.as_str()));
            // Wherever the text is spilled, also in the middle of what is repeated.
            for n_bytes_max in 0..wanted.len() {
                let spilled = Output::of(&value, n_bytes_max);
                assert_eq!((spilled.n_bytes, spilled.hash), (wanted.len(), whole.hash));
                assert_eq!(spilled.text, None);
            }
        }
    }

    /// Rows that a grid was cut into, and the same taken apart into values.
    #[test]
    fn rows_are_written_like_other_tuples() {
        let row = |cells: &[i8]| Value::Tuple(Rc::new(Tuple::row(cells.to_vec())));
        let apart = |cells: &[i8]| {
            let cells = cells.iter().map(|&c| Value::Int(c.into()));
            Value::tuple(cells.collect()).unwrap()
        };
        let grids: [&[&[i8]]; 6] = [
            &[&[1, 2, 3], &[4, 5, 6]],
            &[&[1, 2, 3], &[4, -5, 10]],
            &[&[1, 2, 3], &[4, 5, 6, 7]],
            &[&[1], &[2], &[3]],
            &[&[], &[], &[]],
            &[&[0; 300], &[9; 300], &[7; 300]],
        ];
        for rows in grids {
            let whole = Value::tuple(rows.iter().map(|r| row(r)).collect()).unwrap();
            let wanted = Value::tuple(rows.iter().map(|r| apart(r)).collect()).unwrap();
            assert_eq!(encode(&whole), encode(&wanted));
            for n_bytes_max in [0, 7, 20, 1000] {
                let output = Output::of(&whole, n_bytes_max);
                assert_eq!(output, Output::of(&wanted, n_bytes_max));
            }
            for cells in rows {
                assert_eq!(encode(&row(cells)), encode(&apart(cells)));
            }
        }
        let mixed = Value::tuple(vec![row(&[1, 2, 3]), Value::Int(1), row(&[4])]).unwrap();
        assert_eq!(encode(&mixed), r#"{"tuple":[{"tuple":[1,2,3]},1,{"tuple":[4]}]}"#);
    }

    #[test]
    fn a_repeated_set_is_sorted_once() {
        let once = text_of(&lines(30), usize::MAX).n_sorts;
        assert_eq!(once, 2, "the set, and the line that is not packed");
        for n_bytes_max in [usize::MAX, 1 << 16] {
            let many = text_of(&canvas(&lines(30), 20_000, 3), n_bytes_max);
            // What spills in the middle is made a second time.
            assert!(many.n_sorts <= 2 * once, "{}", many.n_sorts);
        }
        // Too long for its text to be repeated: the set itself is still sorted once, its line each time.
        let long = text_of(&canvas(&lines(30), 100, 3), 100);
        assert_eq!(long.n_sorts, 1 + 300);
    }
}
