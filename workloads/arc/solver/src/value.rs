//! The values that programs compute with.

pub(crate) mod closure;
pub(crate) mod encode;
pub(crate) mod fault;
pub(crate) mod float;
pub(crate) mod grid;
pub(crate) mod hash;
pub(crate) mod integer;
pub(crate) mod operator;
pub(crate) mod packed;
pub(crate) mod planes;
pub(crate) mod tuple;
pub(crate) mod value_table;

use crate::evaluate::meter;
use crate::set::Set;
use crate::set_order::set_table::SetTable;
use crate::value::closure::Closure;
use crate::value::fault::{Fault, Result};
use crate::value::grid::KnownGrid;
use crate::value::hash::TupleHash;
use crate::value::integer::BigInteger;
use crate::value::packed::ElementKind;
use crate::value::tuple::Tuple;
use std::cmp::Ordering;
use std::rc::Rc;

/// A value of the DSL, as Python would hold it.
///
/// Small tuples that programs make by the million are stored inline. One tuple may have several forms (a 2×2 grid is
/// also a tuple of two pairs); equality, hash and order do not depend on the form. Values are counted by `Rc` and stay
/// on their thread; only encoded text crosses threads.
///
/// ```
/// use swathe_arc::Value;
/// let pair = Value::tuple(vec![Value::Int(1), Value::Int(2)])?;
/// assert_eq!(pair, Value::Pair(1, 2));
/// assert_eq!(Value::Bool(true), Value::Int(1)); // as in Python
/// # Ok::<(), swathe_arc::Fault>(())
/// ```
#[derive(Clone)]
pub enum Value {
    /// `None`.
    None,
    /// `True` or `False`; equal to 1 or 0.
    Bool(bool),
    /// An integer of 64 bits.
    Int(i64),
    /// A tuple of two integers.
    Pair(i32, i32),
    /// A tuple of a colour and a pair.
    Cell(i32, i32, i32),
    /// A tuple of two packed pairs or two packed cells (true: cells).
    Duo(u32, u32, ElementKind),
    /// Any other tuple.
    Tuple(Rc<Tuple>),
    /// A tuple of equally long, non-empty tuples of small integers.
    Grid(Rc<KnownGrid>),
    /// A frozenset.
    Set(Rc<Set>),
    /// A function made by `compose`, `rbind` and the like.
    Closure(Rc<Closure>),
    /// A primitive, by its row in the table.
    Primitive(u16),
    /// A tuple of three integers (row, column, colour): a cell of the `batt` dialect. Other dialects never hold one.
    Triple(i32, i32, i32),
    /// A floating-point number: what the `batt` dialect gives for a lookup that found nothing. The bits of a
    /// not-a-number tell apart those that Python made at different times.
    Float(f64),
    /// An integer beyond 64 bits, where arithmetic overflowed.
    Big(Rc<BigInteger>),
}

/// Values nested deeper than this are refused: dropping and comparing them recurses.
const NESTING_MAX: u32 = 2000;

/// Values with more leaves than this are refused. Parts are shared, so a few statements like `astuple(x, x)` make a
/// value that fits in memory but would take too long to hash, compare or write.
const WEIGHT_MAX: u32 = 1 << 26;

/// The nesting and the weight of a container with these elements.
pub(crate) fn nesting_of<'a>(items: impl Iterator<Item = &'a Value>) -> Result<(u32, u32)> {
    let (mut nesting, mut weight) = (0, 1u32);
    for item in items {
        nesting = nesting.max(item.nesting());
        weight = weight.saturating_add(item.weight());
    }
    if nesting >= NESTING_MAX {
        return Err(Fault::RecursionError);
    }
    check_weight(weight)?;
    Ok((nesting + 1, weight))
}

/// Fails if a container is heavier than the limit.
pub(crate) fn check_weight(weight: u32) -> Result<()> {
    if weight > WEIGHT_MAX { Err(Fault::Memory) } else { Ok(()) }
}

/// The number of leaves of a container with these elements, each counted as often as it would be written.
pub(crate) fn weight_of<'a>(items: impl Iterator<Item = &'a Value>) -> u32 {
    items.fold(1, |sum, item| sum.saturating_add(item.weight()))
}

