//! Frames that are truncated, changed at random or declare a wrong size: reading them gives an
//! error or an answer, never a panic, and never takes more memory than the file's size justifies.

use std::fs::{self, File};
use std::io::Cursor;
use std::path::Path;
use std::sync::Once;

use swathe_testing::counting_allocator::{Counting, peak_bytes};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

use proptest::prelude::*;
use swathe::array::Array;
use swathe_formats::npz::{Compression, NpzWriter};
use swathe_ot_program::frame::{FrameError, FrameFiles, FrameRef, LiveFrame};
use tiff::encoder::colortype::{Gray16, Gray32Float, RGB8};
use tiff::encoder::{Compression as TiffCompression, TiffEncoder};

const H: usize = 9;
const W: usize = 13;

fn values() -> Vec<u16> {
    (0..H * W).map(|at| if at % 5 < 2 { at as u16 } else { 0 }).collect()
}

fn png_bytes(depth: png::BitDepth) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, W as u32, H as u32);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(depth);
    let data: Vec<u8> = match depth {
        png::BitDepth::Sixteen => values().iter().flat_map(|v| v.to_be_bytes()).collect(),
        _ => values().iter().map(|&v| v as u8).collect(),
    };
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&data).unwrap();
    writer.finish().unwrap();
    bytes
}

fn tiff_bytes(compression: TiffCompression) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    let mut encoder = TiffEncoder::new(&mut bytes).unwrap().with_compression(compression);
    let data: Vec<f32> = values().iter().map(|&v| f32::from(v)).collect();
    encoder.write_image::<Gray32Float>(W as u32, H as u32, &data).unwrap();
    bytes.into_inner()
}

fn npy_bytes() -> Vec<u8> {
    let array = Array::new(vec![H, W], values().iter().map(|&v| u32::from(v)).collect::<Vec<_>>());
    let mut bytes = Vec::new();
    swathe_formats::npy::write(&array.unwrap(), &mut bytes).unwrap();
    bytes
}

fn npz_bytes() -> Vec<u8> {
    let array = Array::new(vec![H, W], values().iter().map(|&v| f64::from(v)).collect::<Vec<_>>());
    let mut writer = NpzWriter::new(Cursor::new(Vec::new()), Compression::Deflate).unwrap();
    writer.add("only", &array.unwrap()).unwrap();
    writer.finish().unwrap().into_inner()
}

/// A valid file of every format.
fn sound() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("a.png", png_bytes(png::BitDepth::Eight)),
        ("b.png", png_bytes(png::BitDepth::Sixteen)),
        ("c.tif", tiff_bytes(TiffCompression::Uncompressed)),
        ("d.tif", tiff_bytes(TiffCompression::Lzw)),
        ("e.tif", tiff_bytes(TiffCompression::Deflate(Default::default()))),
        ("f.tif", tiff_bytes(TiffCompression::Packbits)),
        ("g.npy", npy_bytes()),
        ("h.npz", npz_bytes()),
        (
            "i.csv",
            format!("mask_rle,mask_height_px,mask_width_px\n\"[20, 3, 94]\",{H},{W}\n")
                .into_bytes(),
        ),
    ]
}

fn read(folder: &Path, name: &str, bytes: &[u8]) -> Result<LiveFrame, FrameError> {
    hush_the_decoders();
    let path = folder.join(name);
    fs::write(&path, bytes).unwrap();
    FrameFiles::default().read(&FrameRef { path, ..FrameRef::default() }, None)
}

/// Silences caught panics: their messages would fill the screen and count as memory.
fn hush_the_decoders() {
    static HUSHED: Once = Once::new();
    HUSHED.call_once(|| {
        let standard = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let names = ["tiff-", "png-", "weezl-", "flate2-", "miniz_oxide-"];
            let of_a_decoder =
                info.location().is_some_and(|at| names.iter().any(|name| at.file().contains(name)));
            if !of_a_decoder {
                standard(info);
            }
        }));
    });
}

/// Memory that decoders hold for any image: windows, tables, buffers of the reader.
const HELD_BYTES: usize = 1 << 20;

#[test]
fn sound_files_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let numbers: Vec<f64> = values().iter().map(|&v| f64::from(v)).collect();
    let eight: Vec<f64> = values().iter().map(|&v| f64::from(v as u8)).collect();
    for (name, bytes) in sound() {
        let frame = read(folder.path(), name, &bytes).unwrap_or_else(|e| panic!("{name}: {e}"));
        match name {
            "i.csv" => assert_eq!(frame.density, [1.0; 3]),
            "a.png" => assert_eq!(frame.whole().density, eight),
            _ => assert_eq!(frame.whole().density, numbers, "{name}"),
        }
    }
}

