//! Lattices compared with an independent oracle: every edge found by comparing coordinates, every
//! distance by a plain breadth-first search.

mod catalytic;
mod plain;

use plain::{Plain, Random, random_lattice};
use swathe_lattice::Lattice;
use swathe_lattice::{
    LatticeError, PathAnswer, SearchScratch, UNREACHABLE, analyze, layers, path_need, shortest_path,
};

const GO_ON: &dyn Fn() -> bool = &|| false;

#[test]
fn a_thousand_random_lattices_equal_the_plain_search() {
    let mut random = Random(1);
    let mut scratch = SearchScratch::default();
    let mut n_without_path = 0;
    for case in 0..1000 {
        let lattice = random_lattice(&mut random, 400);
        let plain = Plain::new(&lattice);
        check_analysis(&lattice, &plain, &mut scratch);
        if plain.free.is_empty() {
            continue;
        }
        let from = random.of(&plain.free);
        let distances = plain.distances(from);
        check_layers(&lattice, from, &distances, &mut scratch);
        for _ in 0..4 {
            let to = random.of(&plain.free);
            let answer =
                shortest_path(&lattice, from.into(), to.into(), &mut scratch, GO_ON).unwrap();
            assert_eq!(answer.length(), distances[to as usize], "case {case}");
            match answer {
                PathAnswer::Found(vertices) => {
                    plain.check_path(&vertices, from, to);
                    let need = path_need(&lattice).unwrap();
                    assert!(4 * vertices.len() as u64 <= need.answer_bytes);
                }
                PathAnswer::NoPath => n_without_path += 1,
            }
        }
    }
    assert!(n_without_path > 100, "too few of these cases separate the ends");
}

#[test]
fn closed_forms_equal_the_plain_search() {
    let mut random = Random(2);
    let mut scratch = SearchScratch::default();
    for _ in 0..200 {
        let blocked = random_lattice(&mut random, 400);
        let lattice = Lattice::new(blocked.sizes()).unwrap();
        let plain = Plain::new(&lattice);
        check_analysis(&lattice, &plain, &mut scratch);
        let from = random.of(&plain.free);
        let to = random.of(&plain.free);
        let distances = plain.distances(from);
        check_layers(&lattice, from, &distances, &mut scratch);
        let PathAnswer::Found(vertices) = lattice.path(from.into(), to.into()).unwrap() else {
            panic!("nothing is blocked");
        };
        assert_eq!(Some(vertices.len() as u64 - 1), distances[to as usize]);
        plain.check_path(&vertices, from, to);
    }
}

fn check_analysis(lattice: &Lattice, plain: &Plain, scratch: &mut SearchScratch) {
    let analysis = analyze(lattice, scratch, GO_ON).unwrap();
    let n_vertices = plain.free.len() as f64;
    let n_edges = plain.n_edges();
    assert_eq!(analysis.n_vertices, plain.free.len() as u128);
    assert_eq!(analysis.n_edges, n_edges as u128);
    assert_eq!(analysis.connected, plain.is_connected(), "{lattice:?}");
    assert_eq!(analysis.diameter, plain.diameter(), "{lattice:?}");
    assert_eq!(analysis.clustering_coefficient, plain.clustering_coefficient());
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-14 * b;
    if n_vertices > 0.0 {
        assert!(close(analysis.average_degree, 2.0 * n_edges as f64 / n_vertices));
    } else {
        assert_eq!(analysis.average_degree, 0.0);
    }
    if n_vertices > 1.0 {
        let n_pairs = n_vertices * (n_vertices - 1.0) / 2.0;
        assert!(close(analysis.density, n_edges as f64 / n_pairs));
    } else {
        assert_eq!(analysis.density, 0.0);
    }
}

fn check_layers(
    lattice: &Lattice,
    from: u32,
    distances: &[Option<u64>],
    scratch: &mut SearchScratch,
) {
    let found = layers(lattice, from.into(), true, scratch, GO_ON).unwrap();
    let mut counts = vec![0; found.counts.len()];
    for &distance in distances.iter().flatten() {
        counts[distance as usize] += 1;
    }
    assert_eq!(found.counts, counts);
    assert_eq!(
        u128::from(found.n_unreachable),
        lattice.n_free() - u128::from(counts.iter().sum::<u64>())
    );
    let expected: Vec<u32> = distances
        .iter()
        .map(|distance| distance.map_or(UNREACHABLE, |distance| distance as u32))
        .collect();
    assert_eq!(found.distances, Some(expected));
    assert_eq!(
        layers(lattice, from.into(), false, scratch, GO_ON).unwrap(),
        swathe_lattice::Layers { distances: None, ..found }
    );
}

