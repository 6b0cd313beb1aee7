//! Functions applied to many elements at once: each step of a closure runs over a column of values.
//!
//! The work charged is that of calling the function on each element. Cases that columns do not handle (a failure, a
//! limit, a tuple nested too deeply) give None and restore the meter. The caller then evaluates the elements one by
//! one, which decides the outcome.

use crate::columns::column::{Column, Shared, place};
use crate::columns::column_cache;
use crate::evaluate::identity;
use crate::evaluate::meter;
use crate::language::primitive::Primitive;
use crate::value::Value;
use crate::value::closure::{Form, n_args};
use crate::value::fault::{Fault, Result};
use crate::value::operator as op;
use crate::value::packed::{self, ElementKind};
use std::borrow::Cow;
use std::rc::Rc;

/// Elements in one column: enough to amortise the cost of a step, few enough for the CPU caches.
pub(crate) const N_TOGETHER: usize = 512;
/// Fewer elements than this are as fast one by one.
pub(crate) const N_TOGETHER_MIN: usize = 3;

/// The results of a function for n lists of arguments, or None. `get` succeeds for every element of the results.
///
/// Reaching a limit is a fault only if all calls succeed and exceed the limit in sum, because then evaluation one by
/// one exceeds it too. To find out, the calls run on credit for a while beyond the limit.
pub(crate) fn map<'a>(f: &Value, args: &[Shared<'a>], n: usize) -> Result<Option<Shared<'a>>> {
    if identity::is_exact() {
        return Ok(None);
    }
    meter::on_credit(|| {
        let results = mapped(f, args, n)?;
        if let Column::Two(..) | Column::Functions(..) = &*results {
            let whole = (0..n).map(|k| results.get(k)).collect::<Option<_>>()?;
            return Some(Rc::new(Column::of(whole)));
        }
        Some(results)
    })
}

fn mapped<'a>(f: &Value, args: &[Shared<'a>], n: usize) -> Option<Shared<'a>> {
    if usize::from(n_args(f)?) != args.len() {
        return None;
    }
    match f {
        Value::Primitive(p) => meter::called_often(n, || {
            if args.iter().all(|a| matches!(**a, Column::Same(_))) {
                return once(*p, args, n);
            }
            let kernel = Primitive::at(*p).traits.kernel;
            if let Some(column) = kernel.and_then(|k| k(args, n)) {
                return Some(column);
            }
            one_by_one(*p, args, n)
        }),
        Value::Closure(c) => {
            let [a, b, d] = c.parts();
            let parts = [Part::Same(a), Part::Same(b), Part::Same(d)];
            let enter = || meter::called_often(n, || entered(c.form, parts, args, n));
            match args {
                [arg] => column_cache::get_or_compute(c, arg, n, enter),
                _ => enter(),
            }
        }
        _ => None,
    }
}

