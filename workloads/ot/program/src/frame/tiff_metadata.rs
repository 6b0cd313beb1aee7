//! What programs write into TIFF files about their stacks: OME-XML, ImageJ's lines and tifffile's
//! shape, all in the description of the first page.

use serde_json::Value;

use super::stack_axes::{Axis, StackAxes, StackFault};

/// Axes, and the page of each image.
#[derive(Debug)]
pub(super) struct StackMetadata {
    pub(super) axes: StackAxes,
    /// The page of each image, where they are not in order.
    pub(super) page_by_image: Option<Vec<usize>>,
    /// Height and width of a pixel in µm.
    pub(super) um_per_px: Option<[f64; 2]>,
    /// Whether the file may describe its first page only, with all others right behind it.
    pub(super) may_be_dense: bool,
}

/// What is known from the first page: its description, layout and resolution.
pub(super) struct FirstPage<'a> {
    pub(super) description: &'a str,
    pub(super) shape: [usize; 2],
    pub(super) n_samples: usize,
    pub(super) is_planar: bool,
    pub(super) n_pages: usize,
    /// Pixels per unit, down and across.
    pub(super) resolution: [Option<f64>; 2],
}

/// The metadata of a stack; `None` if there are none.
///
/// # Errors
/// If they name images in other files.
pub(super) fn metadata(first: &FirstPage<'_>) -> Result<Option<StackMetadata>, StackFault> {
    let text = first.description.trim();
    if text.starts_with("ImageJ=") {
        Ok(Some(of_imagej(text, first)))
    } else if text.contains("<OME") || text.contains(":OME") {
        of_ome(text, first)
    } else if text.starts_with("{\"shape\"") {
        Ok(of_tifffile(text, first))
    } else {
        Ok(None)
    }
}

/// ImageJ's lines `key=value`. Its order is always time, slice, channel.
fn of_imagej(text: &str, first: &FirstPage<'_>) -> StackMetadata {
    let value = |key: &str| {
        let lines = text.lines().filter_map(|line| line.split_once('='));
        lines.filter(|(name, _)| name.trim() == key).map(|(_, value)| value.trim()).next()
    };
    let count = |key: &str| value(key).and_then(|n| n.parse::<usize>().ok()).unwrap_or(1).max(1);
    let source = "ImageJ's metadata";
    let mut channels = count("channels");
    if channels == first.n_samples
        && count("images") != channels * count("slices") * count("frames")
    {
        // The channels are the samples of each page.
        channels = 1;
    }
    let axes = [("frames", 'T'), ("slices", 'Z')]
        .map(|(key, name)| Axis { name: Some(name), n: count(key) });
    let mut axes = StackAxes {
        source,
        axes: [axes[0], axes[1], Axis { name: Some('C'), n: channels }].into(),
    };
    if axes.n_images() == Some(1) {
        axes = StackAxes::sequence(source, count("images").max(first.n_pages));
    }
    let um = |name: &str, per_unit: Option<f64>| {
        let unit = value(name).or_else(|| value("unit"))?;
        Some(um_of(unit)? / per_unit?)
    };
    let [down, across] = first.resolution;
    let um_per_px = um("yunit", down).zip(um("unit", across)).map(|(y, x)| [y, x]);
    StackMetadata { axes, page_by_image: None, um_per_px, may_be_dense: true }
}

/// `{"shape": [5, 64, 64], "axes": "TYX"}`, of the first array in the file.
fn of_tifffile(text: &str, first: &FirstPage<'_>) -> Option<StackMetadata> {
    let value: Value = serde_json::from_str(text).ok()?;
    let shape: Vec<usize> = value["shape"]
        .as_array()?
        .iter()
        .map(|n| n.as_u64().map(|n| n as usize))
        .collect::<Option<_>>()?;
    let [h, w] = first.shape;
    let tail = match (first.n_samples, first.is_planar) {
        (1, _) => vec![h, w],
        (n, true) => vec![n, h, w],
        (n, false) => vec![h, w, n],
    };
    let lead = shape.strip_suffix(tail.as_slice())?;
    let names = value["axes"].as_str().unwrap_or_default();
    let names: Vec<char> = names.chars().collect();
    let axes = lead.iter().enumerate().map(|(place, n)| Axis {
        // I and Q are tifffile's letters for axes that mean nothing known.
        name: names
            .get(place)
            .copied()
            .filter(|name| names.len() == shape.len() && !matches!(name, 'I' | 'Q')),
        n: *n,
    });
    let axes = StackAxes { source: "tifffile's metadata", axes: axes.collect() };
    // Pages that were written one by one have a description each.
    let is_one_by_one = axes.n_images() == Some(1) && first.n_pages > 1;
    (!is_one_by_one).then(|| StackMetadata {
        axes,
        page_by_image: None,
        um_per_px: None,
        may_be_dense: value["truncated"].as_bool().unwrap_or(false),
    })
}

