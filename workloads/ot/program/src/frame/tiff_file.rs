//! Frames in TIFF files: pages of integers or floats, and what programs write about them.

use std::path::Path;

use swathe_ot::Shape;

use super::live::LiveBuilder;
use super::stack_axes::{AxisChoice, StackAxes, StackFault};
use super::tiff_directory::TiffDirectories;
use super::tiff_metadata::{FirstPage, StackMetadata, metadata};
use super::tiff_page::{TiffPage, tag};
use super::{FrameError, FrameHeader, LiveFrame, guarded};

/// A TIFF file with the places of its pages.
#[derive(Debug)]
pub(super) struct TiffFile {
    directories: TiffDirectories,
    /// How many pages can be read. Files of ImageJ may describe only the first.
    n_pages: usize,
    stack: Result<StackMetadata, StackFault>,
}

impl TiffFile {
    /// Opens a file, counts its pages and reads what it says about them.
    pub(super) fn open(path: &Path) -> Result<TiffFile, FrameError> {
        guarded(|| {
            let directories = TiffDirectories::open(path)?;
            let (n_pages, stack) = stack_of(&directories)?;
            Ok(TiffFile { directories, n_pages, stack })
        })
    }

    /// The pages that are the frames of the series, in order.
    pub(super) fn frames(&self, choice: &AxisChoice) -> Result<Vec<usize>, FrameError> {
        let stack = self.stack.as_ref().map_err(|fault| fault.clone())?;
        let images = stack.axes.frames(choice)?;
        Ok(match &stack.page_by_image {
            Some(pages) => images.into_iter().map(|image| pages[image]).collect(),
            None => images,
        })
    }

    pub(super) fn header(
        &self,
        page: Option<&str>,
        choice: &AxisChoice,
    ) -> Result<FrameHeader, FrameError> {
        guarded(|| {
            let page = self.page(self.number(page, choice)?)?;
            Ok(self.header_of(&page))
        })
    }

    pub(super) fn read(
        &self,
        page: Option<&str>,
        choice: &AxisChoice,
        builder: impl FnOnce(Shape) -> Result<LiveBuilder, FrameError>,
    ) -> Result<LiveFrame, FrameError> {
        guarded(|| {
            let page = self.page(self.number(page, choice)?)?;
            let sample = match choice.channel {
                _ if page.n_samples == 1 => 0,
                Some(sample) if sample < page.n_samples => sample,
                _ => {
                    return Err(FrameError::NotGrey { what: page.colour_name() });
                }
            };
            let mut builder = builder(page.shape)?;
            page.read(sample, &mut builder)?;
            Ok(LiveFrame { um_per_px: self.header_of(&page).um_per_px, ..builder.finish()? })
        })
    }

    fn header_of(&self, page: &TiffPage<'_>) -> FrameHeader {
        FrameHeader {
            shape: page.shape,
            um_per_px: self.stack.as_ref().ok().and_then(|stack| stack.um_per_px),
        }
    }

    fn page(&self, number: usize) -> Result<TiffPage<'_>, FrameError> {
        let file = &self.directories;
        if number < file.n() {
            return TiffPage::of(file, &file.directory(number)?, number);
        }
        let first = TiffPage::of(file, &file.directory(0)?, 0)?;
        first
            .behind(number)
            .ok_or(FrameError::NoSuchPage { page: number.to_string(), n_pages: file.n() })
    }

    fn number(&self, page: Option<&str>, choice: &AxisChoice) -> Result<usize, FrameError> {
        match page {
            None if self.n_pages == 1 => Ok(0),
            None => match self.frames(choice)?.as_slice() {
                [only] => Ok(*only),
                frames => Err(FrameError::WhichPage { n_pages: frames.len() }),
            },
            Some(text) => {
                let number = text.parse().ok().filter(|&n: &usize| n < self.n_pages);
                number.ok_or_else(|| FrameError::NoSuchPage {
                    page: text.to_owned(),
                    n_pages: self.n_pages,
                })
            }
        }
    }
}

/// How many pages can be read, and what the file says about them.
fn stack_of(
    file: &TiffDirectories,
) -> Result<(usize, Result<StackMetadata, StackFault>), FrameError> {
    let plain = |n_pages: usize| StackMetadata {
        axes: StackAxes::sequence("the file", n_pages),
        page_by_image: None,
        um_per_px: None,
        may_be_dense: false,
    };
    let n = file.n();
    let directory = file.directory(0)?;
    // A first page that cannot be read fails when it is read.
    let Ok(first) = TiffPage::of(file, &directory, 0) else {
        return Ok((n, Ok(plain(n))));
    };
    let told = metadata(&FirstPage {
        description: &file.text(&directory, tag::DESCRIPTION)?,
        shape: [first.shape.h_px, first.shape.w_px],
        n_samples: first.n_samples,
        is_planar: first.is_planar,
        n_pages: n,
        resolution: [tag::Y_RESOLUTION, tag::X_RESOLUTION]
            .map(|tag| file.fraction(&directory, tag)),
    });
    let stack = match told {
        Ok(Some(stack)) => stack,
        Ok(None) => return Ok((n, Ok(plain(n)))),
        Err(fault) => return Ok((n, Err(fault))),
    };
    let n_images = stack.axes.n_images().unwrap_or(usize::MAX);
    if n_images == n || stack.page_by_image.is_some() {
        return Ok((n, Ok(stack)));
    }
    let fault = |advice: String| StackFault {
        source_name: stack.axes.source,
        axes: format!("{n_images} images"),
        advice,
    };
    if n == 1 && stack.may_be_dense {
        return Ok(match first.behind(n_images - 1) {
            Some(last) if last.end_bytes() <= file.n_bytes() => (n_images, Ok(stack)),
            Some(last) => {
                let advice = format!(
                    "the file is cut off: they would end at byte {}, and it has {} bytes; copy or write it again",
                    last.end_bytes(),
                    file.n_bytes()
                );
                (1, Err(fault(advice)))
            }
            None => (1, Err(fault("the file has 1 page; copy or write it again".to_owned()))),
        });
    }
    let advice = if n_images > n {
        format!("the file has {n} pages and is cut off; copy or write it again")
    } else {
        format!("the file has {n} pages; put those you want into a table of pairs, as file.tif:3")
    };
    let fault = fault(advice);
    Ok((n, Err(fault)))
}
