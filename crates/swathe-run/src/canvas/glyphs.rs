//! The built-in font: every character as strokes of a round pen.
//!
//! Units: the baseline is y = 0, capitals and digits reach 20, small letters 14, ascenders 21 and
//! descenders −6; x begins at 0. A stroke is `M` (begin), `L` (lines to), `C` (a cubic curve by
//! two control points and its end) and `A` (part of an ellipse: centre, half axes, first and last
//! angle in degrees, counter-clockwise when the last is larger).

use std::collections::HashMap;
use std::sync::OnceLock;

use super::Point;

/// Line height in units.
pub(super) const EM: f64 = 28.0;
/// Units between characters.
pub(super) const GAP: f64 = 5.4;

/// A character's strokes and width in units, y upwards.
#[derive(Clone, Debug)]
pub(super) struct Glyph {
    pub(super) width: f64,
    pub(super) strokes: Vec<Vec<Point>>,
}

impl Glyph {
    /// The same glyph as a superscript.
    fn raised(&self) -> Glyph {
        let (size, up) = (0.55, 10.0);
        let place = |(x, y): &Point| (x * size, y * size + up);
        Glyph {
            width: self.width * size,
            strokes: self.strokes.iter().map(|stroke| stroke.iter().map(place).collect()).collect(),
        }
    }
}

/// The glyph of a character, or a box.
pub(super) fn glyph(c: char) -> &'static Glyph {
    static FONT: OnceLock<HashMap<char, Glyph>> = OnceLock::new();
    let font = FONT.get_or_init(|| {
        let drawn = |(c, width, path): &(char, f64, &str)| {
            let glyph = Glyph { width: *width, strokes: strokes(path) };
            (*c, glyph)
        };
        let mut font: HashMap<char, Glyph> = GLYPHS.iter().map(drawn).collect();
        for (raised, plain) in RAISED.chars().zip("0123456789−".chars()) {
            let glyph = font[&plain].raised();
            font.insert(raised, glyph);
        }
        font
    });
    font.get(&c).unwrap_or(&font[&MISSING])
}

/// Superscripts, derived from the digits and the minus sign.
const RAISED: &str = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻";

/// Drawn in place of every character that is not in the table.
const MISSING: char = '\u{fffd}';

/// Parses a path of the table. It panics on a malformed path; a test parses the whole table.
fn strokes(path: &str) -> Vec<Vec<Point>> {
    let mut strokes: Vec<Vec<Point>> = Vec::new();
    let mut command = 'M';
    let mut numbers: Vec<f64> = Vec::new();
    for word in path.split_whitespace() {
        let numerals = match word.strip_prefix(|c: char| c.is_ascii_uppercase()) {
            Some(rest) => {
                command = word.chars().next().expect("it has a prefix");
                rest
            }
            None => word,
        };
        let parsed = numerals.split(',').map(|n| n.parse::<f64>());
        numbers.extend(parsed.map(|n| n.expect("the table holds numbers")));
        match (command, numbers.as_slice()) {
            ('M', [x, y]) => {
                strokes.push(vec![(*x, *y)]);
                command = 'L';
            }
            ('L', [x, y]) => current(&mut strokes).push((*x, *y)),
            ('C', [x1, y1, x2, y2, x, y]) => {
                let stroke = current(&mut strokes);
                let start = *stroke.last().expect("a stroke has a beginning");
                stroke.extend(curve([start, (*x1, *y1), (*x2, *y2), (*x, *y)]));
            }
            ('A', [cx, cy, rx, ry, first, last]) => {
                if strokes.is_empty() {
                    strokes.push(Vec::new());
                }
                current(&mut strokes).extend(arc((*cx, *cy), (*rx, *ry), *first, *last));
            }
            _ => continue,
        }
        numbers.clear();
    }
    assert!(numbers.is_empty(), "{path:?} ends in the middle");
    strokes
}

fn current(strokes: &mut [Vec<Point>]) -> &mut Vec<Point> {
    strokes.last_mut().expect("a path begins with M or A")
}

/// With so many straight pieces, no corner is visible at a font size of a hundred pixels.
const N_PIECES: usize = 16;