/// The results of a column of functions: one function for each list of arguments.
pub(crate) fn mapped_each<'a>(f: &Shared<'a>, args: &[Shared<'a>], n: usize) -> Option<Shared<'a>> {
    match &**f {
        Column::Same(f) => mapped(f, args, n),
        Column::Functions(form, [a, b, d]) if usize::from(form.n_args()) == args.len() => {
            let parts = [Part::Each(a), Part::Each(b), Part::Each(d)];
            meter::called_often(n, || entered(*form, parts, args, n))
        }
        _ => None,
    }
}

/// A part of a function: one for all elements, or one for each.
#[derive(Clone, Copy)]
enum Part<'b, 'a> {
    Same(&'b Value),
    Each(&'b Shared<'a>),
}

impl<'a> Part<'_, 'a> {
    fn mapped(self, args: &[Shared<'a>], n: usize) -> Option<Shared<'a>> {
        match self {
            Part::Same(f) => mapped(f, args, n),
            Part::Each(f) => mapped_each(f, args, n),
        }
    }

    fn column(self) -> Shared<'a> {
        match self {
            Part::Same(v) => Rc::new(Column::Same(v.clone())),
            Part::Each(column) => column.clone(),
        }
    }
}

fn entered<'a>(
    form: Form,
    [a, b, d]: [Part<'_, 'a>; 3],
    args: &[Shared<'a>],
    n: usize,
) -> Option<Shared<'a>> {
    match form {
        Form::Compose => a.mapped(&[b.mapped(args, n)?], n),
        Form::Chain => {
            let x = d.mapped(args, n)?;
            a.mapped(&[b.mapped(&[x], n)?], n)
        }
        Form::Matcher => {
            let found = a.mapped(args, n)?;
            let target = b.column();
            let bools = match equal(&found, &target, n) {
                Some(bools) => bools,
                None => (0..n)
                    .map(|k| Some(op::equal(&found.get(k)?, &target.get(k)?)))
                    .collect::<Option<_>>()?,
            };
            Some(Rc::new(Column::Bools(bools)))
        }
        Form::Fork => {
            let x = b.mapped(args, n)?;
            let y = d.mapped(args, n)?;
            a.mapped(&[x, y], n)
        }
        Form::RightBound(_) => match args {
            [x] => a.mapped(&[x.clone(), b.column()], n),
            [x, y] => a.mapped(&[x.clone(), y.clone(), b.column()], n),
            _ => None,
        },
        Form::LeftBound(_) => match args {
            [x] => a.mapped(&[b.column(), x.clone()], n),
            [x, y] => a.mapped(&[b.column(), x.clone(), y.clone()], n),
            _ => None,
        },
        Form::Nothing => None,
    }
}

/// A primitive whose arguments are the same for all elements: one call, charged n times.
fn once<'a>(p: u16, args: &[Shared<'a>], n: usize) -> Option<Shared<'a>> {
    let values: Vec<Value> = args.iter().map(|a| a.get(0)).collect::<Option<_>>()?;
    let result = meter::often(n, || (Primitive::at(p).run)(&values)).ok()?;
    if result.is_function() {
        // Each call would make a function of its own, and functions are equal only to themselves.
        return None;
    }
    Some(Rc::new(Column::Same(result)))
}

/// Calls a primitive that has no kernel for these columns once per element.
fn one_by_one<'a>(p: u16, args: &[Shared<'a>], n: usize) -> Option<Shared<'a>> {
    let primitive = Primitive::at(p);
    let run = primitive.run;
    let has_functions = args.iter().any(|a| matches!(**a, Column::Functions(..)));
    if has_functions && !primitive.traits.calls_functions {
        // A primitive that keeps or compares a function needs that very function, and `get` would build a copy.
        return None;
    }
    let mut buffer = [const { Value::None }; 4];
    let buffer = &mut buffer[..args.len()];
    let mut results = Vec::with_capacity(n);
    for k in 0..n {
        for (value, column) in buffer.iter_mut().zip(args) {
            if k == 0 || !matches!(**column, Column::Same(_)) {
                *value = column.get(k)?;
            }
        }
        results.push(run(buffer).ok()?);
    }
    Some(Rc::new(Column::of(results)))
}

/// A primitive on columns. None if it does not support their kinds; then it has charged nothing.
pub(crate) type Kernel = for<'a> fn(&[Shared<'a>], usize) -> Option<Shared<'a>>;