/// OME-XML: `Pixels` has the sizes and their order, `TiffData` the pages.
fn of_ome(text: &str, first: &FirstPage<'_>) -> Result<Option<StackMetadata>, StackFault> {
    let elements = xml_elements(text);
    let all = |name: &'static str| elements.iter().filter(move |element| element.name == name);
    let n_images = all("Image").count();
    if n_images > 1 {
        return Err(StackFault {
            source_name: "OME-XML",
            axes: format!("{n_images} separate images"),
            advice: "save the one you want in a file of its own".to_owned(),
        });
    }
    let Some(pixels) = all("Pixels").next() else {
        return Ok(None);
    };
    let size = |name: char| -> usize {
        let size = pixels.get(&format!("Size{name}")).and_then(|n| n.parse().ok()).unwrap_or(1);
        match name {
            'C' if size % first.n_samples == 0 => size / first.n_samples,
            _ => size,
        }
    };
    let order = pixels.get("DimensionOrder").unwrap_or("XYCZT");
    let slow_first: Vec<char> = order.chars().rev().filter(|name| "TZC".contains(*name)).collect();
    let axes = slow_first.iter().map(|name| Axis { name: Some(*name), n: size(*name) });
    let axes = StackAxes { source: "OME-XML", axes: axes.collect() };
    let um = |axis: &str| {
        let value: f64 = pixels.get(&format!("PhysicalSize{axis}"))?.parse().ok()?;
        let unit = pixels.get(&format!("PhysicalSize{axis}Unit")).unwrap_or("µm");
        um_of(unit).map(|um| um * value).filter(|um| *um > 0.0 && um.is_finite())
    };
    let n_planes = axes.n_images().unwrap_or(usize::MAX);
    let page_by_image = match n_planes <= first.n_pages {
        true => ome_pages(&elements, &axes, n_planes)?,
        // The count is refused later.
        false => None,
    };
    Ok(Some(StackMetadata {
        axes,
        page_by_image,
        um_per_px: um("Y").zip(um("X")).map(|(y, x)| [y, x]),
        may_be_dense: true,
    }))
}

/// The page of each plane by the elements `TiffData`; `None` if they are in order.
fn ome_pages(
    elements: &[XmlElement],
    axes: &StackAxes,
    n_planes: usize,
) -> Result<Option<Vec<usize>>, StackFault> {
    let own_uuid =
        elements.iter().find(|element| element.name == "OME").and_then(|ome| ome.get("UUID"));
    let mut pages: Vec<Option<usize>> = vec![None; n_planes];
    let mut has_any = false;
    for (place, data) in
        elements.iter().enumerate().filter(|(_, element)| element.name == "TiffData")
    {
        let inside = elements.get(place + 1).filter(|element| element.name == "UUID");
        if let (Some(uuid), Some(own)) = (inside, own_uuid)
            && uuid.text.trim() != own
        {
            return Err(StackFault {
                source_name: "OME-XML",
                axes: "images in several files".to_owned(),
                advice: format!(
                    "{:?} is another of them; save the stack as one file",
                    uuid.get("FileName").unwrap_or("")
                ),
            });
        }
        let number = |name: &str| data.get(name).and_then(|n| n.parse::<usize>().ok());
        let first_page = number("IFD");
        let n = number("PlaneCount").unwrap_or(if first_page.is_some() { 1 } else { n_planes });
        let start = axes.axes.iter().fold(0usize, |plane, axis| {
            let along = axis.name.and_then(|name| number(&format!("First{name}"))).unwrap_or(0);
            plane.saturating_mul(axis.n).saturating_add(along)
        });
        for k in 0..n.min(n_planes) {
            if let Some(page) = pages.get_mut(start.saturating_add(k)) {
                *page = first_page.unwrap_or(0).checked_add(k);
                has_any = true;
            }
        }
    }
    if !has_any {
        return Ok(None);
    }
    match pages.iter().position(Option::is_none) {
        Some(plane) => Err(StackFault {
            source_name: "OME-XML",
            axes: format!("{n_planes} images"),
            advice: format!("it names no page for image {plane}; write the file again"),
        }),
        None => Ok(Some(pages.into_iter().flatten().collect())),
    }
}

