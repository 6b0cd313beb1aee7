//! Whether the motion of a pair is in doubt because mass changes somewhere: a body vanishes, grows,
//! leaves the frame or bleaches.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt;

use crate::affine::label;
use crate::frame::{Frame, Pair};
use crate::geometry::{Crop, Geometry, place_live, pool_live};
use crate::shape::Shape;
use crate::solution::Solution;

/// Why the motion of a pair is in doubt.
///
/// A plan carries all mass that it may: what a body has gained comes out of other bodies, and what
/// was lost goes into them. Where mass changes alike everywhere, normalising undoes the change and
/// the motion is right; where it does not, the plan shows motion that did not happen, and the error
/// bar does not cover it.
///
/// ```
/// use swathe_ot::{Frame, MotionDoubt, Pair, Settings, motion_doubt, solve};
/// let squares = |corners: &[usize]| {
///     let has = |corner: usize, at: usize| (corner..corner + 6).contains(&at);
///     let is_in = |at: usize| corners.iter().any(|&c| has(c, at / 48) && has(c, at % 48));
///     Frame::new(48, 48, (0..48 * 48).map(|at| f64::from(u8::from(is_in(at)))).collect())
/// };
/// let pair = Pair::new(squares(&[4, 20, 36])?, squares(&[5, 21])?);
/// let solution = solve(&pair, &Settings::default())?;
/// let doubt = motion_doubt(&solution, &pair).unwrap();
/// assert_eq!(doubt.to_string(), "a body vanished (33 % of the mass)");
/// # Ok::<(), swathe_ot::Failure>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MotionDoubt {
    /// A body of the source is gone.
    Vanished {
        /// Its part of the mass.
        share: f64,
    },
    /// A body of the target is new.
    Appeared {
        /// Its part of the mass.
        share: f64,
    },
    /// Mass crosses the edge of the frame.
    Edge {
        /// The change of the mass of bodies at the edge, as a part of all mass.
        share: f64,
    },
    /// One of several bodies changed its mass.
    Body {
        /// The relative change of its mass.
        change: f64,
    },
    /// A body changed its light, but not alike in all of its parts.
    Part {
        /// The relative change of its mass.
        change: f64,
    },
    /// The mass changed that belongs to no body.
    Elsewhere {
        /// The relative change of all mass.
        change: f64,
    },
}

impl fmt::Display for MotionDoubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MotionDoubt::Vanished { share } => {
                write!(f, "a body vanished ({:.0} % of the mass)", 100.0 * share)
            }
            MotionDoubt::Appeared { share } => {
                write!(f, "a body appeared ({:.0} % of the mass)", 100.0 * share)
            }
            MotionDoubt::Edge { share } => {
                write!(f, "mass at the frame's edge changed ({:+.0} % of all mass)", 100.0 * share)
            }
            MotionDoubt::Body { change } => {
                write!(f, "mass changed by {:+.0} % in one body", 100.0 * change)
            }
            MotionDoubt::Part { change } => {
                write!(f, "mass changed by {:+.0} % in a part of a body", 100.0 * change)
            }
            MotionDoubt::Elsewhere { change } => {
                write!(f, "mass changed by {:+.0} % outside of bodies", 100.0 * change)
            }
        }
    }
}

/// Bodies are seen on a grid of at most this many cells along the longer side.
const SIDE_CELLS: usize = 128;
/// A cell belongs to a body if its mass is above this part of the mean over mass.
const BODY_LEVEL: f64 = 0.05;
/// Above this part of the mean over mass a cell counts as a whole one of the outline.
const OUTLINE_LEVEL: f64 = 0.1;
/// Connected cells with less than this part of the mass of the largest body are no body.
const BODY_SHARE: f64 = 0.02;
/// A body's mass may change by this much …
const CHANGE: f64 = 0.04;
/// … one at the edge by this much, because what leaves there is not seen …
const EDGE_CHANGE: f64 = 0.01;
/// … and by this many standard deviations of its noise.
const DEVIATIONS: f64 = 2.5;
/// The relative variance of a mask's area in px by the pixels that its rim divides, at an area of 1.
const RIM_VARIANCE: f64 = 0.35;
/// The standard deviation of a pixel's place along an axis, in parts of the root of a disc's area.
const PLACE_DEVIATION: f64 = 0.28;
/// Changes of less than this part of all mass move nothing that matters.
const SHARE: f64 = 0.005;
/// The edge cuts a body if the cut is at least this part of the body's size (the root of its area).
const CUT: f64 = 0.2;
/// How much the cut may change.
const CUT_CHANGE: f64 = 0.1;
/// The mass of a body that divides changes by less than this at the same time.
const DIVISION_CHANGE: f64 = 0.25;
/// A body's light may move against its outline by this part of its size …
const LIGHT_OFF: f64 = 0.01;
/// … and by this part of a cell.
const LIGHT_OFF_CELLS: f64 = 0.04;

