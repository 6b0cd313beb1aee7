//! Results of a function of the user's as the table of a run folder.

use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{ArrayRef, LargeBinaryBuilder};
use arrow::datatypes::{DataType, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use swathe::{Finish, Stop};
use swathe_formats::described_field::described;
use swathe_run::kind::RunKind;
use swathe_run::store::rows::Rows;
use swathe_run::store::run_folder::InputFile;

use crate::callable::{Callable, Raised};

/// What such a run adds to its folder: nothing beyond the sections of every run.
pub(crate) static KIND: RunKind = RunKind {
    title: "A function of your own",
    ..RunKind::plain("run")
};

/// The hash of a call's items, by which a resumed run recognises its input.
#[pyclass(frozen, module = "swathe._swathe")]
pub(crate) struct Fingerprint(Mutex<(blake3::Hasher, u64)>);

#[pymethods]
impl Fingerprint {
    #[new]
    fn new() -> Fingerprint {
        Fingerprint(Mutex::new((blake3::Hasher::new(), 0)))
    }

    /// Adds bytes. Their number is added too, so that items cannot run into each other.
    fn update(&self, bytes: &[u8]) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.0.update(&(bytes.len() as u64).to_le_bytes());
        state.0.update(bytes);
        state.1 += bytes.len() as u64;
    }
}

impl Fingerprint {
    pub(crate) fn input(&self) -> InputFile {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        InputFile {
            name: "(items)".to_owned(),
            n_bytes: state.1,
            blake3: state.0.finalize().to_hex().to_string(),
        }
    }
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
            let pickled = py
                .import("pickle")
                .and_then(|pickle| pickle.call_method1("dumps", (value, 5)));
            let bytes = pickled.and_then(|bytes| Ok(bytes.cast_into::<PyBytes>()?));
            match bytes {
                Ok(bytes) => Ok(bytes.as_bytes().to_vec()),
                Err(error) => Err(Raised(format!("its result cannot be pickled: {error}"))),
            }
        })
    }
}

/// The table `values`: a row for each item with a result.
#[derive(Default)]
pub(crate) struct ValueRows {
    values: LargeBinaryBuilder,
    n_bytes: usize,
}

impl Rows for ValueRows {
    type Solution = Vec<u8>;

    fn table(&self) -> &'static str {
        "values"
    }

    fn schema(&self) -> SchemaRef {
        let description = "the result, pickled: pickle.loads reads it";
        let value = described("value", DataType::LargeBinary, description);
        Arc::new(Schema::new(vec![value]))
    }

    fn id(&self, index: usize) -> String {
        index.to_string()
    }

    fn append(&mut self, _: usize, value: &Vec<u8>) -> usize {
        self.values.append_value(value);
        self.n_bytes += value.len();
        1
    }

    fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    fn take(&mut self) -> Vec<ArrayRef> {
        self.n_bytes = 0;
        vec![Arc::new(self.values.finish())]
    }
}
