//! Totals where a column names the privacy unit: each unit counts in so many groups, and so much in each.

use super::counters::{Counters, Prepared};
use super::groups::Groups;
use super::identity::{Identities, Identity};
use super::interner::{Interner, NONE};
use super::kept_groups::{KeptGroups, Placed};
use super::layout::{Bound, Output, Tracks};
use super::sample::{Histogram, Sample};
use super::secret_key::SecretKey;
use crate::QueryError;
use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::record_batch::RecordBatch;
use reticent_release::Totals;
use std::sync::Arc;

/// What each unit adds to the groups that it keeps.
///
/// # Sensitivity
/// A total is a sum over units of what each of them adds. That is a function of the unit's own rows and of the key: which groups it keeps (see [`KeptGroups`]),
/// and in each of them [`added`]. So to add or remove all rows of one unit changes at most `max_groups` groups, each by what that unit adds, which is within the
/// limits of the measure.
#[derive(Debug)]
pub(super) struct Bounded {
    tracks: Arc<Tracks>,
    key: SecretKey,
    unit_identity: Arc<Identity>,
    units: Interner,
    groups: Groups,
    kept: KeptGroups,
    /// By place.
    counters: Counters,
    /// By track, then by place.
    samples: Vec<Vec<Sample>>,
    values: Prepared,
    scratch: Scratch,
}

/// What is computed for the rows of one batch.
#[derive(Debug, Default)]
struct Scratch {
    /// The numbers of their units.
    units: Vec<u32>,
    /// The numbers of their groups, if those are public.
    groups: Vec<u32>,
    /// Rows that the threshold of their unit does not reject, with their priorities.
    candidates: Vec<(usize, u64)>,
    /// Rows that are counted, with their priorities and where.
    placed: Vec<(usize, u64, Placed)>,
}

impl Bounded {
    pub(super) fn new(
        tracks: Arc<Tracks>,
        unit: Arc<Identity>,
        groups: Groups,
        max_groups: u32,
        key: SecretKey,
    ) -> Self {
        let units = match *unit {
            Identity::Nothing | Identity::Word(_) => Interner::of_words(key),
            Identity::Text(_) | Identity::Rows(..) => Interner::of_bytes(key),
        };
        Self {
            counters: Counters::new(&tracks),
            samples: vec![Vec::new(); tracks.samples.len()],
            tracks,
            key,
            unit_identity: unit,
            units,
            groups,
            kept: KeptGroups::new(max_groups),
            values: Prepared::default(),
            scratch: Scratch::default(),
        }
    }

    /// Adds the rows of a batch, in steps that each go through all of them: what a step reads is then fetched for many rows at once.
    pub(super) fn absorb(&mut self, batch: &RecordBatch, unit: &ArrayRef, keys: &[ArrayRef]) -> Result<(), QueryError> {
        let rows = batch.num_rows();
        let units = self.unit_identity.of(std::slice::from_ref(unit), rows, &self.key)?;
        let keys = self.groups.identities(keys, rows, &self.key)?;
        self.values.fill(batch, &self.tracks);
        let mut scratch = std::mem::take(&mut self.scratch);
        self.units.intern_all(&units, &mut scratch.units)?;
        self.kept.resize(self.units.len());
        let candidates = self.candidates(&units, &keys, &mut scratch);
        self.place_all(&units, &keys, candidates, &mut scratch)?;
        self.add_all(&scratch.placed);
        self.scratch = scratch;
        Ok(())
    }

    /// Finds the rows that the threshold of their unit does not reject, and says how many there are.
    fn candidates(&self, units: &Identities, keys: &Identities, scratch: &mut Scratch) -> usize {
        scratch.candidates.resize(scratch.units.len().max(scratch.candidates.len()), (0, 0));
        let mut accepted = 0;
        let marks = units.marks().iter().zip(keys.marks());
        for (row, (&unit, (&unit_mark, &key_mark))) in scratch.units.iter().zip(marks).enumerate() {
            let priority = self.key.priority(unit_mark, key_mark);
            // Written in any case, and kept if it counts: a branch would be a guess.
            scratch.candidates[accepted] = (row, priority);
            accepted += usize::from(priority <= self.kept.thresholds[unit as usize]);
        }
        accepted
    }

