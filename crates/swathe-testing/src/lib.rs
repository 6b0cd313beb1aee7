//! Set-up that tests of several crates share. No part of the product.

pub mod counting_allocator;
pub mod python;
