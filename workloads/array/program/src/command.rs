//! `swathe array`: one operation over many arrays.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::PROGRAM;
use crate::array_input::ArrayInput;
use crate::array_limits::Limits;
use crate::array_table::ArrayRows;
use crate::member_names::member_names;
use serde_json::{Value, json};
use swathe::array::{Array, Dtype, Elements};
use swathe::{AsSolved, Outcome, Size, Source};
use swathe_array::{
    Answer, ArrayFailure, ArrayWorkload, Item, Key, MapKind, MapOperand, Operands, Operation,
};
use swathe_formats::npz::{Compression, NpzWriter};
use swathe_run::store::run_folder::InputFile;

use crate::flags::{ArrayFlags, ArrayVerb, MapName};
use swathe_command::cli_error::{CliError, Code};
use swathe_command::progress::Progress;
use swathe_command::run_command::{Provenance, run_command};
use swathe_command::settings::{RunSettings, resolve};
use swathe_command::{error, status, warning};

/// A seeded XOR into an .npz file leaves its seed there under this name, so that the file alone is
/// enough to restore the data.
const SEED_MEMBER: &str = "swathe_xor_seed";

pub(crate) fn array(flags: &ArrayFlags) -> Result<Code, CliError> {
    let (items, with) = match &flags.verb {
        ArrayVerb::Xor(xor) => (&xor.items, xor.with.as_deref()),
        ArrayVerb::Matmul(matmul) => (&matmul.items, Some(matmul.with.as_path())),
        ArrayVerb::Map(map) => (&map.items, map.with.as_deref()),
    };
    let run = resolve(&items.run, &items.out, &PROGRAM)?;
    let asked = Asked::new(&flags.verb)?;
    let is_npz = items
        .out
        .extension()
        .is_some_and(|extension| extension == "npz");
    if is_npz && (run.output.resume || run.output.shard.is_some()) {
        return Err(CliError::usage(
            "--resume and --shard need a run folder, and --out is an .npz file",
        )
        .hint("give a folder to --out"));
    }
    let input = open(&items.inputs, items.column.as_deref())?;
    let input = Arc::new(input);
    let second = match with {
        Some(path) => Some(Second::open(path, items.column.as_deref())?),
        None => None,
    };
    let (operation, mut kept) = asked.decide(&input)?;
    let names = kept.iter().map(|&at| input.items()[at].name.as_str());
    if let Some(chosen) = run.selection.choose("item", names)? {
        kept = chosen.into_iter().map(|at| kept[at]).collect();
    }
    let files: Vec<&Path> = items
        .inputs
        .iter()
        .map(PathBuf::as_path)
        .chain(with)
        .collect();
    let provenance = Provenance {
        settings: settings_of(&operation, with, items.column.as_deref()),
        inputs: fingerprints(&files)?,
    };
    let n_copies = if is_npz { 0 } else { ArrayRows::N_COPIES };
    let batch = Batch::new(input, kept, second, operation, n_copies);
    if is_npz && !run.explain {
        batch.into_npz(run)
    } else {
        batch.into_folder(run, provenance)
    }
}

/// What the flags ask for, before the inputs are known.
enum Asked {
    Operation(Operation),
    /// XOR with the seed that the input itself has.
    StoredSeed,
}

