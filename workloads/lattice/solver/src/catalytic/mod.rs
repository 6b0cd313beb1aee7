//! Shortest paths found in borrowed memory that is full of another owner's data.
//!
//! # How it works
//!
//! Every vertex owns one word of the borrowed memory, whatever its content. Reversible steps (see
//! [`excursion`]) let each word flow into its neighbours' words and can be undone exactly. The
//! steps are run twice: once from the words as they are, and once after adding 1 at the start of
//! the path. The steps are linear, so the difference between the two runs does not depend on the
//! data. The difference begins at the start and moves by one edge per step. The first step at which
//! the word at the end differs is the distance. Of the first run only the words at the end are
//! stored, one for every second step, and the steps are undone before the second run begins. So the
//! borrowed memory is working memory; its content is never copied and written back.
//!
//! A path is found by halving: some vertex is reached in half the steps from either end. Once it is
//! known, each half is a smaller problem of the same kind.

mod cone;
mod excursion;

use std::ops::ControlFlow;

use super::grid::Grid;
use super::{Lattice, LatticeError, MemoryNeed};
use cone::Cone;
use excursion::{Excursion, mix};

/// Settings of [`catalytic_path`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct CatalyticSettings {
    /// The source of the edge weights. The answer is the same for any seed, except that another of
    /// several shortest paths may be found.
    pub seed: u64,
    /// The length of the longest path that is searched for. Default: four times the diameter of the
    /// lattice without blocked vertices. The time grows with the product of the length and the
    /// number of vertices.
    pub length_max: Option<u64>,
}

/// The result of a search in borrowed memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CatalyticAnswer {
    /// A shortest path.
    Found(CatalyticPath),
    /// No path was found.
    NotFound {
        /// The greatest path length that was searched.
        length_max: u64,
        /// Whether a longer path is possible. If not, there is (very probably) no path at all.
        is_capped: bool,
        /// The peak of clean memory, in bytes.
        clean_bytes: u64,
    },
}

/// A shortest path found in borrowed memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalyticPath {
    /// The ids of the vertices, both ends included. Each edge has been checked.
    pub vertices: Vec<u32>,
    /// How certain it is that there is no shorter path.
    pub certainty: Certainty,
    /// The peak of clean memory, in bytes, including these vertices.
    pub clean_bytes: u64,
}

impl CatalyticPath {
    /// The number of edges.
    pub fn length(&self) -> u64 {
        self.vertices.len() as u64 - 1
    }
}

/// How certain it is that there is no shorter path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// A shorter path could not exist even if no vertex were blocked.
    Exact,
    /// No shorter path was found under this many independent seeds.
    Probable {
        /// Seeds under which no shorter path was found.
        n_seeds: u32,
    },
}

/// Vertices tested together when a path is halved: 12 bytes each.
const N_CANDIDATES_MAX: usize = 256;

/// How many seeds are tried to find a path whose length is known, before the search fails.
const N_SEEDS_MAX: u32 = 8;

