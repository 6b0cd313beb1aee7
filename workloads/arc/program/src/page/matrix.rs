//! The matrix: what every program made of every task, a byte for each.

use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::{Value, json};

use super::cell::{NOT_RUN, byte, codes};
use super::samples::Samples;
use crate::arc_run::ProgramRow;
use crate::arc_run::TaskCalls;

/// Some tasks and some programs, and a byte for each pair.
pub(super) struct Matrix {
    /// The tasks' numbers: rows.
    tasks: Vec<usize>,
    /// The programs' numbers: columns.
    programs: Vec<usize>,
    /// The place of each task among the rows.
    row_of_task: Vec<Option<usize>>,
    cells: Vec<u8>,
}

impl Matrix {
    /// The most rows, and the most columns, that a page shows.
    pub(super) const SIDE_MAX: usize = 600;

    /// All tasks and programs, unless they are too many.
    pub(super) fn of_all(n_tasks: usize, n_programs: usize) -> Option<Matrix> {
        let fits = n_tasks <= Self::SIDE_MAX && n_programs <= Self::SIDE_MAX;
        fits.then(|| Matrix::of((0..n_tasks).collect(), (0..n_programs).collect(), n_tasks))
    }

    /// These of `n_tasks` tasks, and these programs.
    pub(super) fn of(tasks: Vec<usize>, programs: Vec<usize>, n_tasks: usize) -> Matrix {
        let mut row_of_task = vec![None; n_tasks];
        for (row, &task) in tasks.iter().enumerate() {
            row_of_task[task] = Some(row);
        }
        Matrix { cells: vec![NOT_RUN; tasks.len() * programs.len()], tasks, programs, row_of_task }
    }

    /// Fills in the row of a task, if it has one.
    pub(super) fn add(&mut self, task: usize, n_demonstrations: u32, calls: &TaskCalls<'_>) {
        let Some(row) = self.row_of_task[task] else {
            return;
        };
        let cells = &mut self.cells[row * self.programs.len()..][..self.programs.len()];
        for (cell, &program) in cells.iter_mut().zip(&self.programs) {
            *cell = byte(&calls.marks[program], n_demonstrations);
        }
    }

    pub(super) fn json(&self, samples: &Samples, programs: &[ProgramRow]) -> Value {
        let tasks: Vec<&str> =
            self.tasks.iter().map(|&task| samples.tasks[task].name.as_str()).collect();
        let names: Vec<&str> =
            self.programs.iter().map(|&program| programs[program].name.as_str()).collect();
        json!({
            "tasks": tasks,
            "programs": names,
            "n_tasks": samples.tasks.len(),
            "n_programs": programs.len(),
            "cells": BASE64_STANDARD.encode(&self.cells),
            "codes": codes(),
        })
    }
}
