// Maps over the bits of IEEE numbers.
//
// A device may flush subnormal numbers to zero and assume that there is no NaN and no infinity. So
// numbers are words here, and float arithmetic is used only if operands and results are normal:
// then sums and products are rounded correctly on every device.

struct Parameters {
    n_words: u32,
    operation: u32,
    scalar: u32,
}

@group(0) @binding(0) var<uniform> parameters: Parameters;
@group(0) @binding(1) var<storage, read_write> data: array<u32>;
@group(0) @binding(2) var<storage, read> operands: array<u32>;

const N_BLOCK = 1024u;
const N_THREADS = 256u;

const ADD = 0u;
const MULTIPLY = 1u;
const SQUARE = 2u;
const SQRT = 3u;
const EXP = 4u;
const LOG = 5u;
const ABS = 6u;
const NEGATE = 7u;

const SIGN = 0x80000000u;
const FRACTION = 0x007FFFFFu;
const ONE = 0x3F800000u;
const INFINITY = 0x7F800000u;
const NAN = 0x7FC00000u;
const LEAST_NORMAL = 0x00800000u;

@compute @workgroup_size(256)
fn map_scalar(
    @builtin(workgroup_id) group_id: vec3<u32>,
    @builtin(num_workgroups) n_groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let first = (group_id.x + group_id.y * n_groups.x) * N_BLOCK + thread;
    for (var k = 0u; k < N_BLOCK; k += N_THREADS) {
        let word = first + k;
        if (word < parameters.n_words) {
            data[word] = mapped(data[word], parameters.scalar);
        }
    }
}

@compute @workgroup_size(256)
fn map_pairs(
    @builtin(workgroup_id) group_id: vec3<u32>,
    @builtin(num_workgroups) n_groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let first = (group_id.x + group_id.y * n_groups.x) * N_BLOCK + thread;
    for (var k = 0u; k < N_BLOCK; k += N_THREADS) {
        let word = first + k;
        if (word < parameters.n_words) {
            data[word] = mapped(data[word], operands[word]);
        }
    }
}

fn mapped(x: u32, operand: u32) -> u32 {
    switch parameters.operation {
        case ADD: { return sum(x, operand); }
        case MULTIPLY: { return product(x, operand); }
        case SQUARE: { return product(x, x); }
        case SQRT: { return root(x); }
        case EXP: { return exponential(x); }
        case LOG: { return logarithm(x); }
        case ABS: { return x & ~SIGN; }
        default: { return x ^ SIGN; }
    }
}

fn is_nan(x: u32) -> bool {
    return (x & ~SIGN) > INFINITY;
}

fn is_zero(x: u32) -> bool {
    return (x << 1u) == 0u;
}

fn exponent_field(x: u32) -> u32 {
    return (x >> 23u) & 0xFFu;
}

fn sum(x: u32, y: u32) -> u32 {
    if (is_nan(x) || is_nan(y)) {
        return NAN;
    }
    let x_field = exponent_field(x);
    let y_field = exponent_field(y);
    let field = max(x_field, y_field);
    if (field == 255u) {
        if (x_field == y_field && x != y) {
            return NAN;
        }
        return select(y, x, x_field == 255u);
    }
    // If the larger operand is near an end of the range, both are scaled by a power of two, so that
    // neither they nor the sum leave the range of normal numbers. Otherwise a subnormal operand is
    // too small to matter.
    var shift = 0;
    if (field < 64u) {
        shift = 64;
    } else if (field > 251u) {
        shift = -64;
    }
    let moved = bitcast<u32>(moved_by(x, shift) + moved_by(y, shift));
    if (is_zero(moved)) {
        return x & y & SIGN;
    }
    // A sum below the normal numbers is exact, so only one rounding takes place.
    let exponent = i32(exponent_field(moved)) - 150 - shift;
    return rounded(moved & SIGN, (moved & FRACTION) | LEAST_NORMAL, exponent);
}

