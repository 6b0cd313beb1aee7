//! `cargo xtask docs`: makes the reference and the screenshots in the documents again.

mod live;

use std::fmt;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::process::Command;

use swathe_browser::{Area, Browser, BrowserError, file_url};

use crate::process::{self, CommandError, cargo};
use crate::workspace::Workspace;

/// A screenshot of a page.
struct Picture {
    /// The page, relative to the demo's folder.
    page: &'static str,
    area: Area<'static>,
    /// The width of the browser window.
    width_px: u32,
    is_dark: bool,
    /// The file name under `docs/`.
    file: &'static str,
}

/// Every screenshot of a page in the documents. To add one, add a row.
const PICTURES: &[Picture] = &[
    Picture {
        page: "matmul/report.html",
        area: Area::Viewport,
        width_px: 1200,
        is_dark: false,
        file: "report.png",
    },
    Picture {
        page: "matmul/report.html",
        area: Area::Viewport,
        width_px: 1200,
        is_dark: true,
        file: "report-dark.png",
    },
];

/// The height of the browser window.
const HEIGHT_PX: u32 = 900;

const DEMO_DIR: &str = "swathe-demo";

/// Makes the pages of the reference. The test that compares them with what is declared writes them.
pub(crate) fn reference(workspace: &Workspace) -> bool {
    let mut test = cargo(&workspace.root);
    test.args(["test", "-p", "swathe-cli", "--lib", "columns_page"]);
    let made = process::run(test.env("SWATHE_WRITE_REFERENCE", "1")).map_err(DocsError::Command);
    made.inspect_err(|error| eprintln!("error: {error}")).is_ok()
}

/// Makes every screenshot and prints what was written. Returns whether all succeeded.
pub(crate) fn docs(workspace: &Workspace, program: Option<&Path>) -> bool {
    match make_all(workspace, program) {
        Ok(()) => true,
        Err(error) => {
            eprintln!("error: {error}");
            false
        }
    }
}

/// Why a screenshot was not made.
#[derive(Debug)]
enum DocsError {
    Browser(BrowserError),
    Command(CommandError),
    File {
        path: PathBuf,
        source: std::io::Error,
    },
    /// The page reported errors on its console.
    Troubled {
        page: &'static str,
        troubles: Vec<String>,
    },
    NoPng {
        file: &'static str,
        why: String,
    },
}

fn make_all(workspace: &Workspace, program: Option<&Path>) -> Result<(), DocsError> {
    // The browser starts before the slow steps: without one, no screenshot can be made.
    let browser = Browser::start().map_err(DocsError::Browser)?;
    let program = match program {
        Some(program) => program.to_owned(),
        None => {
            // Builds as the tests do: building the program alone would compile its dependencies
            // again.
            let mut build = cargo(&workspace.root);
            process::run(build.args(["test", "--workspace", "--no-run"]))
                .map_err(DocsError::Command)?;
            workspace.target_dir.join("debug/swathe")
        }
    };
    let program =
        program.canonicalize().map_err(|source| DocsError::File { path: program, source })?;
    let scratch = tempfile::tempdir()
        .map_err(|source| DocsError::File { path: std::env::temp_dir(), source })?;
    let mut demo = Command::new(&program);
    // Reports show the command line, so the demo runs with a relative folder instead of a temporary
    // path.
    demo.args(["demo", "--progress", "none", "--out", DEMO_DIR]).current_dir(&scratch);
    // A cache of its own: costs measured earlier on this machine would change the figures.
    demo.env("XDG_CACHE_HOME", scratch.path().join("cache"));
    process::run(&mut demo).map_err(DocsError::Command)?;
    let demo_dir = scratch.path().join(DEMO_DIR);
    for picture in PICTURES {
        let url = file_url(&demo_dir.join(picture.page)).map_err(DocsError::Browser)?;
        write(workspace, picture.file, &picture.take(&browser, &url)?)?;
    }
    let png = live::take(&browser, &program, scratch.path())?;
    write(workspace, live::FILE, &png)
}

/// Writes a screenshot and prints its path.
fn write(workspace: &Workspace, file: &str, bytes: &[u8]) -> Result<(), DocsError> {
    let path = workspace.root.join("docs").join(file);
    std::fs::write(&path, bytes).map_err(|source| DocsError::File { path, source })?;
    println!("wrote docs/{file} ({} KiB)", bytes.len().div_ceil(1024));
    Ok(())
}

impl Picture {
    /// The PNG of the page at this address.
    fn take(&self, browser: &Browser, url: &str) -> Result<Vec<u8>, DocsError> {
        let shoot = || {
            let page = browser.blank()?;
            page.set_viewport(self.width_px, HEIGHT_PX, false)?;
            page.set_dark(self.is_dark)?;
            // Animations are off, so that the screenshot does not show a transition.
            page.set_feature("prefers-reduced-motion", "reduce")?;
            page.go(url)?;
            Ok((page.screenshot(self.area)?, page.troubles()))
        };
        let (png, troubles) = shoot().map_err(DocsError::Browser)?;
        if !troubles.is_empty() {
            let page = self.page;
            return Err(DocsError::Troubled { page, troubles });
        }
        smallest(png, self.file)
    }
}

/// The smaller of the PNG and its recompressed form.
fn smallest(png: Vec<u8>, file: &'static str) -> Result<Vec<u8>, DocsError> {
    let smaller = compressed(&png).map_err(|why| DocsError::NoPng { file, why })?;
    Ok(if smaller.len() < png.len() { smaller } else { png })
}

