// Products of matrices of any shapes: one workgroup per tile of 32 x 32 elements, one thread per 4
// x 4 elements. Every element is the in-order sum over the inner index, as on the CPU.

struct Parameters {
    n_tiles: u32,
}

struct Lane {
    n_rows: u32,
    n_inner: u32,
    n_cols: u32,
    left_at: u32,
    right_at: u32,
    out_at: u32,
    // The number of the lane's first tile, and the number of tiles in a row.
    first_tile: u32,
    n_tile_cols: u32,
}

@group(0) @binding(0) var<uniform> parameters: Parameters;
@group(0) @binding(1) var<storage, read> left: array<f32>;
@group(0) @binding(2) var<storage, read> right: array<f32>;
@group(0) @binding(3) var<storage, read> lanes: array<Lane>;
// The lane that each tile belongs to.
@group(0) @binding(4) var<storage, read> tile_lanes: array<u32>;
@group(0) @binding(5) var<storage, read_write> out: array<f32>;

const N_TILE = 32u;
const N_STEP = 16u;
const N_THREADS = 64u;
// No operand has more elements in a row: 128 MiB.
const N_STEPS_MAX = 2097152u;

// The rows of the left operand's tile are side by side, as are the columns of the right one's.
var<workgroup> left_tile: array<vec4<f32>, 128>;
var<workgroup> right_tile: array<vec4<f32>, 128>;

@compute @workgroup_size(64)
fn matmul(
    @builtin(workgroup_id) group_id: vec3<u32>,
    @builtin(num_workgroups) n_groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let tile = group_id.x + group_id.y * n_groups.x;
    if (tile >= parameters.n_tiles) {
        return;
    }
    let lane = lanes[tile_lanes[tile]];
    let tile_in_lane = tile - lane.first_tile;
    let first_row = (tile_in_lane / lane.n_tile_cols) * N_TILE;
    let first_col = (tile_in_lane % lane.n_tile_cols) * N_TILE;
    let thread_row = thread / 8u;
    let thread_col = thread % 8u;

    var sums_0 = vec4<f32>();
    var sums_1 = vec4<f32>();
    var sums_2 = vec4<f32>();
    var sums_3 = vec4<f32>();

    let n_steps = min((lane.n_inner + N_STEP - 1u) / N_STEP, N_STEPS_MAX);
    for (var step = 0u; step < n_steps; step++) {
        let first_inner = step * N_STEP;
        // Positions outside the operands count as zero, which adds nothing.
        for (var k = thread; k < 128u; k += N_THREADS) {
            let inner = first_inner + k / 8u;
            let row = first_row + (k % 8u) * 4u;
            let col = first_col + (k % 8u) * 4u;
            left_tile[k] = vec4<f32>(
                left_element(lane, row, inner),
                left_element(lane, row + 1u, inner),
                left_element(lane, row + 2u, inner),
                left_element(lane, row + 3u, inner),
            );
            right_tile[k] = vec4<f32>(
                right_element(lane, inner, col),
                right_element(lane, inner, col + 1u),
                right_element(lane, inner, col + 2u),
                right_element(lane, inner, col + 3u),
            );
        }
        workgroupBarrier();
        for (var inner = 0u; inner < N_STEP; inner++) {
            let a = left_tile[inner * 8u + thread_row];
            let b = right_tile[inner * 8u + thread_col];
            sums_0 = fma(vec4<f32>(a.x), b, sums_0);
            sums_1 = fma(vec4<f32>(a.y), b, sums_1);
            sums_2 = fma(vec4<f32>(a.z), b, sums_2);
            sums_3 = fma(vec4<f32>(a.w), b, sums_3);
        }
        workgroupBarrier();
    }

    let row = first_row + thread_row * 4u;
    let col = first_col + thread_col * 4u;
    store_row(lane, row, col, sums_0);
    store_row(lane, row + 1u, col, sums_1);
    store_row(lane, row + 2u, col, sums_2);
    store_row(lane, row + 3u, col, sums_3);
}

fn left_element(lane: Lane, row: u32, inner: u32) -> f32 {
    if (row < lane.n_rows && inner < lane.n_inner) {
        return left[lane.left_at + row * lane.n_inner + inner];
    }
    return 0.0;
}

fn right_element(lane: Lane, inner: u32, col: u32) -> f32 {
    if (inner < lane.n_inner && col < lane.n_cols) {
        return right[lane.right_at + inner * lane.n_cols + col];
    }
    return 0.0;
}

fn store_row(lane: Lane, row: u32, col: u32, sums: vec4<f32>) {
    if (row >= lane.n_rows) {
        return;
    }
    let at = lane.out_at + row * lane.n_cols + col;
    if (col < lane.n_cols) {
        out[at] = sums.x;
    }
    if (col + 1u < lane.n_cols) {
        out[at + 1u] = sums.y;
    }
    if (col + 2u < lane.n_cols) {
        out[at + 2u] = sums.z;
    }
    if (col + 3u < lane.n_cols) {
        out[at + 3u] = sums.w;
    }
}
