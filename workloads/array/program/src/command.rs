//! `swathe array`: applies one operation to many arrays.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::PROGRAM;
use crate::array_input::{ArrayInput, ArrayInputError, SEED_MEMBER, table_of};
use crate::array_limits::Limits;
use crate::array_table::{ArrayRows, InnerExtent};
use crate::member_names::member_names;
use serde_json::{Value, json};
use swathe::array::{Array, Dtype};
use swathe::{AsSolved, Outcome, Size, Source};
use swathe_array::{
    ArrayFailure, ArrayWorkload, Item, Key, MapKind, MapOperand, Operands, Operation,
};
use swathe_formats::list_column::ListColumnError;
use swathe_formats::name_list::{NameIndex, NameList};
use swathe_run::store::run_folder::InputFile;

use crate::flags::{ArrayFlags, ArrayVerb, MapName};
use crate::npz_output::NpzOutput;
use swathe_command::cli_error::{CliError, Code};
use swathe_command::progress::Progress;
use swathe_command::run_command::{Provenance, reserve_index, run_command};
use swathe_command::setting_value::number_value;
use swathe_command::settings::{RunSettings, resolve};
use swathe_command::{error, status, warning};

pub(crate) fn array(flags: &ArrayFlags) -> Result<Code, CliError> {
    let (items, with) = match &flags.verb {
        ArrayVerb::Xor(xor) => (&xor.items, xor.with.as_deref()),
        ArrayVerb::Matmul(matmul) => (&matmul.items, Some(matmul.with.as_path())),
        ArrayVerb::Map(map) => (&map.items, map.with.as_deref()),
    };
    let run = resolve(&items.run, &items.out, &PROGRAM)?;
    let asked = RequestedOperation::new(&flags.verb)?;
    let is_npz = check_out(&items.out)?;
    if is_npz && (run.output.resume || run.output.shard.is_some()) {
        return Err(CliError::usage(
            "--resume and --shard need a run folder, and --out is an .npz file",
        )
        .hint("give a folder to --out"));
    }
    let bytes_max = run.engine.memory.cap_bytes();
    let mut input = open(&items.inputs, items.column.as_deref(), bytes_max)?;
    if let Some(chosen) = run.selection.choose("item", input.names().iter())? {
        input.keep(&chosen);
    }
    let second = match with {
        Some(path) => Some(Second::open(path, items.column.as_deref(), bytes_max)?),
        None => None,
    };
    let (operation, seed) = asked.decide(stored_seed(&items.inputs, &input)?)?;
    let is_folder = !is_npz || run.explain;
    let settings = settings_of(&operation, with, items.column.as_deref());
    let batch = Batch::new(input, second, operation, seed, is_folder);
    if !is_folder {
        return batch.into_npz(run);
    }
    let files = items.inputs.iter().map(PathBuf::as_path).chain(with);
    let inputs = fingerprints(files)?;
    batch.into_folder(run, Provenance { settings, inputs })
}

/// Whether the output is an .npz file. Fails for other file extensions.
fn check_out(out: &Path) -> Result<bool, CliError> {
    let extension = out.extension().map(|e| e.to_string_lossy().to_lowercase());
    match extension.as_deref() {
        Some("npz") => Ok(true),
        Some(other @ ("npy" | "parquet" | "csv" | "json")) => Err(CliError::usage(format!(
            "--out is {}, and results are not written as .{other}",
            out.display()
        ))
        .hint("give a name that ends in .npz, or a folder: its items.parquet is the table")),
        _ => Ok(false),
    }
}

/// The seed with which all inputs are XORed, if any are.
fn stored_seed(paths: &[PathBuf], input: &ArrayInput) -> Result<Option<u64>, CliError> {
    let described = |seed: Option<u64>| match seed {
        Some(seed) => format!("XORed with the seed {seed}"),
        None => "not XORed with a seed".to_owned(),
    };
    let first = input.seeds().first().copied().flatten();
    match input.seeds().iter().position(|&seed| seed != first) {
        None => Ok(first),
        Some(other) => Err(CliError::usage(format!(
            "{} is {}, {} is {}",
            paths[0].display(),
            described(first),
            paths[other].display(),
            described(input.seeds()[other])
        ))
        .hint("give them to commands of their own")),
    }
}

/// The operation that the flags select, before the inputs are known.
enum RequestedOperation {
    Operation(Operation),
    /// XOR with the seed that is stored in the input.
    StoredSeed,
}