#[test]
fn cut_at_every_byte() {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in sound() {
        let whole = read(folder.path(), name, &bytes).unwrap();
        for n in 0..bytes.len() {
            let (cut, peak) = peak_bytes(|| read(folder.path(), name, &bytes[..n]));
            assert!(peak < HELD_BYTES, "{name} cut at {n}: {peak} bytes");
            // The lost bytes may not belong to the image: a trailer, or the end of the last line.
            if let Ok(frame) = cut {
                assert_eq!(frame, whole, "{name} cut at {n}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn changed_anywhere(which in 0usize..9, changes in proptest::collection::vec((any::<u16>(), any::<u8>()), 1..6)) {
        let folder = tempfile::tempdir().unwrap();
        let (name, mut bytes) = sound().swap_remove(which);
        let n = bytes.len();
        for (at, byte) in changes {
            bytes[at as usize % n] = byte;
        }
        let (_, peak) = peak_bytes(|| read(folder.path(), name, &bytes));
        // LZW may decode one byte to 2731, which are then converted to numbers and cropped.
        prop_assert!(peak < HELD_BYTES + 32 * 2731 * n, "{} held {} bytes", name, peak);
    }
}

#[test]
fn sizes_that_no_data_bear_out_are_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    // A PNG header that claims 60,000 × 60,000 pixels, with a valid checksum.
    let mut huge = png_bytes(png::BitDepth::Eight);
    huge[16..20].copy_from_slice(&60_000u32.to_be_bytes());
    huge[20..24].copy_from_slice(&60_000u32.to_be_bytes());
    let mut crc = flate2::Crc::new();
    crc.update(&huge[12..29]);
    huge[29..33].copy_from_slice(&crc.sum().to_be_bytes());
    let (error, peak) = peak_bytes(|| read(folder.path(), "huge.png", &huge).unwrap_err());
    assert!(matches!(error, FrameError::ImpossibleSize { .. }), "{error}");
    assert!(peak < HELD_BYTES, "{peak}");

    let mask = "mask_rle,mask_height_px,mask_width_px\n\"[16]\",4000000000,4000000000\n";
    let (error, peak) =
        peak_bytes(|| read(folder.path(), "huge.csv", mask.as_bytes()).unwrap_err());
    assert_eq!(error.kind(), "bad_mask");
    assert!(peak < HELD_BYTES, "{peak}");
}

#[test]
fn pages_tiles_and_colours() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("stack.tif");
    let mut encoder = TiffEncoder::new(File::create(&path).unwrap()).unwrap();
    for page in 0..3u16 {
        let data: Vec<u16> = values().iter().map(|v| v * (page + 1)).collect();
        encoder.write_image::<Gray16>(W as u32, H as u32, &data).unwrap();
    }
    let rgb = vec![7u8; 3 * H * W];
    encoder.write_image::<RGB8>(W as u32, H as u32, &rgb).unwrap();
    drop(encoder);
    let files = FrameFiles::default();
    assert_eq!(files.series(&path).unwrap(), ["0", "1", "2", "3"]);
    let page = |part: Option<&str>| {
        let part = part.map(str::to_owned);
        files.read(&FrameRef { path: path.clone(), part, label: None }, None)
    };
    for (number, factor) in [("2", 3.0), ("0", 1.0), ("1", 2.0)] {
        let expected: Vec<f64> = values().iter().map(|&v| f64::from(v) * factor).collect();
        assert_eq!(page(Some(number)).unwrap().whole().density, expected);
    }
    assert_eq!(page(Some("3")).unwrap_err().kind(), "not_grey");
    assert_eq!(page(Some("4")).unwrap_err().kind(), "missing_frame");
    assert_eq!(page(Some("x")).unwrap_err().kind(), "missing_frame");
    assert_eq!(page(None).unwrap_err().kind(), "which_frame");

    let tiled = folder.path().join("tiled.tif");
    fs::write(&tiled, tiled_tiff()).unwrap();
    let frame = files.read(&FrameRef { path: tiled, ..FrameRef::default() }, None).unwrap();
    let expected: Vec<f64> = values().iter().map(|&v| f64::from(v as u8)).collect();
    assert_eq!(frame.whole().density, expected);
}

/// A hand-made TIFF file with one 8-bit tile of 16 × 16, of which the image fills 9 × 13.
fn tiled_tiff() -> Vec<u8> {
    const TILE: usize = 16;
    let mut tile = vec![0u8; TILE * TILE];
    for (at, v) in values().iter().enumerate() {
        tile[at / W * TILE + at % W] = *v as u8;
    }
    let mut bytes = b"II\x2a\x00\x08\x00\x00\x00".to_vec();
    let entries: [(u16, u16, u32); 9] = [
        (256, 4, W as u32),
        (257, 4, H as u32),
        (258, 3, 8),
        (259, 3, 1),
        (262, 3, 1),
        (322, 4, TILE as u32),
        (323, 4, TILE as u32),
        (324, 4, 0),
        (325, 4, (TILE * TILE) as u32),
    ];
    let data_at = bytes.len() as u32 + 2 + 12 * entries.len() as u32 + 4;
    bytes.extend((entries.len() as u16).to_le_bytes());
    for (tag, kind, value) in entries {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(kind.to_le_bytes());
        bytes.extend(1u32.to_le_bytes());
        let value = if tag == 324 { data_at } else { value };
        bytes.extend(value.to_le_bytes());
    }
    bytes.extend(0u32.to_le_bytes());
    bytes.extend(tile);
    bytes
}
