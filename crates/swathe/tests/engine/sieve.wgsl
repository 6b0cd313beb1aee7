// The sums of the primes in every row of padded fields.

struct Parameters {
    n_rows: u32,
    n_columns: u32,
}

@group(0) @binding(0) var<uniform> parameters: Parameters;
@group(0) @binding(1) var<storage, read> cells: array<u32>;
@group(0) @binding(2) var<storage, read_write> sums: array<u32>;

fn is_prime(n: u32) -> bool {
    if (n < 2u) {
        return false;
    }
    for (var d = 2u; d <= 64u; d++) {
        if (d * d > n) {
            break;
        }
        if (n % d == 0u) {
            return false;
        }
    }
    return true;
}

@compute @workgroup_size(64)
fn sum_primes(
    @builtin(workgroup_id) group_id: vec3<u32>,
    @builtin(num_workgroups) n_groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let row = (group_id.x + group_id.y * n_groups.x) * 64u + lane;
    if (row >= parameters.n_rows) {
        return;
    }
    var sum = 0u;
    for (var k = 0u; k < parameters.n_columns; k++) {
        let n = cells[row * parameters.n_columns + k];
        if (is_prime(n)) {
            sum += n;
        }
    }
    sums[row] = sum;
}
