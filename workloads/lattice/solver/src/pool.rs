//! A pool of vertices waiting to be visited, in bounded memory.

use super::LatticeError;
use super::bits::ones;

/// A multiset of vertices: a list holds the first ones; further ones spill to one bit per vertex.
///
/// The list holds one vertex in 64. The bits are scanned only after the list has been filled, so
/// scanning costs no more than the visits did.
#[derive(Debug, Default)]
pub(super) struct Pool {
    list: Vec<u32>,
    list_length_max: usize,
    bits: Vec<u64>,
    /// How many bits are set.
    n_spilled: u64,
    /// All words of `bits` before this index are zero.
    scan_word_idx: usize,
}

/// The words written between two polls: 2 MiB, a fraction of a millisecond.
pub(super) const N_WORDS_PER_POLL: usize = 1 << 18;

impl Pool {
    /// The most bytes that a pool occupies.
    pub(super) fn need_bytes(n_vertices: u64) -> u64 {
        n_vertices.div_ceil(64) * 8 + 4 * list_length_max(n_vertices) as u64
    }

    /// Empties the pool and prepares it for a lattice of this many vertices.
    pub(super) fn reset(&mut self, n_vertices: u64) {
        self.list.clear();
        self.list_length_max = list_length_max(n_vertices);
        // Stale bits of an interrupted search are zeroed when the first vertex spills.
        self.bits.clear();
        self.n_spilled = 0;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty() && self.n_spilled == 0
    }

    /// Adds a vertex. A vertex that is already in the pool may be returned once or twice.
    #[inline]
    pub(super) fn push(
        &mut self,
        vertex: u32,
        n_vertices: u64,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), LatticeError> {
        if self.list.len() < self.list_length_max {
            if self.list.len() == self.list.capacity() {
                // The capacity doubles, but never exceeds the bound of `need_bytes`.
                let room = self.list_length_max - self.list.len();
                self.list.reserve_exact(self.list.len().max(64).min(room));
            }
            self.list.push(vertex);
            return Ok(());
        }
        if self.bits.is_empty() {
            zero(&mut self.bits, n_vertices.div_ceil(64) as usize, stop)?;
            self.scan_word_idx = self.bits.len();
        }
        let word_idx = vertex as usize / 64;
        let bit = 1 << (vertex % 64);
        self.n_spilled += u64::from(self.bits[word_idx] & bit == 0);
        self.bits[word_idx] |= bit;
        self.scan_word_idx = self.scan_word_idx.min(word_idx);
        Ok(())
    }

    /// Removes and returns some vertex.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<u32> {
        if self.list.is_empty() && self.n_spilled > 0 {
            self.refill();
        }
        self.list.pop()
    }

    /// Moves as many spilled vertices as fit into the empty list.
    fn refill(&mut self) {
        while self.n_spilled > 0 {
            let word = &mut self.bits[self.scan_word_idx];
            let n_ones = word.count_ones() as usize;
            if self.list.len() + n_ones > self.list_length_max {
                return;
            }
            let first = self.scan_word_idx as u32 * 64;
            self.list.extend(ones(*word).map(|bit| first + bit));
            self.n_spilled -= n_ones as u64;
            *word = 0;
            self.scan_word_idx += 1;
        }
    }
}

/// At least 64, so that the vertices of one word always fit.
fn list_length_max(n_vertices: u64) -> usize {
    (n_vertices / 64).max(64) as usize
}

/// Sets `words` to `n_words` zeros and polls `stop` now and then.
pub(super) fn zero(
    words: &mut Vec<u64>,
    n_words: usize,
    stop: &dyn Fn() -> bool,
) -> Result<(), LatticeError> {
    if words.capacity() < n_words {
        // A new allocation is zeroed lazily: the system provides zero pages when they are touched.
        *words = Vec::new();
        *words = vec![0; n_words];
        return Ok(());
    }
    words.clear();
    while words.len() < n_words {
        if stop() {
            return Err(LatticeError::Interrupted);
        }
        words.resize(n_words.min(words.len() + N_WORDS_PER_POLL), 0);
    }
    Ok(())
}
