//! Counts and sums, of a unit in a group or of a group.

use super::interner::NONE;
use super::layout::Tracks;
use super::steps::fill_present;
use datafusion::arrow::record_batch::RecordBatch;

/// The values of a batch as steps, one list per track.
#[derive(Debug, Default)]
pub(super) struct Prepared {
    present: Vec<Vec<u8>>,
    steps: Vec<Vec<i64>>,
    /// Steps, and whether there is a value.
    pub(super) samples: Vec<(Vec<i64>, Vec<u8>)>,
}

impl Prepared {
    /// Fills in the values of a batch.
    pub(super) fn fill(&mut self, batch: &RecordBatch, tracks: &Tracks) {
        self.present.resize_with(tracks.counts.len(), Vec::new);
        self.steps.resize_with(tracks.sums.len(), Vec::new);
        self.samples.resize_with(tracks.samples.len(), Default::default);
        for (present, &column) in self.present.iter_mut().zip(&tracks.counts) {
            fill_present(batch.column(column), present);
        }
        for (steps, track) in self.steps.iter_mut().zip(&tracks.sums) {
            track.steps.fill(batch.column(track.column), steps);
            if let Some((lower, upper)) = track.row_limits {
                steps.iter_mut().for_each(|step| *step = (*step).clamp(lower, upper));
            }
        }
        for ((steps, present), track) in self.samples.iter_mut().zip(&tracks.samples) {
            track.steps.fill(batch.column(track.column), steps);
            fill_present(batch.column(track.column), present);
        }
    }
}

/// What is counted of a unit in a group, or of a group, in one record of 64-bit words: rows, a word
/// per count, two per sum. It lies together because records are met in random order, and one then
/// costs a line of the cache or two.
///
/// Nothing here can overflow: there are fewer than `2^64` rows, a step is at most `2^63`, and
/// `2^64 * 2^63 = 2^127`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    counts: usize,
    pub(super) width: usize,
}

impl Record {
    pub(super) fn new(tracks: &Tracks) -> Self {
        let counts = tracks.counts.len();
        Self { counts, width: 1 + counts + 2 * tracks.sums.len() }
    }

    pub(super) fn rows(self, record: &[u64]) -> u64 {
        record[0]
    }

    pub(super) fn count(self, record: &[u64], track: usize) -> u64 {
        record[1 + track]
    }

    pub(super) fn sum(self, record: &[u64], track: usize) -> i128 {
        let at = 1 + self.counts + 2 * track;
        join(record[at], record[at + 1])
    }

    /// Adds one row of a batch, to nothing if the record is new.
    #[inline(always)]
    pub(super) fn add(self, record: &mut [u64], is_new: bool, row: usize, values: &Prepared) {
        // Zero or all ones, in place of a branch that would be a guess.
        let stays = u64::from(is_new).wrapping_sub(1);
        let (counts, sums) = record.split_at_mut(1 + self.counts);
        counts[0] = (counts[0] & stays) + 1;
        for (count, present) in counts[1..].iter_mut().zip(&values.present) {
            *count = (*count & stays) + u64::from(present[row]);
        }
        for (sum, steps) in sums.as_chunks_mut::<2>().0.iter_mut().zip(&values.steps) {
            *sum = plus(sum[0] & stays, sum[1] & stays, steps[row]);
        }
    }

    /// Adds all rows of a batch, each to the record with its number, unless that is none.
    pub(super) fn add_all(self, records: &mut [u64], numbers: &[u32], values: &Prepared) {
        let start = |number: u32| number as usize * self.width;
        let mut sums = values.steps.iter().enumerate();
        // Rows are counted together with the first sum, so that a record is looked up once for
        // both.
        match sums.next() {
            None => {
                for &number in numbers.iter().filter(|&&number| number != NONE) {
                    records[start(number)] += 1;
                }
            }
            Some((_, steps)) => {
                let first = 1 + self.counts;
                for (&number, &step) in
                    numbers.iter().zip(steps).filter(|&(&number, _)| number != NONE)
                {
                    let record = &mut records[start(number)..][..first + 2];
                    record[0] += 1;
                    [record[first], record[first + 1]] =
                        plus(record[first], record[first + 1], step);
                }
            }
        }
        for (track, present) in values.present.iter().enumerate() {
            for (&number, &present) in
                numbers.iter().zip(present).filter(|&(&number, _)| number != NONE)
            {
                records[start(number) + 1 + track] += u64::from(present);
            }
        }
        for (track, steps) in sums {
            let first = 1 + self.counts + 2 * track;
            for (&number, &step) in numbers.iter().zip(steps).filter(|&(&number, _)| number != NONE)
            {
                let sum = &mut records[start(number) + first..][..2];
                [sum[0], sum[1]] = plus(sum[0], sum[1], step);
            }
        }
    }
}

#[inline(always)]
fn join(low: u64, high: u64) -> i128 {
    ((u128::from(high) << 64) | u128::from(low)) as i128
}

#[inline(always)]
fn plus(low: u64, high: u64, step: i64) -> [u64; 2] {
    split(join(low, high) + i128::from(step))
}

#[inline(always)]
fn split(sum: i128) -> [u64; 2] {
    [sum as u64, (sum >> 64) as u64]
}
