// XORs packed lanes with a key that starts anew in every lane.

struct Parameters {
    n_words: u32,
    n_key: u32,
    seed_low: u32,
    seed_high: u32,
}

@group(0) @binding(0) var<uniform> parameters: Parameters;
@group(0) @binding(1) var<storage, read_write> data: array<u32>;
// The first word of each lane.
@group(0) @binding(2) var<storage, read> starts: array<u32>;
// The lane in which each block begins, and the last lane.
@group(0) @binding(3) var<storage, read> block_lanes: array<u32>;
@group(0) @binding(4) var<storage, read> key: array<u32>;

const N_BLOCK = 1024u;
const N_THREADS = 256u;

// The position of a word in its lane.
fn position(word: u32) -> u32 {
    let block = word / N_BLOCK;
    var low = block_lanes[block];
    var high = block_lanes[block + 1u];
    for (var step = 0u; step < 32u && low < high; step++) {
        let middle = high - (high - low) / 2u;
        if (starts[middle] <= word) {
            low = middle;
        } else {
            high = middle - 1u;
        }
    }
    return word - starts[low];
}

@compute @workgroup_size(256)
fn xor_key(
    @builtin(workgroup_id) group_id: vec3<u32>,
    @builtin(num_workgroups) n_groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let first = (group_id.x + group_id.y * n_groups.x) * N_BLOCK + thread;
    for (var k = 0u; k < N_BLOCK; k += N_THREADS) {
        let word = first + k;
        if (word < parameters.n_words) {
            data[word] ^= key[position(word) % parameters.n_key];
        }
    }
}

@compute @workgroup_size(256)
fn xor_seed(
    @builtin(workgroup_id) group_id: vec3<u32>,
    @builtin(num_workgroups) n_groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let first = (group_id.x + group_id.y * n_groups.x) * N_BLOCK + thread;
    for (var k = 0u; k < N_BLOCK; k += N_THREADS) {
        let word = first + k;
        if (word < parameters.n_words) {
            data[word] ^= stream_number(position(word));
        }
    }
}

// A number of the seed's stream, which has blocks of 512 numbers with a key each.
fn stream_number(idx: u32) -> u32 {
    let block_key = stream_block_key(idx / 512u);
    var z = block_key.x + (idx % 512u) * 0x9E3779B9u;
    z = ((z ^ (z >> 16u)) * 0x21F0AAADu) ^ block_key.y;
    z = (z ^ (z >> 15u)) * 0xD35A2D97u;
    return z ^ (z >> 15u);
}

// 64-bit numbers are pairs, the low half first.
fn stream_block_key(block: u32) -> vec2<u32> {
    let seed = vec2<u32>(parameters.seed_low, parameters.seed_high);
    var z = add64(seed, multiply64(vec2<u32>(block + 1u, 0u), vec2<u32>(0x7F4A7C15u, 0x9E3779B9u)));
    z = multiply64(z ^ shift_right64(z, 30u), vec2<u32>(0x1CE4E5B9u, 0xBF58476Du));
    z = multiply64(z ^ shift_right64(z, 27u), vec2<u32>(0x133111EBu, 0x94D049BBu));
    return z ^ shift_right64(z, 31u);
}

fn add64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let low = a.x + b.x;
    return vec2<u32>(low, a.y + b.y + u32(low < a.x));
}

// Shifts by 1 to 31 bits.
fn shift_right64(a: vec2<u32>, n: u32) -> vec2<u32> {
    return vec2<u32>((a.x >> n) | (a.y << (32u - n)), a.y >> n);
}

fn multiply64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return vec2<u32>(a.x * b.x, multiply_high(a.x, b.x) + a.x * b.y + a.y * b.x);
}

// The upper half of a 64-bit product.
fn multiply_high(a: u32, b: u32) -> u32 {
    let a_low = a & 0xFFFFu;
    let a_high = a >> 16u;
    let b_low = b & 0xFFFFu;
    let b_high = b >> 16u;
    let crossed = a_high * b_low + ((a_low * b_low) >> 16u);
    let crossed_too = a_low * b_high + (crossed & 0xFFFFu);
    return a_high * b_high + (crossed >> 16u) + (crossed_too >> 16u);
}