// Kernels that rows of the table of primitives name.
pub(crate) const IDENTITY: Kernel = |a, _| Some(a[0].clone());
pub(crate) const ADD: Kernel = |a, n| arithmetic(a, n, sum);
pub(crate) const SUBTRACT: Kernel = |a, n| arithmetic(a, n, difference);
pub(crate) const MULTIPLY: Kernel = |a, n| arithmetic(a, n, product);
pub(crate) const INVERT: Kernel = |a, n| each(a, n, i64::overflowing_neg);
pub(crate) const DOUBLE: Kernel = |a, n| each(a, n, |x| x.overflowing_mul(2));
pub(crate) const HALVE: Kernel = |a, n| each(a, n, |x| (x.div_euclid(2), false));
pub(crate) const INCREMENT: Kernel = |a, n| each(a, n, |x| x.overflowing_add(1));
pub(crate) const DECREMENT: Kernel = |a, n| each(a, n, |x| x.overflowing_sub(1));
pub(crate) const CREMENT: Kernel = |a, n| each(a, n, |x| x.overflowing_add(x.signum()));
pub(crate) const SIGN: Kernel = |a, n| each(a, n, |x| (x.signum(), false));
pub(crate) const EVEN: Kernel = |a, n| test(a, n, |x| x & 1 == 0);
pub(crate) const POSITIVE: Kernel = |a, n| test(a, n, |x| x > 0);
pub(crate) const EQUALITY: Kernel =
    |a, n| equal(&a[0], &a[1], n).map(|b| Rc::new(Column::Bools(b)));
pub(crate) const BOTH: Kernel = |a, _| logic(a, |x, y| x & y);
pub(crate) const EITHER: Kernel = |a, _| logic(a, |x, y| x | y);
pub(crate) const MAXIMUM: Kernel = |a, n| extreme(a, n, i32::max);
pub(crate) const MINIMUM: Kernel = |a, n| extreme(a, n, i32::min);
pub(crate) const COMPOSE: Kernel = |a, _| function(Form::Compose, a);
pub(crate) const CHAIN: Kernel = |a, _| function(Form::Chain, a);
pub(crate) const MATCHER: Kernel = |a, _| function(Form::Matcher, a);
pub(crate) const FORK: Kernel = |a, _| function(Form::Fork, a);
pub(crate) const LBIND: Kernel = |a, _| function(Form::LeftBound(bound(a)?), a);
pub(crate) const RBIND: Kernel = |a, _| function(Form::RightBound(bound(a)?), a);
pub(crate) const ARGMAX: Kernel = |a, n| best(a, n, true, false);
pub(crate) const ARGMIN: Kernel = |a, n| best(a, n, false, false);
pub(crate) const VALMAX: Kernel = |a, n| best(a, n, true, true);
pub(crate) const VALMIN: Kernel = |a, n| best(a, n, false, true);

/// A result, and a number that is negative if the result overflowed. A bitwise OR combines these numbers for many
/// results.
type Checked = (i64, i64);

fn sum(x: i64, y: i64) -> Checked {
    let z = x.wrapping_add(y);
    (z, (x ^ z) & (y ^ z))
}

fn difference(x: i64, y: i64) -> Checked {
    let z = x.wrapping_sub(y);
    (z, (x ^ y) & (x ^ z))
}

fn product(x: i64, y: i64) -> Checked {
    let (z, is_over) = x.overflowing_mul(y);
    (z, -i64::from(is_over))
}

/// A binary operation on integers, pairs, or both. Overflow is checked once, after all elements are computed.
fn arithmetic<'a>(
    a: &[Shared<'a>],
    n: usize,
    f: impl Fn(i64, i64) -> Checked,
) -> Option<Shared<'a>> {
    let mut over = 0;
    let mut checked = |x: i64, y: i64| {
        let (z, is_over) = f(x, y);
        over |= is_over;
        z
    };
    let column =
        match (a[0].ints(n), a[1].ints(n)) {
            (Some(x), Some(y)) => {
                let ints = x.iter().zip(y.iter()).map(|(&x, &y)| checked(x, y));
                Rc::new(Column::Ints(ints.collect()))
            }
            _ => {
                let (x, y) = (pairs_or_twice(&a[0], n)?, pairs_or_twice(&a[1], n)?);
                pairs(x.iter().zip(y.iter()).map(|(p, q)| {
                    (checked(p.0.into(), q.0.into()), checked(p.1.into(), q.1.into()))
                }))?
            }
        };
    (over >= 0).then_some(column)
}