// x times a power of two, if the product is normal; otherwise zero.
fn moved_by(x: u32, shift: i32) -> f32 {
    let field = i32(exponent_field(x));
    if (field == 0) {
        let digits = x & FRACTION;
        if (digits == 0u || shift <= 0) {
            return 0.0;
        }
        let whole = bitcast<u32>(f32(digits));
        return bitcast<f32>((x & SIGN) | (whole + bitcast<u32>((shift - 149) * 0x800000)));
    }
    if (field + shift <= 0) {
        return 0.0;
    }
    return bitcast<f32>(x + bitcast<u32>(shift * 0x800000));
}

fn product(x: u32, y: u32) -> u32 {
    if (is_nan(x) || is_nan(y)) {
        return NAN;
    }
    let sign = (x ^ y) & SIGN;
    let x_field = exponent_field(x);
    let y_field = exponent_field(y);
    if (x_field == 255u || y_field == 255u) {
        return select(sign | INFINITY, NAN, is_zero(x) || is_zero(y));
    }
    if (is_zero(x) || is_zero(y)) {
        return sign;
    }
    let field = x_field + y_field;
    if (x_field > 0u && y_field > 0u && field >= 127u + 2u && field <= 127u + 252u) {
        return bitcast<u32>(bitcast<f32>(x) * bitcast<f32>(y));
    }
    let a = digits_of(x);
    let b = digits_of(y);
    // 24 bits times 24 bits, as two halves of 24.
    let a_low = a.digits & 0xFFFu;
    let a_high = a.digits >> 12u;
    let b_low = b.digits & 0xFFFu;
    let b_high = b.digits >> 12u;
    let middle = a_high * b_low + a_low * b_high + ((a_low * b_low) >> 12u);
    let high = a_high * b_high + (middle >> 12u);
    let low = (a.digits * b.digits) & 0xFFFFFFu;
    // The first 30 of them; the last bit is set if any bit after it is.
    let first = (high << 6u) | (low >> 18u) | u32((low & 0x3FFFFu) != 0u);
    return rounded(sign, first, a.exponent + b.exponent + 18);
}

// A number other than zero as 24 bits times a power of two.
struct Digits {
    digits: u32,
    exponent: i32,
}

fn digits_of(x: u32) -> Digits {
    let field = i32(exponent_field(x));
    let fraction = x & FRACTION;
    if (field > 0) {
        return Digits(fraction | LEAST_NORMAL, field - 150);
    }
    let n_missing = 23u - firstLeadingBit(fraction);
    return Digits(fraction << n_missing, -149 - i32(n_missing));
}

// The number nearest to digits · 2^exponent; ties go to the even one. The digits are not zero and
// fewer than 32 bits; if there are more than 25, the last bit may stand for all that follow.
fn rounded(sign: u32, digits: u32, exponent: i32) -> u32 {
    let n_over = i32(firstLeadingBit(digits)) - 23;
    let n_dropped = max(n_over, -149 - exponent);
    if (n_dropped > 31) {
        return sign;
    }
    var kept = digits << u32(max(-n_dropped, 0));
    if (n_dropped > 0) {
        kept = digits >> u32(n_dropped);
        let rest = digits & ((1u << u32(n_dropped)) - 1u);
        let half = 1u << u32(n_dropped - 1);
        if (rest > half || (rest == half && (kept & 1u) == 1u)) {
            kept += 1u;
        }
    }
    let field = exponent + n_dropped + 149;
    if (field >= 254) {
        return sign | INFINITY;
    }
    // The leading bit, and a carry from rounding, add to the exponent.
    return sign | ((u32(field) << 23u) + kept);
}

