//! Frames in `.npy` and `.npz` files.

use std::path::Path;

use swathe_ot::Shape;

use super::live::LiveBuilder;
use super::{FrameError, LiveFrame, open};
use swathe_formats::npy;
use swathe_formats::npz::Npz;

type Builder = Result<LiveBuilder, FrameError>;

pub(super) fn shape(path: &Path) -> Result<Shape, FrameError> {
    let (file, n_bytes) = open(path)?;
    two_axes(&npy::read_number_header(file, n_bytes)?.shape)
}

pub(super) fn read(
    path: &Path,
    builder: impl FnOnce(Shape) -> Builder,
) -> Result<LiveFrame, FrameError> {
    let (mut file, n_bytes) = open(path)?;
    let header = npy::read_number_header(&mut file, n_bytes)?;
    let mut builder = builder(two_axes(&header.shape)?)?;
    npy::for_each_number(file, &header, &mut |pixels| builder.push(pixels))?;
    builder.finish()
}

pub(super) fn member_shape(npz: &Npz, member: Option<&str>) -> Result<Shape, FrameError> {
    two_axes(&npz.number_header(chosen(npz, member)?)?.shape)
}

pub(super) fn read_member(
    npz: &Npz,
    member: Option<&str>,
    builder: impl FnOnce(Shape) -> Builder,
) -> Result<LiveFrame, FrameError> {
    let name = chosen(npz, member)?;
    let mut builder = builder(two_axes(&npz.number_header(name)?.shape)?)?;
    npz.for_each_number(name, &mut |pixels| builder.push(pixels))?;
    builder.finish()
}

/// The requested member or, without a request, the only one.
fn chosen<'a>(npz: &'a Npz, member: Option<&'a str>) -> Result<&'a str, FrameError> {
    match (member, npz.names().len()) {
        (Some(name), _) => Ok(name),
        (None, 1) => Ok(&npz.names()[0]),
        (None, n_members) => Err(FrameError::WhichMember {
            n_members,
            first: npz.names().iter().next().unwrap_or("name").to_owned(),
        }),
    }
}

fn two_axes(shape: &[usize]) -> Result<Shape, FrameError> {
    match shape {
        [h_px, w_px] => Ok(Shape::new(*h_px, *w_px)),
        _ => Err(FrameError::WrongAxes {
            shape: shape.to_vec(),
        }),
    }
}
