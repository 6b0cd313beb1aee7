//! Frames in TIFF files: one grey image per page, of integers or floats.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use swathe_ot::Shape;
use tiff::decoder::{ChunkType, Decoder, DecodingResult, Limits};
use tiff::tags::Tag;
use tiff::{ColorType, TiffError};

use super::live::LiveBuilder;
use super::{FrameError, LiveFrame, guarded, open, tiff_directory};

/// The most bytes that one compressed byte can decode to. LZW has the largest ratio: a code of 12
/// bits can stand for 4096 bytes.
const INFLATION_MAX: u64 = 2731;

/// A TIFF file and idle decoders for it. A decoder remembers where the pages are, so it is reused.
pub(super) struct TiffFile {
    path: PathBuf,
    n_pages: usize,
    idle: Mutex<Vec<Pages>>,
}

type Pages = Decoder<BufReader<File>>;

impl std::fmt::Debug for TiffFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TiffFile")
            .field("path", &self.path)
            .field("n_pages", &self.n_pages)
            .finish()
    }
}

impl TiffFile {
    /// Opens a file and counts its pages.
    pub(super) fn open(path: &Path) -> Result<TiffFile, FrameError> {
        guarded(|| {
            let mut pages = decoder(path)?;
            let mut n_pages = 1;
            while pages.more_images() {
                // Only directories are read here: unsupported contents fail when the page is read.
                match pages.seek_to_image(n_pages) {
                    Ok(()) | Err(TiffError::UnsupportedError(_)) => n_pages += 1,
                    Err(error) => return Err(damaged(error)),
                }
            }
            Ok(TiffFile {
                path: path.to_owned(),
                n_pages,
                idle: Mutex::new(vec![pages]),
            })
        })
    }

    pub(super) fn n_pages(&self) -> usize {
        self.n_pages
    }

    pub(super) fn shape(&self, page: Option<&str>) -> Result<Shape, FrameError> {
        self.with_page(page, |_, shape| Ok(shape))
    }

    pub(super) fn read(
        &self,
        page: Option<&str>,
        builder: impl FnOnce(Shape) -> Result<LiveBuilder, FrameError>,
    ) -> Result<LiveFrame, FrameError> {
        self.with_page(page, |pages, shape| {
            let mut builder = builder(shape)?;
            match pages.get_chunk_type() {
                ChunkType::Strip => {
                    for strip in 0..pages.strip_count().map_err(damaged)? {
                        let pixels = pages.read_chunk(strip).map_err(damaged)?;
                        builder.push(&numbers(pixels));
                    }
                }
                ChunkType::Tile => read_tiles(pages, shape, &mut builder)?,
            }
            builder.finish()
        })
    }

    /// Calls `work` with a decoder that is positioned at a page.
    fn with_page<T>(
        &self,
        page: Option<&str>,
        work: impl FnOnce(&mut Pages, Shape) -> Result<T, FrameError>,
    ) -> Result<T, FrameError> {
        let number = self.number(page)?;
        guarded(|| {
            let idle = self.idle().pop();
            let mut pages = match idle {
                Some(pages) => pages,
                None => decoder(&self.path)?,
            };
            pages.seek_to_image(number).map_err(damaged)?;
            let shape = checked_shape(&mut pages, &self.path)?;
            let result = work(&mut pages, shape)?;
            self.idle().push(pages);
            Ok(result)
        })
    }

