//! Files of maps and couplings beside the table, one per pair.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{ArrayRef, Float32Array, Float64Array, RecordBatch, UInt32Array};
use arrow::datatypes::DataType;
use swathe::array::Dtype;
use swathe_ot::{Fields, Geometry, Link, Potentials};

use crate::page::ViewFiles;
use serde::{Deserialize, Serialize};
use swathe_formats::atomic_file::temporary_target;
use swathe_formats::npz::{Compression, NpzError, NpzWriter};
use swathe_run::record;
use swathe_run::store::record::{self, Cells as _, Column, Record as _, TableReference};
use swathe_run::store::run_folder::{Checksum, FolderError, RowFile, TableFile, make_own_folder};

/// How maps are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FieldsFormat {
    /// Maps are not written.
    None,
    /// An `.npz` file with an array of the frame's shape for each map.
    Npz,
    /// A Parquet file with a row for each live pixel.
    Parquet,
}

/// The maps of a pair, on the live box of its geometry.
#[derive(Clone, Debug, Default)]
pub struct PairMaps {
    /// Velocities, masses and costs.
    pub fields: Fields,
    /// The potentials, if they are written.
    pub potentials: Option<Potentials>,
    /// Width of a pixel in µm, if known: the factor from the velocities to µm.
    pub um_per_px: Option<f64>,
}

/// Writes the files of pairs into a run folder, each atomically.
#[derive(Clone, Debug)]
pub struct PairFiles {
    folder: PathBuf,
    fields: FieldsFormat,
    with_coupling: bool,
    /// Whether numbers are written as f64; otherwise as f32.
    is_double: bool,
    trouble: FirstWriteError,
    views: ViewFiles,
}

/// The first error of writing a file. It ends the run.
#[derive(Clone, Debug, Default)]
pub struct FirstWriteError(Arc<Mutex<Option<Arc<FolderError>>>>);

impl FirstWriteError {
    /// Takes the error, if there is one.
    pub fn take(&self) -> Option<Arc<FolderError>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn note(&self, path: &Path, source: io::Error) -> Arc<FolderError> {
        let error = Arc::new(FolderError::Write { path: path.to_owned(), source });
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert_with(|| Arc::clone(&error));
        error
    }
}

const FIELDS_FOLDER: &str = "fields";
const COUPLING_FOLDER: &str = "coupling";

impl PairFiles {
    /// Bytes that writing takes besides the data itself.
    pub const STAGE_BYTES: u64 = 1 << 20;

    /// Files in the run folder `folder`.
    pub fn new(
        folder: &Path,
        fields: FieldsFormat,
        with_coupling: bool,
        is_double: bool,
    ) -> PairFiles {
        PairFiles {
            folder: folder.to_owned(),
            fields,
            with_coupling,
            is_double,
            trouble: FirstWriteError::default(),
            views: ViewFiles::new(folder),
        }
    }

    /// Whether maps are written.
    pub fn wants_fields(&self) -> bool {
        self.fields != FieldsFormat::None
    }

    /// Whether couplings are written.
    pub fn wants_coupling(&self) -> bool {
        self.with_coupling
    }

    /// The record of the first write error.
    pub fn trouble(&self) -> FirstWriteError {
        self.trouble.clone()
    }

    /// The files of small views, for the page of the run.
    pub(crate) fn views(&self) -> &ViewFiles {
        &self.views
    }

    /// Makes the folders and removes files of these pairs that an earlier process left: partly
    /// written files, and complete files whose pairs were never committed. Files of other pairs
    /// stay, because they may belong to another shard.
    ///
    /// # Errors
    /// If a folder cannot be made or is a link, or a file cannot be removed.
    pub fn prepare(&self, ids: &mut dyn Iterator<Item = &str>) -> Result<(), FolderError> {
        let mut folders = Vec::new();
        if self.wants_fields() {
            folders.push((self.folder.join(FIELDS_FOLDER), self.fields_extension()));
        }
        if self.with_coupling {
            folders.push((self.folder.join(COUPLING_FOLDER), "parquet"));
        }
        if folders.is_empty() {
            return Ok(());
        }
        let names: HashSet<String> = ids.map(file_stem).collect();
        for (folder, extension) in folders {
            let unwritable = |source| FolderError::Write { path: folder.clone(), source };
            make_own_folder(&folder)?;
            for entry in fs::read_dir(&folder).map_err(unwritable)?.flatten() {
                let file_name = entry.file_name();
                let name = file_name.to_string_lossy();
                let whole = temporary_target(&name).map_or(&*name, |(whole, _)| whole);
                let stem = whole.strip_suffix(extension).and_then(|stem| stem.strip_suffix('.'));
                if stem.is_some_and(|stem| names.contains(stem)) {
                    fs::remove_file(entry.path()).map_err(unwritable)?;
                }
            }
        }
        Ok(())
    }

