//! Numbers of texts that were looked up before, by where they are.

use datafusion::arrow::array::StringViewArray;
use datafusion::arrow::buffer::Buffer;

/// Remembers the numbers of some views of text.
///
/// Parquet holds a column of few distinct texts as a dictionary: each row is then the same view, of
/// the same bytes, as all others with that text. Equal views into the same buffers are equal texts,
/// and need no look at them. The buffers are held on to, so that no others can come to be at their
/// address; with other buffers all is forgotten.
///
/// One view is remembered for each of 4096 slots. What is not remembered is looked up by its bytes.
#[derive(Debug)]
pub(super) struct ViewMemo {
    buffers: Vec<Buffer>,
    views: Vec<u128>,
    numbers: Vec<u32>,
}

const SLOTS: usize = 1 << 12;

/// No view: texts are shorter than `2^32 - 1` bytes.
const NO_VIEW: u128 = u128::MAX;

impl ViewMemo {
    pub(super) fn new() -> Self {
        Self { buffers: Vec::new(), views: Vec::new(), numbers: Vec::new() }
    }

    /// Forgets what it knows unless these texts are in the same buffers as those before.
    pub(super) fn turn_to(&mut self, texts: &StringViewArray) {
        let buffers = texts.data_buffers();
        let are_same = self.buffers.len() == buffers.len()
            && self
                .buffers
                .iter()
                .zip(buffers)
                .all(|(one, other)| one.as_ptr() == other.as_ptr() && one.len() == other.len());
        if !are_same || self.views.is_empty() {
            self.buffers = buffers.to_vec();
            self.views.clear();
            self.views.resize(SLOTS, NO_VIEW);
            self.numbers.resize(SLOTS, 0);
        }
    }

    /// The slot of a view, and its number if it is remembered.
    #[inline(always)]
    pub(super) fn get(&self, view: u128) -> (usize, Option<u32>) {
        // Views into a dictionary differ in where they start, in the highest 32 bits, those of
        // short texts anywhere.
        let mixed = (view as u64 ^ (view >> 64) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let slot = (mixed >> 52) as usize & (SLOTS - 1);
        (slot, (self.views[slot] == view).then(|| self.numbers[slot]))
    }

    pub(super) fn put(&mut self, slot: usize, view: u128, number: u32) {
        self.views[slot] = view;
        self.numbers[slot] = number;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_buffers_are_other_texts() {
        let text = |n: u32| format!("a text that is not short, number {n}");
        let texts = StringViewArray::from_iter_values((0..10).map(text));
        let mut memo = ViewMemo::new();
        memo.turn_to(&texts);
        for (number, &view) in texts.views().iter().enumerate() {
            let (slot, known) = memo.get(view);
            assert_eq!(known, None);
            memo.put(slot, view, number as u32);
            assert_eq!(memo.get(view), (slot, Some(number as u32)));
        }
        // A part of the same texts, in the same buffers.
        let part = texts.slice(3, 2);
        memo.turn_to(&part);
        assert_eq!(memo.get(part.views()[0]).1, Some(3));
        // The same views of other texts.
        let others = StringViewArray::from_iter_values(
            (10..20).map(text).map(|text| text.replace("number 1", "number ")),
        );
        memo.turn_to(&others);
        assert_eq!(memo.get(part.views()[0]).1, None);
    }

    #[test]
    fn short_texts_are_remembered_whatever_the_batch() {
        let texts = |n: u32| StringViewArray::from_iter_values([format!("text {n}")]);
        let mut memo = ViewMemo::new();
        memo.turn_to(&texts(1));
        let view = texts(1).views()[0];
        let (slot, _) = memo.get(view);
        memo.put(slot, view, 7);
        memo.turn_to(&texts(2));
        assert_eq!(memo.get(view).1, Some(7));
        assert_eq!(memo.get(texts(2).views()[0]).1, None);
    }
}
