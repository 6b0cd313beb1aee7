// Single operations on grids: a workgroup for each grid.

struct Parameters {
    n_lanes: u32,
}

struct Lane {
    height: u32,
    width: u32,
    // In words.
    cells_at: u32,
    out_at: u32,
    operation: u32,
    from_color: u32,
    to_color: u32,
    background: u32,
}

@group(0) @binding(0) var<uniform> parameters: Parameters;
// Colours as bytes, four in a word; every grid begins at a word.
@group(0) @binding(1) var<storage, read> cells: array<u32>;
@group(0) @binding(2) var<storage, read> lanes: array<Lane>;
@group(0) @binding(3) var<storage, read_write> out: array<u32>;

const N_THREADS = 64u;
// As many labels as fit in the workgroup memory of every device, 16 KiB.
const N_CELLS_MAX = 4032u;

const HMIRROR = 0u;
const VMIRROR = 1u;
const DMIRROR = 2u;
const CMIRROR = 3u;
const ROT90 = 4u;
const ROT180 = 5u;
const ROT270 = 6u;
const REPLACE = 7u;

fn n_cells(lane: Lane) -> u32 {
    return min(lane.height * lane.width, N_CELLS_MAX);
}

fn color(lane: Lane, cell: u32) -> u32 {
    return (cells[lane.cells_at + cell / 4u] >> ((cell % 4u) * 8u)) & 0xFFu;
}

// Mirrors, rotations and replaced colours: a thread makes whole words.
@compute @workgroup_size(64)
fn move_cells(
    @builtin(workgroup_id) group_id: vec3<u32>,
    @builtin(num_workgroups) n_groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let lane_idx = group_id.x + group_id.y * n_groups.x;
    if (lane_idx >= parameters.n_lanes) {
        return;
    }
    let lane = lanes[lane_idx];
    let n = n_cells(lane);
    for (var word = thread; word * 4u < n; word += N_THREADS) {
        var four = 0u;
        for (var k = 0u; k < 4u; k++) {
            let cell = word * 4u + k;
            if (cell < n) {
                four |= moved_color(lane, cell) << (k * 8u);
            }
        }
        out[lane.out_at + word] = four;
    }
}

// The colour of a cell of the result.
fn moved_color(lane: Lane, cell: u32) -> u32 {
    let h = lane.height;
    let w = lane.width;
    // (i, j) in a result with the same sides, (p, q) in one whose sides are exchanged.
    let i = cell / w;
    let j = cell % w;
    let p = cell / h;
    let q = cell % h;
    switch lane.operation {
        case HMIRROR: { return color(lane, (h - 1u - i) * w + j); }
        case VMIRROR: { return color(lane, i * w + (w - 1u - j)); }
        case DMIRROR: { return color(lane, q * w + p); }
        case CMIRROR: { return color(lane, (h - 1u - q) * w + (w - 1u - p)); }
        case ROT90: { return color(lane, (h - 1u - q) * w + p); }
        case ROT180: { return color(lane, (h - 1u - i) * w + (w - 1u - j)); }
        case ROT270: { return color(lane, q * w + (w - 1u - p)); }
        default: {
            let own = color(lane, cell);
            return select(own, lane.to_color, own == lane.from_color);
        }
    }
}

var<workgroup> counters: array<atomic<u32>, 256>;

// How often each of the 256 colours occurs, two counts in a word.
@compute @workgroup_size(64)
fn count_colors(
    @builtin(workgroup_id) group_id: vec3<u32>,
    @builtin(num_workgroups) n_groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let lane_idx = group_id.x + group_id.y * n_groups.x;
    if (lane_idx >= parameters.n_lanes) {
        return;
    }
    let lane = lanes[lane_idx];
    for (var k = thread; k < 256u; k += N_THREADS) {
        atomicStore(&counters[k], 0u);
    }
    workgroupBarrier();
    let n = n_cells(lane);
    for (var cell = thread; cell < n; cell += N_THREADS) {
        atomicAdd(&counters[color(lane, cell)], 1u);
    }
    workgroupBarrier();
    for (var k = thread; k < 128u; k += N_THREADS) {
        let pair = atomicLoad(&counters[2u * k]) | (atomicLoad(&counters[2u * k + 1u]) << 16u);
        out[lane.out_at + k] = pair;
    }
}

const NO_LABEL = 0xFFFFu;

// Union-find: each cell points to an earlier cell of its component; the root points to itself.
var<workgroup> leads_to: array<atomic<u32>, 4032>;

// The components of a grid in four ways: of equal colour (the first word of a cell) and of all
// that is not background (the second one), without diagonals (the lower half) and with them.
@compute @workgroup_size(64)
fn label_components(
    @builtin(workgroup_id) group_id: vec3<u32>,
    @builtin(num_workgroups) n_groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let lane_idx = group_id.x + group_id.y * n_groups.x;
    if (lane_idx >= parameters.n_lanes) {
        return;
    }
    let lane = lanes[lane_idx];
    let n = n_cells(lane);
    let w = lane.width;
    for (var way = 0u; way < 4u; way++) {
        let is_diagonal = (way & 1u) == 1u;
        for (var cell = thread; cell < n; cell += N_THREADS) {
            atomicStore(&leads_to[cell], cell);
        }
        workgroupBarrier();
        for (var cell = thread; cell < n; cell += N_THREADS) {
            let j = cell % w;
            let is_below = cell >= w;
            if (j > 0u) {
                join_if_linked(lane, way, cell, cell - 1u);
            }
            if (is_below) {
                join_if_linked(lane, way, cell, cell - w);
            }
            if (is_below && is_diagonal && j > 0u) {
                join_if_linked(lane, way, cell, cell - w - 1u);
            }
            if (is_below && is_diagonal && j + 1u < w) {
                join_if_linked(lane, way, cell, cell - w + 1u);
            }
        }
        workgroupBarrier();
        for (var cell = thread; cell < n; cell += N_THREADS) {
            var label = first_of(cell);
            if (way >= 2u && color(lane, cell) == lane.background) {
                label = NO_LABEL;
            }
            let at = lane.out_at + 2u * cell + way / 2u;
            if (is_diagonal) {
                out[at] |= label << 16u;
            } else {
                out[at] = label;
            }
        }
        workgroupBarrier();
    }
}

fn join_if_linked(lane: Lane, way: u32, a: u32, b: u32) {
    let a_color = color(lane, a);
    let b_color = color(lane, b);
    let is_linked = select(
        a_color != lane.background && b_color != lane.background,
        a_color == b_color,
        way < 2u,
    );
    if (is_linked) {
        join(a, b);
    }
}

// Joins the components of two cells. The later of the two roots is pointed to the earlier one. If
// another thread has pointed it elsewhere in the meantime, that cell is joined as well. The later
// of the two cells moves towards the start in every round, so there are no more rounds than cells.
fn join(a: u32, b: u32) {
    var x = first_of(a);
    var y = first_of(b);
    for (var round = 0u; round < N_CELLS_MAX && x != y; round++) {
        let later = max(x, y);
        let earlier = min(x, y);
        let led_to = atomicMin(&leads_to[later], earlier);
        if (led_to == later) {
            return;
        }
        x = first_of(led_to);
        y = first_of(earlier);
    }
}

fn first_of(cell: u32) -> u32 {
    var at = cell;
    for (var step = 0u; step < N_CELLS_MAX; step++) {
        let next = atomicLoad(&leads_to[at]);
        if (next == at) {
            break;
        }
        at = next;
    }
    return at;
}