/// Finds a shortest path with `borrowed` as working memory, which is restored exactly.
///
/// `borrowed` needs one word per vertex and may hold anything; further words are not touched. It is
/// also restored if the call returns an error or if `stop` panics. Restoring takes as long as the
/// steps since the last restoration took, so an interruption is not always immediate. If the
/// process is killed, the memory is not restored.
///
/// # What is certain
///
/// - The returned path has been checked edge by edge: **the distance is never more** than its
///   length, whatever the seed.
/// - That the distance is not less rests on weights drawn from a seed: a shorter path remains
///   undetected if the products of the weights along all the shortest paths cancel modulo 2^64. If
///   the length equals the distance without blocked vertices, this is ruled out, and the answer is
///   [`Certainty::Exact`]. Otherwise the distance has been confirmed under a second, independent seed
///   and is [`Certainty::Probable`].
/// - That there is no path shows only as the absence of a difference, up to a limit on the length:
///   [`CatalyticAnswer::NotFound`] holds the limit, and whether longer paths are possible.
///
/// # Errors
/// If the lattice has too many vertices to be searched, an end is outside it or blocked, `borrowed`
/// is too short, `stop` returns true, or a distance was found but no path that proves it.
///
/// ```
/// use swathe_lattice::Lattice;
/// use swathe_lattice::{CatalyticAnswer, CatalyticSettings, catalytic_path};
///
/// let lattice = Lattice::new(&[3, 3])?.with_blocked([4])?;
/// let mut borrowed = *b"Someone else's data, nine words of them, and all of it needed later.    ";
/// let mut words: Vec<u64> =
///     borrowed.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap())).collect();
/// let before = words.clone();
/// let answer = catalytic_path(&lattice, 1, 7, &mut words, &CatalyticSettings::default(), &|| false)?;
/// let CatalyticAnswer::Found(path) = answer else { unreachable!() };
/// assert_eq!(path.length(), 4);
/// assert_eq!(words, before);
/// # Ok::<(), swathe_lattice::LatticeError>(())
/// ```
pub fn catalytic_path(
    lattice: &Lattice,
    from: u64,
    to: u64,
    borrowed: &mut [u64],
    settings: &CatalyticSettings,
    stop: &dyn Fn() -> bool,
) -> Result<CatalyticAnswer, LatticeError> {
    let grid = lattice.grid()?;
    let from = lattice.endpoint(from)? as u32;
    let to = lattice.endpoint(to)? as u32;
    if (borrowed.len() as u64) < grid.n_vertices() {
        return Err(LatticeError::ScratchTooSmall {
            n_words: borrowed.len(),
            n_words_min: grid.n_vertices(),
        });
    }
    let mut question =
        Question { grid, seed: settings.seed, words: borrowed, stop, trace_bytes: 0 };
    let length_max = length_max(grid, from, to, settings);
    let Some((length, certainty)) = question.distance(from, to, length_max)? else {
        return Ok(CatalyticAnswer::NotFound {
            length_max: u64::from(length_max),
            is_capped: length_max < longest_possible(grid, from, to),
            clean_bytes: question.trace_bytes + FIXED_BYTES,
        });
    };
    for _ in 0..N_SEEDS_MAX {
        if let Some(found) = question.path(from, to, length)? {
            return Ok(CatalyticAnswer::Found(CatalyticPath {
                clean_bytes: question.trace_bytes.max(found.bytes) + FIXED_BYTES,
                vertices: found.vertices,
                certainty,
            }));
        }
        question.seed = next_seed(question.seed);
    }
    Err(LatticeError::Unproven { length: u64::from(length), n_seeds: N_SEEDS_MAX })
}

/// The clean memory that [`catalytic_path`] needs beside one borrowed word per vertex, for paths up
/// to `length_max`.
///
/// # Errors
/// If the lattice has too many vertices to be searched.
pub fn catalytic_need(lattice: &Lattice, length_max: u64) -> Result<MemoryNeed, LatticeError> {
    let length_max = length_max.min(lattice.grid()?.n_vertices());
    Ok(MemoryNeed {
        // The trace holds a word for every second step, and is freed before the path is written.
        scratch_bytes: FIXED_BYTES + 8 * (length_max / 2 + 1).max(SEARCH_BYTES / 8),
        answer_bytes: 4 * (length_max + 1),
    })
}

/// The memory on the stack: a few cones and excursions, with their coordinates.
const FIXED_BYTES: u64 =
    (3 * size_of::<Cone<'_>>() + size_of::<Excursion<'_>>() + size_of::<Question<'_>>()) as u64;

/// The heap memory of finding a path, beside the path itself.
const SEARCH_BYTES: u64 = (N_CANDIDATES_MAX * (4 + 8) + N_SPANS_MAX * size_of::<Span>()) as u64;

/// Halving at most 2^32 steps leaves at most this many spans on the stack.
const N_SPANS_MAX: usize = 40;

/// The grid, the seed, the borrowed words and `stop`, and the peak size of the traces.
struct Question<'a> {
    grid: &'a Grid,
    seed: u64,
    words: &'a mut [u64],
    stop: &'a dyn Fn() -> bool,
    trace_bytes: u64,
}

/// A part of a path that is still to be found.
#[derive(Clone, Copy)]
struct Span {
    from: u32,
    to: u32,
    length: u32,
}

/// A path, and the bytes that finding it took.
struct FoundPath {
    vertices: Vec<u32>,
    bytes: u64,
}

