//! How many frames of CPython's stack a primitive takes: its own, and those of what it calls.

use crate::value::Value;

/// No primitive of arc-dsl takes more frames. Those of functions that it is given are counted when they are called.
pub(crate) const N_FRAMES_MAX: u32 = 6;

/// The frames of a function that calls none, and of those of `batt` alone, which were not measured.
pub(crate) const LEAF: [u8; 4] = [1; 4];

/// The frames of a call whose first argument is a tuple, a set, an empty set, and anything else, with which most
/// primitives fail. They were measured with CPython 3.11: the number that is most frequent for this kind.
///
/// Comparisons, generators and some functions of C count as frames too. Further arguments that are wrong, and values
/// nested in each other, may take other numbers, so that a call within `N_FRAMES_MAX` frames of the recursion limit may
/// fail here and succeed in Python, or fail in another way.
#[derive(Clone, Copy)]
pub(crate) struct PythonFrames(pub(crate) [u8; 4]);

impl PythonFrames {
    #[cold]
    pub(crate) fn of_call(self, args: &[Value]) -> u32 {
        let [tuple, set, empty_set, other] = self.0;
        let n = match args.first() {
            Some(Value::Set(set)) if set.is_empty() => empty_set,
            Some(Value::Set(_)) => set,
            Some(value) if value.is_tuple() => tuple,
            _ => other,
        };
        n.into()
    }
}
