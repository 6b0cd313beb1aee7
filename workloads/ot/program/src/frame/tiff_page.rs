//! One page of a TIFF file: where its strips or tiles are, and how their bytes become numbers.
//!
//! Every strip or tile is given to the decoder of the `tiff` crate as a small image of its own. The
//! decoder thus decompresses and undoes predictors, and knows nothing of colours, planes and
//! packed bits, which it supports only in part: those are treated here. Values are what is stored,
//! as tifffile returns them: palette indices are not replaced by colours, and images in which 0 is
//! white are not inverted.

use std::io::Cursor;

use swathe_ot::Shape;
use tiff::decoder::{Decoder, DecodingResult, Limits};
use tiff::{TiffError, TiffFormatError};

use super::FrameError;
use super::live::LiveBuilder;
use super::tiff_directory::{Directory, TiffDirectories, damaged};

/// How the pixels of a page are stored.
#[derive(Debug)]
pub(super) struct TiffPage<'a> {
    file: &'a TiffDirectories,
    number: usize,
    pub(super) shape: Shape,
    /// Values per pixel.
    pub(super) n_samples: usize,
    /// Whether every sample has strips or tiles of its own.
    pub(super) is_planar: bool,
    n_bits: u64,
    format: u64,
    photometric: u64,
    compression: u64,
    predictor: u64,
    is_bit_reversed: bool,
    is_tiled: bool,
    /// Height and width of a strip or tile.
    chunk: Shape,
    offsets: Vec<u64>,
    counts: Vec<u64>,
    jpeg_tables: Vec<u8>,
}

/// Tags of TIFF directories.
pub(super) mod tag {
    pub(in super::super) const IMAGE_WIDTH: u16 = 256;
    pub(in super::super) const IMAGE_LENGTH: u16 = 257;
    pub(in super::super) const BITS_PER_SAMPLE: u16 = 258;
    pub(in super::super) const COMPRESSION: u16 = 259;
    pub(in super::super) const PHOTOMETRIC: u16 = 262;
    pub(in super::super) const FILL_ORDER: u16 = 266;
    pub(in super::super) const DESCRIPTION: u16 = 270;
    pub(in super::super) const STRIP_OFFSETS: u16 = 273;
    pub(in super::super) const SAMPLES_PER_PIXEL: u16 = 277;
    pub(in super::super) const ROWS_PER_STRIP: u16 = 278;
    pub(in super::super) const STRIP_BYTE_COUNTS: u16 = 279;
    pub(in super::super) const X_RESOLUTION: u16 = 282;
    pub(in super::super) const Y_RESOLUTION: u16 = 283;
    pub(in super::super) const PLANAR_CONFIGURATION: u16 = 284;
    pub(in super::super) const PREDICTOR: u16 = 317;
    pub(in super::super) const TILE_WIDTH: u16 = 322;
    pub(in super::super) const TILE_LENGTH: u16 = 323;
    pub(in super::super) const TILE_OFFSETS: u16 = 324;
    pub(in super::super) const TILE_BYTE_COUNTS: u16 = 325;
    pub(in super::super) const SAMPLE_FORMAT: u16 = 339;
    pub(in super::super) const JPEG_TABLES: u16 = 347;
    pub(in super::super) const IMAGE_DEPTH: u16 = 32997;
}

const UNCOMPRESSED: u64 = 1;
const FAX4: u64 = 4;
const JPEG: u64 = 7;

