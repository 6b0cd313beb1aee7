//! A picture of a solved pair for a slide: both frames, where mass moved, appeared and vanished,
//! and how fast it moved.

mod figure;
mod histogram;
mod intensity;
mod layout;
mod mass_map;
mod overlay;
mod quiver;
mod scale;

use crate::pair_table::PairRow;
use swathe_ot::{Fields, Frame, Solution, Status};

use figure::{figure, percent};
use layout::{Layout, layout};
use scale::Length;
use swathe_run::canvas::{Canvas, Color, Rect, Text};

/// The content of a pair's picture.
///
/// ```
/// use swathe_ot_program::pair_picture::PairPicture;
/// use swathe_ot::{Settings, Shape, lift, solve, synth};
///
/// let pair = synth::embryo_pair(Shape::new(32, 64), 7, synth::Change::default());
/// let settings = Settings::default();
/// let solution = solve(&pair, &settings)?;
/// let picture = PairPicture {
///     pair_id: "embryo_7",
///     source: &pair.source,
///     target: &pair.target,
///     fields: &lift(&solution, &pair.source, &pair.target).unwrap(),
///     figures: (&solution).into(),
///     motion_doubt: None,
///     epsilon: settings.epsilon,
///     relaxation: settings.relaxation,
///     shows_intensities: false,
/// };
/// let png = picture.draw().png();
/// assert!(png.starts_with(b"\x89PNG"));
/// # Ok::<(), swathe_ot::Failure>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PairPicture<'a> {
    /// The pair's name.
    pub pair_id: &'a str,
    /// Where mass was.
    pub source: &'a Frame,
    /// Where mass is next; of the source's shape.
    pub target: &'a Frame,
    /// The maps, on the original frame.
    pub fields: &'a Fields,
    /// The figures of the solution.
    pub figures: PairFigures,
    /// Why its motion is in doubt.
    pub motion_doubt: Option<&'a str>,
    /// Entropic blur ε that was used.
    pub epsilon: f64,
    /// Price ρ of creating and destroying mass that was used.
    pub relaxation: f64,
    /// Whether source and target are shown in shades of grey, in the place of their overlay and of
    /// the histogram.
    pub shows_intensities: bool,
}

/// The figures of a solution that are printed above its picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairFigures {
    /// How the solve ended.
    pub status: Status,
    /// Residual of both marginals.
    pub residual: f64,
    /// Transport cost in px².
    pub cost_px2: f64,
    /// Mass of the plan, problem units.
    pub mass_transported: f64,
    /// Mass that appeared, signed.
    pub mass_created: f64,
    /// Mass that vanished, signed.
    pub mass_destroyed: f64,
}

impl From<&Solution> for PairFigures {
    fn from(solution: &Solution) -> PairFigures {
        PairFigures {
            status: solution.status,
            residual: solution.residual,
            cost_px2: solution.cost_px2,
            mass_transported: solution.mass_transported,
            mass_created: solution.mass_created,
            mass_destroyed: solution.mass_destroyed,
        }
    }
}

/// A row of a run's table; a figure that it does not have is NaN. A status that is not known is an error.
impl TryFrom<&PairRow> for PairFigures {
    type Error = String;

    fn try_from(row: &PairRow) -> Result<PairFigures, String> {
        let word = row.status.as_deref().unwrap_or_default();
        let status = Status::ALL.into_iter().find(|status| status.name() == word);
        let known = |figure: Option<f64>| figure.unwrap_or(f64::NAN);
        Ok(PairFigures {
            status: status.ok_or_else(|| format!("the status {word:?} is not known"))?,
            residual: known(row.residual),
            cost_px2: known(row.cost_px2),
            mass_transported: known(row.mass_transported),
            mass_created: known(row.mass_created),
            mass_destroyed: known(row.mass_destroyed),
        })
    }
}

/// Text, axes and arrows.
const INK: Color = Color::rgb(38, 38, 46);
/// Captions and ticks.
const QUIET: Color = Color::rgb(105, 105, 115);
/// Edges of panels.
const RULE: Color = Color::rgb(205, 205, 212);
/// Blue and orange of Okabe and Ito's palette, which differ for all kinds of colour vision.
const SOURCE: Color = Color::rgb(0, 114, 178);
const TARGET: Color = Color::rgb(230, 140, 0);
/// Where both frames have mass: neutral, so that differences stand out.
const BOTH: Color = Color::rgb(172, 174, 184);
/// Text that needs attention.
const ALARM: Color = Color::rgb(190, 30, 45);

