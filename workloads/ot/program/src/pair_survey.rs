//! The survey of pairs: reads how large every frame is and where its mass lies, without keeping the
//! frames in memory.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use swathe::Stop;
use swathe_ot::{PixelBox, Shape};

use crate::frame::{FrameError, FrameHeader};
use crate::frame_cache::FrameCache;
use swathe_run::store::run_folder::{InputFile, on_threads, read};

/// The result of a survey of a run's frames.
#[derive(Debug)]
pub struct PairSurvey {
    /// For each frame: its outline, or the error of reading it; `None` for frames that no pair of
    /// this run or shard needs.
    pub outlines: Vec<Option<Result<Outline, Arc<FrameError>>>>,
    /// The files that were read, with their checksums.
    pub inputs: Vec<InputFile>,
}

/// The extent of a frame and of the mass in it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outline {
    /// Height and width of the frame.
    pub shape: Shape,
    /// The box around its live pixels; `None` if it has none.
    pub live: Option<PixelBox>,
    /// Height and width of a pixel in µm, if the file says it.
    #[serde(default)]
    pub um_per_px: Option<[f64; 2]>,
}

/// Outlines from an earlier survey of the same run, by the file's checksum and the part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KnownOutlines {
    label: Option<f64>,
    frames: Vec<KnownOutline>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct KnownOutline {
    blake3: String,
    part: Option<String>,
    #[serde(default)]
    label: Option<i64>,
    #[serde(flatten)]
    outline: Outline,
}

/// Settings of a survey.
pub struct SurveySettings<'a> {
    /// Whether to find the boxes of live pixels; otherwise shapes are enough.
    pub wants_boxes: bool,
    /// Outlines from an earlier survey.
    pub known: &'a KnownOutlines,
    /// Number of frames surveyed at once.
    pub n_threads: usize,
    /// A frame that needs more memory than this is not read.
    pub memory_bytes: u64,
    /// Ends the survey early.
    pub stop: &'a Stop,
}

/// Surveys every frame that is `needed` and computes the checksum of every file. `None` if it was
/// stopped.
pub fn survey(
    cache: &FrameCache,
    needed: &[bool],
    table: Option<&Path>,
    settings: &SurveySettings<'_>,
) -> Option<PairSurvey> {
    let mut paths: Vec<&Path> = table.into_iter().collect();
    let mut number_by_path: HashMap<&Path, usize> = HashMap::new();
    for frame in cache.frames() {
        number_by_path.entry(&frame.path).or_insert_with(|| {
            paths.push(&frame.path);
            paths.len() - 1
        });
    }
    // A shard reads its own frames, not those of all others.
    let mut is_read = vec![false; paths.len()];
    is_read[..usize::from(table.is_some())].fill(true);
    for (frame, _) in cache.frames().iter().zip(needed).filter(|(_, needed)| **needed) {
        is_read[number_by_path[frame.path.as_path()]] = true;
    }
    let inputs = in_parallel(paths.len(), settings, |at| match is_read[at] {
        true => fingerprint(paths[at]),
        false => InputFile::unread(paths[at]),
    })?;
    let known: HashMap<(&str, Option<&str>, Option<i64>), Outline> = settings
        .known
        .frames
        .iter()
        .map(|known| {
            let key = (known.blake3.as_str(), known.part.as_deref(), known.label);
            (key, known.outline)
        })
        .collect();
    let outlines = in_parallel(cache.frames().len(), settings, |number| {
        if !needed[number] {
            return None;
        }
        let frame = &cache.frames()[number];
        let contents = &inputs[number_by_path[frame.path.as_path()]].blake3;
        let key = (contents.as_str(), frame.part.as_deref(), frame.label);
        if let Some(outline) = known.get(&key) {
            return Some(Ok(*outline));
        }
        Some(outline(cache, number, settings).map_err(Arc::new))
    })?;
    Some(PairSurvey { outlines, inputs })
}

fn outline(
    cache: &FrameCache,
    number: usize,
    settings: &SurveySettings<'_>,
) -> Result<Outline, FrameError> {
    let FrameHeader { shape, um_per_px } = cache.header(number)?;
    let n_bytes = (shape.h_px as u64)
        .saturating_mul(shape.w_px as u64)
        .saturating_mul(size_of::<f64>() as u64);
    if !settings.wants_boxes || n_bytes > settings.memory_bytes {
        let whole = PixelBox { y0_px: 0, x0_px: 0, shape };
        return Ok(Outline { shape, live: Some(whole), um_per_px });
    }
    let frame = cache.get(number)?;
    Ok(Outline { shape: frame.shape, live: frame.live, um_per_px })
}

/// The checksum of a file. A file that cannot be read has a special checksum, so that a later run
/// notices when the file becomes readable.
fn fingerprint(path: &Path) -> InputFile {
    InputFile::of(path).unwrap_or_else(|_| InputFile {
        name: path.display().to_string(),
        n_bytes: 0,
        blake3: "unreadable".to_owned(),
    })
}

impl KnownOutlines {
    const FILE_NAME: &str = "survey.json";

    /// Reads the outlines in a run folder; empty if there are none for this label.
    pub fn read(folder: &Path, label: Option<f64>) -> KnownOutlines {
        let text = read(&folder.join(Self::FILE_NAME)).unwrap_or_default();
        let known: Option<KnownOutlines> = serde_json::from_slice(&text).ok();
        known.filter(|known| known.label == label).unwrap_or_default()
    }

    /// The path and the contents of the file that stores a survey.
    pub fn file(
        folder: &Path,
        label: Option<f64>,
        cache: &FrameCache,
        survey: &PairSurvey,
    ) -> (PathBuf, Vec<u8>) {
        let contents: HashMap<&str, &str> =
            survey.inputs.iter().map(|file| (file.name.as_str(), file.blake3.as_str())).collect();
        let frames = cache.frames().iter().zip(&survey.outlines);
        let frames = frames.filter_map(|(frame, outline)| {
            let outline = *outline.as_ref()?.as_ref().ok()?;
            let name = frame.path.display().to_string();
            Some(KnownOutline {
                blake3: (*contents.get(name.as_str())?).to_owned(),
                part: frame.part.clone(),
                label: frame.label,
                outline,
            })
        });
        let known = KnownOutlines { label, frames: frames.collect() };
        let text = serde_json::to_vec(&known).unwrap_or_default();
        (folder.join(Self::FILE_NAME), text)
    }
}

/// Calls `work` for every number below `n` on several threads; `None` if it was stopped.
fn in_parallel<T: Send>(
    n: usize,
    settings: &SurveySettings<'_>,
    work: impl Fn(usize) -> T + Sync,
) -> Option<Vec<T>> {
    let done = on_threads("swathe-survey", settings.n_threads, n, &|at| match settings
        .stop
        .is_cancelled()
    {
        true => Err(()),
        false => Ok(work(at)),
    });
    done.ok()
}