    /// Writes the maps of a pair and returns the file, relative to the run folder. The maps cover
    /// the live box of `geometry`; off it everything is NaN.
    ///
    /// # Errors
    /// If the file cannot be written. The first such error is also recorded for the run.
    pub fn write_fields(
        &self,
        id: &str,
        geometry: &Geometry,
        maps: &PairMaps,
    ) -> Result<RowFile, Arc<FolderError>> {
        let relative = format!("{FIELDS_FOLDER}/{}.{}", file_stem(id), self.fields_extension());
        let path = self.folder.join(&relative);
        let written = match self.fields {
            FieldsFormat::Parquet => self.write_rows(&path, geometry, maps),
            FieldsFormat::None | FieldsFormat::Npz => self.write_npz(&path, geometry, maps),
        };
        self.row_file(relative, written)
    }

    fn row_file(
        &self,
        path: String,
        written: io::Result<Checksum>,
    ) -> Result<RowFile, Arc<FolderError>> {
        match written {
            Ok(seal) => Ok(RowFile { path, seal }),
            Err(error) => Err(self.trouble.note(&self.folder.join(path), error)),
        }
    }

    /// Writes the listed entries of a pair's plan and returns the file, relative to the run folder.
    ///
    /// # Errors
    /// If the file cannot be written. The first such error is also recorded for the run.
    pub fn write_coupling(&self, id: &str, links: &[Link]) -> Result<RowFile, Arc<FolderError>> {
        let relative = format!("{COUPLING_FOLDER}/{}.parquet", file_stem(id));
        let path = self.folder.join(&relative);
        let write = || {
            let mut file = TableFile::create(&path, LinkRow::schema())?;
            for some in links.chunks(1 << 14) {
                let mut columns = LinkRow::builder();
                some.iter().for_each(|link| LinkRow::of(link).append(&mut columns));
                let batch = RecordBatch::try_new(LinkRow::schema(), LinkRow::arrays(&mut columns));
                file.write(&batch.map_err(io::Error::other)?)?;
            }
            file.commit()
        };
        let written = write();
        self.row_file(relative, written)
    }