impl PairPicture<'_> {
    /// Draws the picture, at most 1920 × 1080 pixels.
    pub fn draw(&self) -> Canvas {
        let layout = layout(self.source, self.target);
        let mut canvas = Canvas::new(layout.w_px, layout.h_px, Color::WHITE);
        self.header(&mut canvas, &layout);
        let [first, second, third, fourth] = layout.panels;
        if self.shows_intensities {
            intensity::draw(&mut canvas, self, &layout, [first, second]);
            quiver::draw(&mut canvas, self, &layout, third);
            mass_map::draw(&mut canvas, self, &layout, fourth);
        } else {
            overlay::draw(&mut canvas, self, &layout, first);
            quiver::draw(&mut canvas, self, &layout, second);
            mass_map::draw(&mut canvas, self, &layout, third);
            histogram::draw(&mut canvas, self, fourth);
        }
        canvas
    }

    fn header(&self, canvas: &mut Canvas, layout: &Layout) {
        let left = layout.margin_px;
        let room = layout.w_px as f64 - 2.0 * left;
        // A long name is set in a smaller size before it is cut.
        let sizes = [38.0, 32.0, 27.0].map(|size_px| Text::of_size(size_px).bold());
        let fits = |style: &&Text| style.width_px(self.pair_id) <= room;
        let title = *sizes.iter().find(fits).unwrap_or(&sizes[2]);
        canvas.text((left, 66.0), &title.cut_to(self.pair_id, room), &title, INK);
        // On a narrow picture the figures take two lines, on a wide one a single line.
        let line = Text::of_size(24.0);
        let (settings, masses) = (self.settings_line(), self.masses_line());
        let whole = format!("{settings}   ·   {masses}");
        if line.width_px(&whole) <= room {
            canvas.text((left, 108.0), &whole, &line, QUIET);
        } else {
            canvas.text((left, 104.0), &line.cut_to(&settings, room), &line, QUIET);
            canvas.text((left, 137.0), &line.cut_to(&masses, room), &line, QUIET);
        }
        if let Some(words) = self.alarm() {
            let used = title.width_px(&title.cut_to(self.pair_id, room)) + 30.0;
            let words = line.cut_to(&words, room - used);
            canvas.text((left + room, 66.0), &words, &line.right(), ALARM);
        }
    }

    fn settings_line(&self) -> String {
        let length = Length::of(self.source);
        format!(
            "ε = {}   ρ = {}   cost {} {}²",
            figure(self.epsilon),
            figure(self.relaxation),
            figure(self.figures.cost_px2 * length.per_px * length.per_px),
            length.unit
        )
    }

    /// Shares of the source's mass, except for created mass: a share of the target's.
    fn masses_line(&self) -> String {
        let figures = &self.figures;
        let source = figures.mass_transported + figures.mass_destroyed;
        let target = figures.mass_transported + figures.mass_created;
        format!(
            "transported {}   created {}   destroyed {}",
            percent(figures.mass_transported, source),
            percent(figures.mass_created, target),
            percent(figures.mass_destroyed, source)
        )
    }

    fn alarm(&self) -> Option<String> {
        match self.figures.status {
            Status::Converged => self.motion_doubt.map(|doubt| format!("motion in doubt: {doubt}")),
            Status::MaxIterations => {
                Some(format!("not converged: residual {}", figure(self.figures.residual)))
            }
            Status::EmptySource => Some("the source is empty".to_owned()),
            Status::EmptyTarget => Some("the target is empty".to_owned()),
            Status::BothEmpty => Some("both frames are empty".to_owned()),
        }
    }

    /// Speed of every source pixel that has one, px.
    fn speeds_px(&self) -> Vec<f64> {
        let velocities = self.fields.velocity_yx_px.iter();
        velocities.map(|[vy, vx]| vy.hypot(*vx)).filter(|speed| speed.is_finite()).collect()
    }
}

/// A panel's name above its picture.
fn caption(canvas: &mut Canvas, image: Rect, words: &str) {
    let style = Text::of_size(26.0).bold();
    canvas.text((image.x, image.y - 16.0), words, &style, INK);
}

/// A message in the middle of a panel that has nothing to show.
fn nothing(canvas: &mut Canvas, image: Rect, words: &str) {
    let style = Text::of_size(24.0).centred();
    let middle = (image.x + image.w / 2.0, image.y + image.h / 2.0);
    canvas.text(middle, &style.cut_to(words, image.w - 20.0), &style, QUIET);
}

#[cfg(test)]
mod tests;
