// The target's potential γ, exact for the source's potential φ.

@group(0) @binding(6) var<storage, read_write> gamma: array<vec2<i32>>;

@compute @workgroup_size(64)
fn into_gamma(
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
    load_column(number, x, lane, thread);
    cut_segments(thread, lane.h);
    var kept: array<Bits, PER_THREAD>;
    var least = NOTHING;
    for (var k = 0u; k < per_thread(lane.h); k++) {
        let y = thread + k * N_THREADS;
        let at = (number * parameters.h + y) * parameters.w + x;
        if (y < lane.h) {
            let mass = unpack(log_mass[at]);
            if (mass.whole > NEARLY_DEAD) {
                let sum = line_sum(y, lane.h);
                let p = potential_of(log_of(sum.scale, sum.whole), lean_of(mass), stage);
                kept[k] = p;
                gamma[at] = pack(p);
                least = min(least, leaning_whole(p, mass));
            }
        }
    }
    least_of[thread] = least;
    least_of_all(thread);
    var sums = vec2<f32>(0.0);
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
        write_tally(number, 1u, x);
    }
}
