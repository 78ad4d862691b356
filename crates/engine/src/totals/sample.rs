//! Values collected for quantiles: a bounded sample of one unit, and the values of a group.

use super::secret_key::SecretKey;

/// At most `max_rows` of the values of one unit in one group, in bounded memory.
///
/// # Which
/// Distinct values are ordered by a keyed hash, and taken in this order, each as often as it
/// occurs, until `max_rows` are taken. Which and how often is a function of how often each value
/// occurs: the order of rows has no part in it.
///
/// # Why bounded memory suffices
/// A value is dropped when values before it occur `max_rows` times. They never occur less often
/// later, so that a dropped value is never part of the choice: every value of the final choice is
/// counted from its first row on.
///
/// Not every row has the same chance if some values occur more often than others; a value does.
/// (For that rows would have to be told apart.)
#[derive(Clone, Debug, Default)]
pub(super) struct Sample {
    /// Hash, value and how often, ascending.
    values: Vec<(u64, i64, u64)>,
    total: u64,
}

impl Sample {
    /// Adds a value, for the unit and group whose hash is `of`.
    pub(super) fn add(&mut self, value: i64, of: u64, key: &SecretKey, max_rows: u32) {
        let hash = key.priority(of, key.word(value as u64));
        match self.values.binary_search_by_key(&(hash, value), |&(hash, value, _)| (hash, value)) {
            Ok(at) => self.values[at].2 += 1,
            Err(at) if at == self.values.len() && self.total >= u64::from(max_rows) => return,
            Err(at) => self.values.insert(at, (hash, value, 1)),
        }
        self.total += 1;
        while let Some(&(_, _, last)) = self.values.last() {
            if self.total - last < u64::from(max_rows) {
                break;
            }
            self.total -= last;
            self.values.pop();
        }
    }

    pub(super) fn clear(&mut self) {
        self.values.clear();
        self.total = 0;
    }

    /// The values that count, and how often.
    pub(super) fn chosen(&self, max_rows: u32) -> impl Iterator<Item = (i64, u64)> {
        let mut room = u64::from(max_rows);
        self.values.iter().map(move |&(_, value, times)| {
            let taken = times.min(room);
            room -= taken;
            (value, taken)
        })
    }
}

/// The values of a group and how often each occurs.
///
/// New values wait in a list that is sorted and merged when it is as long as what was merged
/// before: `n log n` steps for `n` values, and memory for the distinct ones.
#[derive(Clone, Debug, Default)]
pub(super) struct Histogram {
    values: Vec<(i64, u64)>,
    waiting: Vec<(i64, u64)>,
}

impl Histogram {
    /// Of the values of two, each ascending.
    pub(super) fn of_both(values: Vec<(i64, u64)>, waiting: Vec<(i64, u64)>) -> Self {
        Self { values, waiting }
    }

    pub(super) fn add(&mut self, value: i64, times: u64) {
        if times > 0 {
            self.waiting.push((value, times));
            if self.waiting.len() > self.values.len().max(64) {
                self.settle();
            }
        }
    }

    /// Ascending, each value once.
    pub(super) fn into_values(mut self) -> Vec<(i64, u64)> {
        self.settle();
        self.values
    }

    fn settle(&mut self) {
        self.values.append(&mut self.waiting);
        // A stable sort recognises the run that is sorted already.
        self.values.sort_by_key(|&(value, _)| value);
        self.values.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_noise::randomness::{RandomBits, SeededRandom};
    use std::collections::BTreeMap;

    fn key() -> SecretKey {
        SecretKey::draw(&mut SeededRandom::new(11)).expect("a seeded generator does not fail")
    }

    /// The definition, with all values at hand.
    fn model(values: &[i64], of: u64, max_rows: u32) -> BTreeMap<i64, u64> {
        let key = key();
        let mut order: Vec<(u64, i64)> =
            values.iter().map(|&v| (key.priority(of, key.word(v as u64)), v)).collect();
        order.sort_unstable();
        let mut chosen = BTreeMap::new();
        order
            .iter()
            .take(max_rows as usize)
            .for_each(|&(_, value)| *chosen.entry(value).or_insert(0) += 1);
        chosen
    }

    fn chosen(sample: &Sample, max_rows: u32) -> BTreeMap<i64, u64> {
        sample.chosen(max_rows).filter(|&(_, times)| times > 0).collect()
    }

    #[test]
    fn a_sample_is_what_its_definition_says_however_the_rows_come() {
        let mut random = SeededRandom::new(1);
        let mut draw =
            |below: u64| random.next_u64().expect("a seeded generator does not fail") % below;
        for _ in 0..3000 {
            let (rows, distinct, max_rows, of) =
                (draw(40), draw(12) + 1, draw(9) as u32 + 1, draw(5));
            let values: Vec<i64> = (0..rows).map(|_| draw(distinct) as i64 - 3).collect();
            let expected = model(&values, of, max_rows);
            let mut sample = Sample::default();
            values.iter().for_each(|&value| sample.add(value, of, &key(), max_rows));
            assert_eq!(chosen(&sample, max_rows), expected);
            assert_eq!(expected.values().sum::<u64>(), rows.min(u64::from(max_rows)));
        }
    }

    #[test]
    fn a_million_values_take_the_memory_of_a_few() {
        let mut sample = Sample::default();
        for value in 0..1_000_000 {
            sample.add(value, 0, &key(), 5);
            assert!(sample.values.len() <= 5);
        }
        assert_eq!(sample.chosen(5).map(|(_, times)| times).sum::<u64>(), 5);
    }

    #[test]
    fn a_histogram_counts() {
        let mut histogram = Histogram::default();
        let mut expected = BTreeMap::new();
        for n in 0..5000_i64 {
            let value = n * n % 701 - 300;
            histogram.add(value, 1 + n as u64 % 2);
            *expected.entry(value).or_insert(0) += 1 + n as u64 % 2;
        }
        histogram.add(12345, 0);
        let values = histogram.into_values();
        assert_eq!(
            values,
            expected.iter().map(|(&value, &times)| (value, times)).collect::<Vec<_>>()
        );
        let twice: Vec<(i64, u64)> =
            expected.iter().map(|(&value, &times)| (value, 2 * times)).collect();
        assert_eq!(Histogram::of_both(values.clone(), values).into_values(), twice);
    }
}
