//! Working memory of the matrix product.

use crate::element::Float;

/// Working memory that products share. It grows to the need of the largest product, at most
/// [`SCRATCH_BYTES_MAX`](super::SCRATCH_BYTES_MAX), and is never shrunk.
#[derive(Debug, Default)]
pub struct Scratch {
    lines: Vec<Line>,
}

/// A cache line, so that no vector of a panel straddles two.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Line(#[expect(dead_code, reason = "read and written through pointers")] [u8; 64]);

impl Scratch {
    /// A scratch without memory.
    pub fn new() -> Scratch {
        Scratch::default()
    }

    /// The bytes allocated.
    pub fn size_bytes(&self) -> usize {
        self.lines.capacity() * size_of::<Line>()
    }

    /// A slice of `n_elements` with arbitrary contents.
    #[inline(always)]
    pub(super) fn room<T: Float>(&mut self, n_elements: usize) -> &mut [T] {
        let n_lines = (n_elements * size_of::<T>()).div_ceil(size_of::<Line>());
        if self.lines.len() < n_lines {
            self.grow(n_lines);
        }
        // SAFETY: the lines are initialised and more strictly aligned than an element, there are
        // enough of them, and any bytes are a valid float.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), n_elements) }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, n_lines: usize) {
        self.lines.reserve_exact(n_lines - self.lines.len());
        self.lines.resize(n_lines, Line([0; 64]));
    }
}
