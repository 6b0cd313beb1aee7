//! The oracle: a lattice as a plain list of coordinates.

use std::collections::{HashMap, VecDeque};

use swathe_lattice::Lattice;

/// SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub(crate) fn of(&mut self, choices: &[u32]) -> u32 {
        choices[self.below(choices.len() as u64) as usize]
    }
}

/// One to ten axes, with none to all of the vertices blocked.
pub(crate) fn random_lattice(random: &mut Random, n_vertices_max: u64) -> Lattice {
    let n_dimensions = 1 + random.below(10);
    let mut sizes = Vec::new();
    let mut room = n_vertices_max;
    for _ in 0..n_dimensions {
        if room < 2 {
            break;
        }
        let size = 2 + random.below((room - 1).min(24));
        sizes.push(size as u32);
        room /= size;
    }
    let n_vertices = sizes.iter().map(|&size| u64::from(size)).product();
    let percent = [5, 20, 35, 50, 80, 100][random.below(6) as usize];
    let blocked: Vec<u64> = (0..n_vertices).filter(|_| random.below(100) < percent).collect();
    let lattice = Lattice::new(&sizes).unwrap();
    lattice.with_blocked(blocked).unwrap()
}

/// The free vertices and the neighbours of each vertex.
pub(crate) struct Plain {
    pub(crate) free: Vec<u32>,
    neighbours: Vec<Vec<u32>>,
}

impl Plain {
    pub(crate) fn new(lattice: &Lattice) -> Self {
        let mut all: Vec<Vec<u32>> = vec![vec![]];
        for &size in lattice.sizes() {
            let longer = |c: Vec<u32>| (0..size).map(move |x| [&c[..], &[x]].concat());
            all = all.into_iter().flat_map(longer).collect();
        }
        let is_free = |id: u32| !lattice.is_blocked(id.into());
        let ids: HashMap<&[u32], u32> = all.iter().map(Vec::as_slice).zip(0..).collect();
        let mut neighbours = vec![vec![]; all.len()];
        for (coordinates, id) in all.iter().zip(0..) {
            for axis in 0..coordinates.len() {
                let mut next = coordinates.clone();
                next[axis] += 1;
                if let Some(&other) = ids.get(next.as_slice())
                    && is_free(id)
                    && is_free(other)
                {
                    neighbours[id as usize].push(other);
                    neighbours[other as usize].push(id);
                }
            }
        }
        Self { free: (0..all.len() as u32).filter(|&id| is_free(id)).collect(), neighbours }
    }

    pub(crate) fn distances(&self, from: u32) -> Vec<Option<u64>> {
        let mut distances = vec![None; self.neighbours.len()];
        distances[from as usize] = Some(0);
        let mut queue = VecDeque::from([(from, 0)]);
        while let Some((vertex, distance)) = queue.pop_front() {
            for &other in &self.neighbours[vertex as usize] {
                if distances[other as usize].is_none() {
                    distances[other as usize] = Some(distance + 1);
                    queue.push_back((other, distance + 1));
                }
            }
        }
        distances
    }

    pub(crate) fn n_edges(&self) -> usize {
        self.neighbours.iter().map(Vec::len).sum::<usize>() / 2
    }

    pub(crate) fn is_connected(&self) -> bool {
        self.free
            .first()
            .is_some_and(|&first| self.distances(first).iter().flatten().count() == self.free.len())
    }

    pub(crate) fn diameter(&self) -> Option<u64> {
        if !self.is_connected() {
            return None;
        }
        let eccentricity = |&vertex: &u32| self.distances(vertex).into_iter().flatten().max();
        self.free.iter().filter_map(eccentricity).max()
    }

    /// The mean over vertices of the share of pairs of neighbours that are neighbours themselves.
    pub(crate) fn clustering_coefficient(&self) -> f64 {
        let mut sum = 0.0;
        for vertex in &self.free {
            let around = &self.neighbours[*vertex as usize];
            let n_closed = around
                .iter()
                .flat_map(|a| around.iter().map(move |b| (a, b)))
                .filter(|&(&a, b)| self.neighbours[a as usize].contains(b))
                .count();
            if around.len() > 1 {
                sum += n_closed as f64 / (around.len() * (around.len() - 1)) as f64;
            }
        }
        sum / self.free.len().max(1) as f64
    }

    pub(crate) fn check_path(&self, vertices: &[impl Copy + Into<u64>], from: u32, to: u32) {
        let vertices = vertices.iter().map(|&vertex| vertex.into() as u32);
        let vertices: Vec<u32> = vertices.collect();
        assert_eq!(vertices.first(), Some(&from));
        assert_eq!(vertices.last(), Some(&to));
        for edge in vertices.windows(2) {
            assert!(self.neighbours[edge[0] as usize].contains(&edge[1]));
        }
    }
}
