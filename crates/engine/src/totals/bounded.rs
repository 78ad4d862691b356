//! Totals where a column names the privacy unit: each unit counts in so many groups, and so much in
//! each.

use super::by_group::ByGroup;
use super::counters::{Prepared, Record};
use super::groups::Groups;
use super::identity::Identities;
use super::interner::{Interner, NONE};
use super::kept_groups::{KeptGroups, Offer, Slot};
use super::layout::{Bound, Output, Tracks};
use super::sample::{Histogram, Sample};
use super::secret_key::SecretKey;
use crate::EngineError;
use reticent_release::Totals;
use reticent_sources::mutation::{Mend, is_out};
use std::sync::Arc;

/// What each unit adds to the groups that it keeps.
///
/// # Sensitivity
/// A total is a sum over units of what each of them adds. That is a function of the unit's own rows
/// and of the key: which groups it keeps (see [`KeptGroups`]), and in each of them [`added`]. So to
/// add or remove all rows of one unit changes at most `max_groups` groups, each by what that unit
/// adds, which is within the limits of the measure.
#[derive(Debug)]
pub(super) struct Bounded {
    tracks: Arc<Tracks>,
    key: SecretKey,
    units: Interner,
    groups: Groups,
    kept: KeptGroups,
    record: Record,
    /// By slot.
    records: Vec<u64>,
    /// By track, then by slot.
    samples: Vec<Vec<Sample>>,
    scratch: Scratch,
}

/// What is known of the rows of a batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts<'a> {
    pub(super) units: &'a Identities,
    pub(super) keys: &'a Identities,
    pub(super) values: &'a Prepared,
}

/// What is computed for some rows of a batch.
#[derive(Debug, Default)]
struct Scratch {
    /// The numbers of their units, in the order of the rows.
    units: Vec<u32>,
    /// Rows that the threshold of their unit does not reject.
    candidates: Vec<Candidate>,
    /// Rows that are counted, with their priorities and where.
    assigned: Vec<(u32, u64, Slot)>,
}

#[derive(Clone, Copy, Debug)]
struct Candidate {
    row: u32,
    unit: u32,
    priority: u64,
}

impl Bounded {
    pub(super) fn new(
        tracks: Arc<Tracks>,
        units: Interner,
        groups: Groups,
        max_groups: u32,
        key: SecretKey,
    ) -> Self {
        let record = Record::new(&tracks);
        Self {
            record,
            records: Vec::new(),
            samples: vec![Vec::new(); tracks.samples.len()],
            tracks,
            key,
            units,
            groups,
            kept: KeptGroups::new(max_groups + u32::from(is_out(Mend::GroupLimit))),
            scratch: Scratch::default(),
        }
    }

    /// Adds some rows of a batch, in steps that each go through all of them: what a step reads is
    /// then fetched for many rows at once.
    pub(super) fn absorb(
        &mut self,
        rows: impl ExactSizeIterator<Item = usize> + Clone,
        facts: Facts<'_>,
    ) -> Result<(), EngineError> {
        let mut scratch = std::mem::take(&mut self.scratch);
        self.units.intern_all(facts.units, rows.clone(), &mut scratch.units)?;
        self.kept.resize(self.units.len());
        let candidates = self.candidates(rows, facts, &mut scratch);
        self.assign_all(facts, candidates, &mut scratch)?;
        self.add_all(facts.values, &scratch.assigned);
        self.scratch = scratch;
        Ok(())
    }

    /// Finds the rows that the threshold of their unit does not reject, and says how many there
    /// are.
    fn candidates(
        &self,
        rows: impl ExactSizeIterator<Item = usize>,
        facts: Facts<'_>,
        scratch: &mut Scratch,
    ) -> usize {
        let none = Candidate { row: 0, unit: 0, priority: 0 };
        scratch.candidates.resize(rows.len().max(scratch.candidates.len()), none);
        let (units, keys) = (facts.units.marks(), facts.keys.marks());
        let mut accepted = 0;
        for (row, &unit) in rows.zip(&scratch.units) {
            let mut priority = self.key.priority(units[row], keys[row]);
            if is_out(Mend::KeyedOrder) {
                priority = (row as u64) << 32;
            }
            // Written in any case, and kept if it counts: a branch would be a guess.
            scratch.candidates[accepted] = Candidate { row: row as u32, unit, priority };
            accepted += usize::from(self.kept.may_keep(unit, priority));
        }
        accepted
    }