/// How many µm a unit of length is; `None` if it is not known.
fn um_of(unit: &str) -> Option<f64> {
    let unit = unit.trim().replace("\\u00B5", "µ").replace("\\u00b5", "µ");
    Some(match unit.to_lowercase().as_str() {
        // The sign for micro has two code points.
        "µm" | "μm" | "um" | "micron" | "microns" | "micrometer" | "micrometers" | "micrometre"
        | "micrometres" => 1.0,
        "nm" | "nanometer" | "nanometers" | "nanometre" => 1e-3,
        "å" | "angstrom" => 1e-4,
        "pm" => 1e-6,
        "mm" | "millimeter" | "millimeters" | "millimetre" => 1e3,
        "cm" | "centimeter" | "centimeters" | "centimetre" => 1e4,
        "m" | "meter" | "metre" => 1e6,
        "in" | "inch" | "inches" | "\"" => 25400.0,
        _ => return None,
    })
}

struct XmlElement {
    name: String,
    attributes: Vec<(String, String)>,
    /// The text up to the next element.
    text: String,
}

impl XmlElement {
    fn get(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// The elements of an XML text in order, without their nesting. What is not XML ends the list.
fn xml_elements(text: &str) -> Vec<XmlElement> {
    let mut elements = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        rest = &rest[start + 1..];
        if let Some(comment) = rest.strip_prefix("!--") {
            rest = comment.find("-->").map_or("", |end| &comment[end + 3..]);
            continue;
        }
        let is_element = rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let name_end =
            rest.find(|c: char| c.is_whitespace() || c == '>' || c == '/').unwrap_or(rest.len());
        let name = rest[..name_end].rsplit(':').next().unwrap_or_default().to_owned();
        if !is_element {
            continue;
        }
        rest = &rest[name_end..];
        let mut attributes = Vec::new();
        loop {
            rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '/');
            let Some((key, after)) =
                rest.split_once('=').filter(|(key, _)| !key.contains(['>', '<']))
            else {
                break;
            };
            let after = after.trim_start();
            let Some(quote) = after.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
                break;
            };
            let Some((value, next)) = after[1..].split_once(quote) else {
                break;
            };
            attributes.push((key.trim().to_owned(), unescaped(value)));
            rest = next;
        }
        let Some((_, after)) = rest.split_once('>') else {
            break;
        };
        rest = after;
        let text = unescaped(&rest[..rest.find('<').unwrap_or(rest.len())]);
        elements.push(XmlElement { name, attributes, text });
    }
    elements
}