/// Why the motion of a pair is in doubt; `None` if there is no reason, the maps were not kept, or a
/// frame has no mass.
///
/// The bodies of both frames are matched by where the plan carries most of their mass, and their
/// masses compared, with the noise of counts (estimated from neighbouring pixels) and of the pixels
/// of a mask allowed for.
///
/// # Panics
/// If the frames do not contain the live box of the solution.
pub fn motion_doubt(solution: &Solution, pair: &Pair) -> Option<MotionDoubt> {
    let fields = solution.fields.as_ref()?;
    let mass = [solution.mass_src, solution.mass_tgt];
    if !mass.iter().all(|mass| *mass > 0.0) {
        return None;
    }
    let geometry = &solution.geometry;
    let fine = geometry.live_work();
    let by = fine.longest_px().div_ceil(SIDE_CELLS).max(1);
    let cut = place_live(geometry.frame, geometry.live, &Crop::Fixed, geometry.pool * by).ok()?;
    let frames = [&*pair.source, &*pair.target];
    let [src, tgt] = frames.map(|frame| Bodies::of(frame, &cut));
    let clusters = matched(&src, &tgt, &fields.velocity_yx_px, fine, by, geometry.pool);
    let cell_px = (geometry.pool * by) as f64;
    let noise = Noise {
        gain: 0.5 * frames.map(noise_gain).iter().sum::<f64>(),
        is_mask: frames.iter().all(|frame| is_mask(frame)),
        level_px: 0.5 * (src.level + tgt.level) / (cell_px * cell_px),
    };
    let edge_mass = frames.map(|frame| edge_mass(frame, geometry));
    doubt_at_edge(&clusters, edge_mass, mass, &noise)
        .or_else(|| doubt_of_bodies(&clusters, mass, &noise))
}

/// Mass crosses the edge where a body is cut by it, and the cut or the body's mass changes.
fn doubt_at_edge(
    clusters: &[Cluster],
    edge_mass: [f64; 2],
    mass: [f64; 2],
    noise: &Noise,
) -> Option<MotionDoubt> {
    let [cut_before, cut_after] = edge_mass;
    let (most, whole) = (cut_before.max(cut_after), mass[0].max(mass[1]));
    let size_px = (whole / noise.level_px).sqrt();
    if !(most / noise.level_px > CUT * size_px) {
        return None;
    }
    let least = (CUT_CHANGE + noise.deviations([most; 2])) * most;
    let is_cut_changed = (cut_after - cut_before).abs() > least;
    let mut touching = [0.0; 2];
    for cluster in clusters.iter().filter(|cluster| cluster.is_at_edge) {
        touching = [touching[0] + cluster.mass[0], touching[1] + cluster.mass[1]];
    }
    let share = (touching[1] - touching[0]) / whole;
    let is_mass_changed = is_changed(touching, EDGE_CHANGE, noise);
    (is_cut_changed || is_mass_changed).then_some(MotionDoubt::Edge { share })
}

