//! What is said of an ε before anything is solved: the command and Python refuse the same values in
//! the same words.

use swathe_ot::{CoordScale, EpsilonOutside, Settings, Shape};

use crate::spelling::Spelling;

/// The least ε with the automatic scale, whatever the frames are. Moving by one pixel in a frame with
/// a side of a thousand pixels costs ten times this.
const EPSILON_MIN: f64 = 1e-7;

/// Why an ε is refused, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EpsilonRefused {
    /// What is wrong with it.
    pub message: String,
    /// What to write instead.
    pub hint: String,
}

/// Compares an ε with the range that was proved for the frames of pairs.
#[derive(Clone, Debug, Default)]
pub struct EpsilonCheck {
    n_pairs: usize,
    n_outside: usize,
    first: Option<(Shape, EpsilonOutside)>,
}

/// Refuses an ε that suits no frame, before any is read.
///
/// # Errors
/// If ε is far below any useful value.
pub fn check_least_epsilon(settings: &Settings, spelling: Spelling) -> Result<(), EpsilonRefused> {
    let epsilon = settings.epsilon;
    if settings.coord_scale != CoordScale::Auto || epsilon >= EPSILON_MIN {
        return Ok(());
    }
    let other = match spelling {
        Spelling::Command => "`swathe ot suggest INPUT` finds one".to_owned(),
        Spelling::Python => format!("{} finds one", spelling.auto_epsilon()),
    };
    Err(EpsilonRefused {
        message: format!(
            "{} is {epsilon:e}, which blurs by far less than a pixel and would hardly converge",
            spelling.name("epsilon")
        ),
        hint: format!("1e-3 to 3e-5 are usual, {EPSILON_MIN:e} is the least; {other}"),
    })
}

impl EpsilonCheck {
    /// Adds a pair with frames of this shape.
    pub fn add(&mut self, settings: &Settings, frame: Shape) {
        self.n_pairs += 1;
        if let Some(outside) = settings.epsilon_outside(frame) {
            self.n_outside += 1;
            self.first.get_or_insert((frame, outside));
        }
    }

    /// Refuses an ε that is outside of the range for all pairs.
    ///
    /// # Errors
    /// If it is.
    pub fn refuse(&self, settings: &Settings, spelling: Spelling) -> Result<(), EpsilonRefused> {
        let Some((shape, outside)) = &self.first else {
            return Ok(());
        };
        if self.n_outside < self.n_pairs {
            return Ok(());
        }
        let equivalent = match settings.coord_scale {
            CoordScale::Auto => String::new(),
            CoordScale::Fixed(scale) => format!(
                "with {} it is what {:.2e} is with {}; ",
                spelling.with("coord-scale", scale),
                outside.equivalent,
                match spelling {
                    Spelling::Command => "--coord-scale auto",
                    Spelling::Python => "coord_scale=\"auto\"",
                }
            ),
        };
        Err(EpsilonRefused {
            message: format!(
                "{} is {}",
                spelling.with("epsilon", format_args!("{:e}", outside.epsilon)),
                told(*shape, outside)
            ),
            hint: format!("{equivalent}take one in the range, or {}", spelling.auto_epsilon()),
        })
    }

    /// A warning where ε is outside of the range for some pairs.
    pub fn warning(&self, spelling: Spelling) -> Option<String> {
        let (shape, outside) = self.first.as_ref()?;
        Some(format!(
            "{} of the pairs: {} is {}",
            self.n_outside,
            spelling.with("epsilon", format_args!("{:e}", outside.epsilon)),
            told(*shape, outside)
        ))
    }
}

fn told(shape: Shape, outside: &EpsilonOutside) -> String {
    let [least, most] = outside.range;
    format!(
        "a blur of {:.2} px on frames of {shape}, outside of the range that was proved there: {least:.2e} to {most:.2e}",
        outside.blur_px
    )
}