/// A text with its entities replaced: `&#181;m` is µm.
fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        let Some((entity, next)) = after.split_once(';') else {
            out.push('&');
            rest = after;
            continue;
        };
        let code = match entity.strip_prefix('#') {
            Some(hex) if hex.starts_with(['x', 'X']) => u32::from_str_radix(&hex[1..], 16).ok(),
            Some(number) => number.parse().ok(),
            None => None,
        };
        match (entity, code.and_then(char::from_u32)) {
            (_, Some(letter)) => out.push(letter),
            ("amp", _) => out.push('&'),
            ("lt", _) => out.push('<'),
            ("gt", _) => out.push('>'),
            ("quot", _) => out.push('"'),
            ("apos", _) => out.push('\''),
            _ => {
                out.push('&');
                out.push_str(entity);
                out.push(';');
            }
        }
        rest = next;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(description: &str, n_pages: usize) -> StackMetadata {
        let first = FirstPage {
            description,
            shape: [64, 32],
            n_samples: 1,
            is_planar: false,
            n_pages,
            resolution: [Some(2.0), Some(2.0)],
        };
        metadata(&first).unwrap().unwrap()
    }

    fn sizes(stack: &StackMetadata) -> String {
        let axes = stack.axes.axes.iter().filter(|axis| axis.n > 1);
        axes.map(|axis| format!("{}{}", axis.name.unwrap_or('?'), axis.n)).collect()
    }

    #[test]
    fn units_of_every_spelling() {
        for unit in ["micron", "µm", "μm", "um", "\\u00B5m", "Micrometers"] {
            assert_eq!(um_of(unit), Some(1.0), "{unit}");
        }
        assert_eq!(um_of("nm"), Some(1e-3));
        assert_eq!(um_of("pixel"), None);
        assert_eq!(unescaped("&#181;m &#xB5;m a&amp;b &x; &"), "µm µm a&b &x; &");
    }

    #[test]
    fn lines_of_imagej() {
        let stack =
            of("ImageJ=1.54f\nimages=12\nchannels=2\nslices=3\nframes=2\nunit=\\u00B5m\n", 12);
        assert_eq!(sizes(&stack), "T2Z3C2");
        assert_eq!(stack.um_per_px, Some([0.5, 0.5]));
        let stack = of("ImageJ=1.54f\nimages=7\nunit=pixel\n", 7);
        assert_eq!((sizes(&stack).as_str(), stack.um_per_px), ("?7", None));
    }

    #[test]
    fn shapes_of_tifffile() {
        assert_eq!(sizes(&of("{\"shape\": [5, 64, 32]}", 5)), "?5");
        assert_eq!(sizes(&of("{\"shape\": [5, 2, 64, 32], \"axes\": \"TCYX\"}", 10)), "T5C2");
        assert_eq!(sizes(&of("{\"shape\": [5, 2, 64, 32], \"axes\": \"QIYX\"}", 10)), "?5?2");
    }

    #[test]
    fn planes_of_ome() {
        let ome = |data: &str| {
            format!(
                "<?xml version=\"1.0\"?><!-- <Pixels --><OME xmlns=\"x\" UUID=\"u1\"><Image ID='a'>\
                 <Pixels DimensionOrder=\"XYTCZ\" SizeT=\"3\" SizeC=\"2\" SizeZ=\"1\" SizeX=\"32\" SizeY=\"64\" \
                 PhysicalSizeX=\"650\" PhysicalSizeXUnit=\"nm\" PhysicalSizeY=\"0.65\" PhysicalSizeYUnit=\"&#181;m\">\
                 {data}</Pixels></Image></OME>"
            )
        };
        let stack = of(&ome("<TiffData IFD=\"0\" PlaneCount=\"6\"/>"), 6);
        assert_eq!(sizes(&stack), "C2T3");
        let um = stack.um_per_px.unwrap();
        assert!((um[0] - 0.65).abs() < 1e-12 && (um[1] - 0.65).abs() < 1e-12);
        assert_eq!(stack.page_by_image, Some(vec![0, 1, 2, 3, 4, 5]));
        let planes: String = (0..6)
            .map(|page| {
                let (t, c) = (page / 2, page % 2);
                format!("<TiffData FirstT=\"{t}\" FirstC=\"{c}\" IFD=\"{page}\"><UUID FileName=\"a\">u1</UUID></TiffData>")
            })
            .collect();
        // Channels change fastest in the file, slowest in the declared order.
        assert_eq!(of(&ome(&planes), 6).page_by_image, Some(vec![0, 2, 4, 1, 3, 5]));
        let first = FirstPage {
            description: &ome(&planes.replace(">u1<", ">u2<")),
            shape: [64, 32],
            n_samples: 1,
            is_planar: false,
            n_pages: 6,
            resolution: [None, None],
        };
        assert!(metadata(&first).unwrap_err().to_string().contains("several files"));
    }
}
