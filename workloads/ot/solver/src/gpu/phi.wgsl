// The image of the source's potential φ, its residual, and the next iterate.

@group(0) @binding(6) var<storage, read_write> phi: array<vec2<i32>>;
// On entry the image of the previous iterate, then that of this one.
@group(0) @binding(7) var<storage, read_write> image: array<vec2<i32>>;

// a·2^(-(φ + lean)·ratio)·|2^(gap/τ) - 1|, with the gap from φ to its image. Large values are
// clamped: far from convergence, only the fact that the residual is large matters.
fn residual_of(phi: Bits, gap: f32, mass: Bits, stage: Stage) -> f32 {
    let leaning = sum_of(phi, lean_of(mass));
    let z = clamp(-(f32(leaning.whole) + leaning.part) * stage.ratio, -120.0, 30.0);
    let weight = power(mass.whole, z, power_of_part(mass.part));
    let bits = clamp(gap * stage.per_tau, -30.0, 30.0);
    let e = bits * 0.6931471806;
    // Near 0 the difference to 1 is taken from the series, not by cancellation.
    var off = e * (1.0 + e * (0.5 + e * (0.16666667 + e * 0.041666668)));
    if (abs(e) >= 0.05) {
        off = power(0, bits, 1.0) - 1.0;
    }
    return weight * abs(off);
}

@compute @workgroup_size(64)
fn into_phi(
    @builtin(workgroup_id) group_id: vec3<u32>,
    @builtin(num_workgroups) n_groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let group = group_id.x + group_id.y * n_groups.x;
    let number = group / parameters.w;
    let x = group % parameters.w;
    if (number >= parameters.n_lanes) {
        return;
    }
    let lane = lanes[number];
    if (lane.verdict != RUNNING || x >= lane.w) {
        return;
    }
    let stage = parameters.stages[lane.stage];
    let leaves_stage = lane.stage > 0u && lane.sweep + 1u >= STAGE_SWEEPS;
    let shift = Bits(lane.shift_whole, lane.shift_part);
    load_column(number, x, lane, thread);
    cut_segments(thread, lane.h);
    var kept: array<Bits, PER_THREAD>;
    var least = NOTHING;
    var sums = vec2<f32>(0.0);
    for (var k = 0u; k < per_thread(lane.h); k++) {
        let y = thread + k * N_THREADS;
        let at = (number * parameters.h + y) * parameters.w + x;
        if (y < lane.h) {
            let mass = unpack(log_mass[at]);
            if (mass.whole > NEARLY_DEAD) {
                let sum = line_sum(y, lane.h);
                let lean = lean_of(mass);
                let p = potential_of(log_of(sum.scale, sum.whole), lean, stage);
                kept[k] = p;
                least = min(least, leaning_whole(p, mass));
                let from_phi = sum_of(unpack(phi[at]), shift);
                sums.y += residual_of(from_phi, difference(from_phi, p), mass, stage);
                var next = p;
                if (leaves_stage) {
                    // ε·(φ + lean) is kept while ε is halved.
                    next = settled(2 * p.whole + lean.whole, 2.0 * p.part + lean.part);
                } else if (lane.push > 0.0) {
                    let step = lane.push * difference(p, unpack(image[at]));
                    next = settled(p.whole, p.part + step);
                }
                phi[at] = pack(next);
                image[at] = pack(p);
            }
        }
    }
    least_of[thread] = least;
    least_of_all(thread);
    for (var k = 0u; k < per_thread(lane.h); k++) {
        let y = thread + k * N_THREADS;
        if (y < lane.h) {
            let mass = unpack(log_mass[(number * parameters.h + y) * parameters.w + x]);
            if (mass.whole > NEARLY_DEAD) {
                sums.x += soft_term(kept[k], mass, least_of[0], stage.ratio);
            }
        }
    }
    sum_of_thread[thread] = sums;
    sum_of_all(thread);
    if (thread == 0u) {
        write_tally(number, 0u, x);
    }
}
