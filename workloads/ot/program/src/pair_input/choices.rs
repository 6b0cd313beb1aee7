//! What a user says about an input: which frames belong together, and which images are frames.

use crate::frame::{AxisChoice, Background};

/// How the frames of an input become pairs.
#[derive(Clone, Debug, PartialEq)]
pub struct InputChoices {
    /// Columns of a table of frames whose values are the same in a series.
    pub group_by: Option<Vec<String>>,
    /// The column of a table of frames that orders a series.
    pub order_by: Option<String>,
    /// Every frame forms a pair with the one this many places later.
    pub step: usize,
    /// Which images of a stack are frames.
    pub axes: AxisChoice,
    /// Whether every label is a series of its own.
    pub all_labels: bool,
    /// What is taken off every pixel.
    pub background: Background,
    /// The most that a table may take when it is decoded.
    pub bytes_max: u64,
}

impl Default for InputChoices {
    fn default() -> InputChoices {
        InputChoices {
            group_by: None,
            order_by: None,
            step: 1,
            axes: AxisChoice::default(),
            all_labels: false,
            background: Background::None,
            bytes_max: u64::MAX,
        }
    }
}