impl<'a> TiffPage<'a> {
    /// The page that a directory describes.
    pub(super) fn of(
        file: &'a TiffDirectories,
        directory: &Directory,
        number: usize,
    ) -> Result<TiffPage<'a>, FrameError> {
        let integer = |tag: u16, default: u64| {
            let value = file.integer(directory, tag)?;
            Ok::<u64, FrameError>(value.unwrap_or(default))
        };
        let side = |tag: u16, name: &str| match file.integer(directory, tag)? {
            Some(px) if px <= u64::from(u32::MAX) => Ok(px as usize),
            Some(px) => Err(damaged(format!("page {number}: its {name} is {px} pixels"))),
            None => Err(damaged(format!("page {number} does not say its {name}"))),
        };
        let shape =
            Shape::new(side(tag::IMAGE_LENGTH, "height")?, side(tag::IMAGE_WIDTH, "width")?);
        if shape.h_px == 0 || shape.w_px == 0 {
            return Err(FrameError::NoPixels { shape });
        }
        if integer(tag::IMAGE_DEPTH, 1)? > 1 {
            return Err(unsupported("is a volume (its pages have a depth)"));
        }
        let bits = file.integers(directory, tag::BITS_PER_SAMPLE)?;
        let bits = bits.filter(|all| !all.is_empty()).unwrap_or(vec![1]);
        if bits.iter().any(|n| *n != bits[0]) {
            return Err(unsupported(&format!("has samples of different depths ({bits:?} bits)")));
        }
        let is_tiled = directory.has(tag::TILE_WIDTH);
        let chunk = if is_tiled {
            Shape::new(
                side(tag::TILE_LENGTH, "tiles' height")?,
                side(tag::TILE_WIDTH, "tiles' width")?,
            )
        } else {
            let n_rows = integer(tag::ROWS_PER_STRIP, u64::MAX)?;
            Shape::new((n_rows as usize).min(shape.h_px), shape.w_px)
        };
        if chunk.h_px == 0 || chunk.w_px == 0 {
            return Err(damaged(format!("the strips of page {number} are empty")));
        }
        let lists = [
            (tag::TILE_OFFSETS, tag::TILE_BYTE_COUNTS),
            (tag::STRIP_OFFSETS, tag::STRIP_BYTE_COUNTS),
        ];
        let [offsets, counts] = match lists.iter().find(|(offsets, _)| directory.has(*offsets)) {
            Some((offsets, counts)) => [*offsets, *counts].map(|tag| file.integers(directory, tag)),
            None => return Err(damaged(format!("page {number} does not say where it is"))),
        };
        let n_samples = integer(tag::SAMPLES_PER_PIXEL, 1)?.clamp(1, 1 << 16) as usize;
        let mut page = TiffPage {
            file,
            number,
            shape,
            n_samples,
            is_planar: n_samples > 1 && integer(tag::PLANAR_CONFIGURATION, 1)? == 2,
            n_bits: bits[0],
            format: integer(tag::SAMPLE_FORMAT, 1)?,
            photometric: integer(tag::PHOTOMETRIC, 1)?,
            compression: integer(tag::COMPRESSION, UNCOMPRESSED)?,
            predictor: integer(tag::PREDICTOR, 1)?,
            is_bit_reversed: integer(tag::FILL_ORDER, 1)? == 2,
            is_tiled,
            chunk,
            offsets: offsets?.unwrap_or_default(),
            counts: counts?.unwrap_or_default(),
            jpeg_tables: file.tag_bytes(directory, tag::JPEG_TABLES)?,
        };
        if page.counts.is_empty() && page.compression == UNCOMPRESSED && page.offsets.len() == 1 {
            // Old programs leave the lengths out where they can be worked out.
            page.counts = vec![page.chunk_bytes().unwrap_or(u64::MAX)];
        }
        page.check()?;
        Ok(page)
    }

    /// The page that lies `n` pages behind this one, in files that describe only their first page.
    /// `None` if the pages do not lie one behind the other.
    pub(super) fn behind(mut self, n: usize) -> Option<TiffPage<'a>> {
        let is_dense = self.compression == UNCOMPRESSED
            && self
                .offsets
                .windows(2)
                .zip(&self.counts)
                .all(|(two, n)| two[0].checked_add(*n) == Some(two[1]));
        let n_bytes = self.counts.iter().fold(0u64, |sum, n| sum.saturating_add(*n));
        for offset in &mut self.offsets {
            *offset = offset.saturating_add(n_bytes.saturating_mul(n as u64));
        }
        self.number = n;
        is_dense.then_some(self)
    }

    /// Where its pixels end in the file.
    pub(super) fn end_bytes(&self) -> u64 {
        let ends = self.offsets.iter().zip(&self.counts);
        ends.map(|(at, n)| at.saturating_add(*n)).max().unwrap_or(0)
    }

    /// Checks that the page is of a kind that can be read and not larger than its bytes allow.
    fn check(&self) -> Result<(), FrameError> {
        if self.photometric == 6 {
            return Err(FrameError::NotGrey { what: "a colour image (YCbCr)".to_owned() });
        }
        let is_whole = matches!(self.n_bits, 8 | 16 | 32 | 64);
        let format = match self.format {
            1 | 4 => "unsigned integers",
            2 => "signed integers",
            3 => "floats",
            5 | 6 => return Err(unsupported("holds complex numbers")),
            _ => "values of an unknown type",
        };
        let is_packed =
            !is_whole && self.n_bits < 32 && !self.n_bits.is_multiple_of(8) && self.n_bits > 0;
        let can_be_read = match self.format {
            1 | 4 => is_whole || is_packed && self.predictor == 1,
            2 => is_whole,
            3 => is_whole && self.n_bits > 8,
            _ => false,
        };
        if !can_be_read {
            let how = match self.predictor {
                1 => "",
                _ => " with a predictor",
            };
            return Err(unsupported(&format!("holds {format} of {} bits{how}", self.n_bits)));
        }
        let n_planes = if self.is_planar { self.n_samples } else { 1 };
        let n_chunks = (self.shape.h_px.div_ceil(self.chunk.h_px))
            .saturating_mul(self.shape.w_px.div_ceil(self.chunk.w_px))
            .saturating_mul(n_planes);
        let n_listed = self.offsets.len().min(self.counts.len());
        if n_listed < n_chunks {
            let what = if self.is_tiled { "tiles" } else { "strips" };
            return Err(damaged(format!(
                "page {} has {n_listed} of {n_chunks} {what}",
                self.number
            )));
        }
        let n_bytes = self.counts.iter().fold(0u64, |sum, &n| sum.saturating_add(n));
        let n_bytes = n_bytes.min(self.file.n_bytes());
        let declared = self.shape.h_px as u128
            * self.shape.w_px as u128
            * self.n_samples as u128
            * u128::from(self.n_bits)
            / 8;
        if declared > u128::from(n_bytes) * u128::from(self.inflation_max()) {
            return Err(FrameError::ImpossibleSize { shape: self.shape, n_bytes });
        }
        Ok(())
    }

    /// What a page of several samples is, in words.
    pub(super) fn colour_name(&self) -> String {
        match (self.photometric, self.n_samples) {
            (2, 3) => "an RGB image".to_owned(),
            (2, 4) => "an RGBA image".to_owned(),
            (_, n) => format!("an image of {n} channels"),
        }
    }

    /// Passes one sample of every pixel to `builder`.
    pub(super) fn read(&self, sample: usize, builder: &mut LiveBuilder) -> Result<(), FrameError> {
        let across = self.shape.w_px.div_ceil(self.chunk.w_px);
        let down = self.shape.h_px.div_ceil(self.chunk.h_px);
        let first = if self.is_planar { sample * across * down } else { 0 };
        let mut band: Vec<f64> = Vec::new();
        for y in 0..down {
            let n_rows = self.chunk.h_px.min(self.shape.h_px - y * self.chunk.h_px);
            // A tile is stored with all its rows, a strip without those below the image.
            let stored = if self.is_tiled { self.chunk.h_px } else { n_rows };
            if !self.is_tiled {
                match self.chunk_numbers(first + y, stored, sample)? {
                    Some(strip) => builder.push(&strip),
                    None => builder.push(&vec![0.0; n_rows * self.shape.w_px]),
                }
                continue;
            }
            band.clear();
            let room = n_rows.saturating_mul(self.shape.w_px);
            if band.try_reserve_exact(room).is_err() {
                return Err(FrameError::OutOfMemory { shape: self.shape });
            }
            band.resize(room, 0.0);
            for x in 0..across {
                let place = first + y * across + x;
                let Some(tile) = self.chunk_numbers(place, stored, sample)? else {
                    continue;
                };
                let x0 = x * self.chunk.w_px;
                let n_cols = self.chunk.w_px.min(self.shape.w_px - x0);
                for (row, pixels) in tile.chunks_exact(self.chunk.w_px).take(n_rows).enumerate() {
                    band[row * self.shape.w_px + x0..][..n_cols].copy_from_slice(&pixels[..n_cols]);
                }
            }
            builder.push(&band);
        }
        Ok(())
    }

    /// One sample of every pixel of a strip or tile of `n_rows`; `None` if it is not stored,
    /// because all of it is zero.
    fn chunk_numbers(
        &self,
        place: usize,
        n_rows: usize,
        sample: usize,
    ) -> Result<Option<Vec<f64>>, FrameError> {
        let n_inside = if self.is_planar { 1 } else { self.n_samples };
        let sample = if self.is_planar { 0 } else { sample };
        let row_values = self.chunk.w_px * n_inside;
        let n_bytes = self.counts[place];
        if n_bytes == 0 {
            return Ok(None);
        }
        let declared = n_rows as u128 * row_values as u128 * u128::from(self.n_bits) / 8;
        if declared > u128::from(n_bytes) * u128::from(self.inflation_max()) {
            return Err(FrameError::ImpossibleSize {
                shape: Shape::new(n_rows, self.chunk.w_px),
                n_bytes,
            });
        }
        let is_packed = !matches!(self.n_bits, 8 | 16 | 32 | 64);
        let small = if is_packed && self.compression != FAX4 {
            // Packed bits are decoded as bytes and unpacked here.
            let row_bytes = (row_values as u64 * self.n_bits).div_ceil(8);
            self.small_image(place, row_bytes, n_rows, 8, 1)?
        } else {
            self.small_image(place, self.chunk.w_px as u64, n_rows, self.n_bits, n_inside)?
        };
        let decoded = decode(small, declared).map_err(|error| self.fault(place, error))?;
        Ok(Some(match decoded {
            DecodingResult::U8(bytes) if is_packed => {
                let n_bits = self.n_bits as usize;
                let rows = bytes.chunks_exact((row_values * n_bits).div_ceil(8));
                let row = |row| unpacked(row, n_bits, sample, n_inside).take(self.chunk.w_px);
                rows.flat_map(row).collect()
            }
            other => numbers(other, sample, n_inside),
        }))
    }

    /// A TIFF file in memory that holds one strip or tile, with one value of `n_bits` for each of
    /// `n_inside` samples.
    fn small_image(
        &self,
        place: usize,
        w_px: u64,
        n_rows: usize,
        n_bits: u64,
        n_inside: usize,
    ) -> Result<Vec<u8>, FrameError> {
        const SHORT: u16 = 3;
        const LONG: u16 = 4;
        let tables_bytes = self.jpeg_tables.len() as u64;
        let n_entries = 11 + u64::from(tables_bytes > 0);
        let tables_at = 8 + 2 + 12 * n_entries + 4;
        let format = if n_bits == self.n_bits { self.format } else { 1 };
        let mut entries = vec![
            (tag::IMAGE_WIDTH, LONG, w_px),
            (tag::IMAGE_LENGTH, LONG, n_rows as u64),
            (tag::BITS_PER_SAMPLE, SHORT, n_bits),
            (tag::COMPRESSION, SHORT, self.compression),
            (tag::PHOTOMETRIC, SHORT, 1),
            (tag::STRIP_OFFSETS, LONG, tables_at + tables_bytes),
            (tag::SAMPLES_PER_PIXEL, SHORT, n_inside as u64),
            (tag::ROWS_PER_STRIP, LONG, n_rows as u64),
            (tag::STRIP_BYTE_COUNTS, LONG, self.counts[place]),
            (tag::PREDICTOR, SHORT, self.predictor),
            (tag::SAMPLE_FORMAT, SHORT, if format == 4 { 1 } else { format }),
        ];
        if tables_bytes > 0 {
            entries.push((tag::JPEG_TABLES, 7, tables_at));
        }
        let short = |value: u64| match self.file.is_little_endian {
            true => (value as u16).to_le_bytes(),
            false => (value as u16).to_be_bytes(),
        };
        let long = |value: u64| match self.file.is_little_endian {
            true => (value as u32).to_le_bytes(),
            false => (value as u32).to_be_bytes(),
        };
        let mut bytes = match self.file.is_little_endian {
            true => b"II".to_vec(),
            false => b"MM".to_vec(),
        };
        bytes.extend(short(42));
        bytes.extend(long(8));
        bytes.extend(short(n_entries));
        for (tag, kind, value) in entries {
            bytes.extend(short(u64::from(tag)));
            bytes.extend(short(u64::from(kind)));
            bytes.extend(long(if kind == 7 { tables_bytes } else { 1 }));
            if kind == SHORT {
                bytes.extend(short(value));
                bytes.extend([0, 0]);
            } else {
                bytes.extend(long(value));
            }
        }
        bytes.extend(long(0));
        bytes.extend(&self.jpeg_tables);
        let start = bytes.len();
        self.file.append(self.offsets[place], self.counts[place], &mut bytes, || {
            let what = if self.is_tiled { "tile" } else { "strip" };
            format!("{what} {place} of page {}", self.number)
        })?;
        if self.is_bit_reversed && self.compression != JPEG {
            for byte in &mut bytes[start..] {
                *byte = byte.reverse_bits();
            }
        }
        Ok(bytes)
    }

    /// The bytes of a decoded strip or tile; `None` if there are too many for any memory.
    fn chunk_bytes(&self) -> Option<u64> {
        let n_inside = if self.is_planar { 1 } else { self.n_samples };
        let row_bits =
            (self.chunk.w_px as u64).checked_mul(n_inside as u64)?.checked_mul(self.n_bits)?;
        row_bits.div_ceil(8).checked_mul(self.chunk.h_px as u64)
    }

    /// The most bytes that one byte can decode to.
    fn inflation_max(&self) -> u64 {
        match self.compression {
            UNCOMPRESSED => 1,
            // PackBits: two bytes decode to at most 128.
            32773 => 64,
            // Deflate, which has two numbers.
            8 | 32946 => 1032,
            // A row of a fax is one bit, however long it is; a block of Zstandard that repeats one
            // byte has four bytes for 128 KiB.
            FAX4 | 50000 => 1 << 16,
            // LZW: a code of 12 bits can stand for 4096 bytes.
            _ => 2731,
        }
    }

    fn fault(&self, place: usize, error: TiffError) -> FrameError {
        let what = if self.is_tiled { "tile" } else { "strip" };
        match error {
            TiffError::UnsupportedError(
                tiff::TiffUnsupportedError::UnsupportedCompressionMethod(_),
            ) => unsupported(&format!("is compressed by {}", compression_name(self.compression))),
            TiffError::UnsupportedError(error) => unsupported(&format!("is unusual: {error}")),
            TiffError::FormatError(TiffFormatError::UnknownPredictor(n)) => {
                unsupported(&format!("was written with the unknown predictor {n}"))
            }
            TiffError::LimitsExceeded | TiffError::IntSizeError => {
                FrameError::OutOfMemory { shape: self.shape }
            }
            error => damaged(format!("{what} {place} of page {} is damaged: {error}", self.number)),
        }
    }
}