    fn fields_extension(&self) -> &'static str {
        match self.fields {
            FieldsFormat::Parquet => "parquet",
            FieldsFormat::None | FieldsFormat::Npz => "npz",
        }
    }

    /// Writes arrays of the frame's shape, row by row: the frame may be much larger than its live
    /// box, so it is never in memory as a whole.
    fn write_npz(&self, path: &Path, geometry: &Geometry, maps: &PairMaps) -> io::Result<Checksum> {
        let system_error = |error: NpzError| match error {
            NpzError::Io(error) => error,
            error => io::Error::other(error),
        };
        let mut writer = NpzWriter::create(path, Compression::Stored).map_err(system_error)?;
        let frame = geometry.frame;
        let dtype = if self.is_double { Dtype::F64 } else { Dtype::F32 };
        let fields = &maps.fields;
        let velocity: Vec<f64> = fields.velocity_yx_px.iter().flatten().copied().collect();
        let raw: Vec<f64> = fields.raw_velocity().iter().flatten().copied().collect();
        let mut all: Vec<(&str, &[f64], usize, Dtype)> = vec![
            ("velocity_yx", &velocity, 2, dtype),
            ("velocity_raw_yx", &raw, 2, dtype),
            ("created", &fields.created, 1, dtype),
            ("destroyed", &fields.destroyed, 1, dtype),
            ("cost_map", &fields.cost_map, 1, dtype),
            ("target_cost_map", &fields.target_cost_map, 1, dtype),
        ];
        if let Some(potentials) = &maps.potentials {
            // They are divided by ε, so f32 would not do.
            all.push(("f", &potentials.f, 1, Dtype::F64));
            all.push(("g", &potentials.g, 1, Dtype::F64));
        }
        for (name, map, depth, dtype) in all {
            let mut shape = vec![frame.h_px, frame.w_px];
            if depth > 1 {
                shape.push(depth);
            }
            let added = writer.add_rows(name, &shape, dtype, &mut |out| {
                write_map(geometry, map, depth, dtype, out)
            });
            added.map_err(system_error)?;
        }
        if let Some(um_per_px) = maps.um_per_px {
            let written = writer.add_rows("um_per_px", &[], Dtype::F64, &mut |out| {
                out.write_all(&um_per_px.to_le_bytes())
            });
            written.map_err(system_error)?;
        }
        writer.finish().map_err(system_error)?.commit()?;
        Checksum::of(path)
    }

    /// Writes a row for each pixel that is live in at least one of the frames.
    fn write_rows(
        &self,
        path: &Path,
        geometry: &Geometry,
        maps: &PairMaps,
    ) -> io::Result<Checksum> {
        let columns = map_columns(self.is_double, maps.potentials.is_some());
        let width = maps.um_per_px.iter();
        let width = width.map(|um_per_px| ("um_per_px".to_owned(), um_per_px.to_string()));
        let schema = record::schema(&columns).as_ref().clone();
        let schema = Arc::new(schema.with_metadata(width.collect()));
        let mut file = TableFile::create(path, Arc::clone(&schema))?;
        let w_px = geometry.live.map_or(1, |live| live.shape.w_px);
        let (y0, x0) = geometry.live.map_or((0, 0), |live| (live.y0_px, live.x0_px));
        let fields = &maps.fields;
        let live: Vec<usize> = (0..fields.created.len())
            .filter(|&at| !fields.created[at].is_nan() || !fields.destroyed[at].is_nan())
            .collect();
        for some in live.chunks(1 << 14) {
            let place = |place: &dyn Fn(usize) -> usize| -> ArrayRef {
                let places = some.iter().map(|&at| place(at) as u32);
                Arc::new(UInt32Array::from_iter_values(places))
            };
            let double = |value: &dyn Fn(usize) -> f64| -> ArrayRef {
                let values = some.iter().map(|&at| value(at));
                Arc::new(Float64Array::from_iter_values(values))
            };
            let values = |value: &dyn Fn(usize) -> f64| -> ArrayRef {
                if self.is_double {
                    return double(value);
                }
                let values = some.iter().map(|&at| value(at) as f32);
                Arc::new(Float32Array::from_iter_values(values))
            };
            let mut columns = vec![
                place(&|at| y0 + at / w_px),
                place(&|at| x0 + at % w_px),
                values(&|at| fields.velocity_yx_px[at][0]),
                values(&|at| fields.velocity_yx_px[at][1]),
                values(&|at| fields.raw_velocity()[at][0]),
                values(&|at| fields.raw_velocity()[at][1]),
                values(&|at| fields.created[at]),
                values(&|at| fields.destroyed[at]),
                values(&|at| fields.cost_map[at]),
                values(&|at| fields.target_cost_map[at]),
            ];
            if let Some(potentials) = &maps.potentials {
                // A pair with an empty side has none.
                let at = |values: &[f64], at: usize| values.get(at).copied().unwrap_or(f64::NAN);
                columns.push(double(&|pixel| at(&potentials.f, pixel)));
                columns.push(double(&|pixel| at(&potentials.g, pixel)));
            }
            let batch = RecordBatch::try_new(Arc::clone(&schema), columns);
            file.write(&batch.map_err(io::Error::other)?)?;
        }
        file.commit()
    }
}

record! {
    /// A listed entry of a plan.
    struct LinkRow / LinkColumns: of(link: &Link) {
        /// px, row of the source pixel
        src_y: u32 = link.src_y_px;
        /// px, column of the source pixel
        src_x: u32 = link.src_x_px;
        /// px, row of the target pixel
        tgt_y: u32 = link.tgt_y_px;
        /// px, column of the target pixel
        tgt_x: u32 = link.tgt_x_px;
        /// problem mass on the way
        mass: f64 = link.mass;
    }
}

/// The columns of maps in Parquet.
fn map_columns(is_double: bool, has_potentials: bool) -> Vec<Column> {
    let number = if is_double { DataType::Float64 } else { DataType::Float32 };
    let place = |name: &str, meaning| Column::new(name, meaning).of(DataType::UInt32, false);
    let map = |name: &str, meaning| Column::new(name, meaning).of(number.clone(), false);
    let mut columns = vec![
        place("y", "px, row in the frame"),
        place("x", "px, column in the frame"),
        map("velocity_y", "px per step; NaN off the source"),
        map("velocity_x", "px per step; NaN off the source"),
        map("velocity_raw_y", "px per step, with the pull of entropy; NaN off the source"),
        map("velocity_raw_x", "px per step, with the pull of entropy; NaN off the source"),
        map("created", "problem mass per px; NaN off the target"),
        map("destroyed", "problem mass per px; NaN off the source"),
        map("cost_map", "scaled units squared, of the mass that leaves; NaN off the source"),
        map(
            "target_cost_map",
            "scaled units squared, of the mass that arrives; NaN off the target",
        ),
    ];
    if has_potentials {
        let potential =
            |name: &str, meaning| Column::new(name, meaning).of(DataType::Float64, false);
        columns.push(potential("f", "scaled units squared; NaN off the source"));
        columns.push(potential("g", "scaled units squared; NaN off the target"));
    }
    columns
}

