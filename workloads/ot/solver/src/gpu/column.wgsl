// The second pass of half a sweep: along the columns, from the sums of the first pass to a
// potential, and a tally of each column for its lane.

@group(0) @binding(1) var<storage, read> lanes: array<Lane>;
@group(0) @binding(2) var<storage, read> costs: array<vec4<i32>>;
@group(0) @binding(3) var<storage, read> log_mass: array<vec2<i32>>;
@group(0) @binding(4) var<storage, read> between: array<vec2<i32>>;
// For each column: its least potential, the soft sum relative to that, and the residual.
@group(0) @binding(5) var<storage, read_write> tallies: array<vec4<i32>>;

var<workgroup> least_of: array<i32, N_THREADS>;
var<workgroup> sum_of_thread: array<vec2<f32>, N_THREADS>;

// The least potential of a column without mass.
const NOTHING: i32 = 268435456;

fn load_column(number: u32, x: u32, lane: Lane, thread: u32) {
    let column = (number * parameters.w + x) * parameters.h;
    for (var k = 0u; k < per_thread(lane.h); k++) {
        let y = thread + k * N_THREADS;
        if (y < lane.h) {
            set_cost(y, costs[number * parameters.n_costs + y], lane.stage);
            let sum = between[column + y];
            set_source(y, sum.x, bitcast<f32>(sum.y));
        } else if (y < in_segments(lane.h)) {
            set_no_cost(y);
            set_source(y, DEAD, 0.0);
        }
    }
}

// The potential that follows from a sum: -τ·sum - (1 - τ)·lean = -sum + (1 - τ)·(sum - lean). The
// product of the integer part with `slack_high` is exact.
fn potential_of(sum: Bits, lean: Bits, stage: Stage) -> Bits {
    let whole = f32(sum.whole - lean.whole);
    let part = sum.part - lean.part;
    let high = whole * stage.slack_high;
    let carried = floor(high);
    let low = whole * stage.slack_low + part * (stage.slack_high + stage.slack_low);
    return settled(i32(carried) - sum.whole, (high - carried) + low - sum.part);
}

fn lean_of(mass: Bits) -> Bits {
    if (parameters.counting != 0u) {
        return mass;
    }
    return Bits(0, 0.0);
}

// m·2^((least - p - lean)·ratio).
fn soft_term(p: Bits, mass: Bits, least: i32, ratio: f32) -> f32 {
    let leaning = sum_of(p, lean_of(mass));
    let z = min((f32(least - leaning.whole) - leaning.part) * ratio, 100.0);
    return power(mass.whole, z, power_of_part(mass.part));
}

fn leaning_whole(p: Bits, mass: Bits) -> i32 {
    return sum_of(p, lean_of(mass)).whole;
}

fn least_of_all(thread: u32) {
    for (var width = N_THREADS / 2u; width > 0u; width >>= 1u) {
        workgroupBarrier();
        if (thread < width) {
            least_of[thread] = min(least_of[thread], least_of[thread + width]);
        }
    }
    workgroupBarrier();
}

fn sum_of_all(thread: u32) {
    for (var width = N_THREADS / 2u; width > 0u; width >>= 1u) {
        workgroupBarrier();
        if (thread < width) {
            sum_of_thread[thread] += sum_of_thread[thread + width];
        }
    }
    workgroupBarrier();
}

fn write_tally(number: u32, side: u32, x: u32) {
    let sums = sum_of_thread[0];
    let tally = vec4<i32>(least_of[0], bitcast<i32>(sums.x), bitcast<i32>(sums.y), 0);
    tallies[(number * 2u + side) * parameters.w + x] = tally;
}
