//! `swathe ot synth`: writes synthetic series.

use crate::series_files::{SeriesFiles, SeriesFilesError};
use swathe_ot::Shape;

use crate::flags::OtSynthFlags;
use swathe_command::cli_error::{CliError, Code};
use swathe_command::status;

pub(super) fn synth(flags: &OtSynthFlags) -> Result<Code, CliError> {
    let what = SeriesFiles {
        n_series: flags.series as usize,
        n_frames: flags.frames as usize,
        shape: flags.shape.as_deref().map(parse_shape).transpose()?,
        seed: flags.seed,
    };
    let table = what.write(&flags.out, |_| {}).map_err(fault)?;
    status!(
        "{} frames of {} series, {} pairs; solve them with: swathe ot {} --out RUN",
        what.n_series * what.n_frames,
        what.n_series,
        what.n_pairs(),
        table.display()
    );
    swathe_command::stdout::line(table.display())?;
    Ok(Code::Solved)
}

/// The longest side of a synthetic frame: larger frames are not small problems.
const SIDE_PX_MAX: usize = 8192;

fn parse_shape(text: &str) -> Result<Shape, CliError> {
    let side = |text: &str| {
        let side = text.parse::<usize>().ok();
        side.filter(|n| (8..=SIDE_PX_MAX).contains(n))
    };
    let shape = text.split_once('x').and_then(|(h, w)| Some(Shape::new(side(h)?, side(w)?)));
    shape.ok_or_else(|| {
        CliError::usage(format!("--shape is '{text}', which is not a shape of frames"))
            .hint(format!("write height x width from 8 to {SIDE_PX_MAX} pixels, such as 256x512"))
    })
}

fn fault(error: SeriesFilesError) -> CliError {
    let message = error.to_string();
    match error {
        SeriesFilesError::Exists { .. } => {
            CliError::usage(message).hint("choose another --out, or remove the folder")
        }
        SeriesFilesError::Write { .. } => {
            CliError::new(Code::Output, message).hint("make room or allow writing")
        }
    }
}
