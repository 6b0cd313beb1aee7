//! The cone of a walk: which vertices matter at which step between two vertices.

use std::ops::ControlFlow;

use crate::N_DIMENSIONS_MAX;
use crate::grid::Grid;

/// All walks of at most `length_max` steps between two vertices.
///
/// After `s` steps such a walk is at most `s` from its start and at most `length_max - s` from its
/// end, as if no vertex were blocked, and on the chessboard colour that `s` steps lead to. No other
/// vertex needs to be computed at step `s`. If the end lies straight ahead, each vertex between the
/// two matters at one step only.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cone<'a> {
    grid: &'a Grid,
    pub(super) from: u32,
    length_max: u32,
    from_coordinates: [u32; N_DIMENSIONS_MAX],
    to_coordinates: [u32; N_DIMENSIONS_MAX],
    /// The distance between the ends along this axis and the axes after it.
    apart: [u32; N_DIMENSIONS_MAX + 1],
}

/// The vertices along the last axis that matter at one step.
#[derive(Debug)]
pub(super) struct Row<'a> {
    /// The id of the first vertex of the whole row.
    pub(super) start: u32,
    /// The number of vertices in the whole row.
    pub(super) length: u32,
    /// Every second vertex from this one …
    pub(super) first: u32,
    /// … to this one matters.
    pub(super) last: u32,
    /// The id offsets from any vertex of the row to its neighbours along the other axes.
    pub(super) offsets: &'a [isize],
}

impl Row<'_> {
    /// The vertices that matter, as id and position in the row.
    pub(super) fn vertices(&self) -> impl Iterator<Item = (u32, u32)> + use<> {
        let start = self.start;
        (self.first..=self.last).step_by(2).map(move |column| (start + column, column))
    }
}

/// The part of a row that is known while the recursion descends through the axes before the last.
struct Partial {
    start: u32,
    /// Steps that are left for the distance to the start of the walk, and to its end.
    from_left: u32,
    to_left: u32,
    offsets: [isize; 2 * N_DIMENSIONS_MAX],
    n_offsets: usize,
}

impl<'a> Cone<'a> {
    /// `length_max` must be the distance if no vertex were blocked, or exceed it by an even number.
    pub(super) fn new(grid: &'a Grid, from: u32, to: u32, length_max: u32) -> Self {
        let mut cone = Self {
            grid,
            from,
            length_max,
            from_coordinates: [0; N_DIMENSIONS_MAX],
            to_coordinates: [0; N_DIMENSIONS_MAX],
            apart: [0; N_DIMENSIONS_MAX + 1],
        };
        for (axis_idx, axis) in grid.axes().iter().enumerate().rev() {
            let start = from / axis.stride % axis.size;
            let end = to / axis.stride % axis.size;
            cone.from_coordinates[axis_idx] = start;
            cone.to_coordinates[axis_idx] = end;
            cone.apart[axis_idx] = cone.apart[axis_idx + 1] + start.abs_diff(end);
        }
        debug_assert!(
            length_max >= cone.apart[0] && (length_max - cone.apart[0]).is_multiple_of(2)
        );
        cone
    }

    /// The distance between the ends if no vertex were blocked.
    pub(super) fn length_min(&self) -> u32 {
        self.apart[0]
    }

    /// Calls `visit` with the vertices that matter at one step, row by row and always in the same
    /// order.
    pub(super) fn rows(
        &self,
        step: u32,
        mut visit: impl FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut partial = Partial {
            start: 0,
            from_left: step,
            to_left: self.length_max - step,
            offsets: [0; 2 * N_DIMENSIONS_MAX],
            n_offsets: 0,
        };
        self.descend(0, &mut partial, &mut visit)
    }

    fn descend(
        &self,
        axis_idx: usize,
        partial: &mut Partial,
        visit: &mut impl FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let axes = self.grid.axes();
        let axis = axes[axis_idx];
        let from = self.from_coordinates[axis_idx];
        let to = self.to_coordinates[axis_idx];
        let (from_left, to_left) = (partial.from_left, partial.to_left);
        let first = from.saturating_sub(from_left).max(to.saturating_sub(to_left));
        let last =
            (axis.size - 1).min(from.saturating_add(from_left)).min(to.saturating_add(to_left));

        if axis_idx + 1 == axes.len() {
            // The colour: the steps that remain after the distance to the start must be even.
            let first = first + ((first ^ from ^ from_left) & 1);
            if first > last {
                return ControlFlow::Continue(());
            }
            return visit(Row {
                start: partial.start,
                length: axis.size,
                first,
                last,
                offsets: &partial.offsets[..partial.n_offsets],
            });
        }

        let (start, n_offsets) = (partial.start, partial.n_offsets);
        for coordinate in first..=last {
            let from_left = from_left - coordinate.abs_diff(from);
            let to_left = to_left - coordinate.abs_diff(to);
            if from_left.saturating_add(to_left) < self.apart[axis_idx + 1] {
                continue;
            }
            partial.start = start + coordinate * axis.stride;
            partial.from_left = from_left;
            partial.to_left = to_left;
            if coordinate > 0 {
                partial.push(-(axis.stride as isize));
            }
            if coordinate + 1 < axis.size {
                partial.push(axis.stride as isize);
            }
            self.descend(axis_idx + 1, partial, visit)?;
            partial.n_offsets = n_offsets;
        }
        ControlFlow::Continue(())
    }
}

impl Partial {
    fn push(&mut self, offset: isize) {
        self.offsets[self.n_offsets] = offset;
        self.n_offsets += 1;
    }
}