/// Pairs, or small integers doubled to pairs: an integer combines with both elements of a pair.
fn pairs_or_twice<'b>(column: &'b Column, n: usize) -> Option<Cow<'b, [(i32, i32)]>> {
    column.pairs(n).or_else(|| {
        let twice = |&x: &i64| i32::try_from(x).ok().map(|x| (x, x));
        column.ints(n)?.iter().map(twice).collect()
    })
}

fn each<'a>(a: &[Shared<'a>], n: usize, f: impl Fn(i64) -> (i64, bool)) -> Option<Shared<'a>> {
    let mut overflowed = false;
    let mut checked = |x: i64| {
        let (y, is_over) = f(x);
        overflowed |= is_over;
        y
    };
    let column = match &*a[0] {
        Column::Pairs(v) => pairs(v.iter().map(|p| (checked(p.0.into()), checked(p.1.into()))))?,
        ints => {
            let ints = ints.ints(n)?;
            Rc::new(Column::Ints(ints.iter().map(|&x| checked(x)).collect()))
        }
    };
    (!overflowed).then_some(column)
}

fn test<'a>(a: &[Shared<'a>], n: usize, f: impl Fn(i64) -> bool) -> Option<Shared<'a>> {
    let ints = a[0].ints(n)?;
    Some(Rc::new(Column::Bools(ints.iter().map(|&x| f(x)).collect())))
}

pub(crate) fn flip<'a>(a: &[Shared<'a>], _: usize) -> Option<Shared<'a>> {
    match &*a[0] {
        Column::Bools(v) => Some(Rc::new(Column::Bools(v.iter().map(|b| !b).collect()))),
        _ => None,
    }
}

pub(crate) fn greater<'a>(a: &[Shared<'a>], n: usize) -> Option<Shared<'a>> {
    let (x, y) = (a[0].ints(n)?, a[1].ints(n)?);
    let bools = x.iter().zip(y.iter()).map(|(x, y)| x > y).collect();
    Some(Rc::new(Column::Bools(bools)))
}

fn logic<'a>(a: &[Shared<'a>], f: impl Fn(bool, bool) -> bool) -> Option<Shared<'a>> {
    match (&*a[0], &*a[1]) {
        (Column::Bools(x), Column::Bools(y)) => {
            Some(Rc::new(Column::Bools(x.iter().zip(y).map(|(&x, &y)| f(x, y)).collect())))
        }
        _ => None,
    }
}

/// Which elements are equal, for kinds whose comparison is not charged.
fn equal(a: &Column, b: &Column, n: usize) -> Option<Vec<bool>> {
    fn same<T: PartialEq>(x: &[T], y: &[T]) -> Vec<bool> {
        x.iter().zip(y).map(|(x, y)| x == y).collect()
    }
    match (a, b) {
        (Column::Bools(x), Column::Bools(y)) => return Some(same(x, y)),
        (Column::Bools(x), Column::Same(Value::Bool(y))) => {
            return Some(x.iter().map(|x| x == y).collect());
        }
        (Column::Cells(x, c), Column::Cells(y, d)) if c == d => return Some(same(x, y)),
        (Column::Duos(x, c), Column::Duos(y, d)) if c == d => return Some(same(x, y)),
        _ => {}
    }
    if let (Some(x), Some(y)) = (a.ints(n), b.ints(n)) {
        return Some(same(&x, &y));
    }
    Some(same(&a.pairs(n)?, &b.pairs(n)?))
}

pub(crate) fn first<'a>(a: &[Shared<'a>], _: usize) -> Option<Shared<'a>> {
    Some(match &*a[0] {
        Column::Two(x, _) => return Some(x.clone()),
        Column::Pairs(v) => Rc::new(Column::Ints(v.iter().map(|p| p.0.into()).collect())),
        Column::Cells(v, ElementKind::Cell) => {
            let colors = v.iter().map(|&p| packed::color(p).into());
            Rc::new(Column::Ints(colors.collect()))
        }
        Column::Cells(v, ElementKind::Triple) => {
            let rows = v.iter().map(|&p| packed::row(p).into());
            Rc::new(Column::Ints(rows.collect()))
        }
        Column::Duos(v, kind) => half(v.iter().map(|&d| (d >> 32) as u32), *kind),
        _ => return None,
    })
}

