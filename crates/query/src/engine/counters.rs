//! Counts and sums, one place per unit and group, or per group.

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

/// Rows, values and sums of values, by place.
///
/// What is counted at one place lies together, in one record of 64-bit words: rows, a word per count, two per sum. Places are met in random order, and a place
/// then costs one line of the cache.
///
/// Nothing here can overflow: there are fewer than `2^64` rows, a step is at most `2^63`, and `2^64 * 2^63 = 2^127`.
#[derive(Debug)]
pub(super) struct Counters {
    words: Vec<u64>,
    counts: usize,
    width: usize,
}

impl Counters {
    pub(super) fn new(tracks: &Tracks) -> Self {
        let counts = tracks.counts.len();
        Self { words: Vec::new(), counts, width: 1 + counts + 2 * tracks.sums.len() }
    }

    pub(super) fn places(&self) -> usize {
        self.words.len() / self.width
    }

    /// As many places, the new ones zero.
    pub(super) fn resize(&mut self, places: usize) {
        self.words.resize(places * self.width, 0);
    }

    pub(super) fn clear(&mut self, place: usize) {
        self.words[place * self.width..][..self.width].fill(0);
    }

    pub(super) fn rows(&self, place: usize) -> u64 {
        self.words[place * self.width]
    }

    pub(super) fn count(&self, track: usize, place: usize) -> u64 {
        self.words[place * self.width + 1 + track]
    }

    pub(super) fn sum(&self, track: usize, place: usize) -> i128 {
        let at = place * self.width + 1 + self.counts + 2 * track;
        join(self.words[at], self.words[at + 1])
    }

    /// Adds one row of a batch.
    #[inline]
    pub(super) fn add(&mut self, place: usize, row: usize, values: &Prepared) {
        let (counts, sums) = self.words[place * self.width..][..self.width].split_at_mut(1 + self.counts);
        counts[0] += 1;
        for (count, present) in counts[1..].iter_mut().zip(&values.present) {
            *count += u64::from(present[row]);
        }
        for (sum, steps) in sums.as_chunks_mut::<2>().0.iter_mut().zip(&values.steps) {
            *sum = plus(sum[0], sum[1], steps[row]);
        }
    }

    /// Adds all rows of a batch that have a place.
    pub(super) fn add_all(&mut self, places: &[u32], values: &Prepared) {
        let (width, words) = (self.width, self.words.as_mut_slice());
        let record = |place: u32| place as usize * width;
        let mut sums = values.steps.iter().enumerate();
        // Rows are counted together with the first sum, so that a record is looked up once for both.
        match sums.next() {
            None => {
                for &place in places.iter().filter(|&&place| place != NONE) {
                    words[record(place)] += 1;
                }
            }
            Some((_, steps)) => {
                let first = 1 + self.counts;
                for (&place, &step) in places.iter().zip(steps).filter(|&(&place, _)| place != NONE) {
                    let record = &mut words[record(place)..][..first + 2];
                    record[0] += 1;
                    [record[first], record[first + 1]] = plus(record[first], record[first + 1], step);
                }
            }
        }
        for (track, present) in values.present.iter().enumerate() {
            for (&place, &present) in places.iter().zip(present).filter(|&(&place, _)| place != NONE) {
                words[record(place) + 1 + track] += u64::from(present);
            }
        }
        for (track, steps) in sums {
            let first = 1 + self.counts + 2 * track;
            for (&place, &step) in places.iter().zip(steps).filter(|&(&place, _)| place != NONE) {
                let sum = &mut words[record(place) + first..][..2];
                [sum[0], sum[1]] = plus(sum[0], sum[1], step);
            }
        }
    }

    /// Adds a place of other counters.
    pub(super) fn merge(&mut self, place: usize, other: &Self, from: usize) {
        let (counts, sums) = self.words[place * self.width..][..self.width].split_at_mut(1 + self.counts);
        let (more_counts, more_sums) = other.words[from * self.width..][..self.width].split_at(1 + self.counts);
        counts.iter_mut().zip(more_counts).for_each(|(count, more)| *count += more);
        for (sum, more) in sums.as_chunks_mut::<2>().0.iter_mut().zip(more_sums.as_chunks::<2>().0) {
            *sum = split(join(sum[0], sum[1]) + join(more[0], more[1]));
        }
    }

    /// Reads these places, and decides nothing by it, so that their memory is fetched at once.
    pub(super) fn warm(&self, places: impl Iterator<Item = usize>) {
        let touched = places.map(|place| self.words.get(place * self.width).copied().unwrap_or(0));
        std::hint::black_box(touched.fold(0, |all, one| all ^ one));
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