impl Value {
    /// A tuple of these elements, in its most compact form.
    ///
    /// # Errors
    /// If the tuple is nested too deeply or has too many leaves.
    pub fn tuple(mut items: Vec<Value>) -> Result {
        if items.len() == 2 {
            let b = items.pop().expect("two items");
            let a = items.pop().expect("two items");
            return Value::two(a, b);
        }
        if let [Value::Int(i), Value::Int(j), Value::Int(c)] = items[..]
            && meter::cell_kind() == ElementKind::Triple
            && let (Ok(i), Ok(j), Ok(c)) = (i.try_into(), j.try_into(), c.try_into())
        {
            return Ok(Value::Triple(i, j, c));
        }
        Ok(Value::Tuple(Rc::new(Tuple::of(items)?)))
    }

    /// A frozenset built by inserting these elements one after the other.
    ///
    /// # Errors
    /// If the set is nested too deeply, has too many leaves, or exceeds a limit of the call.
    pub fn set(items: Vec<Value>) -> Result {
        crate::set::from_values(items)
    }

    /// A frozenset that Python has: distinct elements in iteration order, and the hash table that they are in.
    ///
    /// # Errors
    /// If the set is nested too deeply or has too many leaves.
    ///
    /// # Panics
    /// If the table is of other elements.
    pub fn set_in_table(items: Vec<Value>, table: &SetTable) -> Result {
        assert!(table.holds(items.len()), "{} elements are not in {table:?}", items.len());
        crate::set::in_table(items, table)
    }

    /// A tuple of two elements.
    #[inline]
    pub(crate) fn two(a: Value, b: Value) -> Result {
        match (&a, &b) {
            (&Value::Int(x), &Value::Int(y)) => {
                if let (Ok(x), Ok(y)) = (i32::try_from(x), i32::try_from(y)) {
                    return Ok(Value::Pair(x, y));
                }
            }
            (&Value::Int(c), &Value::Pair(i, j)) => {
                if let Ok(c) = i32::try_from(c)
                    && meter::cell_kind() == ElementKind::Cell
                {
                    return Ok(Value::Cell(c, i, j));
                }
            }
            (Value::Pair(..), Value::Pair(..))
            | (Value::Cell(..), Value::Cell(..))
            | (Value::Triple(..), Value::Triple(..)) => {
                if let (Some((x, kind)), Some((y, _))) = (a.packed(), b.packed()) {
                    return Ok(Value::Duo(x, y, kind));
                }
            }
            _ => {}
        }
        Ok(Value::Tuple(Rc::new(Tuple::of(vec![a, b])?)))
    }

    /// A pair of integers.
    #[inline]
    pub(crate) fn pair(i: i64, j: i64) -> Result {
        Value::two(Value::Int(i), Value::Int(j))
    }

    /// The packed form of a pair or a cell that fits, and whether it is a cell.
    #[inline]
    pub(crate) fn packed(&self) -> Option<(u32, ElementKind)> {
        match *self {
            Value::Pair(i, j) if packed::fits(i.into(), j.into()) => {
                Some((packed::place(i, j), ElementKind::Place))
            }
            Value::Cell(c, i, j)
                if packed::fits(i.into(), j.into()) && packed::color_fits(c.into()) =>
            {
                Some((packed::cell(c, i, j), ElementKind::Cell))
            }
            Value::Triple(i, j, c)
                if packed::fits(i.into(), j.into()) && packed::color_fits(c.into()) =>
            {
                Some((packed::cell(c, i, j), ElementKind::Triple))
            }
            _ => None,
        }
    }

    /// The pair or cell that a packed element stands for.
    #[inline]
    pub(crate) fn unpacked(p: u32, kind: ElementKind) -> Value {
        match kind {
            ElementKind::Place => Value::Pair(packed::row(p), packed::col(p)),
            ElementKind::Cell => Value::Cell(packed::color(p), packed::row(p), packed::col(p)),
            ElementKind::Triple => Value::Triple(packed::row(p), packed::col(p), packed::color(p)),
        }
    }

    #[inline]
    pub(crate) fn unpacked_duo(d: u64, kind: ElementKind) -> Value {
        Value::Duo((d >> 32) as u32, d as u32, kind)
    }

    /// The integer, if it is one of 64 bits; booleans count as integers.
    #[inline]
    pub fn as_int(&self) -> Option<i64> {
        match *self {
            Value::Int(n) => Some(n),
            Value::Bool(b) => Some(b.into()),
            _ => None,
        }
    }

    /// The number of elements, if it is a tuple.
    #[inline]
    pub fn tuple_len(&self) -> Option<usize> {
        match self {
            Value::Pair(..) | Value::Cell(..) | Value::Duo(..) => Some(2),
            Value::Triple(..) => Some(3),
            Value::Tuple(t) => Some(t.len()),
            Value::Grid(g) => Some(g.height()),
            _ => None,
        }
    }

