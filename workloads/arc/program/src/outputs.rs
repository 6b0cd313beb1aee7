//! A column of outputs in which equal texts are stored once.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, DictionaryArray, Int32Builder, LargeStringBuilder};
use arrow::datatypes::Int32Type;
use swathe_arc::Output;

/// The outputs of a part, each once.
#[derive(Debug, Default)]
pub(crate) struct Outputs {
    keys: Int32Builder,
    texts: LargeStringBuilder,
    key_by_hash: HashMap<u128, i32>,
    n_bytes: usize,
}

impl Outputs {
    /// Adds an output: null if there is none, or its text is not kept.
    pub(crate) fn append(&mut self, output: Option<&Output>) {
        let Some((text, hash)) =
            output.and_then(|output| Some((output.text.as_ref()?, output.hash)))
        else {
            return self.keys.append_null();
        };
        let n_texts = self.key_by_hash.len() as i32;
        let key = *self.key_by_hash.entry(hash).or_insert_with(|| {
            self.texts.append_value(text);
            self.n_bytes += text.len();
            n_texts
        });
        self.keys.append_value(key);
    }

    /// The memory of the texts.
    pub(crate) fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    /// The column of all outputs since the last call.
    pub(crate) fn take(&mut self) -> ArrayRef {
        self.key_by_hash.clear();
        self.n_bytes = 0;
        let texts: ArrayRef = Arc::new(self.texts.finish());
        Arc::new(DictionaryArray::<Int32Type>::new(self.keys.finish(), texts))
    }
}
