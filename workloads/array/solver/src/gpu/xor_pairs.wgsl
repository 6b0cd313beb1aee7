// XORs lanes with operands of their own, which have the same layout as the lanes.

struct Parameters {
    n_words: u32,
}

@group(0) @binding(0) var<uniform> parameters: Parameters;
@group(0) @binding(1) var<storage, read_write> data: array<u32>;
@group(0) @binding(2) var<storage, read> operands: array<u32>;

const N_BLOCK = 1024u;
const N_THREADS = 256u;

@compute @workgroup_size(256)
fn xor_pairs(
    @builtin(workgroup_id) group_id: vec3<u32>,
    @builtin(num_workgroups) n_groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let first = (group_id.x + group_id.y * n_groups.x) * N_BLOCK + thread;
    for (var k = 0u; k < N_BLOCK; k += N_THREADS) {
        let word = first + k;
        if (word < parameters.n_words) {
            data[word] ^= operands[word];
        }
    }
}
