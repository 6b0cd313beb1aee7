//! Results of a function of the user's as the table of a run folder.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use swathe::{Finish, Stop};
use swathe_run::kind::RunKind;
use swathe_run::store::run_folder::InputFile;

use crate::callable::{Callable, Raised};

/// What such a run adds to its folder: nothing beyond the sections of every run.
pub(crate) static KIND: RunKind =
    RunKind { title: "A function of your own", ..RunKind::plain("run") };

/// The hash of a call's items, by which a resumed run recognises its input.
#[pyclass(frozen, module = "swathe._swathe")]
pub(crate) struct Fingerprint(Mutex<FingerprintState>);

enum FingerprintState {
    Hashing { hasher: Box<blake3::Hasher>, n_bytes: u64 },
    Known(InputFile),
}

#[pymethods]
impl Fingerprint {
    #[new]
    fn new() -> Fingerprint {
        Fingerprint(Mutex::new(FingerprintState::Hashing {
            hasher: Box::new(blake3::Hasher::new()),
            n_bytes: 0,
        }))
    }

    /// The fingerprint of items that another process hashed: what its `digest` returned.
    #[staticmethod]
    fn known(n_bytes: u64, blake3: String) -> Fingerprint {
        Fingerprint(Mutex::new(FingerprintState::Known(input(n_bytes, blake3))))
    }

    /// Adds bytes. Their number is added too, so that items cannot run into each other.
    fn update(&self, bytes: &[u8]) -> PyResult<()> {
        match &mut *self.state() {
            FingerprintState::Hashing { hasher, n_bytes } => {
                hasher.update(&(bytes.len() as u64).to_le_bytes());
                hasher.update(bytes);
                *n_bytes += bytes.len() as u64;
                Ok(())
            }
            FingerprintState::Known(_) => {
                Err(PyValueError::new_err("this fingerprint is known already"))
            }
        }
    }

    /// The number of bytes and the hash.
    fn digest(&self) -> (u64, String) {
        let input = self.input();
        (input.n_bytes, input.blake3)
    }
}

impl Fingerprint {
    pub(crate) fn input(&self) -> InputFile {
        match &*self.state() {
            FingerprintState::Hashing { hasher, n_bytes } => {
                input(*n_bytes, hasher.finalize().to_hex().to_string())
            }
            FingerprintState::Known(known) => known.clone(),
        }
    }

    fn state(&self) -> MutexGuard<'_, FingerprintState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn input(n_bytes: u64, blake3: String) -> InputFile {
    InputFile { name: "(items)".to_owned(), n_bytes, blake3 }
}

/// Pickles every result on the worker that made it.
pub(crate) struct Pickling {
    pub(crate) callable: Arc<Callable>,
}

impl Finish for Pickling {
    type Workload = Callable;
    type Finished = Vec<u8>;
    type Failure = Raised;

    fn workload(&self) -> &Callable {
        &self.callable
    }

    fn finish(&self, _: usize, _: &usize, value: Py<PyAny>, _: &Stop) -> Result<Vec<u8>, Raised> {
        Python::attach(|py| {
            let pickled =
                py.import("pickle").and_then(|pickle| pickle.call_method1("dumps", (value, 5)));
            let bytes = pickled.and_then(|bytes| Ok(bytes.cast_into::<PyBytes>()?));
            match bytes {
                Ok(bytes) => Ok(bytes.as_bytes().to_vec()),
                Err(error) => Err(Raised(format!("its result cannot be pickled: {error}"))),
            }
        })
    }
}
