// The first pass of half a sweep: along the rows, from a potential and its masses to sums that
// are written column by column.

@group(0) @binding(1) var<storage, read> lanes: array<Lane>;
@group(0) @binding(2) var<storage, read> costs: array<vec4<i32>>;
@group(0) @binding(3) var<storage, read> log_mass: array<vec2<i32>>;
@group(0) @binding(4) var<storage, read> potential: array<vec2<i32>>;
@group(0) @binding(5) var<storage, read_write> between: array<vec2<i32>>;

@compute @workgroup_size(64)
fn spread(
    @builtin(workgroup_id) group_id: vec3<u32>,
    @builtin(num_workgroups) n_groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let group = group_id.x + group_id.y * n_groups.x;
    let number = group / parameters.h;
    let y = group % parameters.h;
    if (number >= parameters.n_lanes) {
        return;
    }
    let lane = lanes[number];
    if (lane.verdict != RUNNING || y >= lane.h) {
        return;
    }
    let row = (number * parameters.h + y) * parameters.w;
    var shift = Bits(0, 0.0);
    if (parameters.is_shifted != 0u) {
        shift = Bits(lane.shift_whole, lane.shift_part);
    }
    for (var k = 0u; k < per_thread(lane.w); k++) {
        let x = thread + k * N_THREADS;
        if (x < lane.w) {
            set_cost(x, costs[number * parameters.n_costs + x], lane.stage);
            let mass = unpack(log_mass[row + x]);
            if (mass.whole > NEARLY_DEAD) {
                let here = sum_of(sum_of(unpack(potential[row + x]), shift), mass);
                set_source(x, here.whole, power_of_part(here.part));
            } else {
                set_source(x, DEAD, 0.0);
            }
        } else if (x < in_segments(lane.w)) {
            set_no_cost(x);
            set_source(x, DEAD, 0.0);
        }
    }
    cut_segments(thread, lane.w);
    for (var k = 0u; k < per_thread(lane.w); k++) {
        let x = thread + k * N_THREADS;
        if (x < lane.w) {
            let sum = line_sum(x, lane.w);
            let at = (number * parameters.w + x) * parameters.h + y;
            between[at] = vec2<i32>(sum.whole, bitcast<i32>(sum.scale));
        }
    }
}
