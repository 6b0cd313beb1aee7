//! Views of tasks: their grids, and what the best programs made of them.

mod outputs;

use std::path::Path;

use serde_json::{Value, json};

use super::samples::{Samples, ShortSample};
use crate::arc_run::ProgramRow;
use crate::arc_run::TaskCalls;
use outputs::{Wanted, outputs};
use swathe_run::page::significant;
use swathe_run::store::run_folder::FolderError;

/// The tasks whose grids are on the page.
pub(super) struct Views {
    views: Vec<View>,
    /// The place of each task among the views.
    view_of_task: Vec<Option<usize>>,
    wanted: Vec<Wanted>,
}

struct View {
    task: String,
    samples: Vec<ShortSample>,
    programs: Vec<ViewProgram>,
}

/// What one program made of the samples of a view.
struct ViewProgram {
    program: u32,
    /// For each sample, the output; null where its call is missing.
    outputs: Vec<Value>,
    scores: Vec<Option<f64>>,
}

impl Views {
    /// The limit for all grids together, so that a page stays below two megabytes.
    const N_BYTES_MAX: usize = 900_000;
    /// The budget for outputs, in expected outputs: an output is about as long as the expected one,
    /// and a right one takes nothing.
    const N_OUTPUTS: usize = 2;

    /// Chooses tasks, evenly spaced if there is no room for all, and reads their grids.
    pub(super) fn new(run: &Path, samples: &Samples) -> Result<Views, FolderError> {
        let n_bytes = |task: usize| {
            let task = &samples.tasks[task];
            task.n_bytes + Self::N_OUTPUTS * task.n_bytes_expected
        };
        let n_tasks = samples.tasks.len();
        let n_bytes_all: usize = (0..n_tasks).map(n_bytes).sum();
        let step = n_bytes_all.div_ceil(Self::N_BYTES_MAX).max(1);
        let is_wanted: Vec<bool> = (0..n_tasks).map(|task| task.is_multiple_of(step)).collect();
        let mut views: Vec<View> = Vec::new();
        let mut view_of_task = vec![None; n_tasks];
        for sample in samples.grids(run, &is_wanted)? {
            let view = *view_of_task[sample.task].get_or_insert_with(|| {
                views.push(View {
                    task: samples.tasks[sample.task].name.clone(),
                    samples: Vec::new(),
                    programs: Vec::new(),
                });
                views.len() - 1
            });
            views[view].samples.push(sample);
        }
        Ok(Views { views, view_of_task, wanted: Vec::new() })
    }

    /// Records what the best programs made of a task, and which outputs are still to be read.
    pub(super) fn add(&mut self, task: usize, calls: &TaskCalls<'_>, best: &[u32]) {
        let Some(view_idx) = self.view_of_task[task] else {
            return;
        };
        let view = &mut self.views[view_idx];
        let n_samples = view.samples.len();
        let programs = best.iter().map(|&program| ViewProgram {
            program,
            outputs: vec![Value::Null; n_samples],
            scores: vec![None; n_samples],
        });
        view.programs = programs.collect();
        for place in calls.places {
            let Some(program_idx) = best.iter().position(|&best| best == place.program) else {
                continue;
            };
            let sample = view
                .samples
                .iter()
                .position(|sample| (sample.is_test, sample.index) == (place.is_test, place.index));
            let Some(sample_idx) = sample else {
                continue;
            };
            let program = &mut view.programs[program_idx];
            program.scores[sample_idx] = place.score;
            if place.is_right {
                program.outputs[sample_idx] = json!(true);
            } else {
                program.outputs[sample_idx] = left_out();
                self.wanted.push(Wanted {
                    position: place.position,
                    view_idx,
                    program_idx,
                    sample_idx,
                });
            }
        }
    }

    /// Reads the outputs that are shown and assembles the data.
    pub(super) fn json(
        mut self,
        run: &Path,
        programs: &[ProgramRow],
    ) -> Result<Value, FolderError> {
        for (wanted, output) in outputs(run, &self.wanted)? {
            let program = &mut self.views[wanted.view_idx].programs[wanted.program_idx];
            program.outputs[wanted.sample_idx] = output;
        }
        // A program after the best is shown only if all its outputs were read; the best is always
        // shown.
        for view in &mut self.views {
            let mut rank = 0;
            view.programs.retain(|program| {
                rank += 1;
                rank == 1 || !program.outputs.contains(&left_out())
            });
        }
        let views: Vec<Value> = self.views.iter().map(|view| view.json(programs)).collect();
        Ok(json!({ "n_tasks": self.view_of_task.len(), "tasks": views }))
    }
}

/// Stands for an output that was not read.
fn left_out() -> Value {
    json!({ "left_out": true })
}

impl View {
    fn json(&self, programs: &[ProgramRow]) -> Value {
        let samples: Vec<Value> = self
            .samples
            .iter()
            .map(|sample| {
                json!({
                    "is_test": sample.is_test,
                    "index": sample.index,
                    "input": sample.input,
                    "expected": sample.expected,
                })
            })
            .collect();
        let of_programs: Vec<Value> = self
            .programs
            .iter()
            .map(|program| {
                let scores = program.scores.iter();
                let scores: Vec<Option<f64>> = scores.map(|score| score.map(significant)).collect();
                json!({
                    "name": programs[program.program as usize].name,
                    "outputs": program.outputs,
                    "scores": scores,
                })
            })
            .collect();
        json!({ "name": self.task, "samples": samples, "programs": of_programs })
    }
}
