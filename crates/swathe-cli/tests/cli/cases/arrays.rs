//! Arrays: `.npy` and `.npz` files and lists in Parquet, made of a short description each.
//!
//! A description is `NAME*N=DTYPE[EXTENTS]:VALUES`: N arrays called NAME0, NAME1 …, or one called
//! NAME without `*N`. An extent is a number or an expression of the item's number `k`, such as
//! `4+k*7%30` (products from left to right, then the sum). VALUES are repeated until the array is
//! full; without them the elements are random, but the same on every machine. `\x1b` in a name is a
//! byte.

use std::path::Path;

use swathe::array::{Array, Dtype, Elements};
use swathe_formats::list_column::ListColumnWriter;
use swathe_formats::npy;
use swathe_formats::npz::{self, Compression, Npz};

use super::files::bytes;
use super::vocabulary::{Said, option};
use crate::program::Random;

/// `npz FILE [--seed N] [--shuffle N] DESCRIPTION…`: shuffling changes the order alone.
pub(crate) fn npz(folder: &Path, arguments: &[String]) -> Result<Said, String> {
    let (path, named) = described(folder, arguments)?;
    let named = named.iter().map(|(name, array)| (name.as_str(), array));
    npz::save(&path, named, Compression::Stored).map_err(|error| error.to_string())?;
    Ok(Said::default())
}

/// `npy FILE DESCRIPTION`, with any name.
pub(crate) fn npy(folder: &Path, arguments: &[String]) -> Result<Said, String> {
    let (path, named) = described(folder, arguments)?;
    npy::save(&path, &named[0].1).map_err(|error| error.to_string())?;
    Ok(Said::default())
}

/// `lists FILE DESCRIPTION…`: a table with a row for each array and the column `values`.
pub(crate) fn lists(folder: &Path, arguments: &[String]) -> Result<Said, String> {
    let (path, named) = described(folder, arguments)?;
    let dtype = named[0].1.dtype();
    let mut writer = ListColumnWriter::create(&path, "values", dtype).unwrap();
    for (row, (name, array)) in named.iter().enumerate() {
        writer.push(row as u64, name, Some(array)).unwrap();
    }
    writer.finish().unwrap().commit().unwrap();
    Ok(Said::default())
}

/// `poke FROM.npy Y,X VALUE TO.npy`: a copy of a frame of doubles with another pixel.
pub(crate) fn poke(folder: &Path, arguments: &[String]) -> Result<Said, String> {
    let [from, place, value, to] = arguments else {
        return Err("poke FROM Y,X VALUE TO".to_owned());
    };
    let mut array = npy::load(&folder.join(from)).map_err(|error| error.to_string())?;
    let (y, x) = place.split_once(',').ok_or("Y,X")?;
    let at = number::<usize>(y)? * array.shape()[1] + number::<usize>(x)?;
    let Elements::F64(pixels) = array.elements_mut() else {
        return Err(format!("{from} has no doubles"));
    };
    pixels[at] = number(value)?;
    npy::save(&folder.join(to), &array).map_err(|error| error.to_string())?;
    Ok(Said::default())
}

/// `arrays FILE [NAME…]`: names, types, extents and elements, as far as they are few.
pub(crate) fn arrays(folder: &Path, arguments: &[String]) -> Result<Said, String> {
    let (file, only) = arguments.split_first().ok_or("arrays FILE")?;
    let npz = Npz::open(&folder.join(file)).map_err(|error| error.to_string())?;
    let mut text = String::new();
    for name in npz.names().iter().filter(|name| only.is_empty() || only.iter().any(|o| o == name))
    {
        let array = npz.read(name).map_err(|error| error.to_string())?;
        let elements = match array.elements().len() {
            0..=20 => swathe::with_elements!(array.elements(), v => format!("{v:?}")),
            n => format!("{n} elements"),
        };
        text += &format!("{name}: {}{:?} {elements}\n", array.dtype().name(), array.shape());
    }
    Ok(Said::printed(text))
}

