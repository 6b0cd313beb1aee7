// Wrapping and shifting integers, and a sum in a workgroup's shared memory.

struct Parameters {
    n_words: u32,
}

@group(0) @binding(0) var<uniform> parameters: Parameters;
@group(0) @binding(1) var<storage, read> words: array<u32>;
@group(0) @binding(2) var<storage, read_write> mixed: array<u32>;
@group(0) @binding(3) var<storage, read_write> sums: array<f32>;

var<workgroup> partial: array<f32, 64>;

@compute @workgroup_size(64)
fn mix_and_sum(
    @builtin(workgroup_id) group_id: vec3<u32>,
    @builtin(num_workgroups) n_groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let group = group_id.x + group_id.y * n_groups.x;
    let k = group * 64u + lane;
    var value = 0.0;
    if (k < parameters.n_words) {
        let word = words[k];
        mixed[k] = ((word * 0x9E3779B9u) >> 7u) ^ ((word << 5u) | (word >> 27u));
        value = f32(word & 0xFFFu);
    }
    partial[lane] = value;
    workgroupBarrier();
    for (var width = 32u; width > 0u; width >>= 1u) {
        if (lane < width) {
            partial[lane] += partial[lane + width];
        }
        workgroupBarrier();
    }
    if (lane == 0u && k < parameters.n_words) {
        sums[group] = partial[0];
    }
}
