//! Memory that begins at a line of the cache.

/// Zeros to begin with, in lines of the cache: what is laid out in 64 bytes that start at a
/// multiple of eight words costs one line, where a vector begins anywhere.
///
/// New memory is asked for as zeros, which the system gives without touching it: room that is not
/// used yet takes none.
#[derive(Debug)]
pub(super) struct Lines {
    words: Vec<u64>,
    /// Where the first line begins.
    start: usize,
    len: usize,
}

/// Words of a line.
pub(super) const LINE: usize = 8;

impl Lines {
    pub(super) fn new() -> Self {
        Self { words: Vec::new(), start: 0, len: 0 }
    }

    /// As many words or more, the new ones zero.
    pub(super) fn grow(&mut self, len: usize) {
        if self.start + len > self.words.len() {
            let words = vec![0_u64; len.next_power_of_two() + LINE];
            // Of no consequence but for speed: the answer may be that it cannot be said.
            let start = words.as_ptr().align_offset(LINE * size_of::<u64>()).min(LINE - 1);
            let old = std::mem::replace(self, Self { words, start, len: 0 });
            self.words[start..start + old.len]
                .copy_from_slice(&old.words[old.start..old.start + old.len]);
        }
        self.len = self.len.max(len);
    }

    #[inline(always)]
    pub(super) fn words(&self) -> &[u64] {
        &self.words[self.start..self.start + self.len]
    }

    #[inline(always)]
    pub(super) fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words[self.start..self.start + self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_where_they_are_and_new_ones_are_zero() {
        let mut lines = Lines::new();
        assert!(lines.words().is_empty());
        let mut expected = Vec::new();
        for len in (1..3000).step_by(7) {
            lines.grow(len);
            expected.resize(len, 0);
            assert_eq!(lines.words(), expected);
            assert_eq!(lines.words().as_ptr().align_offset(64), 0);
            lines.words_mut()[len - 1] = len as u64;
            expected[len - 1] = len as u64;
        }
        lines.grow(5);
        assert_eq!(lines.words(), expected);
    }
}