/// The masses of bodies change, and not alike.
fn doubt_of_bodies(clusters: &[Cluster], mass: [f64; 2], noise: &Noise) -> Option<MotionDoubt> {
    let whole = mass[0].max(mass[1]);
    let off = |cluster: &Cluster| (cluster.mass[1] - cluster.mass[0]).abs();
    let changed = clusters
        .iter()
        .filter(|cluster| is_changed(cluster.mass, CHANGE, noise) && off(cluster) > SHARE * whole);
    let Some(worst) = changed.max_by(|a, b| off(a).total_cmp(&off(b))) else {
        let is_changed = is_changed(mass, CHANGE, noise);
        return is_changed.then_some(MotionDoubt::Elsewhere { change: change(mass) });
    };
    if clusters.iter().all(|cluster| cluster.is_one() || cluster.divides(noise)) {
        let all = change(mass);
        let is_alike = |cluster: &Cluster| {
            let least = CHANGE + noise.deviations(cluster.mass);
            (change(cluster.mass) - all).abs() < (1.0 + all) * least
        };
        if !clusters.iter().all(is_alike) {
            return Some(MotionDoubt::Body { change: change(worst.mass) });
        }
        // Every body changed by the same factor: normalising undoes that, unless it is the sum of
        // changes within a body, which move its light.
        let odd = clusters.iter().filter(|cluster| cluster.is_one()).find(|cluster| {
            let size = cluster.area.sqrt();
            let noise = PLACE_DEVIATION * noise.deviations(cluster.mass);
            cluster.light_off > (LIGHT_OFF + noise) * size + LIGHT_OFF_CELLS
        });
        return odd.map(|odd| MotionDoubt::Part { change: change(odd.mass) });
    }
    let share = off(worst) / whole;
    let n = |side: usize| clusters.iter().map(|cluster| cluster.bodies[side].len()).sum::<usize>();
    let grows = worst.mass[1] > worst.mass[0];
    Some(match n(0).cmp(&n(1)) {
        Ordering::Greater if !grows => MotionDoubt::Vanished { share },
        Ordering::Less if grows => MotionDoubt::Appeared { share },
        _ => MotionDoubt::Body { change: change(worst.mass) },
    })
}

fn change(mass: [f64; 2]) -> f64 {
    mass[1] / mass[0] - 1.0
}

/// Whether a mass changed by more than a part of it and its noise.
fn is_changed(mass: [f64; 2], part: f64, noise: &Noise) -> bool {
    let [before, after] = mass;
    let noise = if before > 0.0 && after > 0.0 { noise.deviations(mass) } else { 0.0 };
    (after - before).abs() > (part + noise) * before.max(after)
}

/// What masses are uncertain by.
struct Noise {
    /// The variance of a pixel over its mean.
    gain: f64,
    /// Whether pixels are either in or out.
    is_mask: bool,
    /// The mean of a pixel over the mass.
    level_px: f64,
}

impl Noise {
    /// The largest relative difference of two masses that is put down to noise.
    fn deviations(&self, mass: [f64; 2]) -> f64 {
        let counts = self.gain * (1.0 / mass[0] + 1.0 / mass[1]);
        let area_px = 0.5 * (mass[0] + mass[1]) / self.level_px;
        let rim = if self.is_mask { RIM_VARIANCE * area_px.powf(-1.5) } else { 0.0 };
        DEVIATIONS * (counts + rim).sqrt()
    }
}

/// The bodies of a frame on the coarse grid.
struct Bodies {
    mass: Vec<f64>,
    shape: Shape,
    /// The mean mass of a cell over the mass.
    level: f64,
    /// The number of each cell's body, from 1; 0 is none.
    labels: Vec<u32>,
    bodies: Vec<Body>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Body {
    mass: f64,
    /// Mass times place, and outline times place.
    light: [f64; 2],
    area: f64,
    outline: [f64; 2],
    is_at_edge: bool,
}

impl Bodies {
    fn of(frame: &Frame, cut: &Geometry) -> Bodies {
        let (mass, shape) = (pool_live(frame, cut), cut.live_work());
        let edges = edges_of(cut);
        let total: f64 = mass.iter().sum();
        let level = mass.iter().map(|m| m * m).sum::<f64>() / total;
        let above: Vec<f64> =
            mass.iter().map(|m| if *m > BODY_LEVEL * level { *m } else { 0.0 }).collect();
        let (mut labels, n) = label(&above, shape);
        let mut bodies = vec![Body::default(); n];
        for (at, label) in labels.iter().enumerate() {
            if let Some(number) = label.checked_sub(1) {
                let (y, x) = (at / shape.w_px, at % shape.w_px);
                let body = &mut bodies[number as usize];
                body.add(mass[at], level, [y, x]);
                let is_last = [y + 1 == shape.h_px, x + 1 == shape.w_px];
                let is_there = [y == 0, x == 0, is_last[0], is_last[1]];
                body.is_at_edge |=
                    is_there.iter().zip(edges).any(|(is_there, edge)| *is_there && edge);
            }
        }
        let largest = bodies.iter().map(|body| body.mass).fold(0.0, f64::max);
        let mut number = 0;
        let new: Vec<u32> = bodies
            .iter()
            .map(|body| {
                let is_body = body.mass >= BODY_SHARE * largest;
                number += u32::from(is_body);
                if is_body { number } else { 0 }
            })
            .collect();
        labels.iter_mut().filter(|label| **label > 0).for_each(|l| *l = new[*l as usize - 1]);
        bodies.retain(|body| body.mass >= BODY_SHARE * largest);
        Bodies { mass, shape, level, labels, bodies }
    }