impl Asked {
    fn new(verb: &ArrayVerb) -> Result<Asked, CliError> {
        Ok(Asked::Operation(match verb {
            ArrayVerb::Matmul(_) => Operation::Matmul,
            ArrayVerb::Xor(xor) => match (&xor.with, &xor.key, &xor.key_seed) {
                (Some(_), _, _) => Operation::Xor(Key::Second),
                (None, Some(key), _) => Operation::Xor(Key::Cycle(Arc::new(parse_key(key)?))),
                (None, None, Some(seed)) => {
                    Operation::Xor(Key::Seed(seed.parse().map_err(|_| {
                        CliError::usage(format!(
                            "--key-seed is '{seed}', which is not a whole number from 0 to 2^64 - 1"
                        ))
                    })?))
                }
                (None, None, None) => return Ok(Asked::StoredSeed),
            },
            ArrayVerb::Map(map) => {
                let operand = match (&map.operand, &map.with) {
                    (Some(text), _) => Some(MapOperand::Scalar(text.parse().map_err(|_| {
                        CliError::usage(format!("--operand is '{text}', which is not a number"))
                    })?)),
                    (None, Some(_)) => Some(MapOperand::Second),
                    (None, None) => None,
                };
                Operation::Map(map_kind(map.map, operand)?)
            }
        }))
    }

    /// The operation, and which of the input's items it is for.
    fn decide(self, input: &ArrayInput) -> Result<(Operation, Vec<usize>), CliError> {
        let all = 0..input.items().len();
        match self {
            Asked::Operation(operation) => Ok((operation, all.collect())),
            Asked::StoredSeed => {
                let at = input
                    .items()
                    .iter()
                    .position(|item| item.name == SEED_MEMBER);
                let seed = at.and_then(|at| input.load(at).ok());
                match seed.as_ref().map(Array::elements) {
                    Some(Elements::U64(seed)) if seed.len() == 1 => {
                        let kept = all.filter(|&index| Some(index) != at).collect();
                        Ok((Operation::Xor(Key::Seed(seed[0])), kept))
                    }
                    _ => Err(CliError::usage("xor needs a key")
                        .hint("add --key-seed 42, --key 1,2,255 or --with KEYS.npz")),
                }
            }
        }
    }
}

fn map_kind(name: MapName, operand: Option<MapOperand>) -> Result<MapKind, CliError> {
    let plain = match name {
        MapName::Add | MapName::Multiply => {
            let operand = operand.ok_or_else(|| {
                CliError::usage("add and multiply need an operand")
                    .hint("add --operand 2.5 or --with FILE")
            })?;
            return Ok(if name == MapName::Add {
                MapKind::Add(operand)
            } else {
                MapKind::Multiply(operand)
            });
        }
        MapName::Square => MapKind::Square,
        MapName::Sqrt => MapKind::Sqrt,
        MapName::Exp => MapKind::Exp,
        MapName::Log => MapKind::Log,
        MapName::Abs => MapKind::Abs,
        MapName::Negate => MapKind::Negate,
    };
    match operand {
        None => Ok(plain),
        Some(_) => Err(CliError::usage("only add and multiply take an operand")
            .hint("leave --operand and --with out")),
    }
}

/// A key of the narrowest type that holds its numbers; items of another type refuse it.
fn parse_key(text: &str) -> Result<Array, CliError> {
    let numbers = text.split(',').map(|number| number.trim().parse::<u64>());
    let numbers = numbers.collect::<Result<Vec<u64>, _>>().map_err(|_| {
        CliError::usage(format!(
            "--key is '{text}', which is not numbers joined by commas"
        ))
        .hint("write something like --key 17,42,255")
    })?;
    let shape = vec![numbers.len()];
    let key = Array::new(shape, numbers);
    Ok(key.expect("a list has its own length"))
}

/// The settings that the answers depend on.
fn settings_of(
    operation: &Operation,
    with: Option<&Path>,
    column: Option<&str>,
) -> BTreeMap<String, Value> {
    let mut settings = BTreeMap::from([("op".to_owned(), json!(operation.to_string()))]);
    let mut add = |name: &str, value: Value| settings.insert(name.to_owned(), value);
    match operation {
        Operation::Xor(Key::Seed(seed)) => drop(add("key-seed", json!(seed))),
        Operation::Xor(Key::Cycle(key) | Key::Array(key)) => {
            if let Elements::U64(numbers) = key.elements() {
                add("key", json!(numbers));
            }
        }
        Operation::Map(
            MapKind::Add(MapOperand::Scalar(x)) | MapKind::Multiply(MapOperand::Scalar(x)),
        ) => {
            // As text: JSON has neither infinity nor NaN.
            add("operand", json!(x.to_string()));
        }
        _ => {}
    }
    if with.is_some() {
        add("with", json!(true));
    }
    if let Some(column) = column {
        add("column", json!(column));
    }
    settings
}

