//! LineSegment lines of places or cells, stored as their two ends.

use crate::set;
use crate::set::set_cache;
use crate::set_order::iteration_order::IterationOrder;
use crate::value::Value;
use crate::value::packed::{self, Bounds, ElementKind};

/// A straight or diagonal line of places, or of cells of one colour, that has not been made into a set.
///
/// Programs connect every place with every other place and keep a few of the lines. The ends are enough to choose.
/// Equal sets have equal ends, because the upper (or left) end comes first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LineSegment(u64);

/// What distinguishes lines from other cached sets, by the kind of their elements.
const LINE_KEYS: [u64; 3] = [1, 2, 9];

impl LineSegment {
    /// The empty set: places that no line connects.
    pub(crate) const NONE: LineSegment = LineSegment(u64::MAX);

    /// `connect`; both places fit.
    #[inline]
    pub(crate) fn between(a: (i32, i32), b: (i32, i32)) -> LineSegment {
        let (di, dj) = (b.0 - a.0, b.1 - a.1);
        if di != 0 && dj != 0 && di.abs() != dj.abs() {
            return LineSegment::NONE;
        }
        let is_forward = di > 0 || (di == 0 && dj >= 0);
        let (from, to) = if is_forward { (a, b) } else { (b, a) };
        LineSegment::of(packed::place(from.0, from.1), packed::place(to.0, to.1))
    }

    /// A line of one element, which may be a cell.
    #[inline]
    pub(crate) fn single(p: u32) -> LineSegment {
        LineSegment::of(p, p & packed::PLACE_MASK)
    }

    fn of(first: u32, last: u32) -> LineSegment {
        LineSegment(u64::from(first) << 32 | u64::from(last))
    }

    /// The line of places in a colour.
    #[inline]
    pub(crate) fn colored(self, color: i32) -> LineSegment {
        if self == LineSegment::NONE {
            return self;
        }
        LineSegment(self.0 | u64::from(packed::color_bits(color)) << 32)
    }

    /// A number that identifies a line among lines of one kind.
    #[inline]
    pub(crate) fn number(self) -> u64 {
        self.0
    }

    /// The colour byte of the packed cells; 0 for places.
    #[inline]
    pub(crate) fn color_byte(self) -> u32 {
        (self.0 >> 56) as u32
    }

    #[inline]
    fn ends(self) -> ((i32, i32), (i32, i32)) {
        let (p, q) = ((self.0 >> 32) as u32, self.0 as u32);
        ((packed::row(p), packed::col(p)), (packed::row(q), packed::col(q)))
    }

    /// The number of elements.
    #[inline]
    pub(crate) fn len(self) -> usize {
        if self == LineSegment::NONE {
            return 0;
        }
        let (a, b) = self.ends();
        ((b.0 - a.0).abs().max((b.1 - a.1).abs()) + 1) as usize
    }

    /// The rectangle around a line that is not empty.
    #[inline]
    pub(crate) fn bounds(self) -> Bounds {
        let (a, b) = self.ends();
        Bounds { top: a.0, bottom: b.0, left: a.1.min(b.1), right: a.1.max(b.1) }
    }

    /// The packed elements in the order in which `connect` inserts them.
    #[inline]
    pub(crate) fn items(self) -> impl Iterator<Item = u32> {
        let (a, b) = self.ends();
        let step = packed::step((b.0 - a.0).signum(), (b.1 - a.1).signum());
        let first = (self.0 >> 32) as u32;
        (0..self.len() as u32).map(move |k| first.wrapping_add(k.wrapping_mul(step)))
    }

    /// The set.
    pub(crate) fn value(self, kind: ElementKind) -> Value {
        if self == LineSegment::NONE {
            return set::empty();
        }
        // A place is three bytes and a colour one, so the key is exact.
        let (first, last) = ((self.0 >> 32) as u32, self.0 as u32);
        let key = LINE_KEYS[kind as usize] << 56 | u64::from(first) << 24 | u64::from(last);
        set_cache::set(key, || {
            let items = self.items().collect();
            let order = if kind.has_color() && first & packed::PLACE_MASK != last {
                // The reference colours the finished set of places.
                let places = LineSegment::of(first & packed::PLACE_MASK, last);
                match places.value(ElementKind::Place) {
                    Value::Set(s) => IterationOrder::Via(s),
                    _ => IterationOrder::Sequence,
                }
            } else {
                IterationOrder::Sequence
            };
            set::packed_within(items, kind, order, Some(self.bounds()))
        })
    }
}