/// So many vertices wait at once that the pools spill, unlike in the small lattices above.
#[test]
fn wide_frontiers_equal_the_plain_search() {
    let mut random = Random(3);
    let mut scratch = SearchScratch::default();
    for sizes in [&[26, 25, 27][..], &[3; 9], &[100, 100], &[9, 8, 7, 6, 5]] {
        for percent in [10, 30, 45] {
            let n: u32 = sizes.iter().product();
            let blocked: Vec<u64> =
                (1..u64::from(n)).filter(|_| random.below(100) < percent).collect();
            let lattice = Lattice::new(sizes).unwrap().with_blocked(blocked).unwrap();
            let plain = Plain::new(&lattice);
            for _ in 0..5 {
                let from = random.of(&plain.free);
                let distances = plain.distances(from);
                check_layers(&lattice, from, &distances, &mut scratch);
                for _ in 0..10 {
                    let to = random.of(&plain.free);
                    let (from64, to64) = (from.into(), to.into());
                    let answer =
                        shortest_path(&lattice, from64, to64, &mut scratch, GO_ON).unwrap();
                    assert_eq!(answer.length(), distances[to as usize]);
                    if let PathAnswer::Found(vertices) = answer {
                        plain.check_path(&vertices, from, to);
                    }
                }
            }
        }
    }
}

#[test]
fn the_largest_lattice_is_analyzed_in_closed_form() {
    let lattice = Lattice::new(&[100; 10]).unwrap();
    let analysis = lattice.analyze().unwrap();
    assert_eq!(analysis.n_vertices, 100_000_000_000_000_000_000);
    assert_eq!(analysis.n_edges, 990_000_000_000_000_000_000);
    assert!(analysis.connected);
    assert_eq!(analysis.diameter, Some(990));
    assert_eq!(analysis.average_degree, 19.8);
    assert!((analysis.density / 1.98e-19 - 1.0).abs() < 1e-15);

    // The ids of this lattice exceed 64 bits.
    let refused = LatticeError::NoIds { n_vertices: 10_u128.pow(20) };
    assert_eq!(lattice.path(0, 1), Err(refused));
    assert_eq!(lattice.layers(0), Err(refused));
    assert_eq!(lattice.vertex_at(&[0; 10]), Err(refused));
    assert_eq!(lattice.with_blocked([0]), Err(refused));
}

#[test]
fn four_thousand_million_vertices_are_walked_in_closed_form() {
    // 2^32 exactly: the last id is the last that 32 bits hold.
    let lattice = Lattice::new(&[64, 64, 64, 64, 16, 16]).unwrap();
    let last = (1 << 32) - 1;
    assert_eq!(lattice.coordinates_of(last).unwrap(), [63, 63, 63, 63, 15, 15]);
    assert_eq!(lattice.path(0, last).unwrap().length(), Some(4 * 63 + 2 * 15));
    let layers = lattice.layers(last).unwrap();
    assert_eq!(layers.counts.iter().sum::<u64>(), 1 << 32);
    assert_eq!(layers.eccentricity(), 4 * 63 + 2 * 15);
    // A larger lattice works too, because no vertex is blocked.
    let lattice = Lattice::new(&[64, 64, 64, 64, 16, 17]).unwrap();
    assert_eq!(lattice.path(0, 1).unwrap().length(), Some(1));
    let refused = LatticeError::TooManyVertices { n_vertices: 17 << 28, n_vertices_max: 1 << 32 };
    assert_eq!(lattice.with_blocked([0]), Err(refused));
}

/// Ids up to the last of 32 bits are searched; only the pages that the search visits are touched.
#[test]
fn blocked_vertices_at_the_last_ids_are_walked_around() {
    let last = (1_u64 << 32) - 1;
    let along_last_axes = [last - 1, last - 16];
    let lattice =
        Lattice::new(&[64, 64, 64, 64, 16, 16]).unwrap().with_blocked(along_last_axes).unwrap();
    let diagonal = last - 17;
    let answer = lattice.path(last, diagonal).unwrap();
    assert_eq!(answer.length(), Some(4));
    assert_eq!(lattice.path(diagonal, last).unwrap().length(), Some(4));
    let walled_in = lattice.with_blocked([8, 14, 20, 26].map(|bits| last - (1 << bits)));
    assert_eq!(walled_in.unwrap().path(0, last), Ok(PathAnswer::NoPath));
}

#[test]
fn unusable_lattices_and_questions_are_named() {
    use LatticeError::*;
    let error = |sizes: &[u32]| Lattice::new(sizes).unwrap_err();
    assert_eq!(error(&[]), Dimensions { n_dimensions: 0 });
    assert_eq!(error(&[2; 11]), Dimensions { n_dimensions: 11 });
    assert_eq!(error(&[2, 1]), AxisSize { axis: 1, size: 1 });
    assert_eq!(error(&[u32::MAX; 4]), TooLarge);
    let vast = Lattice::new(&[100; 10]).unwrap();
    let n_vertices = 10_u128.pow(20);
    assert_eq!(vast.path(0, 1), Err(NoIds { n_vertices }));
    let large = Lattice::new(&[1 << 17, 1 << 17]).unwrap();
    let refused = large.with_blocked([0]).unwrap_err().to_string();
    assert!(refused.contains("needs 6 GiB of memory"), "{refused}");

    let lattice = Lattice::new(&[3, 4]).unwrap();
    let outside = OutOfRange { vertex: 12, n_vertices: 12 };
    assert_eq!(lattice.clone().with_blocked([0, 12]), Err(outside));
    assert_eq!(lattice.path(0, 12), Err(outside));
    assert_eq!(lattice.layers(12), Err(outside));
    assert_eq!(lattice.vertex_at(&[1]), Err(CoordinateCount { n_given: 1, n_dimensions: 2 }));
    assert_eq!(lattice.vertex_at(&[1, 4]), Err(Coordinate { axis: 1, coordinate: 4, size: 4 }));
    let lattice = lattice.with_blocked([5, 5]).unwrap();
    assert_eq!(lattice.n_blocked(), 1);
    assert_eq!(lattice.path(5, 0), Err(Blocked { vertex: 5 }));
    assert_eq!(lattice.path(0, 5), Err(Blocked { vertex: 5 }));
    assert_eq!(lattice.layers(5), Err(Blocked { vertex: 5 }));
}