impl Question<'_> {
    /// The first step at which the word at the end differs, confirmed under a second seed.
    fn distance(
        &mut self,
        from: u32,
        to: u32,
        length_max: u32,
    ) -> Result<Option<(u32, Certainty)>, LatticeError> {
        let length_min = self.grid.manhattan(from, to);
        if length_min > length_max {
            return Ok(None);
        }
        // A step costs more if the cone has room for detours: begin without any and double the
        // room.
        let mut n_detours = 0_u64;
        let mut found = loop {
            let length = (u64::from(length_min) + 2 * n_detours).min(length_max.into()) as u32;
            if let Some(length) = self.first_difference(from, to, length)? {
                break length;
            }
            if length == length_max {
                return Ok(None);
            }
            n_detours = (2 * n_detours).max(1);
        };
        self.seed = next_seed(self.seed);
        while found > length_min {
            match self.first_difference(from, to, found - 2)? {
                Some(shorter) => found = shorter,
                None => return Ok(Some((found, Certainty::Probable { n_seeds: 2 }))),
            }
        }
        Ok(Some((found, Certainty::Exact)))
    }

    /// The first of at most `length_max` steps after which the word at the end differs.
    fn first_difference(
        &mut self,
        from: u32,
        to: u32,
        length_max: u32,
    ) -> Result<Option<u32>, LatticeError> {
        let cone = Cone::new(self.grid, from, to, length_max);
        // The end cannot be reached before `length_min` steps, nor at steps of the other colour.
        let can_arrive =
            |step: u32| step >= cone.length_min() && (length_max - step).is_multiple_of(2);
        let n_arrivals = (length_max - cone.length_min()) / 2 + 1;
        let mut trace = Vec::with_capacity(n_arrivals as usize);
        self.trace_bytes = self.trace_bytes.max(8 * trace.capacity() as u64);

        let stop = self.stop;
        let mut plain = self.set_out(&cone, false)?;
        if can_arrive(0) {
            trace.push(plain.word(to));
        }
        for step in 1..=length_max {
            plain.step(stop)?;
            if can_arrive(step) {
                trace.push(plain.word(to));
            }
        }
        drop(plain);

        let mut disturbed = self.set_out(&cone, true)?;
        let mut trace = trace.into_iter();
        if can_arrive(0) && trace.next() != Some(disturbed.word(to)) {
            return Ok(Some(0));
        }
        for step in 1..=length_max {
            disturbed.step(stop)?;
            if can_arrive(step) && trace.next() != Some(disturbed.word(to)) {
                return Ok(Some(step));
            }
        }
        Ok(None)
    }

    /// A path of exactly this length, which must be the distance; `None` if the weights of this
    /// seed cancel.
    fn path(&mut self, from: u32, to: u32, length: u32) -> Result<Option<FoundPath>, LatticeError> {
        let mut vertices = Vec::with_capacity(length as usize + 1);
        let mut spans = Vec::with_capacity(N_SPANS_MAX);
        let mut candidates = Vec::with_capacity(N_CANDIDATES_MAX);
        vertices.push(from);
        spans.push(Span { from, to, length });
        while let Some(span) = spans.pop() {
            if span.length == 0 {
                continue;
            }
            if span.length == 1 {
                let mut is_edge = false;
                self.grid.free_neighbours(span.from, |neighbour| is_edge |= neighbour == span.to);
                if !is_edge {
                    return Ok(None);
                }
                vertices.push(span.to);
                continue;
            }
            let half = span.length / 2;
            let Some(middle) = self.middle(span, half, &mut candidates)? else {
                return Ok(None);
            };
            spans.push(Span { from: middle, to: span.to, length: span.length - half });
            spans.push(Span { from: span.from, to: middle, length: half });
        }
        let values_bytes = 8 * candidates.capacity();
        let bytes = 4 * vertices.capacity()
            + size_of::<Span>() * spans.capacity()
            + 4 * candidates.capacity()
            + values_bytes;
        Ok(Some(FoundPath { vertices, bytes: bytes as u64 }))
    }

    /// A vertex `half` steps from the start of a span and the remaining steps from its end.
    fn middle(
        &mut self,
        span: Span,
        half: u32,
        candidates: &mut Vec<u32>,
    ) -> Result<Option<u32>, LatticeError> {
        let there = Cone::new(self.grid, span.from, span.to, span.length);
        let back = Cone::new(self.grid, span.to, span.from, span.length);
        let mut n_seen = 0;
        loop {
            n_seen += self.candidates(&there, half, n_seen, candidates)?;
            if candidates.is_empty() {
                return Ok(None);
            }
            self.retain_different(&there, half, candidates)?;
            if !candidates.is_empty() {
                self.retain_different(&back, span.length - half, candidates)?;
            }
            if let Some(&middle) = candidates.first() {
                return Ok(Some(middle));
            }
        }
    }

    /// Collects the next free vertices that matter at a step, after the first `n_skipped`. Returns
    /// their number.
    fn candidates(
        &self,
        cone: &Cone<'_>,
        step: u32,
        n_skipped: u64,
        candidates: &mut Vec<u32>,
    ) -> Result<u64, LatticeError> {
        candidates.clear();
        let mut n_passed = 0;
        let mut n_rows = 0_u64;
        let mut is_stopped = false;
        let _ = cone.rows(step, |row| {
            n_rows += 1;
            if n_rows.is_multiple_of(1024) && (self.stop)() {
                is_stopped = true;
                return ControlFlow::Break(());
            }
            for (vertex, _) in row.vertices() {
                if !self.grid.is_free(vertex) {
                    continue;
                }
                if n_passed >= n_skipped {
                    candidates.push(vertex);
                }
                n_passed += 1;
                if candidates.len() == N_CANDIDATES_MAX {
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        });
        if is_stopped {
            return Err(LatticeError::Interrupted);
        }
        Ok(candidates.len() as u64)
    }

    /// Keeps the vertices whose word differs after these steps if 1 was added at the cone's start.
    fn retain_different(
        &mut self,
        cone: &Cone<'_>,
        n_steps: u32,
        vertices: &mut Vec<u32>,
    ) -> Result<(), LatticeError> {
        let stop = self.stop;
        let mut plain = self.set_out(cone, false)?;
        for _ in 0..n_steps {
            plain.step(stop)?;
        }
        let values: Vec<u64> = vertices.iter().map(|&vertex| plain.word(vertex)).collect();
        drop(plain);

        let mut disturbed = self.set_out(cone, true)?;
        for _ in 0..n_steps {
            disturbed.step(stop)?;
        }
        let mut values = values.into_iter();
        vertices.retain(|&vertex| values.next() != Some(disturbed.word(vertex)));
        Ok(())
    }

    /// Starts an excursion, and polls `stop` first: many short excursions take as long as one long
    /// one.
    fn set_out<'b>(
        &'b mut self,
        cone: &'b Cone<'b>,
        is_disturbed: bool,
    ) -> Result<Excursion<'b>, LatticeError> {
        if (self.stop)() {
            return Err(LatticeError::Interrupted);
        }
        let (grid, seed) = (self.grid, self.seed);
        Ok(Excursion::new(grid, cone, seed, self.words, is_disturbed))
    }
}

/// The limit on the length, with the parity of every walk between the ends.
fn length_max(grid: &Grid, from: u32, to: u32, settings: &CatalyticSettings) -> u32 {
    let across = grid.manhattan(0, (grid.n_vertices() - 1) as u32);
    let wanted = settings.length_max.unwrap_or(4 * u64::from(across));
    let possible = longest_possible(grid, from, to);
    same_parity(wanted.min(possible.into()), grid.manhattan(from, to))
}

/// The length of the longest possible shortest path: it visits no free vertex twice.
fn longest_possible(grid: &Grid, from: u32, to: u32) -> u32 {
    same_parity(grid.n_free() - 1, grid.manhattan(from, to))
}

/// The greatest number up to `bound`, below 2^32, with the parity of `like`; 0 if there is none.
fn same_parity(bound: u64, like: u32) -> u32 {
    bound.saturating_sub((bound + u64::from(like)) % 2) as u32
}

/// The next seed, so different from the last that their weights are independent.
fn next_seed(seed: u64) -> u64 {
    mix(seed ^ 0xd134_2543_de82_ef95)
}
