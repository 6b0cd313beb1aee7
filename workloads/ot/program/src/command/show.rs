//! `swathe ot show`: draws a picture of one pair of a run.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::pair_input::{NamedPair, PairInput};
use crate::pair_picture::{PairFigures, PairPicture};
use crate::pair_record::{PairRecordError, find_pair, read_maps};
use crate::pair_table::PairRow;
use swathe_formats::atomic_file::AtomicFile;
use swathe_ot::{Fields, Frame, Pair, lift, solve};
use swathe_run::store::run_folder::{Identity, InputFile, RunJson};

use super::problem::Problem;
use crate::flags::OtShowFlags;
use swathe_command::cli_error::{CliError, Code};
use swathe_command::{status, warning};

pub(super) fn show(flags: &OtShowFlags) -> Result<Code, CliError> {
    let extension = flags.output.extension().map(|e| e.to_ascii_lowercase());
    if extension.is_none_or(|extension| extension != "png") {
        let complaint = format!("-o {} is no name for a PNG picture", flags.output.display());
        return Err(CliError::usage(complaint).hint("end it in .png"));
    }
    let run = RunJson::read(&flags.run)?;
    if run.identity.workload != "ot" {
        return Err(CliError::usage(format!(
            "{} is a run of swathe {}",
            flags.run.display(),
            run.identity.workload
        ))
        .hint("give a folder that `swathe ot INPUT --out` made"));
    }
    let row = find_pair(&flags.run, &flags.pair_id).map_err(fault)?;
    if let Some(doubt) = &row.motion_doubt {
        warning!(
            "the motion of {} is in doubt: {doubt}; the error bar does not cover that",
            flags.pair_id
        );
    }
    let recorded = Problem::recorded(&run.identity)?;
    let pair = load(flags, &run.identity, &recorded)?;
    let fields = maps(flags, &row, &recorded, &pair)?;
    let figures = PairFigures::try_from(&row).map_err(|reason| {
        fault(PairRecordError::Table { path: flags.run.join("pairs.parquet"), reason })
    })?;
    let picture = PairPicture {
        pair_id: &flags.pair_id,
        source: &pair.source,
        target: &pair.target,
        fields: &fields,
        figures,
        motion_doubt: row.motion_doubt.as_deref(),
        epsilon: row.epsilon.unwrap_or(f64::NAN),
        relaxation: row.relaxation.unwrap_or(f64::NAN),
        shows_intensities: flags.intensities,
    };
    let png = picture.draw().png();
    write(&flags.output, &png)?;
    swathe_command::stdout::line(flags.output.display())?;
    Ok(Code::Solved)
}

/// Loads the two frames of the pair in the same way as the run did.
fn load(flags: &OtShowFlags, identity: &Identity, recorded: &Problem) -> Result<Pair, CliError> {
    let input = flags.input.clone().or_else(|| input_of(&identity.inputs)).ok_or_else(|| {
        CliError::usage("the run does not say where its frames are")
            .hint("say where with --input INPUT")
    })?;
    let opened = PairInput::open_with(&input, &recorded.input).map_err(|error| {
        let fault = CliError::usage(error.to_string());
        match flags.input {
            Some(_) => fault.hint(error.hint()),
            None => fault.hint("if the input was moved, say where it is with --input INPUT"),
        }
    })?;
    let named = opened.pairs.iter().find(|pair| pair.id == flags.pair_id);
    let named = named.ok_or_else(|| {
        CliError::usage(format!("{} has no pair {:?}", input.display(), flags.pair_id))
            .hint("give --input the input that the run was made with")
    })?;
    let frame = |number: usize, um_per_px: Option<f64>| -> Result<Frame, CliError> {
        let place = &opened.frames[number];
        warn_of_change(&place.path, &identity.inputs);
        let live = opened
            .files
            .read(place, recorded.label)
            .map_err(|error| CliError::usage(format!("{place}: {error}")))?;
        let frame = live.whole();
        Ok(match um_per_px.or(recorded.um_per_px) {
            Some(um_per_px) => frame.with_um_per_px(um_per_px),
            None => frame,
        })
    };
    let NamedPair { source, target, .. } = *named;
    Ok(Pair::new(frame(source, named.source_um_per_px)?, frame(target, named.target_um_per_px)?))
}

/// The path of a run's input, from the files that it read. A table or stack is the first of these
/// files; a folder of frames contains the first file.
fn input_of(inputs: &[InputFile]) -> Option<PathBuf> {
    let first = Path::new(&inputs.first()?.name);
    let extension = first.extension()?.to_str()?.to_ascii_lowercase();
    let is_table = extension == "csv" || extension == "parquet";
    let is_stack = inputs.len() == 1 && ["tif", "tiff", "npy", "npz"].contains(&extension.as_str());
    if is_table || is_stack {
        return Some(first.to_owned());
    }
    let folder = first.parent()?;
    // A file name without a folder is in the current folder.
    let here = folder.as_os_str().is_empty();
    Some(if here { PathBuf::from(".") } else { folder.to_owned() })
}

fn warn_of_change(path: &Path, inputs: &[InputFile]) {
    // A frame that cannot be read fails later, when it is loaded.
    if let Ok(now) = InputFile::of(path)
        && !inputs.iter().any(|then| then.blake3 == now.blake3)
    {
        warning!("{} is not what the run read: it has changed since", path.display());
    }
}

/// The maps of the pair: those that the run kept or, without these, from solving the pair again.
fn maps(
    flags: &OtShowFlags,
    row: &PairRow,
    recorded: &Problem,
    pair: &Pair,
) -> Result<Fields, CliError> {
    let kept = row.fields_path.as_ref().filter(|path| path.ends_with(".npz"));
    if let Some(path) = kept {
        return read_maps(&flags.run.join(path), pair.source.shape).map_err(fault);
    }
    status!("the run kept no maps in .npz files: the pair is solved again with its settings");
    let solution = solve(pair, &recorded.settings)
        .map_err(|failure| CliError::new(Code::SomeFailed, failure.to_string()))?;
    lift(&solution, &pair.source, &pair.target).ok_or_else(|| {
        CliError::new(Code::SomeFailed, "the pair was solved again, but without maps")
    })
}

fn write(path: &Path, png: &[u8]) -> Result<(), CliError> {
    let written = || {
        let mut file = AtomicFile::create(path)?;
        file.write_all(png)?;
        file.commit()
    };
    written().map_err(|error| {
        CliError::new(Code::Output, format!("cannot write {}: {error}", path.display()))
            .hint("check that the folder is there and may be written")
    })
}

fn fault(error: PairRecordError) -> CliError {
    let message = error.to_string();
    let fault = CliError::usage(message);
    match error {
        PairRecordError::Unknown { nearest, .. } if nearest.is_empty() => {
            fault.hint("the run has no pairs at all")
        }
        PairRecordError::Unknown { nearest, .. } => {
            fault.hint(format!("the nearest are {}", nearest.join(", ")))
        }
        PairRecordError::Failed { .. } => fault.hint("a pair without a solution has no picture"),
        PairRecordError::Table { .. } => {
            fault.hint("is the run finished? `swathe merge RUN` puts shards together")
        }
        PairRecordError::Maps { .. } | PairRecordError::MapShape { .. } => {
            fault.hint("remove the file to have the pair solved again")
        }
    }
}