#[test]
fn a_stop_ends_every_walk() {
    let mut scratch = SearchScratch::default();
    // The last vertex is enclosed, so that a path to it is searched everywhere.
    let wall = [215_998, 215_939, 212_399];
    let lattice = Lattice::new(&[60, 60, 60]).unwrap().with_blocked(wall).unwrap();
    let stop: &dyn Fn() -> bool = &|| true;
    let interrupted = LatticeError::Interrupted;
    assert_eq!(shortest_path(&lattice, 215_999, 0, &mut scratch, stop), Err(interrupted));
    assert_eq!(layers(&lattice, 0, false, &mut scratch, stop), Err(interrupted));
    assert_eq!(layers(&lattice, 0, true, &mut scratch, stop), Err(interrupted));
    assert_eq!(analyze(&lattice, &mut scratch, stop), Err(interrupted));
    // The same scratch can still be used.
    let answer = shortest_path(&lattice, 0, 215_997, &mut scratch, GO_ON).unwrap();
    assert_eq!(answer.length(), Some(3 * 59 - 2));
}

/// Axes of any extent, and lattices so large that only closed forms apply.
#[test]
fn closed_forms_are_those_of_a_search() {
    for sizes in [&[7_u32, 5][..], &[2, 9, 4], &[513], &[3, 2, 2, 5]] {
        let lattice = Lattice::new(sizes).unwrap();
        let n_vertices = lattice.n_vertices() as u64;
        for from in (0..n_vertices).step_by(1 + n_vertices as usize / 17) {
            let mut counts = vec![0; lattice.layers(from).unwrap().counts.len()];
            let here = lattice.coordinates_of(from).unwrap();
            for to in 0..n_vertices {
                let there = lattice.coordinates_of(to).unwrap();
                let steps = here.iter().zip(&there).map(|(a, b)| a.abs_diff(*b));
                counts[steps.sum::<u32>() as usize] += 1;
            }
            assert_eq!(lattice.layers(from).unwrap().counts, counts, "{sizes:?} {from}");
        }
    }
    let lattice = Lattice::new(&[1 << 20, 1000, 1 << 30]).unwrap();
    let from = lattice.vertex_at(&[7, 999, 5]).unwrap();
    let to = lattice.vertex_at(&[3, 990, (1 << 30) - 1]).unwrap();
    assert_eq!(lattice.coordinates_of(to).unwrap(), [3, 990, (1 << 30) - 1]);
    let near = lattice.vertex_at(&[3, 990, 15]).unwrap();
    let PathAnswer::Found(path) = lattice.path(from, near).unwrap() else {
        panic!("nothing is blocked")
    };
    assert_eq!((path.len(), path[0], path[23]), (24, from, near));
    assert!(path_need(&lattice).unwrap().answer_bytes > 8 << 30);

    // A maze of 512 × 512: walls with gaps at alternating ends.
    let is_wall = |x: u64, y: u64| x % 2 == 1 && y != if x % 4 == 1 { 511 } else { 0 };
    let walls = (0..512 * 512).filter(|id| is_wall(id / 512, id % 512));
    let maze = Lattice::new(&[512, 512]).unwrap().with_blocked(walls).unwrap();
    let length = maze.path(0, 510 * 512).unwrap().length();
    assert_eq!(length, Some(510 + 255 * 511 + 511));
}

/// Rings, where the diameter's bounds prune least, and shapes with corners.
#[test]
fn diameters_of_awkward_shapes_equal_all_pairs() {
    let ring = |x: u64, y: u64| (2..28).contains(&x) && (2..28).contains(&y);
    let comb = |x: u64, y: u64| x % 2 == 1 && y > 0;
    let snake = |x: u64, y: u64| x % 2 == 1 && y != if x % 4 == 1 { 29 } else { 0 };
    let shapes: [&dyn Fn(u64, u64) -> bool; 3] = [&ring, &comb, &snake];
    for is_blocked in shapes {
        let blocked = (0..900).filter(|id| is_blocked(id / 30, id % 30));
        let lattice = Lattice::new(&[30, 30]).unwrap().with_blocked(blocked).unwrap();
        let plain = Plain::new(&lattice);
        let analysis = lattice.analyze().unwrap();
        assert!(analysis.connected);
        assert_eq!(analysis.diameter, plain.diameter());
    }
}
