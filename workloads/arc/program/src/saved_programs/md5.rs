//! MD5, after which the tools of tokpidjin name files. It protects nothing.

/// The MD5 of a text, in hex.
pub(super) fn md5_hex(text: &str) -> String {
    let mut message = text.as_bytes().to_vec();
    let n_bits = 8 * message.len() as u64;
    message.push(0x80);
    // The length takes the last eight bytes of a block.
    while message.len() % 64 != 56 {
        message.push(0);
    }
    message.extend(n_bits.to_le_bytes());
    let mut state: [u32; 4] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    for block in message.chunks_exact(64) {
        add_block(&mut state, block);
    }
    let bytes = state.iter().flat_map(|word| word.to_le_bytes());
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

/// The rotations of the four rounds.
const ROTATIONS: [[u32; 4]; 4] =
    [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];

fn add_block(state: &mut [u32; 4], block: &[u8]) {
    let word = |k: usize| u32::from_le_bytes([0, 1, 2, 3].map(|n| block[4 * k + n]));
    let [mut a, mut b, mut c, mut d] = *state;
    for step in 0..64 {
        let (mixed, at) = match step / 16 {
            0 => ((b & c) | (!b & d), step),
            1 => ((d & b) | (!d & c), (5 * step + 1) % 16),
            2 => (b ^ c ^ d, (3 * step + 5) % 16),
            _ => (c ^ (b | !d), (7 * step) % 16),
        };
        let constant = (((step + 1) as f64).sin().abs() * 4_294_967_296.0) as u32;
        let sum = a.wrapping_add(mixed).wrapping_add(constant).wrapping_add(word(at));
        let turned = sum.rotate_left(ROTATIONS[step / 16][step % 4]);
        (a, d, c, b) = (d, c, b, b.wrapping_add(turned));
    }
    for (sum, new) in state.iter_mut().zip([a, b, c, d]) {
        *sum = sum.wrapping_add(new);
    }
}

#[cfg(test)]
mod tests {
    use super::md5_hex;

    /// The test suite of RFC 1321, and lengths around the end of a block.
    #[test]
    fn hashes_are_those_of_the_standard() {
        let digits = "1234567890".repeat(8);
        for (text, hash) in [
            ("", "d41d8cd98f00b204e9800998ecf8427e"),
            ("a", "0cc175b9c0f1b6a831c399e269772661"),
            ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
            (digits.as_str(), "57edf4a22be3c955ac49da2e2107b67a"),
            (&digits[..55], "c9ccf168914a1bcfc3229f1948e67da0"),
            (&digits[..56], "49f193adce178490e34d1b3a4ec0064c"),
            (&digits[..63], "c3eb67ece68488bb394241d4f6a54244"),
            (&digits[..64], "eb6c4179c0a7c82cc2828c1e6338e165"),
        ] {
            assert_eq!(md5_hex(text), hash, "{} bytes", text.len());
        }
    }
}
