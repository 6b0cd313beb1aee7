//! Progress of a call: a function of the caller's.

use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// Calls a Python function with the problems that are done and all problems, ten times a second at
/// most and once at the end.
#[derive(Debug)]
pub struct Progress {
    callback: Option<Py<PyAny>>,
    n_all: usize,
    n_done: usize,
    told: Instant,
}

impl Progress {
    /// For so many problems; without a function it does nothing.
    pub fn new(callback: Option<Py<PyAny>>, n_all: usize) -> Progress {
        Progress { callback, n_all, n_done: 0, told: Instant::now() }
    }

    /// One more problem is done.
    ///
    /// # Errors
    /// What the function raises.
    pub fn step(&mut self) -> PyResult<()> {
        self.reach(self.n_done + 1)
    }

    /// So many problems are done.
    ///
    /// # Errors
    /// What the function raises.
    pub fn reach(&mut self, n_done: usize) -> PyResult<()> {
        const PAUSE: Duration = Duration::from_millis(100);
        if n_done <= self.n_done {
            return Ok(());
        }
        self.n_done = n_done;
        let Some(callback) = &self.callback else {
            return Ok(());
        };
        if self.n_done < self.n_all && self.told.elapsed() < PAUSE {
            return Ok(());
        }
        self.told = Instant::now();
        Python::attach(|py| callback.call1(py, (self.n_done, self.n_all)).map(drop))
    }
}
