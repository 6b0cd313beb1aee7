// What a launch and a lane know of themselves. All lanes have one ε and one ρ, but a coordinate
// scale of their own, and each goes its own way through annealing, acceleration and its end.

const N_THREADS: u32 = 64u;
// The most pixels of a line, and how many of them a thread takes.
const LINE_MAX: u32 = 512u;
const PER_THREAD: u32 = 8u;
// Sweeps at each ε but the last.
const STAGE_SWEEPS: u32 = 3u;

const RUNNING: u32 = 0u;
const CONVERGED: u32 = 1u;
const SPENT: u32 = 2u;

struct Lane {
    // Pixels of the lane's own grid, in the upper left corner of the padded one.
    h: u32,
    w: u32,
    // ε is 2^stage times the last one.
    stage: u32,
    // Sweeps done at this stage.
    sweep: u32,
    verdict: u32,
    // Sweeps before the last ε, and at it.
    n_coarse: u32,
    n_fine: u32,
    // The residual to reach.
    aim: f32,
    // How far the next iterate goes beyond its image, in steps from image to image.
    push: f32,
    n_pushed: u32,
    // What the stored iterate lacks.
    shift_whole: i32,
    shift_part: f32,
    // What the stored image lacks.
    image_shift_whole: i32,
    image_shift_part: f32,
    residual: f32,
}

struct Stage {
    // 1 - τ as the sum of a number of few digits and the rest.
    slack_high: f32,
    slack_low: f32,
    // ε/ρ, zero if balanced.
    ratio: f32,
    // 1/τ.
    per_tau: f32,
}

struct Parameters {
    // The padded grid.
    h: u32,
    w: u32,
    n_lanes: u32,
    // Distances in a lane's list of costs.
    n_costs: u32,
    // Whether the reference measure is one per pixel.
    counting: u32,
    n_sweeps_max: u32,
    // Whether the potential of this launch lacks its lane's shift.
    is_shifted: u32,
    unused: u32,
    stages: array<Stage, 12>,
}

@group(0) @binding(0) var<uniform> parameters: Parameters;

// How many pixels of a line of n a thread takes.
fn per_thread(n: u32) -> u32 {
    return min((n + N_THREADS - 1u) / N_THREADS, PER_THREAD);
}