    /// An element of a tuple; the index must be below `tuple_len`.
    #[inline]
    pub(crate) fn tuple_item(&self, k: usize) -> Value {
        match self {
            Value::Pair(a, b) => Value::Int(i64::from(if k == 0 { *a } else { *b })),
            Value::Cell(c, i, j) => {
                if k == 0 {
                    Value::Int(i64::from(*c))
                } else {
                    Value::Pair(*i, *j)
                }
            }
            Value::Duo(a, b, kind) => Value::unpacked(if k == 0 { *a } else { *b }, *kind),
            Value::Triple(i, j, c) => Value::Int(i64::from([*i, *j, *c][k])),
            Value::Tuple(t) => t.get(k),
            Value::Grid(g) => g.row_value(k),
            _ => unreachable!("only tuples have items"),
        }
    }

    /// Whether it is a tuple.
    #[inline]
    pub fn is_tuple(&self) -> bool {
        matches!(
            self,
            Value::Pair(..)
                | Value::Cell(..)
                | Value::Triple(..)
                | Value::Duo(..)
                | Value::Tuple(_)
                | Value::Grid(_)
        )
    }

    /// Whether it is a function.
    pub fn is_function(&self) -> bool {
        matches!(self, Value::Closure(_) | Value::Primitive(_))
    }

    /// The number of elements of a tuple or set.
    pub fn len(&self) -> Option<usize> {
        match self {
            Value::Set(s) => Some(s.len()),
            _ => self.tuple_len(),
        }
    }

    /// Whether it is a container without elements.
    pub fn is_empty(&self) -> bool {
        self.len() == Some(0)
    }

    /// The elements of a tuple or set in the order that a program sees.
    pub fn elements(&self) -> Option<Vec<Value>> {
        match self {
            Value::Set(s) => Some(s.iter().collect()),
            Value::Tuple(t) => Some(t.to_vec()),
            _ => Some((0..self.tuple_len()?).map(|k| self.tuple_item(k)).collect()),
        }
    }

    /// Python's truth value.
    #[inline]
    pub fn truth(&self) -> bool {
        match self {
            Value::None => false,
            Value::Bool(b) => *b,
            Value::Int(n) => *n != 0,
            Value::Float(x) => *x != 0.0,
            Value::Closure(_) | Value::Primitive(_) | Value::Big(_) => true,
            _ => !self.is_empty(),
        }
    }

    pub(crate) fn nesting(&self) -> u32 {
        match self {
            Value::None
            | Value::Bool(_)
            | Value::Int(_)
            | Value::Float(_)
            | Value::Big(_)
            | Value::Primitive(_) => 0,
            Value::Pair(..) | Value::Triple(..) => 1,
            Value::Cell(..) | Value::Grid(_) => 2,
            Value::Duo(..) => 3,
            Value::Tuple(t) => t.nesting(),
            Value::Set(s) => s.nesting(),
            Value::Closure(c) => c.nesting(),
        }
    }

    /// The number of leaves, shared parts counted as often as they occur.
    pub(crate) fn weight(&self) -> u32 {
        match self {
            Value::None
            | Value::Bool(_)
            | Value::Int(_)
            | Value::Float(_)
            | Value::Primitive(_) => 1,
            Value::Pair(..) | Value::Cell(..) | Value::Triple(..) | Value::Duo(..) => 1,
            Value::Big(n) => n.weight(),
            Value::Grid(g) => u32::try_from(g.cells().len()).unwrap_or(u32::MAX),
            Value::Tuple(t) => t.weight(),
            Value::Set(s) => s.weight(),
            Value::Closure(c) => c.weight(),
        }
    }

    /// CPython's hash. Functions, which Python hashes by address, are hashed by what they are made of.
    pub fn py_hash(&self) -> u64 {
        match self {
            Value::None => hash::NONE,
            Value::Bool(b) => u64::from(*b),
            Value::Int(n) => hash::int(*n),
            Value::Float(x) => hash::float(*x),
            Value::Big(n) => n.py_hash(),
            Value::Triple(i, j, c) => hash::triple(hash::place_lanes(*i, *j), *c),
            Value::Pair(i, j) => hash::pair(*i, *j),
            Value::Cell(c, i, j) => hash::cell(*c, *i, *j),
            Value::Duo(a, b, kind) => hash::two(packed::hash(*a, *kind), packed::hash(*b, *kind)),
            Value::Tuple(t) => t.py_hash(),
            Value::Grid(g) => {
                let mut h = TupleHash::new();
                for row in g.rows() {
                    let mut r = TupleHash::new();
                    for &c in row {
                        r.push(hash::int(i64::from(c)));
                    }
                    h.push(r.finish());
                }
                h.finish()
            }
            Value::Set(s) => s.py_hash(),
            Value::Primitive(p) => hash::two(0x7f00_0000, u64::from(*p)),
            Value::Closure(c) => c.py_hash(),
        }
    }

