//! Totals where each row is a privacy unit: nothing to bound.

use super::by_group::ByGroup;
use super::counters::{Prepared, Record};
use super::groups::Groups;
use super::interner::NONE;
use super::layout::{Output, Tracks};
use super::sample::Histogram;
use super::secret_key::SecretKey;
use crate::EngineError;
use datafusion::arrow::record_batch::RecordBatch;
use reticent_release::Totals;
use std::sync::Arc;

/// Counts and sums by group. A row is in one group and counts once: this is what every limit
/// allows.
#[derive(Debug)]
pub(super) struct EachRow {
    tracks: Arc<Tracks>,
    key: SecretKey,
    groups: Groups,
    record: Record,
    /// By group.
    records: Vec<u64>,
    /// By track, then by group.
    histograms: Vec<Vec<Histogram>>,
    values: Prepared,
    numbers: Vec<u32>,
}

impl EachRow {
    pub(super) fn new(tracks: Arc<Tracks>, groups: Groups, key: SecretKey) -> Self {
        let record = Record::new(&tracks);
        let histograms = vec![Vec::new(); tracks.samples.len()];
        Self {
            tracks,
            key,
            groups,
            record,
            records: Vec::new(),
            histograms,
            values: Prepared::default(),
            numbers: Vec::new(),
        }
    }

    /// Adds the rows of a batch.
    pub(super) fn absorb(&mut self, batch: &RecordBatch) -> Result<(), EngineError> {
        self.groups.numbers(batch, &self.key, &mut self.numbers)?;
        self.resize();
        self.values.fill(batch, &self.tracks);
        self.record.add_all(&mut self.records, &self.numbers, &self.values);
        for (histograms, (steps, present)) in self.histograms.iter_mut().zip(&self.values.samples) {
            for ((&number, &step), &present) in self.numbers.iter().zip(steps).zip(present) {
                if number != NONE {
                    histograms[number as usize].add(step, u64::from(present));
                }
            }
        }
        Ok(())
    }

    /// What all rows add up to.
    pub(super) fn finish(mut self) -> ByGroup {
        self.resize();
        let record = self.record;
        let records = || self.records.chunks_exact(record.width);
        let integers = |of: &dyn Fn(&[u64]) -> i128| Totals::Integers(records().map(of).collect());
        let values: Vec<Totals> = self
            .histograms
            .into_iter()
            .map(|track| Totals::Values(track.into_iter().map(Histogram::into_values).collect()))
            .collect();
        let totals = self.tracks.outputs.iter().map(|output| match *output {
            Output::Rows { .. } | Output::Units => integers(&|at| record.rows(at).into()),
            Output::Count { count, .. } => integers(&|at| record.count(at, count).into()),
            Output::Sum { sum, .. } => integers(&|at| record.sum(at, sum)),
            Output::Values { sample } => values[sample].clone(),
        });
        let totals = totals.collect();
        ByGroup {
            units: records().map(|at| record.rows(at)).collect(),
            totals,
            groups: self.groups,
        }
    }

    fn resize(&mut self) {
        let groups = self.groups.interner.len();
        self.records.resize(groups * self.record.width, 0);
        self.histograms
            .iter_mut()
            .for_each(|histograms| histograms.resize_with(groups, Histogram::default));
    }
}