    /// Where the candidates are to be counted.
    ///
    /// A group is looked up only here, for rows that are not rejected. If groups are public, rows
    /// of others are left out before they could take a slot.
    ///
    /// # Memory
    /// Keys that are found stay, also when their group is given up. The `i`th group of a unit is
    /// among the `k = max_groups` lowest of the first `i` with probability `min(1, k/i)` over the
    /// secret key, so that a unit with `n` groups leaves
    /// `k + k/(k+1) + ... + k/n <= k (1 + ln(n/k))` keys on average.
    fn assign_all(
        &mut self,
        facts: Facts<'_>,
        candidates: usize,
        scratch: &mut Scratch,
    ) -> Result<(), EngineError> {
        let candidates = &scratch.candidates[..candidates];
        self.kept.warm(candidates.iter().map(|candidate| candidate.unit));
        scratch.assigned.clear();
        for &Candidate { row, unit, priority } in candidates {
            let at = row as usize;
            // Again, as rows of this batch have moved thresholds: no key stays that has no slot.
            if facts.units.is_null(at) || !self.kept.may_keep(unit, priority) {
                continue;
            }
            let group = self.groups.number(facts.keys.hash(at), facts.keys.item(at))?;
            if group == NONE {
                continue;
            }
            match self.kept.assign(Offer { unit, group, priority }, &self.groups.interner)? {
                Slot::None => {}
                slot => scratch.assigned.push((row, priority, slot)),
            }
        }
        Ok(())
    }

    /// Adds rows at their slots, in the order in which the slots were given: one that was given
    /// to another group later is cleared then.
    fn add_all(&mut self, values: &Prepared, assigned: &[(u32, u64, Slot)]) {
        let (record, slots) = (self.record, self.kept.slots());
        let width = record.width;
        self.records.resize(slots * width, 0);
        // Read first, which decides nothing, so that the memory of all is fetched at once.
        let touched =
            assigned.iter().fold(0, |all, (_, _, slot)| all ^ self.records[slot.index() * width]);
        std::hint::black_box(touched);
        for &(row, _, slot) in assigned {
            let is_new = matches!(slot, Slot::New(_));
            record.add(
                &mut self.records[slot.index() * width..][..width],
                is_new,
                row as usize,
                values,
            );
        }
        for ((samples, (steps, present)), track) in
            self.samples.iter_mut().zip(&values.samples).zip(&self.tracks.samples)
        {
            samples.resize_with(slots, Sample::default);
            for &(row, priority, slot) in assigned {
                let sample = &mut samples[slot.index()];
                if let Slot::New(_) = slot {
                    sample.clear();
                }
                if present[row as usize] == 1 {
                    sample.add(steps[row as usize], priority, &self.key, track.max_rows);
                }
            }
        }
    }

    /// What all its units add up to.
    pub(super) fn finish(self) -> ByGroup {
        let groups = self.groups.interner.len();
        let mut units = vec![0_u64; groups];
        self.kept.for_each(|(group, _)| units[group as usize] += 1);
        let totals = self.tracks.outputs.iter().map(|output| match *output {
            Output::Values { sample } => {
                let max_rows = self.tracks.samples[sample].max_rows;
                let mut histograms = vec![Histogram::default(); groups];
                let samples = &self.samples[sample];
                self.kept.for_each(|(group, slot)| {
                    // There are none before the first row that is kept.
                    let chosen = samples.get(slot).into_iter().flat_map(|one| one.chosen(max_rows));
                    chosen.for_each(|(value, times)| histograms[group as usize].add(value, times));
                });
                Totals::Values(histograms.into_iter().map(Histogram::into_values).collect())
            }
            Output::Rows { .. } | Output::Count { .. } | Output::Units | Output::Sum { .. } => {
                let mut totals = vec![0_i128; groups];
                // At most 2^32 units, each at most 2^63 steps times fewer than 2^32 rows: within
                // 2^127.
                self.kept.for_each(|(group, slot)| {
                    totals[group as usize] +=
                        added(output, self.record, &self.records[slot * self.record.width..]);
                });
                Totals::Integers(totals)
            }
        });
        ByGroup { totals: totals.collect(), groups: self.groups, units }
    }
}