fn decode(small: Vec<u8>, decoded_bytes: u128) -> Result<DecodingResult, TiffError> {
    let mut limits = Limits::default();
    limits.intermediate_buffer_size = small.len();
    // Rows of packed bits are padded to whole bytes.
    limits.decoding_buffer_size = usize::try_from(decoded_bytes)
        .unwrap_or(usize::MAX)
        .saturating_mul(8)
        .saturating_add(1 << 16);
    let mut decoder = Decoder::new(Cursor::new(small))?.with_limits(limits);
    decoder.read_chunk(0)
}

/// One of every `n_inside` values, as numbers.
fn numbers(values: DecodingResult, sample: usize, n_inside: usize) -> Vec<f64> {
    macro_rules! all {
        ($values:expr, $number:expr) => {{
            let chosen = $values.iter().skip(sample).step_by(n_inside);
            chosen.map(|&value| $number(value)).collect()
        }};
    }
    match values {
        DecodingResult::U8(v) => all!(v, f64::from),
        DecodingResult::U16(v) => all!(v, f64::from),
        DecodingResult::U32(v) => all!(v, f64::from),
        DecodingResult::U64(v) => all!(v, |n| n as f64),
        DecodingResult::I8(v) => all!(v, f64::from),
        DecodingResult::I16(v) => all!(v, f64::from),
        DecodingResult::I32(v) => all!(v, f64::from),
        DecodingResult::I64(v) => all!(v, |n| n as f64),
        DecodingResult::F16(v) => all!(v, f64::from),
        DecodingResult::F32(v) => all!(v, f64::from),
        DecodingResult::F64(v) if n_inside == 1 => v,
        DecodingResult::F64(v) => all!(v, |n| n),
    }
}

