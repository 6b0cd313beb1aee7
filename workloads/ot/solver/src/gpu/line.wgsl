// The sum over a line: for pixel i, Σ_j 2^(L_j - C(|i - j|)), as a scale of about one times a
// power of two. Sources and costs are split in the same way, so that a term is a product, a
// difference of integers and a shift, and nothing can overflow or cancel.
//
// From a pixel outside of a segment, distances are near + k, and C(near + k) = C(near) +
// 2c·near·k + C(k). The segment's terms are therefore a polynomial in 2^(-2c·near). Its
// coefficients, relative to the segment's largest source, are the same for all pixels. Unless the
// kernel is sharp they also serve the pixels inside of the segment, with near below 0. Where the
// polynomial leaves f32's range, the terms are summed one by one.

const SEGMENT: u32 = 16u;
const N_SEGMENTS: u32 = 32u;
// Segments that are this many bits below the sum are omitted.
const REACH_BITS: i32 = 40;
// 2^-80: terms that underflow in a segment's polynomial are negligible next to a value above this.
const SOUND: f32 = 8.271806125530277e-25;
// 2^-40, and the most bits across a segment: the same limits for a pixel inside of the segment.
const SOUND_INSIDE: f32 = 9.094947017729282e-13;
const INSIDE_BITS: i32 = 50;

var<workgroup> source_whole: array<i32, LINE_MAX>;
var<workgroup> source_scale: array<f32, LINE_MAX>;
var<workgroup> cost_whole: array<i32, LINE_MAX>;
var<workgroup> cost_scale: array<f32, LINE_MAX>;
// 2^(-2c·d).
var<workgroup> falls: array<f32, LINE_MAX>;
// 2^(2c·d).
var<workgroup> rises: array<f32, SEGMENT>;
// Coefficients of each segment for pixels before it, then of each segment for pixels behind it.
var<workgroup> coefficients: array<f32, 1024>;
// The largest exponent of each segment's sources.
var<workgroup> segment_top: array<i32, N_SEGMENTS>;

struct Scaled {
    whole: i32,
    scale: f32,
}

// The length of a line, rounded up to whole segments. Nothing beyond is read.
fn in_segments(n: u32) -> u32 {
    return min((n + SEGMENT - 1u) / SEGMENT * SEGMENT, LINE_MAX);
}

// Converts a cost in bits of the last ε to bits of 2^stage times that ε.
fn at_stage(cost: Bits, stage: u32) -> Bits {
    let rest = f32(cost.whole & ((1 << stage) - 1)) + cost.part;
    return settled(cost.whole >> stage, rest * power_of_whole(-i32(stage)));
}

// Sets the cost of a distance and the factors for its slope.
fn set_cost(d: u32, packed: vec4<i32>, stage: u32) {
    let cost = at_stage(unpack(packed.xy), stage);
    cost_whole[d] = cost.whole;
    cost_scale[d] = power_of_part(-cost.part);
    let slope = at_stage(unpack(packed.zw), stage);
    falls[d] = scaled_down(power_of_part(-slope.part), -slope.whole);
    if (d < SEGMENT) {
        rises[d] = power_of_part(slope.part) * power_of_whole(slope.whole);
    }
}

fn set_no_cost(d: u32) {
    cost_whole[d] = 0;
    cost_scale[d] = 0.0;
    falls[d] = 0.0;
}

fn set_source(j: u32, whole: i32, scale: f32) {
    source_whole[j] = whole;
    source_scale[j] = scale;
}

// v·2^e for e of at most 0; 0 below the normal numbers.
fn scaled_down(v: f32, e: i32) -> f32 {
    return select(0.0, v * power_of_whole(e), e > -120);
}

// All threads must call this once costs and sources are set.
fn cut_segments(thread: u32, n: u32) {
    workgroupBarrier();
    if (thread * SEGMENT < n) {
        var top = DEAD;
        for (var k = 0u; k < SEGMENT; k++) {
            top = max(top, source_whole[thread * SEGMENT + k]);
        }
        segment_top[thread] = top;
    }
    workgroupBarrier();
    for (var m = 0u; m < per_thread(in_segments(n)); m++) {
        let j = thread + m * N_THREADS;
        if (j < in_segments(n)) {
            let first = j / SEGMENT * SEGMENT;
            let k = j - first;
            let back = SEGMENT - 1u - k;
            let e = max(source_whole[j] - segment_top[j / SEGMENT], -200);
            let scale = source_scale[j];
            coefficients[j] = scaled_down(scale * cost_scale_of(k, n), e - cost_whole_of(k, n));
            coefficients[LINE_MAX + first + back] =
                scaled_down(scale * cost_scale_of(back, n), e - cost_whole_of(back, n));
        }
    }
    workgroupBarrier();
}

