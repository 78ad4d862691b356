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
    scratch: Vec<u8>,
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
            track.steps.fill(batch.column(track.column), steps, &mut self.scratch);
            if let Some((lower, upper)) = track.row_limits {
                steps.iter_mut().for_each(|step| *step = (*step).clamp(lower, upper));
            }
        }
        for ((steps, present), track) in self.samples.iter_mut().zip(&tracks.samples) {
            track.steps.fill(batch.column(track.column), steps, present);
        }
    }
}

/// Rows, values and sums of values, by place.
///
/// Nothing here can overflow: there are fewer than `2^64` rows, a step is at most `2^63`, and `2^64 * 2^63 = 2^127`.
#[derive(Debug)]
pub(super) struct Counters {
    pub(super) rows: Vec<u64>,
    /// By track, then by place.
    pub(super) counts: Vec<Vec<u64>>,
    pub(super) sums: Vec<Vec<i128>>,
}

impl Counters {
    pub(super) fn new(tracks: &Tracks) -> Self {
        Self {
            rows: Vec::new(),
            counts: vec![Vec::new(); tracks.counts.len()],
            sums: vec![Vec::new(); tracks.sums.len()],
        }
    }

    /// As many places, the new ones zero.
    pub(super) fn resize(&mut self, places: usize) {
        self.rows.resize(places, 0);
        self.counts.iter_mut().for_each(|counts| counts.resize(places, 0));
        self.sums.iter_mut().for_each(|sums| sums.resize(places, 0));
    }

    pub(super) fn clear(&mut self, place: usize) {
        self.rows[place] = 0;
        self.counts.iter_mut().for_each(|counts| counts[place] = 0);
        self.sums.iter_mut().for_each(|sums| sums[place] = 0);
    }

    /// Adds one row of a batch.
    #[inline]
    pub(super) fn add(&mut self, place: usize, row: usize, values: &Prepared) {
        self.rows[place] += 1;
        for (counts, present) in self.counts.iter_mut().zip(&values.present) {
            counts[place] += u64::from(present[row]);
        }
        for (sums, steps) in self.sums.iter_mut().zip(&values.steps) {
            sums[place] += i128::from(steps[row]);
        }
    }

    /// Adds all rows of a batch that have a place.
    pub(super) fn add_all(&mut self, places: &[u32], values: &Prepared) {
        let placed = |place: &&u32| **place != NONE;
        places.iter().filter(placed).for_each(|&place| self.rows[place as usize] += 1);
        for (counts, present) in self.counts.iter_mut().zip(&values.present) {
            for (&place, &present) in places.iter().zip(present).filter(|(place, _)| placed(place)) {
                counts[place as usize] += u64::from(present);
            }
        }
        for (sums, steps) in self.sums.iter_mut().zip(&values.steps) {
            for (&place, &step) in places.iter().zip(steps).filter(|(place, _)| placed(place)) {
                sums[place as usize] += i128::from(step);
            }
        }
    }

    /// Adds a place of other counters.
    pub(super) fn merge(&mut self, place: usize, other: &Self, from: usize) {
        self.rows[place] += other.rows[from];
        for (counts, other) in self.counts.iter_mut().zip(&other.counts) {
            counts[place] += other[from];
        }
        for (sums, other) in self.sums.iter_mut().zip(&other.sums) {
            sums[place] += other[from];
        }
    }
}
