//! Set-up shared by the tests of several crates. It is not part of the product.

pub mod counting_allocator;
pub mod python;
pub mod setting_forms;
