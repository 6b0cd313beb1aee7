// The end of a sweep: the common shift of the potentials, the residual, and the lane's next state.

@group(0) @binding(1) var<storage, read> tallies: array<vec4<i32>>;
@group(0) @binding(2) var<storage, read_write> lanes: array<Lane>;

// Least potential and soft sum of the source and of the target, and the residual.
var<workgroup> least_of: array<vec2<i32>, N_THREADS>;
var<workgroup> sum_of_thread: array<vec3<f32>, N_THREADS>;

const NOTHING: i32 = 268435456;

@compute @workgroup_size(64)
fn judge(
    @builtin(workgroup_id) group_id: vec3<u32>,
    @builtin(num_workgroups) n_groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let number = group_id.x + group_id.y * n_groups.x;
    if (number >= parameters.n_lanes) {
        return;
    }
    let w = lanes[number].w;
    let ratio = parameters.stages[lanes[number].stage].ratio;
    let from_source = number * 2u * parameters.w;
    let from_target = from_source + parameters.w;
    var least = vec2<i32>(NOTHING);
    for (var k = 0u; k < per_thread(w); k++) {
        let x = thread + k * N_THREADS;
        if (x < w) {
            let here = vec2<i32>(tallies[from_source + x].x, tallies[from_target + x].x);
            least = min(least, here);
        }
    }
    least_of[thread] = least;
    for (var width = N_THREADS / 2u; width > 0u; width >>= 1u) {
        workgroupBarrier();
        if (thread < width) {
            least_of[thread] = min(least_of[thread], least_of[thread + width]);
        }
    }
    workgroupBarrier();
    least = least_of[0];
    var sums = vec3<f32>(0.0);
    for (var k = 0u; k < per_thread(w); k++) {
        let x = thread + k * N_THREADS;
        if (x < w) {
            let source = tallies[from_source + x];
            let target_side = tallies[from_target + x];
            sums += vec3<f32>(
                relative(source, least.x, ratio),
                relative(target_side, least.y, ratio),
                bitcast<f32>(source.z),
            );
        }
    }
    sum_of_thread[thread] = sums;
    for (var width = N_THREADS / 2u; width > 0u; width >>= 1u) {
        workgroupBarrier();
        if (thread < width) {
            sum_of_thread[thread] += sum_of_thread[thread + width];
        }
    }
    workgroupBarrier();
    if (thread == 0u && lanes[number].verdict == RUNNING) {
        lanes[number] = judged(lanes[number], least, sum_of_thread[0], ratio);
    }
}

// A column's soft sum, relative to the least potential of all columns.
fn relative(tally: vec4<i32>, least: i32, ratio: f32) -> f32 {
    if (tally.x == NOTHING) {
        return 0.0;
    }
    return power(0, max(f32(least - tally.x) * ratio, -120.0), bitcast<f32>(tally.y));
}

fn judged(before: Lane, least: vec2<i32>, sums: vec3<f32>, ratio: f32) -> Lane {
    var lane = before;
    let image_shift = common_shift(least, sums, ratio);
    let image_shift_before = Bits(lane.image_shift_whole, lane.image_shift_part);
    lane.image_shift_whole = image_shift.whole;
    lane.image_shift_part = image_shift.part;
    let residual_before = lane.residual;
    lane.residual = sums.z;
    lane.sweep += 1u;
    var shift = image_shift;
    if (lane.stage > 0u) {
        lane.n_coarse += 1u;
        if (lane.sweep >= STAGE_SWEEPS) {
            lane.stage -= 1u;
            lane.sweep = 0u;
            shift = settled(2 * shift.whole, 2.0 * shift.part);
        }
    } else {
        lane.n_fine += 1u;
        // Compilers may assume that comparisons see no NaN, so finiteness is tested on the bits.
        if (is_finite(lane.residual) && lane.residual <= lane.aim) {
            lane.verdict = CONVERGED;
        } else if (!is_finite(lane.residual) || lane.n_fine >= parameters.n_sweeps_max) {
            lane.verdict = SPENT;
        }
        let step = lane.push * difference(image_shift, image_shift_before);
        shift = settled(shift.whole, shift.part + step);
        // Momentum, dropped whenever the residual rises.
        let rises = lane.sweep > 1u && lane.residual > residual_before;
        lane.n_pushed = select(lane.n_pushed + 1u, 0u, rises);
        lane.push = f32(lane.n_pushed) / (f32(lane.n_pushed) + 3.0);
    }
    lane.shift_whole = shift.whole;
    lane.shift_part = shift.part;
    return lane;
}

// Half the difference of the soft minima: the target's potential minus the source's.
fn common_shift(least: vec2<i32>, sums: vec3<f32>, ratio: f32) -> Bits {
    if (!(ratio > 0.0) || !is_normal(sums.x) || !is_normal(sums.y)) {
        return Bits(0, 0.0);
    }
    let tilt = difference(log_of(sums.y, 0), log_of(sums.x, 0)) / ratio;
    let apart = least.y - least.x;
    return settled(apart >> 1u, 0.5 * (f32(apart & 1) - tilt));
}

fn is_finite(v: f32) -> bool {
    return ((bitcast<u32>(v) >> 23u) & 255u) < 255u;
}

fn is_normal(v: f32) -> bool {
    let e = (bitcast<u32>(v) >> 23u) & 255u;
    return v > 0.0 && e > 0u && e < 255u;
}