// The correctly rounded root, however accurate the device's own is: the integer root of a whole
// number of 47 or 48 bits, corrected from the device's root, which is a few units away at most.
fn root(x: u32) -> u32 {
    if (is_nan(x)) {
        return NAN;
    }
    if (is_zero(x) || x == INFINITY) {
        return x;
    }
    if ((x & SIGN) != 0u) {
        return NAN;
    }
    let number = digits_of(x);
    // Leaves an even exponent.
    let is_odd = (number.exponent & 1) == 1;
    let n_moved = select(24u, 23u, is_odd);
    let guess = sqrt(f32(number.digits) * select(1.0, 0.5, is_odd)) * 4096.0;
    var digits = u32(guess);
    // The square is so close that the difference of the lower halves is the whole difference.
    var rest = bitcast<i32>((number.digits << n_moved) - digits * digits);
    for (var step = 0; step < 16; step++) {
        if (rest < 0) {
            digits -= 1u;
            rest += i32(2u * digits + 1u);
        } else if (rest > i32(2u * digits)) {
            rest -= i32(2u * digits + 1u);
            digits += 1u;
        }
    }
    if (rest > i32(digits)) {
        digits += 1u;
    }
    return rounded(0u, digits, (number.exponent - i32(n_moved)) / 2);
}

// x = n ln 2 + r, exp(x) = 2^n exp(r). The high part of ln 2 has so few bits that n times it is
// exact, and so is its difference from x, whether or not the device fuses the two.
fn exponential(x: u32) -> u32 {
    if (is_nan(x)) {
        return x | 0x00400000u;
    }
    let magnitude = x & ~SIGN;
    let is_negative = (x & SIGN) != 0u;
    // 104 and 89.
    if (magnitude >= select(0x42B20000u, 0x42D00000u, is_negative)) {
        return select(INFINITY, 0u, is_negative);
    }
    // 2^-27
    if (magnitude < 0x32000000u) {
        return ONE;
    }
    let f = bitcast<f32>(x);
    let n = round(f * 1.4426950408889634);
    var r = f - n * 0.693359375;
    r = r - n * -2.12194440e-4;
    var p = 1.3933686e-3;
    p = fma(p, r, 8.369184e-3);
    p = fma(p, r, 4.1666463e-2);
    p = fma(p, r, 0.16666505);
    p = fma(p, r, 0.5);
    p = fma(p, r, 1.0);
    let y = bitcast<u32>(fma(p, r, 1.0));
    let exponent = i32(exponent_field(y)) - 150 + i32(n);
    return rounded(0u, (y & FRACTION) | LEAST_NORMAL, exponent);
}

// x = 2^e (1 + r), log(x) = e ln 2 + log(1 + r), with 1 + r between the roots of 1/2 and 2.
fn logarithm(x: u32) -> u32 {
    if (is_nan(x)) {
        return x | 0x00400000u;
    }
    if (is_zero(x)) {
        return SIGN | INFINITY;
    }
    if ((x & SIGN) != 0u) {
        return NAN;
    }
    if (x == INFINITY) {
        return INFINITY;
    }
    if (x == ONE) {
        return 0u;
    }
    const SQRT_HALF = 0x3F3504F3u;
    let number = digits_of(x);
    let normal = bitcast<u32>(f32(number.digits)) + (ONE - SQRT_HALF);
    let e = f32(i32(normal >> 23u) - 127 + number.exponent);
    let r = bitcast<f32>((normal & FRACTION) + SQRT_HALF) - 1.0;
    var q = -7.673641e-2;
    q = fma(q, r, 0.12722673);
    q = fma(q, r, -0.13127555);
    q = fma(q, r, 0.14204855);
    q = fma(q, r, -0.16626646);
    q = fma(q, r, 0.20001234);
    q = fma(q, r, -0.2500078);
    q = fma(q, r, 0.3333333);
    q = fma(q, r, -0.49999997);
    // e times the high part of ln 2 is exact; the rounding error of adding r is added back later.
    let whole = e * 0.69314575;
    let high = whole + r;
    let lost = r - (high - whole);
    let low = fma(e, 1.4286068e-6, lost);
    return bitcast<u32>(high + fma(r * r, q, low));
}