    /// The nearest body of every cell, from 0.
    fn nearest(&self) -> Vec<u32> {
        let Shape { h_px, w_px } = self.shape;
        let mut nearest = self.labels.clone();
        let mut ring: Vec<usize> = (0..nearest.len()).filter(|&at| nearest[at] > 0).collect();
        while !ring.is_empty() {
            let mut next = Vec::new();
            for at in ring {
                let (y, x) = (at / w_px, at % w_px);
                for ny in y.saturating_sub(1)..(y + 2).min(h_px) {
                    for nx in x.saturating_sub(1)..(x + 2).min(w_px) {
                        let to = ny * w_px + nx;
                        if nearest[to] == 0 {
                            nearest[to] = nearest[at];
                            next.push(to);
                        }
                    }
                }
            }
            ring = next;
        }
        nearest.iter().map(|label| label.saturating_sub(1)).collect()
    }
}

impl Body {
    fn add(&mut self, mass: f64, level: f64, place: [usize; 2]) {
        let outline = (mass / (OUTLINE_LEVEL * level)).min(1.0);
        self.mass += mass;
        self.area += outline;
        for axis in 0..2 {
            self.light[axis] += mass * place[axis] as f64;
            self.outline[axis] += outline * place[axis] as f64;
        }
    }

    /// From the centre of the outline to that of the light, cells.
    fn off(&self) -> [f64; 2] {
        [0, 1].map(|axis| self.light[axis] / self.mass - self.outline[axis] / self.area)
    }
}

/// Bodies of both frames that belong together.
#[derive(Clone, Debug, Default)]
struct Cluster {
    /// The masses of the bodies, before and after.
    bodies: [Vec<f64>; 2],
    /// Their sums.
    mass: [f64; 2],
    /// How far the light moved against the outline, cells.
    light_off: f64,
    /// The mean area, cells.
    area: f64,
    is_at_edge: bool,
}

impl Cluster {
    /// Whether it is a single body, before and after.
    fn is_one(&self) -> bool {
        self.bodies.iter().all(|bodies| bodies.len() == 1)
    }