    fn number(&self, page: Option<&str>) -> Result<usize, FrameError> {
        match page {
            None if self.n_pages == 1 => Ok(0),
            None => Err(FrameError::WhichPage {
                n_pages: self.n_pages,
            }),
            Some(text) => {
                let number = text.parse().ok().filter(|&n: &usize| n < self.n_pages);
                number.ok_or_else(|| FrameError::NoSuchPage {
                    page: text.to_owned(),
                    n_pages: self.n_pages,
                })
            }
        }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Pages>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn decoder(path: &Path) -> Result<Pages, FrameError> {
    let (mut file, n_bytes) = open(path)?;
    tiff_directory::check_first(&mut file, n_bytes)?;
    let most = n_bytes.saturating_mul(INFLATION_MAX) as usize;
    let mut limits = Limits::default();
    // The list of strips is in the file, and the decoded size is bounded by the file's length.
    limits.ifd_value_size = n_bytes as usize;
    limits.intermediate_buffer_size = limits.intermediate_buffer_size.min(most);
    limits.decoding_buffer_size = most;
    let decoder = Decoder::new(BufReader::with_capacity(64 << 10, file)).map_err(damaged)?;
    Ok(decoder.with_limits(limits))
}

/// The shape of the page, after checking that it is grey and not larger than its bytes allow.
fn checked_shape(pages: &mut Pages, path: &Path) -> Result<Shape, FrameError> {
    let (width, height) = pages.dimensions().map_err(damaged)?;
    let shape = Shape::new(height as usize, width as usize);
    let n_bits = match pages.colortype().map_err(damaged)? {
        ColorType::Gray(n_bits) => u64::from(n_bits),
        color => {
            return Err(FrameError::NotGrey {
                what: color_name(color),
            });
        }
    };
    let tag = match pages.get_chunk_type() {
        ChunkType::Strip => Tag::StripByteCounts,
        ChunkType::Tile => Tag::TileByteCounts,
    };
    let counts = pages.get_tag_u64_vec(tag).map_err(damaged)?;
    let file_bytes = std::fs::metadata(path).map_err(FrameError::of_io)?.len();
    let n_bytes = counts
        .iter()
        .fold(0u64, |sum, &n| sum.saturating_add(n))
        .min(file_bytes);
    let declared = u128::from(width) * u128::from(height) * u128::from(n_bits) / 8;
    let method: Option<u16> = pages.find_tag_unsigned(Tag::Compression).map_err(damaged)?;
    if declared > u128::from(n_bytes) * u128::from(inflation_max(method)) {
        return Err(FrameError::ImpossibleSize { shape, n_bytes });
    }
    Ok(shape)
}

/// The most bytes that one byte can decode to, for a compression method.
fn inflation_max(method: Option<u16>) -> u64 {
    match method {
        // No compression.
        None | Some(1) => 1,
        // PackBits: two bytes decode to at most 128.
        Some(32773) => 64,
        // Deflate, which has two numbers.
        Some(8 | 32946) => 1032,
        _ => INFLATION_MAX,
    }
}

fn color_name(color: ColorType) -> String {
    match color {
        ColorType::RGB(_) => "an RGB image".to_owned(),
        ColorType::RGBA(_) => "an RGBA image".to_owned(),
        ColorType::GrayA(_) => "a grey image with transparency".to_owned(),
        ColorType::Palette(_) => "an image of indexed colours".to_owned(),
        ColorType::Multiband { num_samples, .. } => format!("an image of {num_samples} channels"),
        other => format!("an image of another kind ({other:?})"),
    }
}

/// Reads the tiles of a page and assembles them band by band.
fn read_tiles(
    pages: &mut Pages,
    shape: Shape,
    builder: &mut LiveBuilder,
) -> Result<(), FrameError> {
    let (tile_w, tile_h) = pages.chunk_dimensions();
    let (tile_w, tile_h) = (tile_w as usize, tile_h as usize);
    if tile_w == 0 || tile_h == 0 {
        return Err(FrameError::Image {
            message: "its tiles have no pixels".to_owned(),
        });
    }
    let across = shape.w_px.div_ceil(tile_w);
    let mut band: Vec<f64> = Vec::new();
    for down in 0..shape.h_px.div_ceil(tile_h) {
        let n_rows = tile_h.min(shape.h_px - down * tile_h);
        band.clear();
        let room = n_rows.saturating_mul(shape.w_px);
        if band.try_reserve_exact(room).is_err() {
            return Err(FrameError::OutOfMemory { shape });
        }
        band.resize(room, 0.0);
        for along in 0..across {
            let number = u32::try_from(down * across + along).unwrap_or(u32::MAX);
            let tile = numbers(pages.read_chunk(number).map_err(damaged)?);
            let x0 = along * tile_w;
            let n_cols = tile_w.min(shape.w_px - x0);
            for (y, row) in tile.chunks_exact(n_cols).take(n_rows).enumerate() {
                band[y * shape.w_px + x0..][..n_cols].copy_from_slice(row);
            }
        }
        builder.push(&band);
    }
    Ok(())
}

fn numbers(pixels: DecodingResult) -> Vec<f64> {
    fn all<T: Copy>(values: &[T], number: impl Fn(T) -> f64) -> Vec<f64> {
        values.iter().map(|&value| number(value)).collect()
    }
    match pixels {
        DecodingResult::U8(v) => all(&v, f64::from),
        DecodingResult::U16(v) => all(&v, f64::from),
        DecodingResult::U32(v) => all(&v, f64::from),
        DecodingResult::U64(v) => all(&v, |n| n as f64),
        DecodingResult::I8(v) => all(&v, f64::from),
        DecodingResult::I16(v) => all(&v, f64::from),
        DecodingResult::I32(v) => all(&v, f64::from),
        DecodingResult::I64(v) => all(&v, |n| n as f64),
        DecodingResult::F16(v) => all(&v, f64::from),
        DecodingResult::F32(v) => all(&v, f64::from),
        DecodingResult::F64(v) => v,
    }
}

fn damaged(error: TiffError) -> FrameError {
    match error {
        TiffError::IoError(error)
            if error.kind() != std::io::ErrorKind::UnexpectedEof
                && error.raw_os_error().is_some() =>
        {
            FrameError::of_io(error)
        }
        error => FrameError::Image {
            message: format!("not a sound TIFF file: {error}"),
        },
    }
}
