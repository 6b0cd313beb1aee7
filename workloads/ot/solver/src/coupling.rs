//! The listed entries of the plan.

use crate::blur::{DEAD, Row};
use crate::failure::Failure;
use crate::problem::Problem;
use crate::pyramid::Level;
use crate::settings::{Coupling, Settings};
use crate::solution::Link;
use crate::stop_latch::StopLatch;
use crate::sweep::Regime;

/// Side of the squares of target pixels that share one bound.
const TILE_PX: usize = 8;

/// Lists entries of the plan P(p, q) = 2^(φ_p + γ_q − c|p − q|²)·a_p·b_q without forming the plan:
/// squares of target pixels whose largest possible entry is too small are skipped.
pub(crate) fn links(
    problem: &Problem,
    settings: &Settings,
    level: &Level,
    phi: &[Row<f64>],
    gamma: &[Row<f64>],
    regime: Regime,
    watch: &StopLatch<'_>,
) -> Result<Vec<Link>, Failure> {
    if settings.coupling == Coupling::None {
        return Ok(Vec::new());
    }
    let tiles = target_tiles(problem, level, gamma);
    let c = regime.sharpness(level.px);
    let log_scale = problem.plan_scale.log2();
    let live = problem.geometry.live.expect("both sides are live");
    let frame_px = |v: usize, start: usize| (start + v * settings.pool) as u32;
    let source = &level.source;
    let n_links = match settings.coupling {
        Coupling::TopK(k) => source.n_live.saturating_mul(k.min(level.target.n_live)),
        _ => 0,
    };
    let mut all = Vec::with_capacity(n_links);
    let mut near: Vec<(f64, usize)> = Vec::new();
    let mut found: Vec<Entry> = Vec::new();
    for n in 0..source.n_places() {
        if n % 64 == 0 && watch.stopped() {
            return Err(Failure::Stopped);
        }
        let (row, lane, y, x) = source.nth_place(n);
        let log_mass = source.log_mass[row][lane];
        if log_mass <= DEAD {
            continue;
        }
        let log_p = phi[row][lane] + log_mass + log_scale;
        near.clear();
        near.extend(tiles.iter().enumerate().map(|(t, tile)| (tile.bound(y, x, c), t)));
        found.clear();
        match settings.coupling {
            Coupling::None => {}
            Coupling::Threshold(mass) => {
                let floor = mass.log2() - log_p;
                for (_, t) in near.iter().filter(|(bound, _)| *bound >= floor) {
                    let entries = tiles[*t].entries(y, x, c);
                    found.extend(entries.filter(|(log, _, _)| *log >= floor));
                }
            }
            Coupling::TopK(k) => {
                near.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
                for (bound, t) in &near {
                    if found.len() == k && *bound < found[k - 1].0 {
                        break;
                    }
                    found.extend(tiles[*t].entries(y, x, c));
                    sort(&mut found);
                    found.truncate(k);
                }
            }
        }
        sort(&mut found);
        all.extend(found.iter().map(|(log, ty, tx)| Link {
            src_y_px: frame_px(y, live.y0_px),
            src_x_px: frame_px(x, live.x0_px),
            tgt_y_px: frame_px(*ty as usize, live.y0_px),
            tgt_x_px: frame_px(*tx as usize, live.x0_px),
            mass: (log + log_p).exp2(),
        }));
    }
    all.shrink_to_fit();
    Ok(all)
}

/// Logarithm of an entry of the plan, or of a target pixel's factor of it, and the pixel (y, x).
type Entry = (f64, u32, u32);

/// Sorts entries: largest first, equal ones in reading order.
fn sort(found: &mut [Entry]) {
    found.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
}

/// A square of target pixels: (γ + log b, y, x) of the live ones.
struct Tile {
    y0: usize,
    x0: usize,
    most: f64,
    pixels: Vec<Entry>,
}

impl Tile {
    /// An upper bound of the entries between a source pixel and this square.
    fn bound(&self, y: usize, x: usize, c: f64) -> f64 {
        let gap = |v: usize, start: usize| {
            if v < start { start - v } else { v.saturating_sub(start + TILE_PX - 1) }
        };
        let (dy, dx) = (gap(y, self.y0) as f64, gap(x, self.x0) as f64);
        self.most - c * (dy * dy + dx * dx)
    }

    fn entries(&self, y: usize, x: usize, c: f64) -> impl Iterator<Item = Entry> {
        self.pixels.iter().map(move |(log, ty, tx)| {
            let (dy, dx) = (f64::from(*ty) - y as f64, f64::from(*tx) - x as f64);
            (log - c * (dy * dy + dx * dx), *ty, *tx)
        })
    }
}

fn target_tiles(problem: &Problem, level: &Level, gamma: &[Row<f64>]) -> Vec<Tile> {
    let across = problem.shape.w_px.div_ceil(TILE_PX);
    let down = problem.shape.h_px.div_ceil(TILE_PX);
    let empty = |t: usize| Tile {
        y0: t / across * TILE_PX,
        x0: t % across * TILE_PX,
        most: DEAD,
        pixels: Vec::new(),
    };
    let mut tiles: Vec<Tile> = (0..down * across).map(empty).collect();
    level.target.for_live(|row, lane, y, x| {
        let tile = &mut tiles[y / TILE_PX * across + x / TILE_PX];
        let log = gamma[row][lane] + level.target.log_mass[row][lane];
        tile.most = tile.most.max(log);
        if tile.pixels.is_empty() {
            tile.pixels.reserve_exact(TILE_PX * TILE_PX);
        }
        tile.pixels.push((log, y as u32, x as u32));
    });
    tiles.retain(|tile| !tile.pixels.is_empty());
    tiles
}
