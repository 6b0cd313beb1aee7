//! Colours with opacity, and how one colour is blended over another.

/// A colour of the sRGB space with its opacity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Color {
    /// Red.
    pub r: u8,
    /// Green.
    pub g: u8,
    /// Blue.
    pub b: u8,
    /// Opacity, from 0 (invisible) to 1.
    pub alpha: f64,
}

impl Color {
    /// Black.
    pub const BLACK: Color = Color::rgb(0, 0, 0);
    /// White.
    pub const WHITE: Color = Color::rgb(255, 255, 255);

    /// An opaque colour.
    pub const fn rgb(r: u8, g: u8, b: u8) -> Color {
        Color { r, g, b, alpha: 1.0 }
    }

    /// The same colour with another opacity.
    pub const fn with_alpha(self, alpha: f64) -> Color {
        Color { alpha, ..self }
    }

    /// Interpolates between this colour (`share` 0) and another (`share` 1).
    ///
    /// ```
    /// use swathe_run::canvas::Color;
    /// assert_eq!(Color::BLACK.towards(Color::WHITE, 0.2), Color::rgb(51, 51, 51));
    /// ```
    pub fn towards(self, other: Color, share: f64) -> Color {
        let share = share.clamp(0.0, 1.0);
        let [r, g, b] = other.with_alpha(1.0).over(self.channels(), share);
        Color { r, g, b, alpha: self.alpha + (other.alpha - self.alpha) * share }
    }

    pub(super) fn channels(self) -> [u8; 3] {
        [self.r, self.g, self.b]
    }

    /// A pixel after this colour was blended over the share `coverage` of its area.
    pub(super) fn over(self, below: [u8; 3], coverage: f64) -> [u8; 3] {
        let share = (self.alpha * coverage).clamp(0.0, 1.0);
        let mix = |new: u8, old: u8| {
            let (new, old) = (f64::from(new), f64::from(old));
            (old + (new - old) * share).round() as u8
        };
        let [r, g, b] = below;
        [mix(self.r, r), mix(self.g, g), mix(self.b, b)]
    }
}
