//! A bit set of vertices.

/// A set of numbers below a fixed bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BitSet {
    words: Vec<u64>,
}

impl BitSet {
    /// The empty set of numbers below `bound`.
    pub(super) fn new(bound: u64) -> Self {
        Self { words: vec![0; bound.div_ceil(64) as usize] }
    }

    /// Adds a number and returns whether it is new.
    pub(super) fn insert(&mut self, number: u32) -> bool {
        let word = &mut self.words[number as usize / 64];
        let bit = 1 << (number % 64);
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    pub(super) fn contains(&self, number: u32) -> bool {
        self.words[number as usize / 64] >> (number % 64) & 1 == 1
    }

    /// The numbers below `bound` that are not members, ascending.
    pub(super) fn absent(&self, bound: u64) -> impl Iterator<Item = u32> + '_ {
        members(self.words.iter().map(|&word| !word)).take_while(move |&n| u64::from(n) < bound)
    }

    /// The members, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        members(self.words.iter().copied())
    }

    /// The words of the set: number `n` is bit `n % 64` of word `n / 64`.
    pub(super) fn words(&self) -> &[u64] {
        &self.words
    }

    pub(super) fn n_bytes(&self) -> u64 {
        size_of_val(self.words.as_slice()) as u64
    }
}

fn members(words: impl Iterator<Item = u64>) -> impl Iterator<Item = u32> {
    words
        .enumerate()
        .flat_map(|(word_idx, word)| ones(word).map(move |bit| word_idx as u32 * 64 + bit))
}

/// The positions of the one bits in a word, ascending.
pub(super) fn ones(mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        (word != 0).then(|| {
            let bit = word.trailing_zeros();
            word &= word - 1;
            bit
        })
    })
}
