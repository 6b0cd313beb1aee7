//! Harvesting: every node of a merged graph is a candidate, not only the programs' results.

use crate::evaluate::Evaluator;
use crate::evaluate::library::Library;
use crate::evaluate::score::score;
use crate::language::program::Program;
use crate::task::Task;
use crate::value::Value;
use crate::value::grid::Grid;
use crate::workload::{GridPrograms, KeptValues, Problem, Stopped};
use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use swathe::{DeviceKind, Need, Size, Stop, Workload};

/// Finds the nodes of a library that solve tasks, as a workload of the engine: a problem is a task, its solution the
/// nodes that are right on all its demonstrations and are not the result of a program that is right as well.
///
/// The demonstration with the smallest input is evaluated with all programs; on the others only the nodes that were
/// right on that one are.
///
/// ```
/// use std::sync::Arc;
/// use swathe_arc::{GridPrograms, Harvest, Library, Task, parse};
/// let text = "def a(I):\n    x1 = vmirror(I)\n    return upscale(x1, TWO)\n";
/// let harvest = Harvest::new(GridPrograms::new(Library::new(parse("mine.py", text).programs)));
/// let task = r#"{"train": [{"input": [[1, 2]], "output": [[2, 1]]}], "test": []}"#;
/// let tasks = [Arc::new(Task::from_json("turn", task)?)];
/// let outcomes = swathe::solve_slice(&harvest, &tasks, 1, &swathe::Stop::new());
/// let found = harvest.programs(outcomes.iter().filter_map(|outcome| outcome.solution()));
/// assert_eq!(found.len(), 1);
/// assert_eq!(found[0].definition("found"), "def found(I):\n    O = vmirror(I)\n    return O\n");
/// # Ok::<(), swathe_arc::TaskError>(())
/// ```
#[derive(Debug)]
pub struct Harvest {
    programs: GridPrograms,
}

/// The nodes that an evaluator finds to be a grid.
pub(crate) struct Finder {
    wanted: Grid,
    nodes: Vec<u32>,
}

impl Finder {
    pub(crate) fn new(wanted: &Grid) -> Finder {
        Finder { wanted: wanted.clone(), nodes: Vec::new() }
    }

    /// Notes a node if this is its value and the grid that is looked for.
    pub(crate) fn check(&mut self, node: u32, value: &Value) {
        let is_it = match value {
            Value::Grid(grid) => {
                grid.height() == self.wanted.height()
                    && grid.width() == self.wanted.width()
                    && grid.cells() == self.wanted.cells()
            }
            value => value.is_tuple() && score(value, &self.wanted).equal,
        };
        if is_it {
            self.nodes.push(node);
        }
    }
}

impl Harvest {
    /// Harvests the nodes of these programs, in their order of sets and with their limits.
    pub fn new(programs: GridPrograms) -> Harvest {
        Harvest { programs }
    }