fn open(paths: &[PathBuf], column: Option<&str>) -> Result<ArrayInput, CliError> {
    for path in paths {
        if let Err(error) = std::fs::metadata(path) {
            return Err(
                CliError::usage(format!("cannot read {}: {error}", path.display()))
                    .hint("check the name; inputs are .npy, .npz or .parquet files"),
            );
        }
    }
    ArrayInput::open(paths, column).map_err(|error| {
        CliError::usage(error.to_string())
            .hint("inputs are .npy, .npz or .parquet files with distinct names")
    })
}

fn fingerprints(files: &[&Path]) -> Result<Vec<InputFile>, CliError> {
    files
        .iter()
        .map(|path| {
            InputFile::of(path).map_err(|error| {
                CliError::usage(format!("cannot read {}: {error}", path.display()))
            })
        })
        .collect()
}

/// Where second operands come from.
struct Second {
    input: ArrayInput,
    by_name: HashMap<String, usize>,
    /// The only one there is, for all items.
    only: Option<Arc<Array>>,
}

impl Second {
    fn open(path: &Path, column: Option<&str>) -> Result<Second, CliError> {
        let input = open(&[path.to_owned()], column)?;
        let names = input
            .items()
            .iter()
            .enumerate()
            .map(|(index, item)| (item.name.clone(), index));
        let by_name = names.collect();
        let only = if input.items().len() == 1 {
            let array = input
                .load(0)
                .map_err(|error| CliError::usage(format!("{}: {error}", path.display())))?;
            Some(Arc::new(array))
        } else {
            None
        };
        Ok(Second {
            input,
            by_name,
            only,
        })
    }

    fn header(&self, name: &str) -> Result<(Vec<usize>, Dtype), ArrayFailure> {
        if let Some(only) = &self.only {
            return Ok((only.shape().to_vec(), only.dtype()));
        }
        let header = self.input.items()[self.index(name)?].header.clone();
        header.map_err(|message| ArrayFailure::Unreadable { message })
    }

    fn load(&self, name: &str) -> Result<Arc<Array>, ArrayFailure> {
        match &self.only {
            Some(only) => Ok(Arc::clone(only)),
            None => Ok(Arc::new(self.input.load(self.index(name)?)?)),
        }
    }

    fn index(&self, name: &str) -> Result<usize, ArrayFailure> {
        self.by_name
            .get(name)
            .copied()
            .ok_or_else(|| ArrayFailure::Unreadable {
                message: format!("--with has no item called '{name}'"),
            })
    }
}

/// The items of a run and what is done to them.
struct Batch {
    workload: Arc<ArrayWorkload>,
    source: Source<Item, ArrayFailure>,
    names: Arc<Vec<String>>,
    /// Of products, the extent that each sums over.
    inner_extents: Option<Vec<Option<u64>>>,
    keeps_seed: bool,
}

