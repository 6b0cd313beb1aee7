//! The order in which CPython iterates a set, replayed only where a program can see it.

pub(crate) mod index_order;
pub(crate) mod iteration_order;
pub(crate) mod layout;
pub(crate) mod set_table;
pub(crate) mod slot_spans;
pub(crate) mod table;
