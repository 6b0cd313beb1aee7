//! Frames in PNG files: grey of 1 to 16 bits, and indexed images of labels.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use png::{BitDepth, ColorType, Decoder, Limits, Reader};
use swathe_ot::Shape;

use super::live::LiveBuilder;
use super::{FrameError, LiveFrame, guarded, open};

/// The most bytes that one byte of a deflate stream can decode to.
const INFLATION_MAX: u64 = 1032;

/// The decoder's memory limit: enough for a row of eight million 16-bit pixels and small chunks.
const DECODER_BYTES: usize = 20 << 20;

pub(super) fn shape(path: &Path) -> Result<Shape, FrameError> {
    guarded(|| Ok(header(path)?.1))
}

/// Reads an image. Values are the stored samples: a 1-bit mask has 0 and 1. The indices of an image
/// with indexed colours are accepted only as labels, and colours only one channel at a time.
pub(super) fn read(
    path: &Path,
    has_label: bool,
    channel: Option<usize>,
    builder: impl FnOnce(Shape) -> Result<LiveBuilder, FrameError>,
) -> Result<LiveFrame, FrameError> {
    guarded(|| {
        let (mut reader, shape) = header(path)?;
        let (color, depth) = (reader.info().color_type, reader.info().bit_depth);
        let samples = Samples {
            depth,
            n_px: shape.w_px,
            n_channels: color.samples(),
            channel: chosen_channel(color, has_label, channel)?,
        };
        let builder = builder(shape)?;
        if reader.info().interlaced {
            interlaced(&mut reader, shape, samples, builder)
        } else {
            in_order(&mut reader, samples, builder)
        }
    })
}

fn in_order(
    reader: &mut Reader<BufReader<File>>,
    samples: Samples,
    mut builder: LiveBuilder,
) -> Result<LiveFrame, FrameError> {
    let mut pixels = Vec::new();
    while let Some(row) = reader.next_row().map_err(damaged)? {
        samples.of_row(row.data(), &mut pixels);
        builder.push(&pixels);
    }
    builder.finish()
}

/// Reads an interlaced image. Its rows come in seven passes, so the whole image is decoded first.
fn interlaced(
    reader: &mut Reader<BufReader<File>>,
    shape: Shape,
    samples: Samples,
    mut builder: LiveBuilder,
) -> Result<LiveFrame, FrameError> {
    let n_bytes = reader.output_buffer_size().ok_or(FrameError::OutOfMemory { shape })?;
    let mut image = Vec::new();
    if image.try_reserve_exact(n_bytes).is_err() {
        return Err(FrameError::OutOfMemory { shape });
    }
    image.resize(n_bytes, 0);
    let line_bytes = reader.next_frame(&mut image).map_err(damaged)?.line_size;
    let mut pixels = Vec::new();
    for row in image.chunks_exact(line_bytes.max(1)).take(shape.h_px) {
        samples.of_row(row, &mut pixels);
        builder.push(&pixels);
    }
    builder.finish()
}

/// Opens a file and reads everything before the pixels.
fn header(path: &Path) -> Result<(Reader<BufReader<File>>, Shape), FrameError> {
    let (file, n_bytes) = open(path)?;
    let mut decoder = Decoder::new_with_limits(
        BufReader::with_capacity(64 << 10, file),
        Limits { bytes: DECODER_BYTES },
    );
    // Texts and a colour profile could inflate to any size, so the decoder ignores them.
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    let info = decoder.read_header_info().map_err(damaged)?;
    let shape = Shape::new(info.height as usize, info.width as usize);
    let bits = u128::from(info.width) * u128::from(info.height) * info.bits_per_pixel() as u128;
    if bits / 8 > u128::from(n_bytes) * u128::from(INFLATION_MAX) {
        return Err(FrameError::ImpossibleSize { shape, n_bytes });
    }
    Ok((decoder.read_info().map_err(damaged)?, shape))
}

/// The channel to take of an image.
fn chosen_channel(
    color: ColorType,
    has_label: bool,
    channel: Option<usize>,
) -> Result<usize, FrameError> {
    let what = match color {
        ColorType::Grayscale => return Ok(0),
        ColorType::Indexed if has_label => return Ok(0),
        ColorType::Indexed => "an image of indexed colours (with --label the indices are labels)",
        ColorType::Rgb => "an RGB image",
        ColorType::Rgba => "an RGBA image",
        ColorType::GrayscaleAlpha => "a grey image with transparency",
    };
    let exists = |channel: &usize| *channel < color.samples() && color != ColorType::Indexed;
    channel.filter(exists).ok_or_else(|| FrameError::NotGrey { what: what.to_owned() })
}

/// How the samples of a row are stored, and which of them are taken.
#[derive(Clone, Copy)]
struct Samples {
    depth: BitDepth,
    n_px: usize,
    n_channels: usize,
    channel: usize,
}

impl Samples {
    /// One sample of each pixel of a row.
    fn of_row(self, row: &[u8], out: &mut Vec<f64>) {
        out.clear();
        let places = (0..self.n_px).map(|x| x * self.n_channels + self.channel);
        let n_bits = match self.depth {
            BitDepth::Eight => {
                out.extend(places.map(|place| f64::from(row[place])));
                return;
            }
            BitDepth::Sixteen => {
                let (pairs, _) = row.as_chunks();
                out.extend(places.map(|place| f64::from(u16::from_be_bytes(pairs[place]))));
                return;
            }
            BitDepth::One => 1,
            BitDepth::Two => 2,
            BitDepth::Four => 4,
        };
        let per_byte = 8 / n_bits;
        out.extend(places.map(|place| {
            let shift = 8 - n_bits * (place % per_byte + 1);
            f64::from(row[place / per_byte] >> shift & ((1 << n_bits) - 1))
        }));
    }
}

fn damaged(error: png::DecodingError) -> FrameError {
    match error {
        png::DecodingError::IoError(error)
            if error.kind() != std::io::ErrorKind::UnexpectedEof
                && error.raw_os_error().is_some() =>
        {
            FrameError::of_io(error)
        }
        error => FrameError::Image { message: format!("not a sound PNG file: {error}") },
    }
}
