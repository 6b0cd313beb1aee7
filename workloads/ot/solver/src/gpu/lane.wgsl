// The parameters of a launch and the state of a lane. All lanes share ε and ρ. Each lane has its
// own coordinate scale and its own state of annealing and acceleration, and ends on its own.

const N_THREADS: u32 = 64u;
// The most pixels of a line, and the most pixels of a thread.
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
    // Sweeps before the last ε, and at the last ε.
    n_coarse: u32,
    n_fine: u32,
    // The residual to reach.
    aim: f32,
    // Momentum: how far the next iterate goes beyond its image, as a factor of the step from the
    // previous image to this one.
    push: f32,
    n_pushed: u32,
    // The constant to add to the stored iterate.
    shift_whole: i32,
    shift_part: f32,
    // The constant to add to the stored image.
    image_shift_whole: i32,
    image_shift_part: f32,
    residual: f32,
}

struct Stage {
    // 1 - τ as the sum of a number with few bits and a remainder.
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
    // Number of distances in a lane's list of costs.
    n_costs: u32,
    // Whether the reference measure is one per pixel.
    counting: u32,
    n_sweeps_max: u32,
    // Whether the lane's shift must be added to the potential that this kernel reads.
    is_shifted: u32,
    unused: u32,
    stages: array<Stage, 12>,
}

@group(0) @binding(0) var<uniform> parameters: Parameters;

// The pixels of a line of n that each thread processes.
fn per_thread(n: u32) -> u32 {
    return min((n + N_THREADS - 1u) / N_THREADS, PER_THREAD);
}
