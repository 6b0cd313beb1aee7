//! A column of outputs in which equal texts are stored once.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, DictionaryArray, Int32Builder, LargeStringBuilder};
use arrow::datatypes::{DataType, Int32Type};
use swathe_arc::Output;
use swathe_run::store::record::{Cells, Column};

/// The outputs of a part, each once.
#[derive(Debug, Default)]
pub(crate) struct Outputs {
    keys: Int32Builder,
    texts: LargeStringBuilder,
    key_by_hash: HashMap<u128, i32>,
    n_bytes: usize,
}

impl Outputs {
    /// The number of an output's text among those that are stored; none if there is no output, or its text is not kept.
    pub(crate) fn key(&mut self, output: Option<&Output>) -> KeptText {
        let Some((text, hash)) =
            output.and_then(|output| Some((output.text.as_ref()?, output.hash)))
        else {
            return KeptText(None);
        };
        let n_texts = self.key_by_hash.len() as i32;
        let key = *self.key_by_hash.entry(hash).or_insert_with(|| {
            self.texts.append_value(text);
            self.n_bytes += text.len();
            n_texts
        });
        KeptText(Some(key))
    }

    /// The memory of the texts.
    pub(crate) fn n_bytes(&self) -> usize {
        self.n_bytes
    }
}

/// A text, if there is one, by its number among those that its column stores.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeptText(Option<i32>);

impl Cells for KeptText {
    type Builder = Outputs;

    fn columns(field: Column) -> Vec<Column> {
        let texts = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::LargeUtf8));
        vec![field.of(texts, true)]
    }

    fn builder() -> Outputs {
        Outputs::default()
    }

    fn append(&self, to: &mut Outputs) {
        to.keys.append_option(self.0);
    }

    fn take(from: &mut Outputs, columns: &mut Vec<ArrayRef>) {
        from.key_by_hash.clear();
        from.n_bytes = 0;
        let texts: ArrayRef = Arc::new(from.texts.finish());
        columns.push(Arc::new(DictionaryArray::<Int32Type>::new(from.keys.finish(), texts)));
    }
}