    /// Where the candidates are to be counted.
    ///
    /// A group is looked up only here, for rows that are not rejected, unless the groups are public: then rows of other groups must be left out first.
    fn place_all(
        &mut self,
        units: &Identities,
        keys: &Identities,
        candidates: usize,
        scratch: &mut Scratch,
    ) -> Result<(), QueryError> {
        let public = self.groups.are_public();
        if public {
            self.groups.interner.find_all(keys, &mut scratch.groups);
        }
        let candidates = &scratch.candidates[..candidates];
        self.kept.warm(candidates.iter().map(|&(row, _)| scratch.units[row]));
        scratch.placed.clear();
        for &(row, priority) in candidates {
            if units.is_null(row) {
                continue;
            }
            let group = match public {
                true if scratch.groups[row] == NONE => continue,
                true => scratch.groups[row],
                false => self.groups.interner.intern(keys.hash(row), keys.item(row))?,
            };
            match self.kept.place(scratch.units[row], group, priority, &self.groups.interner)? {
                Placed::Nowhere => {}
                placed => scratch.placed.push((row, priority, placed)),
            }
        }
        Ok(())
    }

    /// Adds rows at their places, in the order in which the places were given: one that was given to another group later is cleared then.
    fn add_all(&mut self, placed: &[(usize, u64, Placed)]) {
        self.make_places();
        self.counters.warm(placed.iter().map(|(_, _, placed)| placed.place()));
        for &(row, priority, placed) in placed {
            let place = self.cleared(placed);
            self.counters.add(place, row, &self.values);
            for ((samples, (steps, present)), track) in
                self.samples.iter_mut().zip(&self.values.samples).zip(&self.tracks.samples)
            {
                if present[row] == 1 {
                    samples[place].add(steps[row], 1, priority, &self.key, track.max_rows);
                }
            }
        }
    }

    fn make_places(&mut self) {
        let places = self.kept.places();
        self.counters.resize(places);
        self.samples.iter_mut().for_each(|samples| samples.resize_with(places, Sample::default));
    }

    fn cleared(&mut self, placed: Placed) -> usize {
        let place = placed.place();
        if let Placed::New(place) = placed {
            self.counters.clear(place);
            self.samples.iter_mut().for_each(|samples| samples[place].clear());
        }
        place
    }

    /// Adds what was kept of another part of the table.
    pub(super) fn merge(&mut self, other: Self) -> Result<(), QueryError> {
        let mut group_numbers = vec![NONE; other.groups.interner.len()];
        for from_unit in 0..other.kept.units() {
            let entries = other.kept.of(from_unit);
            if entries.is_empty() {
                continue;
            }
            let from_unit = from_unit as u32;
            let unit = self.units.intern(other.units.hash(from_unit), other.units.item(from_unit))?;
            self.kept.resize(self.units.len());
            for entry in entries {
                if entry.priority > self.kept.thresholds[unit as usize] {
                    continue;
                }
                let group = &mut group_numbers[entry.group as usize];
                if *group == NONE {
                    let item = other.groups.interner.item(entry.group);
                    *group = self.groups.interner.intern(other.groups.interner.hash(entry.group), item)?;
                }
                let placed = self.kept.place(unit, *group, entry.priority, &self.groups.interner)?;
                if placed != Placed::Nowhere {
                    self.make_places();
                    let (place, from) = (self.cleared(placed), entry.place as usize);
                    self.counters.merge(place, &other.counters, from);
                    for ((samples, others), track) in
                        self.samples.iter_mut().zip(&other.samples).zip(&self.tracks.samples)
                    {
                        samples[place].merge(&others[from], entry.priority, &self.key, track.max_rows);
                    }
                }
            }
        }
        Ok(())
    }