pub(crate) fn last<'a>(a: &[Shared<'a>], _: usize) -> Option<Shared<'a>> {
    Some(match &*a[0] {
        Column::Two(_, y) => return Some(y.clone()),
        Column::Pairs(v) => Rc::new(Column::Ints(v.iter().map(|p| p.1.into()).collect())),
        Column::Cells(v, ElementKind::Cell) => {
            Rc::new(Column::Pairs(v.iter().map(|&p| place(p)).collect()))
        }
        Column::Cells(v, ElementKind::Triple) => {
            let colors = v.iter().map(|&p| packed::color(p).into());
            Rc::new(Column::Ints(colors.collect()))
        }
        Column::Duos(v, kind) => half(v.iter().map(|&d| d as u32), *kind),
        _ => return None,
    })
}

/// One element of each tuple of two.
fn half<'a>(packed: impl Iterator<Item = u32>, kind: ElementKind) -> Shared<'a> {
    Rc::new(match kind {
        ElementKind::Place => Column::Pairs(packed.map(place).collect()),
        _ => Column::Cells(packed.collect(), kind),
    })
}

fn pair_of<'a>(a: &Column, b: &Column, n: usize) -> Option<Shared<'a>> {
    let (x, y) = (a.ints(n)?, b.ints(n)?);
    pairs(x.iter().copied().zip(y.iter().copied()))
}

/// Pairs of integers, if they fit.
fn pairs<'a>(both: impl Iterator<Item = (i64, i64)>) -> Option<Shared<'a>> {
    let mut fits = true;
    let pairs = both.map(|(i, j)| {
        fits &= i64::from(i as i32) == i && i64::from(j as i32) == j;
        (i as i32, j as i32)
    });
    let pairs = pairs.collect();
    fits.then(|| Rc::new(Column::Pairs(pairs)))
}

pub(crate) fn astuple<'a>(a: &[Shared<'a>], n: usize) -> Option<Shared<'a>> {
    if let Some(pairs) = pair_of(&a[0], &a[1], n) {
        return Some(pairs);
    }
    // A colour and a pair form a cell, which is cheaper to build at once.
    let is_cell = a[0].ints(0).is_some() && a[1].pairs(0).is_some();
    if is_cell || !a[0].is_plain() || !a[1].is_plain() {
        return None;
    }
    Some(Rc::new(Column::Two(a[0].clone(), a[1].clone())))
}

fn extreme<'a>(a: &[Shared<'a>], _: usize, f: impl Fn(i32, i32) -> i32) -> Option<Shared<'a>> {
    match &*a[0] {
        Column::Pairs(v) => {
            Some(Rc::new(Column::Ints(v.iter().map(|&(i, j)| f(i, j).into()).collect())))
        }
        _ => None,
    }
}

pub(crate) fn initset<'a>(a: &[Shared<'a>], _: usize) -> Option<Shared<'a>> {
    match &*a[0] {
        Column::Cells(v, kind) => Some(Rc::new(Column::Singles(v.clone(), *kind))),
        Column::Pairs(v) => {
            let place = |&(i, j): &(i32, i32)| {
                packed::fits(i.into(), j.into()).then(|| packed::place(i, j))
            };
            let places = v.iter().map(place).collect::<Option<_>>()?;
            Some(Rc::new(Column::Singles(places, ElementKind::Place)))
        }
        _ => None,
    }
}