    /// Whether a body may have divided, or several may have joined, and grown a little. It has not if
    /// some of the many alone have the mass of the one: then the others are new, or gone.
    fn divides(&self, noise: &Noise) -> bool {
        let (one, many) = match self.bodies.each_ref().map(|bodies| &bodies[..]) {
            [[one], many] | [many, [one]] => (*one, many),
            _ => return false,
        };
        let sum: f64 = many.iter().sum();
        let is_one = |mass: f64| !is_changed([one, mass], CHANGE, noise);
        change([one, sum]).abs() < DIVISION_CHANGE
            && !many.iter().any(|mass| is_one(*mass) || is_one(sum - mass))
    }
}

/// Joins every body with the one that the plan carries most of it to, and with the one that most of
/// it comes from.
fn matched(
    src: &Bodies,
    tgt: &Bodies,
    velocity: &[[f64; 2]],
    fine: Shape,
    by: usize,
    pool: usize,
) -> Vec<Cluster> {
    let (n_src, n_tgt) = (src.bodies.len(), tgt.bodies.len());
    let Shape { h_px, w_px } = src.shape;
    let mut joined: Vec<usize> = (0..n_src + n_tgt).collect();
    if n_src == 1 && n_tgt == 1 {
        joined[1] = 0;
    } else {
        let nearest = tgt.nearest();
        let mut carried: HashMap<(usize, usize), f64> = HashMap::new();
        for (at, label) in src.labels.iter().enumerate() {
            let Some(from) = label.checked_sub(1) else { continue };
            let (y, x) = (at / w_px, at % w_px);
            let Some([vy, vx]) = mean_velocity(velocity, fine, by, y, x) else { continue };
            let cell = (by * pool) as f64;
            let land = |place: usize, v: f64, n: usize| {
                (place as f64 + v / cell).round().clamp(0.0, n as f64 - 1.0) as usize
            };
            let to = nearest[land(y, vy, h_px) * w_px + land(x, vx, w_px)];
            *carried.entry((from as usize, to as usize)).or_default() += src.mass[at];
        }
        let mut best_to = vec![(0.0, usize::MAX); n_src];
        let mut best_from = vec![(0.0, usize::MAX); n_tgt];
        let mut carried: Vec<_> = carried.into_iter().collect();
        carried.sort_unstable_by_key(|(key, _)| *key);
        for ((from, to), mass) in carried {
            if mass > best_to[from].0 {
                best_to[from] = (mass, to);
            }
            if mass > best_from[to].0 {
                best_from[to] = (mass, from);
            }
        }
        let links = best_to.iter().enumerate().map(|(from, (_, to))| (from, *to));
        let back = best_from.iter().enumerate().map(|(to, (_, from))| (*from, to));
        for (from, to) in links.chain(back) {
            if from < n_src && to < n_tgt {
                let (a, b) = (root(&joined, from), root(&joined, n_src + to));
                joined[a.max(b)] = a.min(b);
            }
        }
    }
    let mut clusters = vec![Cluster::default(); n_src + n_tgt];
    let mut off = vec![[[0.0; 2]; 2]; n_src + n_tgt];
    for (number, body) in src.bodies.iter().chain(&tgt.bodies).enumerate() {
        let side = usize::from(number >= n_src);
        let at = root(&joined, number);
        let cluster = &mut clusters[at];
        cluster.bodies[side].push(body.mass);
        cluster.mass[side] += body.mass;
        cluster.is_at_edge |= body.is_at_edge;
        off[at][side] = body.off();
        cluster.area += 0.5 * body.area;
    }
    for (cluster, [before, after]) in clusters.iter_mut().zip(&off) {
        cluster.light_off = (after[0] - before[0]).hypot(after[1] - before[1]);
    }
    clusters.retain(|cluster| cluster.bodies.iter().any(|bodies| !bodies.is_empty()));
    clusters
}

fn root(joined: &[usize], mut at: usize) -> usize {
    while joined[at] != at {
        at = joined[at];
    }
    at
}

fn mean_velocity(
    velocity: &[[f64; 2]],
    fine: Shape,
    by: usize,
    y: usize,
    x: usize,
) -> Option<[f64; 2]> {
    let (mut sum, mut n) = ([0.0; 2], 0);
    for row in y * by..((y + 1) * by).min(fine.h_px) {
        for v in &velocity[row * fine.w_px + x * by..][..by.min(fine.w_px - x * by)] {
            if v[0].is_finite() {
                sum = [sum[0] + v[0], sum[1] + v[1]];
                n += 1;
            }
        }
    }
    (n > 0).then(|| sum.map(|v| v / f64::from(n)))
}

/// The variance of a pixel's noise over its mean, as counts have it, from how much pixels differ
/// from the mean of their neighbours. Structure that fine counts as noise.
fn noise_gain(frame: &Frame) -> f64 {
    let (mut squares, mut sum) = (0.0, 0.0);
    for row in frame.density.chunks_exact(frame.shape.w_px) {
        for three in row.windows(3).filter(|three| three.iter().all(|v| *v > 0.0)) {
            squares += (three[1] - 0.5 * (three[0] + three[2])).powi(2);
            sum += three[1];
        }
    }
    if sum > 0.0 { squares / (1.5 * sum) } else { 0.0 }
}

fn is_mask(frame: &Frame) -> bool {
    let mut live = frame.density.iter().filter(|v| **v > 0.0);
    let first = live.next();
    live.all(|v| Some(v) == first)
}

/// Whether the live box begins and ends at the frame's edges: top, left, bottom, right.
fn edges_of(geometry: &Geometry) -> [bool; 4] {
    let Some(live) = geometry.live else { return [false; 4] };
    let Shape { h_px, w_px } = geometry.frame;
    [live.y0_px == 0, live.x0_px == 0, live.y1_px() == h_px, live.x1_px() == w_px]
}

/// The mass on the outermost pixels of the frame.
fn edge_mass(frame: &Frame, geometry: &Geometry) -> f64 {
    // A frame that was cut out ends at the live box.
    let is_at = match frame.shape == geometry.frame {
        true => [true; 4],
        false => edges_of(geometry),
    };
    let Shape { h_px, w_px } = frame.shape;
    let at = |y: usize, x: usize| frame.density[y * w_px + x];
    let sums = [
        (0..w_px).map(|x| at(0, x)).sum::<f64>(),
        (0..h_px).map(|y| at(y, 0)).sum(),
        (0..w_px).map(|x| at(h_px - 1, x)).sum(),
        (0..h_px).map(|y| at(y, w_px - 1)).sum(),
    ];
    sums.iter().zip(is_at).filter(|(_, is_at)| *is_at).map(|(sum, _)| sum).sum()
}