// A line shorter than a segment has costs for fewer distances than the segment has.
fn cost_whole_of(d: u32, n: u32) -> i32 {
    return select(1000, cost_whole[min(d, n - 1u)], d < n);
}

fn cost_scale_of(d: u32, n: u32) -> f32 {
    return select(0.0, cost_scale[min(d, n - 1u)], d < n);
}

// The least distance of pixel i from a segment.
fn nearest(i: u32, first: u32) -> u32 {
    let last = first + SEGMENT - 1u;
    return select(select(0u, i - last, i > last), first - i, i < first);
}

fn apart(i: u32, j: u32) -> u32 {
    return select(j - i, i - j, i > j);
}

fn normalised(whole: i32, v: f32) -> Scaled {
    let word = bitcast<u32>(v);
    let scale = bitcast<f32>((word & 0x7FFFFFu) | 0x3F800000u);
    return Scaled(whole + i32(word >> 23u) - 127, scale);
}

// A segment's part of the sum at pixel i, or zero if it is below 2^least.
fn segment_sum(i: u32, first: u32, bound: i32, least: i32, inside_too: bool) -> Scaled {
    let near = nearest(i, first);
    let is_inside = near == 0u;
    if (!is_inside || inside_too) {
        // From the nearer end.
        let within = select(0u, i - first, is_inside);
        let before = select(i < first, within < SEGMENT / 2u, is_inside);
        let to_end = select(SEGMENT - 1u - within, within, before);
        let at = select(LINE_MAX + first, first, before);
        let ratio = select(falls[near], rises[to_end], is_inside);
        var v = 0.0;
        for (var k = 0u; k < SEGMENT; k++) {
            v = v * ratio + coefficients[at + SEGMENT - 1u - k];
        }
        if (is_inside) {
            v = v * cost_scale[to_end] * power_of_whole(-cost_whole[to_end]);
        } else {
            v = v * cost_scale[near];
        }
        if (v > select(SOUND, SOUND_INSIDE, is_inside)) {
            return normalised(bound, v);
        }
    }
    var most = NEARLY_DEAD;
    for (var k = 0u; k < SEGMENT; k++) {
        let j = first + k;
        most = max(most, source_whole[j] - cost_whole[apart(i, j)]);
    }
    if (most <= NEARLY_DEAD || most < least) {
        return Scaled(DEAD, 0.0);
    }
    var v = 0.0;
    for (var k = 0u; k < SEGMENT; k++) {
        let j = first + k;
        let d = apart(i, j);
        let e = source_whole[j] - cost_whole[d] - most;
        v += source_scale[j] * cost_scale[d] * power_of_whole(e);
    }
    return normalised(most, v);
}

fn line_sum(i: u32, n: u32) -> Scaled {
    let n_segments = in_segments(n) / SEGMENT;
    let inside_too = n >= SEGMENT && cost_whole[min(n, SEGMENT) - 1u] <= INSIDE_BITS;
    // The segment with the largest bound comes first, so that more of the others can be omitted.
    var best = 0u;
    var best_bound = NEARLY_DEAD;
    for (var t = 0u; t < n_segments; t++) {
        let bound = segment_top[t] - cost_whole[nearest(i, t * SEGMENT)];
        if (bound > best_bound) {
            best = t;
            best_bound = bound;
        }
    }
    if (best_bound <= NEARLY_DEAD) {
        return Scaled(DEAD, 0.0);
    }
    var all = segment_sum(i, best * SEGMENT, best_bound, NEARLY_DEAD, inside_too);
    for (var t = 0u; t < n_segments; t++) {
        let first = t * SEGMENT;
        let bound = segment_top[t] - cost_whole[nearest(i, first)];
        let least = max(all.whole - REACH_BITS, NEARLY_DEAD);
        if (t != best && bound >= least) {
            let more = segment_sum(i, first, bound, least, inside_too);
            if (more.whole > all.whole) {
                all = Scaled(more.whole, more.scale + scaled_down(all.scale, all.whole - more.whole));
            } else {
                all.scale += scaled_down(more.scale, more.whole - all.whole);
            }
        }
    }
    return normalised(all.whole, all.scale);
}
