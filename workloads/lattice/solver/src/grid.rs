//! A lattice small enough to be searched: 32-bit ids, neighbours, blocked vertices.

use super::LatticeError;
use super::bits::BitSet;
use super::pool::{N_WORDS_PER_POLL, zero};

/// The graph of a lattice of at most 2^32 vertices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Grid {
    axes: Vec<Axis>,
    n_vertices: u64,
    blocked: Option<BitSet>,
    n_blocked: u64,
}

/// One axis: its number of vertices, and how far apart the ids of neighbours are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Axis {
    pub(super) size: u32,
    pub(super) stride: u32,
    /// ⌈2^64 / size⌉: the high half of its product with a 32-bit number is that number divided by
    /// `size`.
    reciprocal: u64,
}

impl Grid {
    /// The sizes must be validated, and their product at most 2^32.
    pub(super) fn new(sizes: &[u32]) -> Self {
        let mut stride = 1_u64;
        let mut axes = Vec::with_capacity(sizes.len());
        for &size in sizes.iter().rev() {
            axes.push(Axis {
                size,
                // Below 2^32, because the product leaves out at least one factor of two or more.
                stride: stride as u32,
                reciprocal: u64::MAX / u64::from(size) + 1,
            });
            stride *= u64::from(size);
        }
        axes.reverse();
        Self { axes, n_vertices: stride, blocked: None, n_blocked: 0 }
    }

    pub(super) fn block(&mut self, vertex: u32) {
        let blocked = self.blocked.get_or_insert_with(|| BitSet::new(self.n_vertices));
        self.n_blocked += u64::from(blocked.insert(vertex));
    }

    pub(super) fn axes(&self) -> &[Axis] {
        &self.axes
    }

    pub(super) fn n_vertices(&self) -> u64 {
        self.n_vertices
    }

    pub(super) fn n_blocked(&self) -> u64 {
        self.n_blocked
    }

    pub(super) fn n_free(&self) -> u64 {
        self.n_vertices - self.n_blocked
    }

    pub(super) fn is_free(&self, vertex: u32) -> bool {
        self.blocked.as_ref().is_none_or(|blocked| !blocked.contains(vertex))
    }

    /// All ones if a vertex is free, else 0: a branchless [`Grid::is_free`] for unpredictable data.
    #[inline]
    pub(super) fn free_mask(&self, vertex: u32) -> u64 {
        u64::from(self.is_free(vertex)).wrapping_neg()
    }

    /// The free vertices, ascending.
    pub(super) fn free(&self) -> impl Iterator<Item = u32> + '_ {
        let all = match self.blocked {
            None => 0..self.n_vertices,
            Some(_) => 0..0,
        };
        let open = all.map(|vertex| vertex as u32);
        let blocked = self.blocked.iter();
        open.chain(blocked.flat_map(|blocked| blocked.absent(self.n_vertices)))
    }

    /// Fills `words` with one bit per vertex, set if it is blocked.
    pub(super) fn write_blocked(
        &self,
        words: &mut Vec<u64>,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), LatticeError> {
        let Some(blocked) = &self.blocked else {
            return zero(words, self.n_vertices.div_ceil(64) as usize, stop);
        };
        words.clear();
        words.reserve_exact(blocked.words().len());
        for chunk in blocked.words().chunks(N_WORDS_PER_POLL) {
            if stop() {
                return Err(LatticeError::Interrupted);
            }
            words.extend_from_slice(chunk);
        }
        Ok(())
    }

    /// The blocked vertices, ascending.
    pub(super) fn blocked(&self) -> impl Iterator<Item = u32> + '_ {
        self.blocked.iter().flat_map(BitSet::iter)
    }

    pub(super) fn n_bytes(&self) -> u64 {
        size_of_val(self.axes.as_slice()) as u64 + self.blocked.as_ref().map_or(0, BitSet::n_bytes)
    }

    pub(super) fn coordinates(&self, vertex: u32) -> Vec<u32> {
        self.axes.iter().map(|axis| vertex / axis.stride % axis.size).collect()
    }

    /// The number of steps between two vertices if no vertex were blocked.
    pub(super) fn manhattan(&self, a: u32, b: u32) -> u32 {
        self.axes
            .iter()
            .map(|axis| {
                let of = |vertex: u32| vertex / axis.stride % axis.size;
                of(a).abs_diff(of(b))
            })
            .sum()
    }

    /// An upper bound of the edges of a shortest path.
    ///
    /// A shortest path visits no free vertex twice. And a straight path that meets a cluster of
    /// blocked vertices can go around it through vertices that touch the cluster, if only at a
    /// corner; each blocked vertex has 3^d - 1 such neighbours.
    pub(super) fn path_length_max(&self) -> u64 {
        let across: u64 = self.axes.iter().map(|axis| u64::from(axis.size) - 1).sum();
        let n_touching = 3_u64.pow(self.axes.len() as u32) - 1;
        (across + n_touching * self.n_blocked).min(self.n_free().saturating_sub(1))
    }

    /// Calls `visit` with each neighbour, blocked or not, always in the same order.
    #[inline]
    pub(super) fn neighbours(&self, vertex: u32, mut visit: impl FnMut(u32)) {
        let mut rest = vertex;
        for axis in self.axes.iter().rev() {
            let quotient = axis.quotient(rest);
            let coordinate = rest - quotient * axis.size;
            if coordinate > 0 {
                visit(vertex - axis.stride);
            }
            if coordinate + 1 < axis.size {
                visit(vertex + axis.stride);
            }
            rest = quotient;
        }
    }

    /// Like [`Grid::neighbours`]; `visit` also gets whether the neighbour is nearer to the goal
    /// than `vertex` is.
    #[inline]
    pub(super) fn neighbours_towards(
        &self,
        vertex: u32,
        goal_coordinates: &[u32],
        mut visit: impl FnMut(u32, bool),
    ) {
        let mut rest = vertex;
        for (axis, &goal) in self.axes.iter().zip(goal_coordinates).rev() {
            let quotient = axis.quotient(rest);
            let coordinate = rest - quotient * axis.size;
            if coordinate > 0 {
                visit(vertex - axis.stride, coordinate > goal);
            }
            if coordinate + 1 < axis.size {
                visit(vertex + axis.stride, coordinate < goal);
            }
            rest = quotient;
        }
    }

    /// Like [`Grid::neighbours`], without the blocked vertices.
    #[inline]
    pub(super) fn free_neighbours(&self, vertex: u32, mut visit: impl FnMut(u32)) {
        self.neighbours(vertex, |neighbour| {
            if self.is_free(neighbour) {
                visit(neighbour);
            }
        });
    }
}

impl Axis {
    /// `number / size` without a division: exact, because `number · size` is below 2^64.
    fn quotient(&self, number: u32) -> u32 {
        ((u128::from(number) * u128::from(self.reciprocal)) >> 64) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_are_exact_at_the_edges() {
        for size in 2..=100 {
            let axis = Grid::new(&[size]).axes[0];
            let multiples = (0..u32::MAX / size).step_by(9_999_991).map(|q| q * size);
            for number in multiples.chain([u32::MAX - 1, u32::MAX / size * size]) {
                for number in [number.saturating_sub(1), number, number.saturating_add(1)] {
                    assert_eq!(axis.quotient(number), number / size, "{number} / {size}");
                }
            }
        }
    }
}