/// The tables beside the results, in the reference.
pub(crate) fn references() -> [TableReference; 2] {
    [
        TableReference {
            name: "fields/<pair_id>",
            about: "`--fields parquet`: a row for each pixel with mass in one of the frames; in double precision with `--precision f64`; `f` and `g` with `--potentials`",
            columns: map_columns(false, true),
        },
        TableReference {
            name: "coupling/<pair_id>",
            about: "`--coupling`: a row for each listed entry of the plan",
            columns: LinkRow::declared().to_vec(),
        },
    ]
}

/// Writes the rows of a frame, with the map in its live box and NaN elsewhere.
fn write_map(
    geometry: &Geometry,
    map: &[f64],
    depth: usize,
    dtype: Dtype,
    out: &mut dyn Write,
) -> io::Result<()> {
    let frame = geometry.frame;
    let mut row = vec![f64::NAN; frame.w_px * depth];
    let mut bytes = Vec::with_capacity(row.len() * size_of::<f64>());
    for y in 0..frame.h_px {
        let live =
            geometry.live.filter(|live| (live.y0_px..live.y1_px()).contains(&y) && !map.is_empty());
        row.fill(f64::NAN);
        if let Some(live) = live {
            let n = live.shape.w_px * depth;
            let from = (y - live.y0_px) * n;
            row[live.x0_px * depth..][..n].copy_from_slice(&map[from..from + n]);
        }
        bytes.clear();
        if dtype == Dtype::F64 {
            row.iter().for_each(|v| bytes.extend(v.to_le_bytes()));
        } else {
            row.iter().for_each(|v| bytes.extend((*v as f32).to_le_bytes()));
        }
        out.write_all(&bytes)?;
    }
    Ok(())
}

/// The name of a pair's file without its extension: bytes outside `[A-Za-z0-9_.-]`, and a dot at
/// the beginning, are percent-encoded. A name that is too long for a file is cut, and a hash is
/// appended.
pub fn file_stem(id: &str) -> String {
    /// File systems allow 255 bytes, and a temporary name is about thirty bytes longer.
    const N_BYTES_MAX: usize = 200;
    let mut stem = String::with_capacity(id.len());
    for (at, byte) in id.bytes().enumerate() {
        if byte.is_ascii_alphanumeric() || b"_-".contains(&byte) || (byte == b'.' && at > 0) {
            stem.push(char::from(byte));
        } else {
            stem.push_str(&format!("%{byte:02X}"));
        }
    }
    if stem.len() > N_BYTES_MAX {
        let hash = blake3::hash(id.as_bytes()).to_hex();
        stem.truncate(N_BYTES_MAX - 40);
        stem.push('~');
        stem.push_str(&hash[..32]);
    }
    stem
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files() {
        for (id, stem) in [
            ("t0-t1", "t0-t1"),
            ("a.b", "a.b"),
            (".a", "%2Ea"),
            ("..", "%2E."),
            ("a/b c", "a%2Fb%20c"),
            ("µ", "%C2%B5"),
            ("50%", "50%25"),
        ] {
            assert_eq!(file_stem(id), stem);
        }
        let (long, other) = ("x".repeat(300), format!("{}y", "x".repeat(299)));
        assert!(file_stem(&long).len() <= 200);
        assert_ne!(file_stem(&long), file_stem(&other));
    }

    #[test]
    fn leftovers_of_these_pairs_go_and_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let fields = folder.path().join("fields");
        fs::create_dir(&fields).unwrap();
        for name in ["a.npz", ".a.npz.12-0.tmp", "b.npz", ".b.npz.12-1.tmp", "a.npz.1.npz"] {
            fs::write(fields.join(name), "x").unwrap();
        }
        let files = PairFiles::new(folder.path(), FieldsFormat::Npz, false, false);
        files.prepare(&mut ["a", "c"].into_iter()).unwrap();
        let mut left: Vec<String> = fs::read_dir(&fields)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, [".b.npz.12-1.tmp", "a.npz.1.npz", "b.npz"]);
    }
}