/// The same picture in fewer bytes: browsers compress for speed, and a repository keeps every
/// version. Flat colours, which pages mostly have, compress best without filters; pictures with few
/// colours compress best with a palette.
fn compressed(png: &[u8]) -> Result<Vec<u8>, String> {
    let mut decoder = png::Decoder::new(Cursor::new(png));
    decoder.set_transformations(png::Transformations::EXPAND | png::Transformations::STRIP_16);
    let mut reader = decoder.read_info().map_err(|error| error.to_string())?;
    let n_bytes = reader.output_buffer_size().ok_or("it is too large")?;
    let mut bytes = vec![0; n_bytes];
    let info = reader.next_frame(&mut bytes).map_err(|error| error.to_string())?;
    bytes.truncate(info.buffer_size());
    let n_channels = match info.color_type {
        png::ColorType::Rgb => 3,
        png::ColorType::Rgba if bytes.chunks(4).all(|pixel| pixel[3] == 255) => 4,
        other => {
            return Err(format!("an opaque colour picture was expected, not {other:?}"));
        }
    };
    let colours: Vec<[u8; 3]> =
        bytes.chunks(n_channels).map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
    let mut smallest: Option<Vec<u8>> = None;
    let mut consider = |found: Vec<u8>| {
        if smallest.as_ref().is_none_or(|had| found.len() < had.len()) {
            smallest = Some(found);
        }
    };
    for filter in [png::Filter::NoFilter, png::Filter::Adaptive] {
        consider(encoded(&info, filter, None, colours.as_flattened())?);
    }
    if let Some((palette, numbers)) = numbered(&colours) {
        consider(encoded(&info, png::Filter::NoFilter, Some(palette), &numbers)?);
    }
    Ok(smallest.unwrap_or_default())
}

/// A palette of at most 256 colours, and the palette index of every pixel.
fn numbered(colours: &[[u8; 3]]) -> Option<(Vec<u8>, Vec<u8>)> {
    let mut palette = colours.to_vec();
    palette.sort_unstable();
    palette.dedup();
    let places = colours.iter().map(|colour| {
        let place = palette.binary_search(colour).ok()?;
        u8::try_from(place).ok()
    });
    let numbers = places.collect::<Option<Vec<u8>>>()?;
    Some((palette.concat(), numbers))
}

fn encoded(
    info: &png::OutputInfo,
    filter: png::Filter,
    palette: Option<Vec<u8>>,
    bytes: &[u8],
) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, info.width, info.height);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::High);
    encoder.set_filter(filter);
    match palette {
        Some(palette) => {
            encoder.set_color(png::ColorType::Indexed);
            encoder.set_palette(palette);
        }
        None => encoder.set_color(png::ColorType::Rgb),
    }
    let written = encoder.write_header().and_then(|mut writer| writer.write_image_data(bytes));
    written.map_err(|error| error.to_string())?;
    Ok(out)
}

impl fmt::Display for DocsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Browser(error) => write!(f, "{error}"),
            Self::Command(error) => write!(f, "{error}"),
            Self::File { path, source } => write!(f, "{}: {source}", path.display()),
            Self::Troubled { page, troubles } => write!(
                f,
                "{page} has errors, so no picture of it was made:\n  {}",
                troubles.join("\n  ")
            ),
            Self::NoPng { file, why } => write!(f, "the browser's {file} is not usable: {why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pixels(png: &[u8]) -> (png::ColorType, Vec<u8>) {
        let mut decoder = png::Decoder::new(Cursor::new(png));
        let color = decoder.read_header_info().unwrap().color_type;
        decoder.set_transformations(png::Transformations::EXPAND);
        let mut reader = decoder.read_info().unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut bytes).unwrap();
        (color, bytes)
    }

    /// A picture of `side` × `side` pixels as a browser writes it.
    fn picture(side: u32, colour: impl Fn(u32, u32) -> [u8; 3]) -> (Vec<u8>, Vec<u8>) {
        let places = (0..side).flat_map(|y| (0..side).map(move |x| (x, y)));
        let bytes: Vec<u8> = places.flat_map(|(x, y)| colour(x, y)).collect();
        let mut png = Vec::new();
        let mut encoder = png::Encoder::new(&mut png, side, side);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_compression(png::Compression::Fast);
        let mut writer = encoder.write_header().unwrap();
        writer.write_image_data(&bytes).unwrap();
        drop(writer);
        (png, bytes)
    }

    #[test]
    fn a_compressed_picture_has_the_same_pixels_in_fewer_bytes() {
        // Speckles of five colours, and a gradient of thousands.
        let few = picture(64, |x, y| [(x * x * 7 + y * y * y) as u8 % 5 * 40, 200, 7]);
        let many = picture(64, |x, y| [(x * 4) as u8, (y * 4) as u8, (x ^ y) as u8]);
        for ((png, bytes), color) in [(few, png::ColorType::Indexed), (many, png::ColorType::Rgb)] {
            let smaller = compressed(&png).unwrap();
            assert!(smaller.len() < png.len(), "{} {}", smaller.len(), png.len());
            let (found_color, found_bytes) = pixels(&smaller);
            assert_eq!(found_color, color);
            assert!(found_bytes == bytes, "the pixels differ");
        }
    }

    #[test]
    fn every_picture_has_a_name_of_its_own() {
        let mut files: Vec<&str> = PICTURES.iter().map(|picture| picture.file).collect();
        files.sort_unstable();
        files.dedup();
        assert_eq!(files.len(), PICTURES.len());
        assert!(files.iter().all(|file| file.ends_with(".png")));
        assert!(!files.contains(&live::FILE));
    }
}
