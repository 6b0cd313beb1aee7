//! Patches: colouring, mirroring and enlarging them.

use super::extent::number;
use crate::evaluate::meter;
use crate::language::safe_default::{SafeDefault, safe};
use crate::primitives::collection::packed_set;
use crate::primitives::extent::corner;
use crate::primitives::mirror;
use crate::primitives::patch::recolor;
use crate::set;
use crate::value::Value;
use crate::value::fault::Result;
use crate::value::operator as op;
use crate::value::packed::ElementKind;

pub(crate) fn recolor_i(a: &[Value]) -> Result {
    if let Some((_, _, ElementKind::Place)) = packed_set(&a[1]) {
        return recolored(&a[0], &a[1], || recolor(a));
    }
    recolored_pairs(&a[0], &a[1])
}

pub(crate) fn recolor_o(a: &[Value]) -> Result {
    let indices = super::extent::toindices_o(&a[1..])?;
    recolor_i(&[a[0].clone(), indices])
}

/// Packed places in a colour; a colour that cannot be packed is put in one by one.
fn recolored(color: &Value, places: &Value, packed: impl FnOnce() -> Result) -> Result {
    match color {
        Value::Int(c) if crate::value::packed::color_fits(*c) => packed(),
        _ => recolored_pairs(color, places),
    }
}

fn recolored_pairs(color: &Value, places: &Value) -> Result {
    let mut cells = Vec::new();
    for place in op::items(places)? {
        let (i, j) = op::unpack(&place)?;
        cells.push(Value::tuple(vec![i, j, color.clone()])?);
    }
    set::from_values(cells)
}

/// How a patch is mirrored.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mirror {
    /// Upside down.
    Horizontal,
    /// Left to right.
    Vertical,
    /// Along the diagonal.
    Diagonal,
}

/// What the elements of a patch must be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Elements {
    Pairs,
    Cells,
    /// What the first one is.
    AsFirst,
}

impl Mirror {
    pub(crate) fn of(self, patch: &Value, elements: Elements) -> Result {
        if let Some((_, _, kind)) = packed_set(patch)
            && (elements == Elements::AsFirst || kind.has_color() == (elements == Elements::Cells))
        {
            let patch = std::slice::from_ref(patch);
            return match self {
                Mirror::Horizontal => mirror::hmirror(patch),
                Mirror::Vertical => mirror::vmirror(patch),
                Mirror::Diagonal => mirror::dmirror(patch),
            };
        }
        let upper_left = corner(patch, [false, false])?;
        let (a, b) = match self {
            Mirror::Horizontal => (opposite(patch, &upper_left, 0)?, Value::Int(0)),
            Mirror::Vertical => (Value::Int(0), opposite(patch, &upper_left, 1)?),
            Mirror::Diagonal => op::unpack(&upper_left)?,
        };
        let have_colors = match elements {
            Elements::Pairs => false,
            Elements::Cells => true,
            Elements::AsFirst => op::len(&op::first(patch)?)? == 3,
        };
        let mapped = |i: Value, j: Value| -> Result<(Value, Value)> {
            Ok(match self {
                Mirror::Horizontal => (op::sub(&a, &i)?, j),
                Mirror::Vertical => (i, op::sub(&b, &j)?),
                Mirror::Diagonal => {
                    (op::add(&op::sub(&j, &b)?, &a)?, op::add(&op::sub(&i, &a)?, &b)?)
                }
            })
        };
        let mut all = Vec::new();
        for element in op::items(patch)? {
            if have_colors {
                let [i, j, c] = op::unpack_three(&element)?;
                let (i, j) = mapped(i, j)?;
                all.push(Value::tuple(vec![i, j, c])?);
            } else {
                let (i, j) = op::unpack(&element)?;
                let (i, j) = mapped(i, j)?;
                all.push(Value::two(i, j)?);
            }
        }
        meter::spend(all.len())?;
        set::from_values(all)
    }

    /// The function on its own, with its default.
    fn safe(self, patch: &Value, elements: Elements) -> Result {
        if self == Mirror::Vertical && elements == Elements::AsFirst && is_empty_set(patch) {
            return Ok(patch.clone());
        }
        safe(self.of(patch, elements), SafeDefault::Set)
    }
}

fn is_empty_set(v: &Value) -> bool {
    matches!(v, Value::Set(s) if s.is_empty())
}

/// `ulcorner(patch)[axis] + lrcorner(patch)[axis]`.
fn opposite(patch: &Value, upper_left: &Value, axis: usize) -> Result {
    let first = op::item(upper_left, axis)?;
    op::add(&first, &op::item(&corner(patch, [true, true])?, axis)?)
}

pub(crate) fn hmirror_f(a: &[Value]) -> Result {
    Mirror::Horizontal.safe(&a[0], Elements::AsFirst)
}

pub(crate) fn vmirror_f(a: &[Value]) -> Result {
    Mirror::Vertical.safe(&a[0], Elements::AsFirst)
}

pub(crate) fn dmirror_f(a: &[Value]) -> Result {
    Mirror::Diagonal.safe(&a[0], Elements::AsFirst)
}

/// Along the other diagonal, by three mirrors.
pub(crate) fn cmirror_f(a: &[Value]) -> Result {
    let once = Mirror::Vertical.safe(&a[0], Elements::AsFirst)?;
    let twice = Mirror::Diagonal.safe(&once, Elements::AsFirst)?;
    Mirror::Vertical.safe(&twice, Elements::AsFirst)
}

/// A patch mirrored by number; any other number leaves it as it is.
pub(crate) fn mir_rot_f(a: &[Value]) -> Result {
    match number(&a[1]) {
        Some(0) => hmirror_f(a),
        Some(1) => dmirror_f(a),
        Some(2) => vmirror_f(a),
        Some(3) => cmirror_f(a),
        _ => Ok(a[0].clone()),
    }
}
