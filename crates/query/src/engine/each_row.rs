//! Totals where each row is a privacy unit: nothing to bound.

use super::counters::{Counters, Prepared};
use super::groups::Groups;
use super::interner::NONE;
use super::layout::{Output, Tracks};
use super::sample::Histogram;
use super::secret_key::SecretKey;
use crate::QueryError;
use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::record_batch::RecordBatch;
use reticent_release::Totals;
use std::sync::Arc;

/// Counts and sums by group. A row is in one group and counts once: this is what every limit allows.
#[derive(Debug)]
pub(super) struct EachRow {
    tracks: Arc<Tracks>,
    key: SecretKey,
    groups: Groups,
    counters: Counters,
    /// By track, then by group.
    histograms: Vec<Vec<Histogram>>,
    values: Prepared,
    numbers: Vec<u32>,
}

impl EachRow {
    pub(super) fn new(tracks: Arc<Tracks>, groups: Groups, key: SecretKey) -> Self {
        let counters = Counters::new(&tracks);
        let histograms = vec![Vec::new(); tracks.samples.len()];
        Self { tracks, key, groups, counters, histograms, values: Prepared::default(), numbers: Vec::new() }
    }

    /// Adds the rows of a batch.
    pub(super) fn absorb(&mut self, batch: &RecordBatch, keys: &[ArrayRef]) -> Result<(), QueryError> {
        let identities = self.groups.identities(keys, batch.num_rows(), &self.key)?;
        if self.groups.are_public() {
            self.groups.interner.find_all(&identities, &mut self.numbers);
        } else {
            self.groups.interner.intern_all(&identities, &mut self.numbers)?;
        }
        self.resize();
        self.values.fill(batch, &self.tracks);
        self.counters.add_all(&self.numbers, &self.values);
        for (histograms, (steps, present)) in self.histograms.iter_mut().zip(&self.values.samples) {
            for ((&number, &step), &present) in self.numbers.iter().zip(steps).zip(present) {
                if number != NONE {
                    histograms[number as usize].add(step, u64::from(present));
                }
            }
        }
        Ok(())
    }

    /// Adds the totals of another part of the table.
    pub(super) fn merge(&mut self, other: Self) -> Result<(), QueryError> {
        let mut numbers = Vec::with_capacity(other.counters.places());
        for number in 0..other.groups.interner.len() as u32 {
            let item = other.groups.interner.item(number);
            numbers.push(self.groups.interner.intern(other.groups.interner.hash(number), item)?);
        }
        self.resize();
        for (from, &number) in numbers.iter().enumerate().take(other.counters.places()) {
            self.counters.merge(number as usize, &other.counters, from);
        }
        for (histograms, others) in self.histograms.iter_mut().zip(other.histograms) {
            for (&number, other) in numbers.iter().zip(others) {
                other
                    .into_values()
                    .into_iter()
                    .for_each(|(value, times)| histograms[number as usize].add(value, times));
            }
        }
        Ok(())
    }

    /// Units per group and the totals, by group number.
    pub(super) fn finish(mut self) -> (Groups, Vec<u64>, Vec<Totals>) {
        self.resize();
        let (counters, groups) = (&self.counters, self.counters.places());
        let integers = |of: &dyn Fn(usize) -> i128| Totals::Integers((0..groups).map(of).collect());
        let values: Vec<Totals> = self
            .histograms
            .into_iter()
            .map(|track| Totals::Values(track.into_iter().map(Histogram::into_values).collect()))
            .collect();
        let totals = self.tracks.outputs.iter().map(|output| match *output {
            Output::Rows { .. } | Output::Units => integers(&|group| counters.rows(group).into()),
            Output::Count { count, .. } | Output::UnitsWith { count } => {
                integers(&|group| counters.count(count, group).into())
            }
            Output::Sum { sum, .. } => integers(&|group| counters.sum(sum, group)),
            Output::Values { sample } => values[sample].clone(),
        });
        let totals = totals.collect();
        (self.groups, (0..groups).map(|group| counters.rows(group)).collect(), totals)
    }

    fn resize(&mut self) {
        let groups = self.groups.interner.len();
        self.counters.resize(groups);
        self.histograms.iter_mut().for_each(|histograms| histograms.resize_with(groups, Histogram::default));
    }
}
