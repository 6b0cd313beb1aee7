//! Packs lanes one after the other, as 32-bit words.

/// Packed lanes. Each begins at a word boundary.
pub(super) struct Words {
    pub(super) words: Vec<u32>,
    /// The first word of each lane, and the end of the last one.
    pub(super) starts: Vec<u32>,
}

impl Words {
    /// The number of words that a workgroup of the element-wise kernels processes.
    pub(super) const N_BLOCK: usize = 1024;

    pub(super) fn with_capacity(n_lanes: usize, n_words: usize) -> Words {
        let mut starts = Vec::with_capacity(n_lanes + 1);
        starts.push(0);
        Words { words: Vec::with_capacity(n_words), starts }
    }

    /// Adds a lane.
    pub(super) fn push<T: Packed>(&mut self, data: &[T]) {
        T::pack(data, &mut self.words);
        // The total fits in 32 bits: it was compared with the part of a buffer that a kernel can
        // bind.
        self.starts.push(self.words.len() as u32);
    }

    /// The index of the lane in which each block begins, and that of the last lane.
    pub(super) fn block_lanes(&self) -> Vec<u32> {
        let n_blocks = self.n_blocks();
        let mut lanes = Vec::with_capacity(n_blocks + 1);
        let mut lane = 0;
        for block in 0..n_blocks {
            let word = (block * Self::N_BLOCK) as u32;
            // The last lane that begins here or before: an empty lane begins where the next one
            // does.
            while self.starts[lane + 1] <= word {
                lane += 1;
            }
            lanes.push(lane as u32);
        }
        lanes.push(self.starts.len().saturating_sub(2) as u32);
        lanes
    }

    pub(super) fn n_blocks(&self) -> usize {
        self.words.len().div_ceil(Self::N_BLOCK)
    }
}

/// An element that can be packed into words, in little-endian order on every machine.
pub(super) trait Packed: Sized {
    /// The number of words that so many elements occupy.
    fn n_words(n_elements: usize) -> usize;
    fn pack(data: &[Self], words: &mut Vec<u32>);
    fn unpack(words: &[u32], n_elements: usize) -> Vec<Self>;
}

impl Packed for u8 {
    fn n_words(n_elements: usize) -> usize {
        n_elements.div_ceil(4)
    }

    fn pack(data: &[u8], words: &mut Vec<u32>) {
        let (whole, rest) = data.as_chunks();
        words.extend(whole.iter().map(|&bytes| u32::from_le_bytes(bytes)));
        if !rest.is_empty() {
            let mut last = [0; 4];
            last[..rest.len()].copy_from_slice(rest);
            words.push(u32::from_le_bytes(last));
        }
    }

    fn unpack(words: &[u32], n_elements: usize) -> Vec<u8> {
        let mut data = Vec::with_capacity(n_elements);
        data.extend(words[..n_elements / 4].iter().flat_map(|x| x.to_le_bytes()));
        if let Some(last) = words.get(n_elements / 4) {
            data.extend_from_slice(&last.to_le_bytes()[..n_elements % 4]);
        }
        data
    }
}

impl Packed for u16 {
    fn n_words(n_elements: usize) -> usize {
        n_elements.div_ceil(2)
    }

    fn pack(data: &[u16], words: &mut Vec<u32>) {
        let pairs = data.chunks(2);
        words.extend(pairs.map(|pair| {
            let high = pair.get(1).copied().unwrap_or(0);
            u32::from(pair[0]) | u32::from(high) << 16
        }));
    }

    fn unpack(words: &[u32], n_elements: usize) -> Vec<u16> {
        let halves = words.iter().flat_map(|&x| [x as u16, (x >> 16) as u16]);
        halves.take(n_elements).collect()
    }
}

impl Packed for u32 {
    fn n_words(n_elements: usize) -> usize {
        n_elements
    }

    fn pack(data: &[u32], words: &mut Vec<u32>) {
        words.extend_from_slice(data);
    }

    fn unpack(words: &[u32], _: usize) -> Vec<u32> {
        words.to_vec()
    }
}

impl Packed for u64 {
    fn n_words(n_elements: usize) -> usize {
        2 * n_elements
    }

    fn pack(data: &[u64], words: &mut Vec<u32>) {
        words.extend(data.iter().flat_map(|&x| [x as u32, (x >> 32) as u32]));
    }

    fn unpack(words: &[u32], _: usize) -> Vec<u64> {
        let (pairs, _) = words.as_chunks();
        pairs.iter().map(|&[low, high]| u64::from(low) | u64::from(high) << 32).collect()
    }
}

impl Packed for f32 {
    fn n_words(n_elements: usize) -> usize {
        n_elements
    }

    fn pack(data: &[f32], words: &mut Vec<u32>) {
        words.extend(data.iter().map(|x| x.to_bits()));
    }

    fn unpack(words: &[u32], _: usize) -> Vec<f32> {
        words.iter().map(|&bits| f32::from_bits(bits)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_come_back() {
        for n in [0, 1, 3, 4, 5, 8, 11] {
            let bytes: Vec<u8> = (1..=n as u8).collect();
            let mut words = Vec::new();
            u8::pack(&bytes, &mut words);
            assert_eq!(words.len(), u8::n_words(n));
            assert_eq!(u8::unpack(&words, n), bytes);
        }
        for n in [0, 1, 2, 5] {
            let shorts: Vec<u16> = (0x0102..).take(n).collect();
            let mut words = Vec::new();
            u16::pack(&shorts, &mut words);
            assert_eq!(words.len(), u16::n_words(n));
            assert_eq!(u16::unpack(&words, n), shorts);
        }
        let longs = [0x0123_4567_89ab_cdef, u64::MAX];
        let mut words = Vec::new();
        u64::pack(&longs, &mut words);
        assert_eq!(words[..2], [0x89ab_cdef, 0x0123_4567]);
        assert_eq!(u64::unpack(&words, 2), longs);
    }

    #[test]
    fn blocks_know_their_first_lane() {
        let mut words = Words::with_capacity(0, 0);
        let lengths = [0, 0, 1000, 0, 24, 2048, 0, 1, 5, 0, 0];
        for n in lengths {
            words.push(&vec![0u32; n]);
        }
        // Blocks begin at words 0, 1024, 2048 and 3072.
        assert_eq!(words.block_lanes(), [2, 5, 5, 7, 10]);
        assert_eq!(Words::with_capacity(0, 0).block_lanes(), [0]);
    }
}