    /// Ascending order over all values: None, numbers (not-a-number first), tuples, sets, functions.
    pub(crate) fn ascending(&self, other: &Value) -> Ordering {
        fn class(v: &Value) -> u8 {
            match v {
                Value::None => 0,
                Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Big(_) => 1,
                Value::Set(_) => 3,
                Value::Closure(_) | Value::Primitive(_) => 4,
                _ => 2,
            }
        }
        class(self).cmp(&class(other)).then_with(|| match (self, other) {
            (Value::Pair(a, b), Value::Pair(c, d)) => (a, b).cmp(&(c, d)),
            (Value::Cell(x, a, b), Value::Cell(y, c, d)) => (x, a, b).cmp(&(y, c, d)),
            (Value::Float(_), _) | (_, Value::Float(_)) => float::ascending(self, other),
            (Value::Big(_), _) | (_, Value::Big(_)) => integer::ascending(self, other),
            (Value::Set(a), Value::Set(b)) if Rc::ptr_eq(a, b) => Ordering::Equal,
            (Value::Set(a), Value::Set(b)) => a.ascending(b),
            (Value::Grid(a), Value::Grid(b)) if Rc::ptr_eq(a, b) => Ordering::Equal,
            (Value::Grid(a), Value::Grid(b)) => a.rows().cmp(b.rows()),
            (Value::Tuple(a), Value::Tuple(b)) if Rc::ptr_eq(a, b) => Ordering::Equal,
            (Value::Tuple(a), Value::Tuple(b)) => (a.items().iter().zip(b.items()))
                .map(|(x, y)| x.ascending(y))
                .find(|o| o.is_ne())
                .unwrap_or(a.len().cmp(&b.len())),
            _ => match (self.as_int(), other.as_int(), self.tuple_len(), other.tuple_len()) {
                (Some(a), Some(b), ..) => a.cmp(&b),
                (_, _, Some(n), Some(m)) => (0..n.min(m))
                    .map(|k| self.tuple_item(k).ascending(&other.tuple_item(k)))
                    .find(|o| o.is_ne())
                    .unwrap_or(n.cmp(&m)),
                _ => self.py_hash().cmp(&other.py_hash()),
            },
        })
    }
}

/// Python's equality of elements of containers: sets by content, functions by identity, `True == 1`, and a
/// not-a-number only with itself. `==` of two values themselves is [`operator::equal`].
impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Int(a), Value::Int(b)) => a == b,
            (Value::Pair(a, b), Value::Pair(c, d)) => a == c && b == d,
            (Value::Cell(x, a, b), Value::Cell(y, c, d)) => x == y && a == c && b == d,
            (Value::Triple(a, b, x), Value::Triple(c, d, y)) => x == y && a == c && b == d,
            (Value::Float(_), _) | (_, Value::Float(_)) => float::same(self, other),
            (Value::Duo(a, b, x), Value::Duo(c, d, y)) => a == c && b == d && x == y,
            (Value::Grid(a), Value::Grid(b)) => Rc::ptr_eq(a, b) || ***a == ***b,
            (Value::Set(a), Value::Set(b)) => Rc::ptr_eq(a, b) || a.equals(b),
            (Value::None, Value::None) => true,
            (Value::Big(a), Value::Big(b)) => a == b,
            (Value::Closure(a), Value::Closure(b)) => Rc::ptr_eq(a, b),
            (Value::Primitive(a), Value::Primitive(b)) => a == b,
            (Value::Tuple(a), Value::Tuple(b)) => Rc::ptr_eq(a, b) || a.equals(b),
            _ => {
                if let (Some(a), Some(b)) = (self.as_int(), other.as_int()) {
                    return a == b;
                }
                match (self.tuple_len(), other.tuple_len()) {
                    (Some(n), Some(m)) => {
                        n == m && (0..n).all(|k| self.tuple_item(k) == other.tuple_item(k))
                    }
                    _ => false,
                }
            }
        }
    }
}

impl std::fmt::Debug for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&encode::encode(self))
    }
}

impl From<i64> for Value {
    fn from(n: i64) -> Value {
        Value::Int(n)
    }
}

impl From<bool> for Value {
    fn from(b: bool) -> Value {
        Value::Bool(b)
    }
}