/// `same-arrays FILE FILE [NAME…]`: the same names, types, extents and elements, or those of some
/// arrays alone.
pub(crate) fn same_arrays(folder: &Path, arguments: &[String]) -> Result<Said, String> {
    let [a, b, only @ ..] = arguments else {
        return Err("same-arrays FILE FILE".to_owned());
    };
    let open = |name: &String| Npz::open(&folder.join(name)).map_err(|error| error.to_string());
    let (a, b) = (open(a)?, open(b)?);
    if only.is_empty() && !a.names().iter().eq(b.names().iter()) {
        return Err("the names differ".to_owned());
    }
    let names: Vec<&str> = match only {
        [] => a.names().iter().collect(),
        only => only.iter().map(String::as_str).collect(),
    };
    let read = |npz: &Npz, name: &str| npz.read(name).map_err(|error| error.to_string());
    for name in &names {
        if read(&a, name)? != read(&b, name)? {
            return Err(format!("{name} differs"));
        }
    }
    Ok(Said::printed(format!("{} arrays are the same\n", names.len())))
}

/// The file of a command and the arrays that are described.
fn described(
    folder: &Path,
    arguments: &[String],
) -> Result<(std::path::PathBuf, Vec<(String, Array)>), String> {
    let mut arguments = arguments.to_vec();
    let seed = option(&mut arguments, "--seed");
    let shuffle = option(&mut arguments, "--shuffle");
    let (file, descriptions) = arguments.split_first().ok_or("a file is missing")?;
    let mut random = Random(seed.map_or(Ok(1), |seed| number(&seed))?);
    let mut named = Vec::new();
    for text in descriptions {
        describe(text, &mut random, &mut named).map_err(|why| format!("{text}: {why}"))?;
    }
    if let Some(seed) = shuffle {
        Random(number(&seed)?).shuffle(&mut named);
    }
    Ok((folder.join(file), named))
}

fn describe(
    text: &str,
    random: &mut Random,
    named: &mut Vec<(String, Array)>,
) -> Result<(), String> {
    let (name, array) = text.split_once('=').ok_or("no =")?;
    let (name, n) = match name.split_once('*') {
        Some((name, n)) => (name, Some(number(n)?)),
        None => (name, None),
    };
    let name = String::from_utf8(bytes(name)?).map_err(|error| error.to_string())?;
    let (dtype, array) = array.split_once('[').ok_or("no [")?;
    let (extents, values) = array.split_once(']').ok_or("no ]")?;
    let dtype = Dtype::ALL.iter().copied().find(|known| known.name() == dtype).ok_or("no type")?;
    for k in 0..n.unwrap_or(1) {
        let extents = extents.split(',').filter(|text| !text.is_empty());
        let shape: Vec<usize> =
            extents.map(|extent| evaluated(extent, k)).collect::<Result<_, _>>()?;
        let n_elements = shape.iter().product();
        let elements = match values.strip_prefix(':') {
            Some(values) => repeated(dtype, values, n_elements)?,
            None => drawn(dtype, random, n_elements),
        };
        let name = if n.is_some() { format!("{name}{k}") } else { name.clone() };
        named.push((name, Array::new(shape, elements).map_err(|error| error.to_string())?));
    }
    Ok(())
}

/// The value of an extent for item `k`.
fn evaluated(extent: &str, k: usize) -> Result<usize, String> {
    let mut sum = 0;
    for term in extent.split('+') {
        let factors = term.split_inclusive(['*', '%']);
        let mut operator = '*';
        let mut product = 1;
        for factor in factors {
            let value = match factor.trim_end_matches(['*', '%']) {
                "k" => k,
                text => number(text)?,
            };
            product = if operator == '*' { product * value } else { product % value };
            operator = factor.chars().last().unwrap_or('*');
        }
        sum += product;
    }
    Ok(sum)
}

fn repeated(dtype: Dtype, values: &str, n_elements: usize) -> Result<Elements, String> {
    let mut elements = Elements::empty(dtype);
    swathe::with_elements!(&mut elements, v => {
        for text in values.split(',') {
            v.push(number(text)?);
        }
        let n = v.len();
        v.truncate(n_elements);
        for at in n..n_elements {
            v.push(v[at % n]);
        }
    });
    Ok(elements)
}

fn drawn(dtype: Dtype, random: &mut Random, n_elements: usize) -> Elements {
    let mut elements = Elements::empty(dtype);
    match &mut elements {
        Elements::F32(v) => v.extend((0..n_elements).map(|_| unit(random) as f32)),
        Elements::F64(v) => v.extend((0..n_elements).map(|_| unit(random))),
        others => swathe::with_elements!(others, v => {
            *v = (0..n_elements).map(|_| random.next() as _).collect();
        }),
    }
    elements
}

/// A number from 0 to 1.
fn unit(random: &mut Random) -> f64 {
    (random.next() >> 40) as f64 / (1u64 << 24) as f64
}

pub(crate) fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{text:?} is no number"))
}