/// What one unit adds to the total of one group.
///
/// Of `n` rows with the sum `s`, at most `r` counted: `min(n, r)` to a count, and
/// `s * min(1, r/n)`, rounded towards zero, to a sum: every row has the same weight, none is
/// picked, and the bound is that of `r` rows, since `|s/n|` is at most the greatest step. Or `s`
/// clamped.
fn added(output: &Output, record: Record, words: &[u64]) -> i128 {
    match *output {
        Output::Rows { max_rows } => i128::from(record.rows(words).min(max_rows.into())),
        Output::Count { count, max_rows } => {
            i128::from(record.count(words, count).min(max_rows.into()))
        }
        Output::Units => 1,
        Output::Sum { sum, bound: Bound::Rows { count, max_rows } } => {
            share(record.sum(words, sum), record.count(words, count).into(), max_rows.into())
        }
        Output::Sum { sum, bound: Bound::Total { lower, upper } } => {
            record.sum(words, sum).clamp(lower.into(), upper.into())
        }
        Output::Sum { bound: Bound::EachRow, .. } | Output::Values { .. } => 0,
    }
}

/// `sum * max_rows / rows` towards zero if there are more rows than `max_rows`, else `sum`.
///
/// With `sum = q rows + t`, `|t| < rows`, the quotient is `q max_rows + t max_rows / rows`, and
/// both terms have the sign of `sum`: the second alone is rounded. `|q| <= 2^63` and `|t| < 2^64`,
/// so that nothing overflows where `sum * max_rows` could.
fn share(sum: i128, rows: i128, max_rows: i128) -> i128 {
    if rows <= max_rows { sum } else { sum / rows * max_rows + sum % rows * max_rows / rows }
}

#[cfg(test)]
mod tests {
    use super::super::division::Division;
    use super::super::groups::GroupKeys;
    use super::super::identity::Identity;
    use super::super::layout::Layout;
    use super::*;
    use datafusion::arrow::array::{ArrayRef, Int64Array};
    use datafusion::arrow::datatypes::{DataType, Field, Schema};
    use datafusion::arrow::record_batch::RecordBatch;
    use reticent_noise::randomness::SeededRandom;
    use reticent_release::Statistic;

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
    fn a_unit_with_very_many_groups_leaves_few_keys_behind() {
        let key =
            SecretKey::draw(&mut SeededRandom::new(5)).expect("a seeded generator does not fail");
        let schema = Schema::new(
            ["unit", "key"].map(|name| Field::new(name, DataType::Int64, true)).to_vec(),
        );
        let layout = Layout {
            unit: Some(0),
            keys: vec![1],
            statistics: vec![Statistic::Units],
            max_groups: 2,
        };
        let tracks = Arc::new(Tracks::new(&layout, &schema).expect("a layout"));
        let groups = Groups::new(&[1], GroupKeys::Found, &schema, key).expect("known types");
        let unit = Identity::new(std::iter::once(schema.field(0))).expect("a known type");
        let column = |values: &dyn Fn(i64) -> i64| {
            Arc::new((0..100_000).map(values).collect::<Int64Array>()) as ArrayRef
        };
        let columns = vec![column(&|_| 7), column(&|row| row << 30)];
        let batch = RecordBatch::try_new(Arc::new(schema), columns).expect("a batch");
        let units = unit.of(&batch.columns()[..1], 100_000, &key).expect("identities");
        let keys = groups.identities(&batch, &key).expect("identities");
        let interner = unit.interner(key, Division::WHOLE);
        let mut state = Bounded::new(tracks.clone(), interner, groups, 2, key);
        let mut values = Prepared::default();
        values.fill(&batch, &tracks);
        state
            .absorb(0..100_000, Facts { units: &units, keys: &keys, values: &values })
            .expect("room");
        // 2 (1 + ln 50,000) = 24 on average; the key is fixed.
        assert!(state.groups.interner.len() < 60, "{}", state.groups.interner.len());
    }

    #[test]
    fn the_greatest_share_does_not_overflow() {
        let (rows, max_rows) = (i128::from(u64::MAX), i128::from(u32::MAX));
        let least = i128::from(i64::MIN);
        assert_eq!(share(least * rows, rows, max_rows), least * max_rows);
        assert_eq!(share(least * rows + 1, rows, max_rows), least * max_rows + 1);
    }
}
