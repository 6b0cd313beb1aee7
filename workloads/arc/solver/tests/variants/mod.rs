//! Variants of programs: words replaced by others of the same kind, as generators of programs do.

/// Words that can stand for each other.
const KINDS: [&[&str]; 6] = [
    &[
        "ZERO", "ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX", "SEVEN", "EIGHT", "NINE", "TEN",
        "NEG_ONE", "NEG_TWO",
    ],
    &["T", "F"],
    &[
        "UP",
        "DOWN",
        "LEFT",
        "RIGHT",
        "ORIGIN",
        "UNITY",
        "NEG_UNITY",
        "UP_RIGHT",
        "DOWN_LEFT",
        "TWO_BY_TWO",
        "THREE_BY_THREE",
    ],
    &[
        "hmirror", "vmirror", "dmirror", "cmirror", "rot90", "rot180", "rot270", "tophalf",
        "lefthalf", "compress", "trim",
    ],
    &["box", "inbox", "outbox", "delta", "backdrop", "corners", "toindices"],
    &["size", "height", "width", "leftmost", "rightmost", "uppermost", "lowermost", "numcolors"],
];

/// This many programs, the given ones first, then variants of them in which about one word in 20 is another.
pub(crate) fn variants(text: &str, n_programs: usize, seed: u64) -> String {
    let bodies: Vec<&str> = text
        .split("\ndef ")
        .skip(1)
        .map(|program| {
            let body = &program[program.find('\n').expect("a body") + 1..];
            body.split("\n\n").next().expect("a body")
        })
        .collect();
    let mut state = seed;
    let mut roll = move |n: usize| {
        // SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    };
    let mut all = String::new();
    for k in 0..n_programs {
        all += &format!("def v{k}(I):\n");
        let (body, is_given) = match bodies.get(k) {
            Some(body) => (body, true),
            None => (&bodies[roll(bodies.len())], false),
        };
        for piece in body.split_inclusive(|c: char| !(c.is_alphanumeric() || c == '_')) {
            let word = piece.trim_end_matches(|c: char| !(c.is_alphanumeric() || c == '_'));
            let kind = KINDS.iter().find(|kind| kind.contains(&word));
            match kind.filter(|_| !is_given && roll(20) == 0) {
                Some(kind) => all += &piece.replace(word, kind[roll(kind.len())]),
                None => all += piece,
            }
        }
        all += "\n";
    }
    all
}
