//! Frames in `.npy` and `.npz` files: arrays of height and width, and stacks of them.

use std::io::{Seek as _, SeekFrom};
use std::path::Path;

use swathe_ot::Shape;

use super::live::LiveBuilder;
use super::stack_axes::{Axis, AxisChoice, StackAxes};
use super::{FrameError, LiveFrame, open};
use swathe_formats::npy;
use swathe_formats::npz::Npz;

type Builder = Result<LiveBuilder, FrameError>;

/// Height and width of a frame; fails as reading it would if there is no such image.
pub(super) fn shape(
    path: &Path,
    part: Option<&str>,
    choice: &AxisChoice,
) -> Result<Shape, FrameError> {
    let (file, n_bytes) = open(path)?;
    let (shape, stack) = image_shape(&npy::read_number_header(file, n_bytes)?.shape)?;
    image_number(&stack, part, choice)?;
    Ok(shape)
}

/// The numbers of the images in an array that are the frames of a series.
pub(super) fn frames(path: &Path, choice: &AxisChoice) -> Result<Vec<usize>, FrameError> {
    let (file, n_bytes) = open(path)?;
    let header = npy::read_number_header(file, n_bytes)?;
    Ok(image_shape(&header.shape)?.1.frames(choice)?)
}

pub(super) fn read(
    path: &Path,
    part: Option<&str>,
    choice: &AxisChoice,
    builder: impl FnOnce(Shape) -> Builder,
) -> Result<LiveFrame, FrameError> {
    let (mut file, n_bytes) = open(path)?;
    let mut header = npy::read_number_header(&mut file, n_bytes)?;
    let (shape, stack) = image_shape(&header.shape)?;
    let image = image_number(&stack, part, choice)?;
    let mut builder = builder(shape)?;
    if header.fortran_order {
        let mut slice = Slice::new(image, shape, builder);
        npy::for_each_number(file, &header, &mut |pixels| slice.push(pixels))?;
        return slice.builder.finish();
    }
    // In row-major order the image is one piece of the file.
    header.shape = vec![shape.h_px, shape.w_px];
    let skipped = header.data_bytes().saturating_mul(image as u64);
    let skipped = i64::try_from(skipped).unwrap_or(i64::MAX);
    file.seek(SeekFrom::Current(skipped)).map_err(FrameError::of_io)?;
    npy::for_each_number(file, &header, &mut |pixels| builder.push(pixels))?;
    builder.finish()
}

/// The same for a frame of an archive.
pub(super) fn member_shape(
    npz: &Npz,
    part: Option<&str>,
    choice: &AxisChoice,
) -> Result<Shape, FrameError> {
    let (member, part) = chosen(npz, part)?;
    let (shape, stack) = image_shape(&npz.number_header(member)?.shape)?;
    image_number(&stack, part, choice)?;
    Ok(shape)
}

/// The parts that are the frames of a series: the images of the only array, or all arrays.
pub(super) fn members(npz: &Npz, choice: &AxisChoice) -> Result<Vec<String>, FrameError> {
    if npz.names().len() == 1 {
        let (_, stack) = image_shape(&npz.number_header(&npz.names()[0])?.shape)?;
        let images = stack.frames(choice)?;
        return Ok(images.iter().map(usize::to_string).collect());
    }
    for name in npz.names().iter() {
        let shape = npz.number_header(name)?.shape;
        if shape.len() != 2 {
            return Err(FrameError::MemberAxes { member: name.to_owned(), shape });
        }
    }
    Ok(npz.names().iter().map(str::to_owned).collect())
}

/// Reads a frame of an archive. A compressed stack is unpacked up to its end for each frame.
pub(super) fn read_member(
    npz: &Npz,
    part: Option<&str>,
    choice: &AxisChoice,
    builder: impl FnOnce(Shape) -> Builder,
) -> Result<LiveFrame, FrameError> {
    let (name, part) = chosen(npz, part)?;
    let (shape, stack) = image_shape(&npz.number_header(name)?.shape)?;
    let image = image_number(&stack, part, choice)?;
    let mut slice = Slice::new(image, shape, builder(shape)?);
    npz.for_each_number(name, &mut |pixels| slice.push(pixels))?;
    slice.builder.finish()
}

/// The array and the image in it that a part names: `t03`, `stack:3`, or `3` in the only array.
fn chosen<'a>(
    npz: &'a Npz,
    part: Option<&'a str>,
) -> Result<(&'a str, Option<&'a str>), FrameError> {
    let names = npz.names();
    let has = |name: &str| names.iter().any(|known| known == name);
    match part {
        None if names.len() == 1 => Ok((&names[0], None)),
        None => Err(FrameError::WhichMember {
            n_members: names.len(),
            first: names.iter().next().unwrap_or("name").to_owned(),
        }),
        Some(part) if has(part) => Ok((part, None)),
        Some(part) => Ok(match part.rsplit_once(':') {
            Some((name, image)) if has(name) => (name, Some(image)),
            None if names.len() == 1 && part.parse::<usize>().is_ok() => (&names[0], Some(part)),
            _ => (part, None),
        }),
    }
}

/// Height and width of the images in an array, which are its last axes, and the axes before them.
fn image_shape(shape: &[usize]) -> Result<(Shape, StackAxes), FrameError> {
    let [axes @ .., h_px, w_px] = shape else {
        return Err(FrameError::WrongAxes { shape: shape.to_vec() });
    };
    let axes = axes.iter().map(|n| Axis { name: None, n: *n });
    let stack = StackAxes { source: "the array's shape", axes: axes.collect() };
    Ok((Shape::new(*h_px, *w_px), stack))
}

fn image_number(
    stack: &StackAxes,
    part: Option<&str>,
    choice: &AxisChoice,
) -> Result<usize, FrameError> {
    let n_images = stack.n_images().unwrap_or(0);
    let Some(part) = part else {
        return match stack.frames(choice)?.as_slice() {
            [only] => Ok(*only),
            frames => Err(FrameError::WhichPage { n_pages: frames.len() }),
        };
    };
    let number = part.parse().ok().filter(|&n: &usize| n < n_images);
    number.ok_or_else(|| FrameError::NoSuchPage { page: part.to_owned(), n_pages: n_images })
}

/// Passes on the pixels of one image of a stack.
struct Slice {
    n_before: usize,
    n_left: usize,
    builder: LiveBuilder,
}

impl Slice {
    fn new(image: usize, shape: Shape, builder: LiveBuilder) -> Slice {
        Slice { n_before: image * shape.n_px(), n_left: shape.n_px(), builder }
    }

    fn push(&mut self, pixels: &[f64]) {
        let n_skipped = self.n_before.min(pixels.len());
        self.n_before -= n_skipped;
        let rest = &pixels[n_skipped..];
        let now = &rest[..rest.len().min(self.n_left)];
        self.n_left -= now.len();
        self.builder.push(now);
    }
}
