//! Counts that look like counts.

use super::tables::ReleasedTable;

/// What is done to released tables, on request. All of it is post-processing, and all of it costs
/// something: counts cannot be unbiased, non-negative integers and consistent at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// Nothing: unbiased, consistent, negative here and there.
    Unbiased,
    /// Each cell on its own becomes the nearest integer that is not negative. A cell never moves
    /// away from its exact count by more than a half, so half-widths hold, half a count wider. Sums
    /// of a table no longer agree with others.
    Cells,
    /// Each table becomes the nearest table of non-negative integers whose sum is the released
    /// total, rounded: all tables agree on the total, not on other sums that they share. Nothing is
    /// claimed of a single cell any more.
    Totals,
}

impl Finish {
    /// One answer that belongs to no table, finished, with its half-width: there is no total to
    /// keep, so [`Finish::Totals`] does as [`Finish::Cells`].
    pub(crate) fn of_answer(self, value: f64, half_width: Option<f64>) -> (f64, Option<f64>) {
        match self {
            Finish::Unbiased => (value, half_width),
            Finish::Cells | Finish::Totals => {
                (value.round().max(0.0), half_width.map(|width| (width + 0.5).next_up()))
            }
        }
    }

    /// The tables so finished. `total` is the released total of all of them.
    pub(super) fn apply(self, mut tables: Vec<ReleasedTable>, total: f64) -> Vec<ReleasedTable> {
        for table in &mut tables {
            match self {
                Finish::Unbiased => {}
                Finish::Cells => {
                    for value in &mut table.values {
                        *value = value.round().max(0.0);
                    }
                    table.half_width = table.half_width.map(|width| (width + 0.5).next_up());
                }
                Finish::Totals => {
                    table.values = integers_with_sum(&table.values, total.round().max(0.0));
                    table.half_width = None;
                }
            }
        }
        tables
    }
}

/// The non-negative table of the given sum that is nearest, rounded to integers of that sum: the
/// largest remainders are rounded up.
///
/// The projection is `max(0, y - t)` with the `t` for which it has the sum (Held, Wolfe, Crowder
/// 1974).
fn integers_with_sum(values: &[f64], sum: f64) -> Vec<f64> {
    let mut descending: Vec<f64> = values.to_vec();
    descending.sort_by(|a, b| b.total_cmp(a));
    let (mut head, mut threshold) = (0.0, f64::INFINITY);
    for (index, &value) in descending.iter().enumerate() {
        let next = (head + value - sum) / (index as f64 + 1.0);
        // The threshold of the first cells, as long as it leaves all of them positive.
        if value <= next && index > 0 {
            break;
        }
        head += value;
        threshold = next;
    }
    let nearest: Vec<f64> = values.iter().map(|value| (value - threshold).max(0.0)).collect();
    let mut whole: Vec<f64> = nearest.iter().map(|value| value.floor()).collect();
    let missing = sum - whole.iter().sum::<f64>();
    let mut by_remainder: Vec<usize> = (0..values.len()).collect();
    by_remainder.sort_by(|&a, &b| {
        (nearest[b] - whole[b]).total_cmp(&(nearest[a] - whole[a])).then(a.cmp(&b))
    });
    // Rounding of the sums may leave one more or less than there are remainders.
    for &index in by_remainder.iter().take(missing.max(0.0) as usize) {
        whole[index] += 1.0;
    }
    let mut excess = whole.iter().sum::<f64>() - sum;
    for &index in by_remainder.iter().rev().filter(|&&index| nearest[index] >= 1.0) {
        if excess < 1.0 {
            break;
        }
        whole[index] -= 1.0;
        excess -= 1.0;
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Attributes;

    fn table(values: &[f64]) -> ReleasedTable {
        ReleasedTable {
            attributes: Attributes::NONE,
            values: values.to_vec(),
            standard_deviation: 1.0,
            half_width: Some(1.96),
        }
    }

    #[test]
    fn each_finish_says_what_it_keeps() {
        let tables = vec![table(&[5.4, -2.0, 3.3]), table(&[-1.0, 7.7])];
        let finished = |finish: Finish| finish.apply(tables.clone(), 6.7);
        assert_eq!(finished(Finish::Unbiased), tables);
        let cells = finished(Finish::Cells);
        assert_eq!(
            (cells[0].values.as_slice(), cells[1].values.as_slice()),
            (&[5.0, 0.0, 3.0][..], &[0.0, 8.0][..])
        );
        assert!(cells[0].half_width.is_some_and(|width| width >= 2.46));
        let totals = finished(Finish::Totals);
        for table in &totals {
            assert_eq!(table.values.iter().sum::<f64>(), 7.0);
            assert!(table.values.iter().all(|value| *value >= 0.0 && value.fract() == 0.0));
            assert_eq!(table.half_width, None);
        }
        // The projection of (5.4, -2, 3.3) to the sum 7 is (4.55, 0, 2.45).
        assert_eq!(totals[0].values, [5.0, 0.0, 2.0]);
    }

    #[test]
    fn every_table_can_be_given_every_sum() {
        for sum in [0.0, 1.0, 2.0, 17.0, 1e6] {
            for values in [&[0.0; 5][..], &[-3.0, -3.0], &[1e5, -1e5, 0.3], &[2.5], &[0.5; 4]] {
                let found = integers_with_sum(values, sum);
                assert_eq!(found.iter().sum::<f64>(), sum, "{values:?}");
                assert!(found.iter().all(|value| *value >= 0.0 && value.fract() == 0.0));
            }
        }
    }
}