impl Batch {
    fn new(
        input: Arc<ArrayInput>,
        kept: Vec<usize>,
        second: Option<Second>,
        operation: Operation,
        n_copies: u64,
    ) -> Batch {
        let keeps_seed = kept.len() == input.items().len();
        let names: Vec<String> = kept
            .iter()
            .map(|&index| input.items()[index].name.clone())
            .collect();
        let headers = kept
            .iter()
            .filter_map(|&index| input.items()[index].header.as_ref().ok());
        let dtypes = headers
            .map(|(_, dtype)| *dtype)
            .filter(|dtype| operation.accepts(*dtype))
            .collect();
        let inner_extents = (operation == Operation::Matmul).then(|| {
            let last = |&index: &usize| {
                let (shape, _) = input.items()[index].header.as_ref().ok()?;
                shape.last().map(|&n| n as u64)
            };
            kept.iter().map(last).collect()
        });
        let workload = ArrayWorkload::new(fitted(operation, &dtypes)).with_copies(n_copies);
        let workload = Arc::new(workload);
        let (kept, second) = (Arc::new(kept), second.map(Arc::new));
        let source = Source::new(
            kept.len(),
            {
                let (workload, input, kept, second) = (
                    Arc::clone(&workload),
                    Arc::clone(&input),
                    Arc::clone(&kept),
                    second.clone(),
                );
                move |index| surveyed(&workload, &input, kept[index], second.as_deref())
            },
            move |index, _| {
                let name = &input.items()[kept[index]].name;
                Ok(Item {
                    first: Arc::new(input.load(kept[index])?),
                    second: second
                        .as_ref()
                        .map(|second| second.load(name))
                        .transpose()?,
                })
            },
        );
        Batch {
            workload,
            source,
            names: Arc::new(names),
            inner_extents,
            keeps_seed,
        }
    }

    fn into_folder(self, run: RunSettings, provenance: Provenance) -> Result<Code, CliError> {
        let mut rows = ArrayRows::new(Arc::clone(&self.names));
        if let Some(extents) = self.inner_extents {
            rows = rows.with_inner(extents);
        }
        let folder = run.output.folder();
        run_command(
            &Arc::new(AsSolved(Arc::clone(&self.workload))),
            &self.source,
            run,
            provenance,
            rows,
            Box::new(move |has_tables| {
                // What rates are compared with on the page, if this machine was calibrated.
                match Limits::known() {
                    Some(limits) if has_tables => limits.write(&folder),
                    _ => Ok(()),
                }
            }),
        )
    }

    /// Writes the results in input order into one file, which appears when it is whole.
    fn into_npz(self, mut run: RunSettings) -> Result<Code, CliError> {
        let out = run.output.out.clone();
        let output_fault = |error: String| {
            CliError::new(
                Code::Output,
                format!("cannot write {}: {error}", out.display()),
            )
            .hint("check that the folder exists, may be written and has room")
        };
        let names = written_names(&self.names)?;
        let mut writer = NpzWriter::create(&out, Compression::Stored)
            .map_err(|e| output_fault(e.to_string()))?;
        // Not where the seed came from the input itself: then the data are plain again.
        if let Operation::Xor(Key::Seed(seed)) = self.workload.operation()
            && self.keeps_seed
        {
            let seed = Array::new(Vec::new(), vec![*seed]).expect("a scalar has one element");
            writer
                .add(SEED_MEMBER, &seed)
                .map_err(|e| output_fault(e.to_string()))?;
        }
        let n_items = self.source.n_problems();
        let (progress, observer) = Progress::start(run.progress, "array", n_items as u64);
        run.engine.observer = observer;
        // Outcomes come nearly in order: those that are early wait here for their turn.
        let mut early: BTreeMap<usize, Outcome<Answer, ArrayFailure>> = BTreeMap::new();
        let mut next = 0;
        let mut failures: Vec<String> = Vec::new();
        let mut n_nan = 0;
        let mut trouble = None;
        let report = swathe::run(&self.workload, &self.source, &run.engine, &mut |done| {
            early.insert(done.index, done.outcome);
            while let Some(outcome) = early.remove(&next) {
                let name = &self.names[next];
                match outcome {
                    Outcome::Solved(answer) => {
                        n_nan += answer.n_nan;
                        if let Err(error) = writer.add(&names[next], &answer.array) {
                            trouble = Some(error.to_string());
                            return ControlFlow::Break(());
                        }
                    }
                    outcome => {
                        failures.push(format!("{name}: {}", outcome.message().unwrap_or_default()))
                    }
                }
                next += 1;
            }
            ControlFlow::Continue(())
        });
        drop(progress);
        if let Some(error) = trouble {
            return Err(output_fault(error));
        }
        if report.cancelled {
            status!(
                "interrupted: {} is not written; give a folder to --out for a run that can be resumed",
                out.display()
            );
            return Ok(Code::Interrupted);
        }
        let file = writer.finish().map_err(|e| output_fault(e.to_string()))?;
        file.commit().map_err(|e| output_fault(e.to_string()))?;
        swathe_command::run_command::draw_flame(&report, &run)?;
        for failure in failures.iter().take(10) {
            status!("failed: {failure}");
        }
        if failures.len() > 10 {
            status!("… and {} more", failures.len() - 10);
        }
        status!(
            "array: {} solved, {} failed in {:.2} s ({:.1} a second)",
            report.counts.n_solved,
            failures.len(),
            report.wall_ms / 1e3,
            report.solved_per_s()
        );
        if n_nan > 0 {
            status!("{n_nan} elements that became NaN");
        }
        swathe_command::stdout::line(out.display())?;
        if let Some(mismatch) = report.verification.mismatches.first() {
            error!(
                "{} solved again gives another answer: {}",
                self.names[mismatch.problem], mismatch.difference
            );
            return Ok(Code::Mismatch);
        }
        Ok(if failures.is_empty() {
            Code::Solved
        } else {
            Code::SomeFailed
        })
    }
}