fn curve(points: [Point; 4]) -> impl Iterator<Item = Point> {
    (1..=N_PIECES).map(move |i| {
        let t = i as f64 / N_PIECES as f64;
        let u = 1.0 - t;
        let weights = [u * u * u, 3.0 * u * u * t, 3.0 * u * t * t, t * t * t];
        let mix = |axis: fn(&Point) -> f64| -> f64 {
            points.iter().zip(weights).map(|(p, w)| axis(p) * w).sum()
        };
        (mix(|p| p.0), mix(|p| p.1))
    })
}

fn arc(centre: Point, half: Point, first: f64, last: f64) -> impl Iterator<Item = Point> {
    let n_pieces = ((last - first).abs() / 90.0 * N_PIECES as f64).ceil().max(1.0);
    (0..=n_pieces as usize).map(move |i| {
        let angle = (first + (last - first) * i as f64 / n_pieces).to_radians();
        (centre.0 + half.0 * angle.cos(), centre.1 + half.1 * angle.sin())
    })
}

/// Character, width, path.
const GLYPHS: &[(char, f64, &str)] = &[
    (' ', 3.0, ""),
    ('!', 1.0, "M0.5,20 L0.5,6.5 M0.9,0.45 A0.5,0.45,0.4,0.4,0,360"),
    ('"', 5.0, "M0.3,20.5 L0.3,14.5 M4.7,20.5 L4.7,14.5"),
    ('#', 13.0, "M4.8,20 L2.4,0 M10.6,20 L8.2,0 M0.6,13.6 L13,13.6 M0,6.4 L12.4,6.4"),
    (
        '$',
        13.0,
        "M12.2,16.2 C11.2,18.4 9.2,19.5 6.5,19.5 C3.2,19.5 0.8,17.8 0.8,15 C0.8,12.1 3.2,11.1 6.6,10.3 C10.2,9.4 12.8,8.2 12.8,5.2 C12.8,2.3 10.1,0.5 6.6,0.5 C3.4,0.5 1,1.9 0.2,4.4 M6.5,22.8 L6.5,-2.8",
    ),
    (
        '%',
        18.0,
        "M15.2,20 L2.8,0 M7.4,15.3 A3.7,15.3,3.7,4.7,0,360 M18,4.7 A14.3,4.7,3.7,4.7,0,360",
    ),
    (
        '&',
        15.0,
        "M14.6,0 L3.6,13.2 C2.6,14.4 2.2,15.4 2.2,16.3 C2.2,18.6 3.9,20 6.1,20 C8.3,20 9.9,18.6 9.9,16.5 C9.9,13.6 7,12.3 4.4,10.7 C1.5,8.9 0,7.2 0,4.8 C0,1.8 2.2,0 5.4,0 C9.8,0 12.8,3.6 13.4,9",
    ),
    ('\'', 0.6, "M0.3,20.5 L0.3,14.5"),
    ('(', 4.6, "M4.6,22.5 C1.6,19.2 0.2,14.4 0.2,8.8 C0.2,3.2 1.6,-1.6 4.6,-5"),
    (')', 4.6, "M0,22.5 C3,19.2 4.4,14.4 4.4,8.8 C4.4,3.2 3,-1.6 0,-5"),
    ('*', 9.0, "M4.5,20.5 L4.5,11.5 M0.6,18.2 L8.4,13.8 M8.4,18.2 L0.6,13.8"),
    ('+', 12.0, "M0,8.5 L12,8.5 M6,14.5 L6,2.5"),
    (',', 1.6, "M1.2,0.6 L0.2,-3.6"),
    ('-', 6.0, "M0,7.6 L6,7.6"),
    ('.', 0.8, "M0.8,0.45 A0.4,0.45,0.4,0.4,0,360"),
    ('/', 8.0, "M0,-3 L8,22"),
    ('0', 12.0, "M12,10 A6,10,6,10,0,360"),
    ('1', 12.0, "M2.2,16.2 L7.2,20 L7.2,0"),
    (
        '2',
        12.0,
        "M0.7,15 C0.9,18 3.1,20 6.1,20 C9.3,20 11.4,18 11.4,15.1 C11.4,12.6 9.9,10.7 7.4,8 L0.2,0 L12,0",
    ),
    (
        '3',
        12.0,
        "M0.8,16.4 C1.6,18.8 3.5,20 6,20 C9.1,20 11.1,18.2 11.1,15.4 C11.1,12.5 9.1,10.7 5.8,10.7 L4.2,10.7 M5.8,10.7 C9.4,10.7 11.7,8.8 11.7,5.5 C11.7,2.1 9.4,0 6,0 C3,0 0.9,1.5 0.2,4.1",
    ),
    ('4', 12.0, "M9,0 L9,20 L0,5.4 L12.4,5.4"),
    (
        '5',
        12.0,
        "M10.8,20 L2,20 L1.2,10.6 C2.3,12 4,12.8 6,12.8 C9.5,12.8 11.8,10.3 11.8,6.5 C11.8,2.6 9.4,0 5.8,0 C2.9,0 0.9,1.4 0.2,3.9",
    ),
    (
        '6',
        12.0,
        "M10.9,17.1 C9.9,19 8.4,20 6.4,20 C2.5,20 0.2,16.2 0.2,9.6 L0.2,6.4 A6,6.4,5.8,6.4,180,540",
    ),
    ('7', 12.0, "M0.2,20 L11.8,20 L4.2,0"),
    ('8', 12.0, "M10.8,15.2 A6,15.2,4.9,4.8,0,360 M11.9,5.2 A6,5.2,5.9,5.2,0,360"),
    (
        '9',
        12.0,
        "M1.1,2.9 C2.1,1 3.6,0 5.6,0 C9.5,0 11.8,3.8 11.8,10.4 L11.8,13.6 A6,13.6,5.8,6.4,0,360",
    ),
    (':', 0.8, "M0.8,0.45 A0.4,0.45,0.4,0.4,0,360 M0.8,12.35 A0.4,12.35,0.4,0.4,0,360"),
    (';', 1.6, "M1.2,0.6 L0.2,-3.6 M1.4,12.35 A1,12.35,0.4,0.4,0,360"),
    ('<', 12.0, "M12,14.5 L0,8.5 L12,2.5"),
    ('=', 12.0, "M0,11.3 L12,11.3 M0,5.7 L12,5.7"),
    ('>', 12.0, "M0,14.5 L12,8.5 L0,2.5"),
    (
        '?',
        10.0,
        "M0.2,15.8 C0.6,18.4 2.4,20 5,20 C8,20 9.8,18.2 9.8,15.6 C9.8,13.4 8.6,12.2 7.2,11 C5.8,9.8 5,8.8 5,6.5 M5.4,0.45 A5,0.45,0.4,0.4,0,360",
    ),
    (
        '@',
        20.0,
        "M14.2,8.4 A10,8.4,4.2,5,0,360 M14.2,13.2 L14.2,6.2 C14.2,4.2 15,3.2 16.6,3.2 C18.8,3.2 20,5.4 20,8.6 C20,14.6 16,19.4 10.2,19.4 C4.2,19.4 0,14.8 0,8.4 C0,1.8 4.2,-2.6 10.2,-2.6 C12.4,-2.6 14.4,-2.1 16,-1.2",
    ),
    ('A', 16.0, "M0,0 L8,20 L16,0 M2.6,6.6 L13.4,6.6"),
    ('B', 12.8, "M0,10.6 L7,10.6 A7,15.3,4.8,4.7,-90,90 L0,20 L0,0 L7.4,0 A7.4,5.3,5.4,5.3,-90,90"),
    ('C', 15.4, "A8.6,10,8.6,10,48,312"),
    ('D', 15.0, "M0,0 L0,20 L5.5,20 A5.5,10,9.5,10,90,-90 L0,0"),
    ('E', 11.0, "M11,20 L0,20 L0,0 L11.2,0 M0,10.4 L9.6,10.4"),
    ('F', 10.6, "M10.8,20 L0,20 L0,0 M0,10 L9.2,10"),
    ('G', 16.0, "A8.4,10,8.4,10,48,345 L16.5,9.4 L10,9.4"),
    ('H', 14.0, "M0,0 L0,20 M14,0 L14,20 M0,10.4 L14,10.4"),
    ('I', 0.4, "M0.2,0 L0.2,20"),
    ('J', 9.0, "M9,20 L9,5.2 A4.5,5.2,4.5,5.2,0,-168"),
    ('K', 13.2, "M0,0 L0,20 M12.6,20 L0,7 M4.4,11.5 L13.4,0"),
    ('L', 10.6, "M0,20 L0,0 L10.8,0"),
    ('M', 17.0, "M0,0 L0,20 L8.5,4.6 L17,20 L17,0"),
    ('N', 14.0, "M0,0 L0,20 L14,0 L14,20"),
    ('O', 17.0, "M17.2,10 A8.5,10,8.7,10,0,360"),
    ('P', 12.4, "M0,0 L0,20 L7,20 A7,14.5,5.5,5.5,90,-90 L0,9"),
    ('Q', 17.0, "M17.2,10 A8.5,10,8.7,10,0,360 M10.6,5 L16.4,-1.6"),
    ('R', 13.0, "M0,0 L0,20 L7,20 A7,14.6,5.4,5.4,90,-90 L0,9.2 M6.6,9.2 L13,0"),
    (
        'S',
        13.0,
        "M12.2,16.4 C11.2,18.8 9.2,20 6.5,20 C3.2,20 0.8,18.1 0.8,15.2 C0.8,12.2 3.2,11.2 6.6,10.3 C10.2,9.4 12.8,8.2 12.8,5.1 C12.8,1.9 10.1,0 6.6,0 C3.4,0 1,1.5 0.2,4.2",
    ),
    ('T', 13.4, "M0,20 L13.4,20 M6.7,20 L6.7,0"),
    ('U', 14.0, "M0,20 L0,7 A7,7,7,7,180,360 L14,20"),
    ('V', 15.0, "M0,20 L7.5,0 L15,20"),
    ('W', 22.0, "M0,20 L5.6,0 L11,19.4 L16.4,0 L22,20"),
    ('X', 14.0, "M0.4,20 L13.6,0 M13.6,20 L0.4,0"),
    ('Y', 14.0, "M0,20 L7,9.4 L14,20 M7,9.4 L7,0"),
    ('Z', 13.0, "M0.4,20 L12.8,20 L0,0 L13,0"),
    ('[', 4.2, "M4.4,22.5 L0.2,22.5 L0.2,-5 L4.4,-5"),
    ('\\', 8.0, "M0,22 L8,-3"),
    (']', 4.2, "M-0.2,22.5 L4,22.5 L4,-5 L-0.2,-5"),
    ('^', 10.0, "M0,12.5 L5,20 L10,12.5"),
    ('_', 11.0, "M-1,-3.4 L12,-3.4"),
    ('`', 4.0, "M0,21 L3.6,17"),
    (
        'a',
        10.6,
        "M0.8,11.2 C1.6,13.2 3.2,14 5.4,14 C8.7,14 10.4,12.4 10.4,9.4 L10.4,0 M10.4,8.2 L5.8,8 C2.2,7.8 0,6.5 0,3.9 C0,1.4 1.9,0 4.5,0 C7.8,0 10.4,2 10.4,5.4",
    ),
    ('b', 11.2, "M0,21 L0,0 M0,7 A5.6,7,5.6,7,180,-180"),
    ('c', 10.0, "A5.7,7,5.7,7,48,312"),
    ('d', 11.2, "M11.2,21 L11.2,0 M11.2,7 A5.6,7,5.6,7,0,360"),
    ('e', 11.2, "M0.2,7.3 L11.2,7.3 A5.6,7,5.6,7,2.5,318"),
    ('f', 7.0, "M8,21 L6.8,21 C4.2,21 3,19.6 3,17 L3,0 M0,14 L7.4,14"),
    (
        'g',
        11.2,
        "M11.2,7 A5.6,7,5.6,7,0,360 M11.2,14 L11.2,-0.8 C11.2,-4.4 9,-6 5.7,-6 C3.5,-6 1.8,-5.4 0.8,-4",
    ),
    ('h', 10.6, "M0,21 L0,0 M0,8.4 C0,11.8 2.4,14 5.5,14 C8.9,14 10.6,12 10.6,8.6 L10.6,0"),
    ('i', 0.8, "M0.4,14 L0.4,0 M0.8,19.75 A0.4,19.75,0.4,0.4,0,360"),
    ('j', 3.0, "M3,14 L3,-2.4 C3,-4.9 1.9,-6 -0.2,-6 L-0.6,-6 M3.4,19.75 A3,19.75,0.4,0.4,0,360"),
    ('k', 10.0, "M0,21 L0,0 M9.4,14 L0,5 M3.4,8.3 L10,0"),
    ('l', 2.4, "M0.2,21 L0.2,3.6 C0.2,1.1 1.2,0 3.2,0"),
    (
        'm',
        18.0,
        "M0,14 L0,0 M0,8.8 C0,12 2,14 4.7,14 C7.6,14 9,12.3 9,9.2 L9,0 M9,8.8 C9,12 11,14 13.7,14 C16.6,14 18,12.3 18,9.2 L18,0",
    ),
    ('n', 10.6, "M0,14 L0,0 M0,8.4 C0,11.8 2.4,14 5.5,14 C8.9,14 10.6,12 10.6,8.6 L10.6,0"),
    ('o', 11.4, "M11.4,7 A5.7,7,5.7,7,0,360"),
    ('p', 11.2, "M0,14 L0,-6 M0,7 A5.6,7,5.6,7,180,-180"),
    ('q', 11.2, "M11.2,14 L11.2,-6 M11.2,7 A5.6,7,5.6,7,0,360"),
    ('r', 5.8, "M0,14 L0,0 M0,8.2 C0.3,11.8 2.4,14 5.2,14 L6.2,14"),
    (
        's',
        9.4,
        "M8.9,11.6 C8.2,13.2 6.8,14 4.8,14 C2.3,14 0.6,12.8 0.6,10.7 C0.6,8.5 2.4,7.8 4.9,7.2 C7.5,6.6 9.4,5.8 9.4,3.6 C9.4,1.3 7.4,0 4.8,0 C2.4,0 0.7,1 0,2.9",
    ),
    ('t', 7.0, "M3,18.6 L3,4 C3,1.3 4.2,0 6.4,0 L7.4,0 M0,14 L7.2,14"),
    ('u', 10.6, "M0,14 L0,5.4 C0,2 1.7,0 5,0 C8.2,0 10.6,2 10.6,5.6 M10.6,14 L10.6,0"),
    ('v', 10.8, "M0,14 L5.4,0 L10.8,14"),
    ('w', 17.0, "M0,14 L4.4,0 L8.5,13.6 L12.6,0 L17,14"),
    ('x', 10.2, "M0.2,14 L10,0 M10,14 L0.2,0"),
    ('y', 10.8, "M0,14 L5.5,0.2 M10.8,14 L4.4,-3.2 C3.5,-5.3 2.5,-6 0.6,-6"),
    ('z', 9.6, "M0.2,14 L9.4,14 L0,0 L9.8,0"),
    (
        '{',
        6.0,
        "M6.2,22.5 C3.6,22.5 2.8,21.2 2.8,18.4 L2.8,13 C2.8,10.2 1.9,9 -0.2,8.8 C1.9,8.6 2.8,7.4 2.8,4.6 L2.8,-0.9 C2.8,-3.7 3.6,-5 6.2,-5",
    ),
    ('|', 0.8, "M0.4,22.5 L0.4,-5"),
    (
        '}',
        6.0,
        "M-0.2,22.5 C2.4,22.5 3.2,21.2 3.2,18.4 L3.2,13 C3.2,10.2 4.1,9 6.2,8.8 C4.1,8.6 3.2,7.4 3.2,4.6 L3.2,-0.9 C3.2,-3.7 2.4,-5 -0.2,-5",
    ),
    ('~', 12.0, "M0,7 C0.6,9.4 2,10.6 3.8,10.6 C6.6,10.6 6,6.8 8.6,6.8 C10.4,6.8 11.6,8 12.2,10.4"),
    ('µ', 10.6, "M0,14 L0,-6 M0,5.4 C0,2 1.7,0 5,0 C8.2,0 10.6,2 10.6,5.6 M10.6,14 L10.6,0"),
    ('°', 6.6, "M6.6,17 A3.3,17,3.3,3.3,0,360"),
    ('±', 12.0, "M0,10.5 L12,10.5 M6,16.5 L6,4.5 M0,0.4 L12,0.4"),
    (
        'ε',
        9.4,
        "M9,12.2 C8,13.4 6.7,14 5.1,14 C2.7,14 0.9,12.8 0.9,10.7 C0.9,8.7 2.6,7.4 5.1,7.4 L6.4,7.4 M5.1,7.4 C2.2,7.4 0.2,6.1 0.2,3.8 C0.2,1.4 2.3,0 5,0 C7,0 8.5,0.7 9.6,2",
    ),
    ('ρ', 11.2, "M0,-6 L0,7 A5.6,7,5.6,7,180,-180"),
    ('×', 12.0, "M1.2,3.7 L10.8,13.3 M1.2,13.3 L10.8,3.7"),
    ('·', 0.8, "M0.8,8.55 A0.4,8.55,0.4,0.4,0,360"),
    ('−', 12.0, "M0,8.5 L12,8.5"),
    ('–', 11.0, "M0,7.6 L11,7.6"),
    ('—', 20.0, "M0,7.6 L20,7.6"),
    (
        '…',
        12.8,
        "M0.8,0.45 A0.4,0.45,0.4,0.4,0,360 M6.8,0.45 A6.4,0.45,0.4,0.4,0,360 M12.8,0.45 A12.4,0.45,0.4,0.4,0,360",
    ),
    ('→', 17.0, "M0,8.5 L17,8.5 M12,13.5 L17,8.5 L12,3.5"),
    (
        '∞',
        20.0,
        "M10,8.5 C7.6,11.8 6.6,13.3 4.4,13.3 C1.8,13.3 0,11.2 0,8.5 C0,5.8 1.8,3.7 4.4,3.7 C6.6,3.7 7.6,5.2 10,8.5 C12.4,11.8 13.4,13.3 15.6,13.3 C18.2,13.3 20,11.2 20,8.5 C20,5.8 18.2,3.7 15.6,3.7 C13.4,3.7 12.4,5.2 10,8.5",
    ),
    ('≤', 12.0, "M12,16 L0,10.5 L12,5 M0,0.6 L12,0.6"),
    ('≥', 12.0, "M0,16 L12,10.5 L0,5 M0,0.6 L12,0.6"),
    (MISSING, 10.0, "M0,0 L0,20 L10,20 L10,0 L0,0"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_printable_character_is_drawn_within_its_room() {
        let others = "µ²⁻⁵ερ×·−∞→…°";
        for c in (' '..='~').chain(others.chars()) {
            let glyph = glyph(c);
            assert!(!std::ptr::eq(glyph, super::glyph(MISSING)), "{c:?} is missing");
            assert!(c == ' ' || !glyph.strokes.is_empty(), "{c:?} is empty");
            for (x, y) in glyph.strokes.iter().flatten() {
                assert!((-1.5..=glyph.width + 1.5).contains(x), "{c:?} at x = {x}");
                assert!((-7.0..=24.0).contains(y), "{c:?} at y = {y}");
            }
        }
    }

    #[test]
    fn no_two_characters_look_the_same() {
        let mut paths: Vec<&str> = GLYPHS.iter().map(|(_, _, path)| *path).collect();
        paths.sort_unstable();
        paths.dedup();
        assert_eq!(paths.len(), GLYPHS.len());
    }

    #[test]
    fn a_character_that_is_not_there_is_a_box() {
        assert_eq!(glyph('漢').strokes, glyph(MISSING).strokes);
    }
}