impl RequestedOperation {
    fn new(verb: &ArrayVerb) -> Result<RequestedOperation, CliError> {
        Ok(RequestedOperation::Operation(match verb {
            ArrayVerb::Matmul(_) => Operation::Matmul,
            ArrayVerb::Xor(xor) => match (&xor.with, &xor.key, xor.key_seed) {
                (Some(_), _, _) => Operation::Xor(Key::Second),
                (None, Some(key), _) => Operation::Xor(Key::Numbers(Arc::clone(key))),
                (None, None, Some(seed)) => Operation::Xor(Key::Seed(seed)),
                (None, None, None) => return Ok(RequestedOperation::StoredSeed),
            },
            ArrayVerb::Map(map) => {
                let operand = match (map.operand, &map.with) {
                    (Some(number), _) => Some(MapOperand::Scalar(number)),
                    (None, Some(_)) => Some(MapOperand::Second),
                    (None, None) => None,
                };
                Operation::Map(map_kind(map.map, operand)?)
            }
        }))
    }

    /// The operation, and the seed with which its results are XORed; `None` if they are not or are
    /// restored.
    fn decide(self, stored: Option<u64>) -> Result<(Operation, Option<u64>), CliError> {
        match (self, stored) {
            (RequestedOperation::StoredSeed, Some(seed)) => {
                Ok((Operation::Xor(Key::Seed(seed)), None))
            }
            (RequestedOperation::StoredSeed, None) => Err(CliError::usage("xor needs a key")
                .hint("add --key-seed 42, --key 1,2,255 or --with KEYS.npz")),
            (RequestedOperation::Operation(Operation::Xor(Key::Seed(seed))), Some(stored))
                if seed == stored =>
            {
                Ok((Operation::Xor(Key::Seed(seed)), None))
            }
            (RequestedOperation::Operation(Operation::Xor(_)), Some(stored)) => {
                Err(CliError::usage(format!("the input is XORed with the seed {stored} already"))
                    .hint("restore it first: the same command without a key does so"))
            }
            (RequestedOperation::Operation(Operation::Xor(Key::Seed(seed))), None) => {
                Ok((Operation::Xor(Key::Seed(seed)), Some(seed)))
            }
            (RequestedOperation::Operation(operation), _) => Ok((operation, None)),
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

/// The settings on which the answers depend.
fn settings_of(
    operation: &Operation,
    with: Option<&Path>,
    column: Option<&str>,
) -> BTreeMap<String, Value> {
    let mut settings = BTreeMap::from([("op".to_owned(), json!(operation.to_string()))]);
    let mut add = |name: &str, value: Value| settings.insert(name.to_owned(), value);
    match operation {
        Operation::Xor(Key::Seed(seed)) => drop(add("key-seed", json!(seed))),
        Operation::Xor(Key::Numbers(numbers)) => drop(add("key", json!(**numbers))),
        Operation::Map(
            MapKind::Add(MapOperand::Scalar(x)) | MapKind::Multiply(MapOperand::Scalar(x)),
        ) => {
            add("operand", number_value(*x));
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

fn open(paths: &[PathBuf], column: Option<&str>, bytes_max: u64) -> Result<ArrayInput, CliError> {
    for path in paths {
        if let Err(error) = std::fs::metadata(path) {
            return Err(CliError::usage(format!("cannot read {}: {error}", path.display()))
                .hint("check the name; inputs are .npy, .npz or .parquet files, or run folders"));
        }
    }
    ArrayInput::open(paths, column, bytes_max).map_err(|error| {
        let hint = match &error {
            ArrayInputError::Parquet {
                source: ListColumnError::SeveralListColumns { columns },
                ..
            } => format!("name one with --column, e.g. --column {}", columns[0]),
            ArrayInputError::Parquet {
                source: ListColumnError::RowTooLarge { row_bytes, .. },
                ..
            } => format!("give --memory {}MiB or more", (2 * row_bytes).div_ceil(1 << 20)),
            ArrayInputError::UnknownFormat { path } if path.is_dir() => {
                "a run that is not finished goes on with its own command and --resume".to_owned()
            }
            _ => "inputs are .npy, .npz or .parquet files with distinct names".to_owned(),
        };
        CliError::usage(error.to_string()).hint(hint)
    })
}

fn fingerprints<'a>(paths: impl Iterator<Item = &'a Path>) -> Result<Vec<InputFile>, CliError> {
    paths
        .map(|path| {
            InputFile::of(&table_of(path)).map_err(|error| {
                CliError::usage(format!("cannot read {}: {error}", path.display()))
            })
        })
        .collect()
}

/// The source of second operands.
struct Second {
    input: ArrayInput,
    by_name: NameIndex,
    /// The only one there is, for all items.
    only: Option<Arc<Array>>,
}

impl Second {
    fn open(path: &Path, column: Option<&str>, bytes_max: u64) -> Result<Second, CliError> {
        let input = open(&[path.to_owned()], column, bytes_max)?;
        let by_name = NameIndex::of(input.names()).unwrap_or_default();
        let only = if input.n_items() == 1 {
            let array = input
                .load(0)
                .map_err(|error| CliError::usage(format!("{}: {error}", path.display())))?;
            Some(Arc::new(array))
        } else {
            None
        };
        Ok(Second { input, by_name, only })
    }

    fn header(&self, name: &str) -> Result<(Vec<usize>, Dtype), ArrayFailure> {
        if let Some(only) = &self.only {
            return Ok((only.shape().to_vec(), only.dtype()));
        }
        let (shape, dtype) = self.input.header(self.index(name)?).map_err(unreadable)?;
        Ok((shape.to_vec(), dtype))
    }

    fn dtype(&self, name: &str) -> Option<Dtype> {
        match &self.only {
            Some(only) => Some(only.dtype()),
            None => {
                let item = self.by_name.find(self.input.names(), name)?;
                Some(self.input.header(item).ok()?.1)
            }
        }
    }

    fn load(&self, name: &str) -> Result<Arc<Array>, ArrayFailure> {
        match &self.only {
            Some(only) => Ok(Arc::clone(only)),
            None => Ok(Arc::new(self.input.load(self.index(name)?)?)),
        }
    }

    fn index(&self, name: &str) -> Result<usize, ArrayFailure> {
        let found = self.by_name.find(self.input.names(), name);
        found.ok_or_else(|| unreadable(&format!("--with has no item called '{name}'")))
    }

    /// The memory that knowing them takes.
    fn size_bytes(&self) -> u64 {
        self.input.size_bytes() + self.by_name.size_bytes()
    }
}

fn unreadable(message: &str) -> ArrayFailure {
    ArrayFailure::Unreadable { message: message.to_owned() }
}

/// The items of a run and the operation on them.
struct Batch {
    workload: Arc<ArrayWorkload>,
    source: Source<Item, ArrayFailure>,
    names: Arc<NameList>,
    /// The element types of the results.
    dtypes: BTreeSet<Dtype>,
    /// For products, the extent over which each sums.
    inner_of: Option<InnerExtent>,
    /// What the index of the items takes.
    index_bytes: u64,
    /// What the results are XORed with, if a seed restores them.
    seed: Option<u64>,
}

impl Batch {
    fn new(
        input: ArrayInput,
        second: Option<Second>,
        operation: Operation,
        seed: Option<u64>,
        is_folder: bool,
    ) -> Batch {
        let names = Arc::clone(input.names());
        let result_dtype = |item: usize| {
            let (_, dtype) = input.header(item).ok()?;
            let second = second.as_ref().map(|second| second.dtype(&names[item]));
            operation.result_dtype(dtype, second.flatten())
        };
        let dtypes = (0..input.n_items()).filter_map(result_dtype).collect();
        let is_product = operation == Operation::Matmul;
        let index_bytes = input.size_bytes() + second.as_ref().map_or(0, Second::size_bytes);
        let mut workload = ArrayWorkload::new(operation);
        if is_folder {
            workload = workload.with_storing(ArrayRows::storing_bytes);
        }
        let (workload, input) = (Arc::new(workload), Arc::new(input));
        let second = second.map(Arc::new);
        let inner_of = is_product.then(|| {
            let input = Arc::clone(&input);
            let last = move |item: usize| {
                let (shape, _) = input.header(item).ok()?;
                shape.last().map(|&n| n as u64)
            };
            Box::new(last) as InnerExtent
        });
        let source = Source::new(
            input.n_items(),
            {
                let (workload, input) = (Arc::clone(&workload), Arc::clone(&input));
                let second = second.clone();
                move |index| surveyed(&workload, &input, index, second.as_deref())
            },
            move |index, _| {
                let name = &input.names()[index];
                Ok(Item {
                    first: Arc::new(input.load(index)?),
                    second: second.as_ref().map(|second| second.load(name)).transpose()?,
                })
            },
        );
        Batch { workload, source, names, dtypes, inner_of, index_bytes, seed }
    }

    fn index_text(&self) -> String {
        format!("the names and sizes of {} items", self.names.len())
    }

    fn into_folder(self, run: RunSettings, provenance: Provenance) -> Result<Code, CliError> {
        let index = self.index_text();
        let mut rows = ArrayRows::new(Arc::clone(&self.names), &self.dtypes).with_seed(self.seed);
        if let Some(extent) = self.inner_of {
            rows = rows.with_inner(extent);
        }
        let _index = reserve_index(&run.engine.memory, &index, self.index_bytes)?;
        let folder = run.output.folder();
        run_command(
            &Arc::new(AsSolved(Arc::clone(&self.workload))),
            &self.source,
            run,
            provenance,
            rows,
            Box::new(move |has_tables| {
                // The page compares rates with the limits, if this machine was calibrated.
                match Limits::known() {
                    Some(limits) if has_tables => limits.write(&folder),
                    _ => Ok(()),
                }
            }),
        )
    }

    /// Writes the results in input order into one file, which appears only when it is complete.
    fn into_npz(self, mut run: RunSettings) -> Result<Code, CliError> {
        let out = run.output.out.clone();
        let output_fault = |error: String| {
            CliError::new(Code::Output, format!("cannot write {}: {error}", out.display()))
                .hint("check that the folder exists, may be written and has room")
        };
        let names = written_names(&self.names)?;
        // Results that wait for their turn count against the memory budget, but release their
        // reservation if a problem would otherwise not fit.
        let n_bytes = self.index_bytes + NpzOutput::directory_bytes(&names);
        let _index = reserve_index(&run.engine.memory, &self.index_text(), n_bytes)?;
        // What waits for its turn in memory is memory like any other, but must not keep out a problem
        // that would fit without it.
        let held_bytes_max = (run.engine.memory.cap_bytes() / 16).min(64 << 20);
        let held = run.engine.memory.try_reserve(held_bytes_max).ok();
        let held = Mutex::new(held);
        let _gives_way = run.engine.memory.on_shortage(move || {
            drop(held.lock().unwrap_or_else(PoisonError::into_inner).take());
        });
        let mut output = NpzOutput::create(&out, held_bytes_max as usize)
            .map_err(|e| output_fault(e.to_string()))?;
        if let Some(seed) = self.seed {
            let seed = Array::new(Vec::new(), vec![seed]).expect("a scalar has one element");
            output.add(SEED_MEMBER, &seed).map_err(|e| output_fault(e.to_string()))?;
        }
        let n_items = self.source.n_problems();
        let (progress, observer) = Progress::start(run.progress, "array", n_items as u64);
        run.engine.observer = observer;
        let mut failures: BTreeMap<usize, String> = BTreeMap::new();
        let mut n_nan = 0;
        let mut trouble = None;
        let report = swathe::run(&self.workload, &self.source, &run.engine, &mut |done| {
            let name = &self.names[done.index];
            let array = match done.outcome {
                Outcome::Solved(answer) => {
                    n_nan += answer.n_nan;
                    Some(answer.array)
                }
                outcome => {
                    let message = outcome.message().unwrap_or_default();
                    failures.insert(done.index, format!("{name}: {message}"));
                    None
                }
            };
            match output.push(done.index, &names[done.index], array) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    trouble = Some(error.to_string());
                    ControlFlow::Break(())
                }
            }
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
        let file = output.finish().map_err(|e| output_fault(e.to_string()))?;
        file.commit().map_err(|e| output_fault(e.to_string()))?;
        swathe_command::run_command::draw_flame(&report, &run)?;
        for failure in failures.values().take(10) {
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
                &self.names[mismatch.problem], mismatch.difference
            );
            return Ok(Code::Mismatch);
        }
        Ok(if failures.is_empty() { Code::Solved } else { Code::SomeFailed })
    }
}

fn surveyed(
    workload: &ArrayWorkload,
    input: &ArrayInput,
    index: usize,
    second: Option<&Second>,
) -> Result<Size, ArrayFailure> {
    let first = input.header(index).map_err(unreadable)?;
    let second = second.map(|second| second.header(&input.names()[index]));
    let second = second.transpose()?;
    Ok(workload.size_of(&Operands {
        first,
        second: second.as_ref().map(|(shape, dtype)| (shape.as_slice(), *dtype)),
    }))
}

/// The names of the members of an output file. Warns about names that differ from the input's.
fn written_names(names: &Arc<NameList>) -> Result<Arc<NameList>, CliError> {
    let written = member_names(names).map_err(|[name, other, safe]| {
        CliError::usage(format!(
            "the arrays {name:?} and {other:?} would both be written as {safe:?}: a name that leads out of the folder loses that part"
        ))
        .hint("rename one of them, or give a folder to --out")
    })?;
    let changed = names.iter().zip(written.iter()).filter(|(name, safe)| name != safe);
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