/// A short key was typed without a type: it takes the items', if they have one and it fits.
fn fitted(operation: Operation, dtypes: &BTreeSet<Dtype>) -> Operation {
    let (Operation::Xor(Key::Cycle(key)), Some(dtype), 1) =
        (&operation, dtypes.first(), dtypes.len())
    else {
        return operation;
    };
    let Elements::U64(numbers) = key.elements() else {
        return operation;
    };
    let elements = match dtype {
        Dtype::U8 => numbers
            .iter()
            .map(|&n| u8::try_from(n).ok())
            .collect::<Option<Vec<u8>>>()
            .map(Elements::U8),
        Dtype::U32 => numbers
            .iter()
            .map(|&n| u32::try_from(n).ok())
            .collect::<Option<Vec<u32>>>()
            .map(Elements::U32),
        _ => None,
    };
    match elements.and_then(|elements| Array::new(key.shape().to_vec(), elements).ok()) {
        Some(key) => Operation::Xor(Key::Cycle(Arc::new(key))),
        None => operation,
    }
}

fn surveyed(
    workload: &ArrayWorkload,
    input: &ArrayInput,
    index: usize,
    second: Option<&Second>,
) -> Result<Size, ArrayFailure> {
    let item = &input.items()[index];
    let (shape, dtype) = item
        .header
        .as_ref()
        .map_err(|message| ArrayFailure::Unreadable {
            message: message.clone(),
        })?;
    let second = second.map(|second| second.header(&item.name)).transpose()?;
    Ok(workload.size_of(&Operands {
        first: (shape, *dtype),
        second: second
            .as_ref()
            .map(|(shape, dtype)| (shape.as_slice(), *dtype)),
    }))
}

/// The names of the members of an output file. Those that are not the input's are told.
fn written_names(names: &[String]) -> Result<Vec<String>, CliError> {
    let written = member_names(names).map_err(|[name, other, safe]| {
        CliError::usage(format!(
            "the arrays {name:?} and {other:?} would both be written as {safe:?}: a name that leads out of the folder loses that part"
        ))
        .hint("rename one of them, or give a folder to --out")
    })?;
    let changed = names
        .iter()
        .zip(&written)
        .filter(|(name, safe)| name != safe);
    let changed: Vec<_> = changed.collect();
    if let Some((name, safe)) = changed.first() {
        warning!(
            "{} with a name that leads out of the folder written under another: {name:?} as {safe:?}",
            match changed.len() {
                1 => "1 array".to_owned(),
                n => format!("{n} arrays"),
            }
        );
    }
    Ok(written)
}