    /// Units per group and the totals, by group number.
    pub(super) fn finish(self) -> (Groups, Vec<u64>, Vec<Totals>) {
        let groups = self.groups.interner.len();
        let entries = || (0..self.kept.units()).flat_map(|unit| self.kept.of(unit));
        let mut units = vec![0_u64; groups];
        entries().for_each(|entry| units[entry.group as usize] += 1);
        let totals = self.tracks.outputs.iter().map(|output| match *output {
            Output::Values { sample } => {
                let max_rows = self.tracks.samples[sample].max_rows;
                let mut histograms = vec![Histogram::default(); groups];
                for entry in entries() {
                    let histogram = &mut histograms[entry.group as usize];
                    let chosen = self.samples[sample][entry.place as usize].chosen(max_rows);
                    chosen.for_each(|(value, times)| histogram.add(value, times));
                }
                Totals::Values(histograms.into_iter().map(Histogram::into_values).collect())
            }
            _ => {
                let mut totals = vec![0_i128; groups];
                // At most 2^32 units, each at most 2^63 steps times fewer than 2^32 rows: within 2^127.
                for entry in entries() {
                    totals[entry.group as usize] += added(output, &self.counters, entry.place as usize);
                }
                Totals::Integers(totals)
            }
        });
        let totals = totals.collect();
        (self.groups, units, totals)
    }
}

/// What one unit adds to the total of one group.
///
/// Of `n` rows with the sum `s`, at most `r` counted: `min(n, r)` to a count, and `s * min(1, r/n)`, rounded towards zero, to a sum: every row has the same weight,
/// none is picked, and the bound is that of `r` rows, since `|s/n|` is at most the greatest step. Or `s` clamped.
fn added(output: &Output, counters: &Counters, place: usize) -> i128 {
    match *output {
        Output::Rows { max_rows } => i128::from(counters.rows(place).min(max_rows.into())),
        Output::Count { count, max_rows } => i128::from(counters.count(count, place).min(max_rows.into())),
        Output::Units => 1,
        Output::UnitsWith { count } => i128::from(counters.count(count, place).min(1)),
        Output::Sum { sum, bound: Bound::Rows { count, max_rows } } => {
            share(counters.sum(sum, place), counters.count(count, place).into(), max_rows.into())
        }
        Output::Sum { sum, bound: Bound::Total { lower, upper } } => {
            counters.sum(sum, place).clamp(lower.into(), upper.into())
        }
        Output::Sum { bound: Bound::EachRow, .. } | Output::Values { .. } => 0,
    }
}

/// `sum * max_rows / rows` towards zero if there are more rows than `max_rows`, else `sum`.
///
/// With `sum = q rows + t`, `|t| < rows`, the quotient is `q max_rows + t max_rows / rows`, and both terms have the sign of `sum`: the second alone is rounded.
/// `|q| <= 2^63` and `|t| < 2^64`, so that nothing overflows where `sum * max_rows` could.
fn share(sum: i128, rows: i128, max_rows: i128) -> i128 {
    if rows <= max_rows { sum } else { sum / rows * max_rows + sum % rows * max_rows / rows }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_rounded_towards_zero_and_stays_within_its_rows() {
        for rows in 1..30_i128 {
            for sum in -40 * rows..=40 * rows {
                for max_rows in 1..8 {
                    let exact = sum * max_rows.min(rows);
                    let share = share(sum, rows, max_rows);
                    assert_eq!(share, exact / rows, "{sum} of {rows} rows, at most {max_rows}");
                    assert!(share.abs() <= 40 * max_rows);
                }
            }
        }
    }

    #[test]
    fn the_greatest_share_does_not_overflow() {
        let (rows, max_rows) = (i128::from(u64::MAX), i128::from(u32::MAX));
        let least = i128::from(i64::MIN);
        assert_eq!(share(least * rows, rows, max_rows), least * max_rows);
        assert_eq!(share(least * rows + 1, rows, max_rows), least * max_rows + 1);
    }
}