    /// The nodes of solutions as programs, each once, named by their digests, in the order of the graph.
    pub fn programs<'s>(&self, solutions: impl IntoIterator<Item = &'s Vec<u32>>) -> Vec<Program> {
        let mut nodes: Vec<u32> = solutions.into_iter().flatten().copied().collect();
        nodes.sort_unstable();
        nodes.dedup();
        let mut by_name: BTreeMap<String, usize> = BTreeMap::new();
        let mut programs: Vec<Program> = Vec::new();
        for node in nodes {
            let program = self.programs.library().program_at(node).minimised();
            let name = format!("harvest_{}", program.digest());
            by_name.entry(name.clone()).or_insert_with(|| {
                programs.push(Program { name, ..program });
                programs.len()
            });
        }
        programs
    }

    /// The nodes and the programs that are right on this demonstration, in ascending order; None if the run was stopped.
    fn right_on(
        &self,
        task: &Arc<Task>,
        index: usize,
        kept: &mut KeptValues,
        stop: &Stop,
    ) -> Option<(Vec<u32>, Vec<usize>)> {
        let sample = &task.train[index];
        let wanted = sample.output.as_ref()?;
        let library = self.programs.library();
        let mut evaluator = self.programs.evaluator(kept, task, stop);
        evaluator.find(Some(Finder::new(wanted)));
        let mut programs: Vec<usize> = Vec::new();
        let flow = evaluator.run_while(sample, 0..library.len(), |program, result| {
            if let Ok(value) = result
                && score(value, wanted).equal
            {
                programs.push(program);
            }
            match stop.requested() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        let mut nodes = evaluator.find(None).map_or_else(Vec::new, |f| f.nodes);
        if flow.is_break() || stop.requested() {
            return None;
        }
        kept.keep(task, evaluator);
        nodes.sort_unstable();
        // A value that was dropped and evaluated again is found again.
        nodes.dedup();
        Some((nodes, programs))
    }

    /// The nodes that those of the programs return which are right on all demonstrations.
    fn known_nodes(
        &self,
        task: &Arc<Task>,
        mut programs: Vec<usize>,
        kept: &mut KeptValues,
        stop: &Stop,
    ) -> HashSet<u32> {
        let library = self.programs.library();
        let mut evaluator = self.programs.evaluator(kept, task, stop);
        for sample in &task.train {
            let Some(wanted) = &sample.output else {
                continue;
            };
            let mut right = Vec::with_capacity(programs.len());
            evaluator.run_some(sample, programs, |program, result| {
                if result.is_ok_and(|value| score(value, wanted).equal) {
                    right.push(program);
                }
            });
            programs = right;
        }
        let nodes = programs.into_iter().map(|p| library.output_node(p) as u32);
        let nodes = nodes.collect();
        if !stop.requested() {
            kept.keep(task, evaluator);
        }
        nodes
    }

    /// Those of the nodes whose programs are right on all demonstrations.
    fn right_on_all(&self, task: &Task, nodes: Vec<u32>, stop: &Stop) -> Vec<u32> {
        if nodes.is_empty() {
            return nodes;
        }
        let GridPrograms { order, limits, .. } = self.programs;
        let library = self.programs.library();
        let programs = nodes.iter().map(|&node| library.program_at(node));
        let candidates = Library::new(programs);
        let mut evaluator = Evaluator::new(&candidates, order, limits);
        evaluator.keep_at_most(self.programs.kept_bytes_max);
        evaluator.watch(stop);
        evaluator.start_task(&task.train);
        let mut is_right = vec![true; nodes.len()];
        for sample in &task.train {
            let Some(wanted) = &sample.output else {
                continue;
            };
            let alive: Vec<usize> = (0..nodes.len()).filter(|&k| is_right[k]).collect();
            evaluator.run_some(sample, alive, |k, result| {
                is_right[k] = result.is_ok_and(|value| score(value, wanted).equal);
            });
        }
        let right = nodes.into_iter().zip(is_right);
        right.filter_map(|(node, is)| is.then_some(node)).collect()
    }
}

impl Workload for Harvest {
    type Problem = Arc<Task>;
    type Solution = Vec<u32>;
    type Failure = Stopped;
    type Scratch = ();
    type Local = KeptValues;
    const NAME: &'static str = "arc harvest";

    fn size(&self, task: &Arc<Task>) -> Size {
        let problem = |(is_test, index)| Problem { task: Arc::clone(task), is_test, index };
        let largest = (0..task.train.len()).max_by_key(|&k| task.train[k].input.cells().len());
        let place = largest.map_or((true, 0), |index| (false, index));
        self.programs.size(&problem(place))
    }

    fn need(&self, size: &Size, on: DeviceKind) -> Need {
        self.programs.need(size, on)
    }

    fn scratch(&self) {}

    fn local(&self) -> KeptValues {
        self.programs.local()
    }

    fn local_bytes(&self) -> u64 {
        self.programs.local_bytes()
    }

    fn solve(
        &self,
        task: &Arc<Task>,
        _: &mut (),
        kept: &mut KeptValues,
        stop: &Stop,
    ) -> Result<Vec<u32>, Stopped> {
        let smallest = (0..task.train.len()).min_by_key(|&k| task.train[k].input.cells().len());
        let Some(smallest) = smallest else {
            return Ok(Vec::new());
        };
        let right = self.right_on(task, smallest, kept, stop);
        let (nodes, programs) = right.ok_or(Stopped)?;
        let mut nodes = self.right_on_all(task, nodes, stop);
        // What a program returns is no news, as long as the program itself is right.
        let known = self.known_nodes(task, programs, kept, stop);
        nodes.retain(|node| !known.contains(node));
        match stop.requested() {
            true => Err(Stopped),
            false => Ok(nodes),
        }
    }
}