/// The distance of single cells from a patch.
pub(crate) fn manhattan<'a>(a: &[Shared<'a>], n: usize) -> Option<Shared<'a>> {
    let (patch, singles) = match (&*a[0], &*a[1]) {
        (Column::Same(Value::Set(s)), Column::Singles(v, _)) => (s, v),
        (Column::Singles(v, _), Column::Same(Value::Set(s))) => (s, v),
        _ => return None,
    };
    let (items, _) = patch.packed().filter(|(items, _)| !items.is_empty())?;
    meter::spend(n * (items.len() / 16)).ok()?;
    let from = |p: u32| -> i64 {
        let (i, j) = place(p);
        let least =
            items.iter().map(|&q| (packed::row(q) - i).abs() + (packed::col(q) - j).abs()).min();
        least.map_or(0, i64::from)
    };
    Some(Rc::new(Column::Ints(singles.iter().map(|&p| from(p)).collect())))
}

/// The colour of the first of two cells.
pub(crate) fn color<'a>(a: &[Shared<'a>], _: usize) -> Option<Shared<'a>> {
    match &*a[0] {
        Column::Duos(v, ElementKind::Cell | ElementKind::Triple) => {
            let colors = v.iter().map(|&d| packed::color((d >> 32) as u32).into());
            Some(Rc::new(Column::Ints(colors.collect())))
        }
        _ => None,
    }
}

/// Functions of one form; their parts stay columns.
fn function<'a>(form: Form, a: &[Shared<'a>]) -> Option<Shared<'a>> {
    let none = || Rc::new(Column::Same(Value::None));
    let part = |k: usize| a.get(k).cloned().unwrap_or_else(none);
    Some(Rc::new(Column::Functions(form, [part(0), part(1), part(2)])))
}

/// The number of arguments of the function that is bound.
fn bound(a: &[Shared]) -> Option<u8> {
    match &*a[0] {
        Column::Same(f) => n_args(f),
        Column::Functions(form, _) => Some(form.n_args()),
        _ => None,
    }
}

/// The element of one set with the extreme key, or the key, for each of many functions.
fn best<'a>(a: &[Shared<'a>], n: usize, greatest: bool, is_key: bool) -> Option<Shared<'a>> {
    let (Column::Same(Value::Set(set)), Column::Functions(..)) = (&*a[0], &*a[1]) else {
        return None;
    };
    if set.len() < 2 {
        return None;
    }
    meter::attempt(|| {
        for _ in 0..n {
            meter::build(set.len(), 8).ok()?;
        }
        // In the order that programs see, so that the first of several tied elements wins.
        let elements: Vec<Value> = set.iter().collect();
        let mut keys = vec![0; n];
        let mut found = vec![0u32; n];
        for (at, element) in (0..).zip(&elements) {
            let element = Rc::new(Column::Same(element.clone()));
            let column = mapped_each(&a[1], &[element], n)?;
            let column = column.ints(n)?;
            for k in 0..n {
                let is_better = if greatest { column[k] > keys[k] } else { column[k] < keys[k] };
                if at == 0 || is_better {
                    keys[k] = column[k];
                    found[k] = at;
                }
            }
        }
        if is_key {
            return Some(Rc::new(Column::Ints(keys)));
        }
        let found = found.iter().map(|&at| elements[at as usize].clone());
        Some(Rc::new(Column::of(found.collect())))
    })
}

/// A function on both elements of pairs.
pub(crate) fn apply<'a>(a: &[Shared<'a>], n: usize) -> Option<Shared<'a>> {
    let (Column::Same(f), Column::Pairs(v)) = (&*a[0], &*a[1]) else {
        return None;
    };
    let both: Vec<i64> = v.iter().flat_map(|p| [p.0.into(), p.1.into()]).collect();
    meter::attempt(|| {
        let both = Rc::new(Column::Ints(both));
        let found = meter::nested(1, || mapped(f, &[both], 2 * n).ok_or(Fault::TypeError)).ok()?;
        let Column::Ints(v) = &*found else {
            return None;
        };
        pairs(v.chunks_exact(2).map(|p| (p[0], p[1])))
    })
}
