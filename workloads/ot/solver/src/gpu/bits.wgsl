// Logarithms to base 2 as a whole number and a part of at most a half: potentials reach thousands
// of bits, of which f32 alone would keep no more than three digits after the point.

struct Bits {
    whole: i32,
    part: f32,
}

// A pixel without mass: far below all that occurs, far above what would overflow.
const DEAD: i32 = -268435456;
const NEARLY_DEAD: i32 = -134217728;

fn unpack(packed: vec2<i32>) -> Bits {
    return Bits(packed.x, bitcast<f32>(packed.y));
}

fn pack(bits: Bits) -> vec2<i32> {
    return vec2<i32>(bits.whole, bitcast<i32>(bits.part));
}

fn settled(whole: i32, part: f32) -> Bits {
    let carried = floor(part + 0.5);
    return Bits(whole + i32(carried), part - carried);
}

fn sum_of(a: Bits, b: Bits) -> Bits {
    return settled(a.whole + b.whole, a.part + b.part);
}

fn difference(a: Bits, b: Bits) -> f32 {
    return f32(a.whole - b.whole) + (a.part - b.part);
}

// 2^part for parts of at most a half, to 1e-7.
fn power_of_part(part: f32) -> f32 {
    var p = 0.00015370704932138324;
    p = p * part + 0.0013399848248809576;
    p = p * part + 0.009618373587727547;
    p = p * part + 0.05550329014658928;
    p = p * part + 0.24022647738456726;
    p = p * part + 0.6931471824645996;
    return p * part + 1.0;
}

// 2^e, of normal numbers only.
fn power_of_whole(e: i32) -> f32 {
    return bitcast<f32>(u32(clamp(e, -126, 127) + 127) << 23u);
}

// scale·2^(whole + part).
fn power(whole: i32, part: f32, scale: f32) -> f32 {
    let carried = floor(part + 0.5);
    let e = whole + i32(carried);
    return scale * power_of_part(part - carried) * power_of_whole(e);
}

// log2(v) + whole of a positive normal v.
fn log_of(v: f32, whole: i32) -> Bits {
    let word = bitcast<u32>(v);
    var e = i32(word >> 23u) - 127;
    var m = bitcast<f32>((word & 0x7FFFFFu) | 0x3F800000u);
    if (m > 1.41421356) {
        m = 0.5 * m;
        e = e + 1;
    }
    let s = (m - 1.0) / (m + 1.0);
    let q = s * s;
    var series = 0.3205988980;
    series = series * q + 0.4121985831;
    series = series * q + 0.5770780164;
    series = series * q + 0.9617966939;
    series = series * q + 2.8853900818;
    return settled(whole + e, s * series);
}