/// One of every `n_inside` values of a row of packed bits, the highest bit first.
fn unpacked(
    row: &[u8],
    n_bits: usize,
    sample: usize,
    n_inside: usize,
) -> impl Iterator<Item = f64> {
    let n_values = row.len() * 8 / n_bits;
    (sample..n_values).step_by(n_inside).map(move |place| {
        let bits = place * n_bits..(place + 1) * n_bits;
        let value =
            bits.fold(0u32, |value, bit| value << 1 | u32::from(row[bit / 8] >> (7 - bit % 8) & 1));
        f64::from(value)
    })
}

fn compression_name(method: u64) -> String {
    let name = match method {
        2 => "CCITT run lengths",
        3 => "CCITT Group 3",
        6 => "the old JPEG method",
        34712 | 33003 | 33004 | 33005 => "JPEG 2000",
        34887 => "LERC",
        34892 => "lossy JPEG",
        34925 => "LZMA",
        34933 | 34934 => "PNG",
        48124 => "Jetraw",
        50001 | 34927 => "WebP",
        22610 | 34316 => "JPEG XR",
        50002 | 52546 => "JPEG XL",
        _ => return format!("method {method}"),
    };
    format!("{name} (method {method})")
}

fn unsupported(what: &str) -> FrameError {
    FrameError::Unsupported { what: what.to_owned() }
}
