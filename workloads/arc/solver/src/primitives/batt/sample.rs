//! Primitives on the demonstrations of a task.

use super::grid::mir_rot_t;
use super::mapping::mapply_t;
use crate::language::dialect::Dialect;
use crate::language::primitive::primitive_in;
use crate::language::safe_default::{SafeDefault, safe};
use crate::primitives::collection;
use crate::primitives::mapping;
use crate::value::Value;
use crate::value::closure::call;
use crate::value::fault::{Fault, Result};
use crate::value::operator as op;

/// The smallest number of a mirror or turn that makes every input its output; 7 changes nothing. None if there is none.
pub(crate) fn a_mr(a: &[Value]) -> Result {
    for number in 0..8 {
        let mut is_right = true;
        for pair in op::items(&a[0])? {
            let (input, output) = op::unpack(&pair)?;
            let made = safe(mir_rot_t(&[input, Value::Int(number)]), SafeDefault::Tuple)?;
            if !op::equal(&output, &made) {
                is_right = false;
                break;
            }
        }
        if is_right {
            return Ok(Value::Int(number));
        }
    }
    Ok(Value::None)
}

/// The pairs whose elements differ.
pub(crate) fn dedupe_pair_tuple(a: &[Value]) -> Result {
    let mut kept = Vec::new();
    for pair in op::items(&a[0])? {
        let (x, y) = op::unpack(&pair)?;
        if !op::equal(&x, &y) {
            kept.push(Value::two(x, y)?);
        }
    }
    Value::tuple(kept)
}

/// What the function finds in inputs but not in outputs.
pub(crate) fn c_iz(a: &[Value]) -> Result {
    let [inputs, outputs] = found_in_sides(a)?;
    without(inputs, outputs)
}

/// What the function finds in outputs but not in inputs.
pub(crate) fn c_zo(a: &[Value]) -> Result {
    let [inputs, outputs] = found_in_sides(a)?;
    without(outputs, inputs)
}

pub(crate) fn c_iz_n(a: &[Value]) -> Result {
    call(&a[2], &[safe(c_iz(&a[..2]), SafeDefault::Tuple)?])
}

pub(crate) fn c_zo_n(a: &[Value]) -> Result {
    call(&a[2], &[safe(c_zo(&a[..2]), SafeDefault::Tuple)?])
}

/// `difference_tuple(a, b)`.
fn without(a: Value, b: Value) -> Result {
    safe(collection::difference(&[a, b]), SafeDefault::Tuple)
}

/// What the function gives for all inputs, and for all outputs, without repetitions.
fn found_in_sides(a: &[Value]) -> Result<[Value; 2]> {
    let found = |side: &str| -> Result {
        let side = primitive_in(Dialect::Batt, side).ok_or(Fault::TypeError)?;
        let grids = mapping::apply(&[side, a[0].clone()]);
        let grids = safe(grids, SafeDefault::Tuple)?;
        let found = mapply_t(&[a[1].clone(), grids])?;
        safe(collection::dedupe(&[found]), SafeDefault::Tuple)
    };
    Ok([found("first")?, found("second")?])
}
