//! The embedded engine in parts: the units are divided, the totals of each part are written, read
//! and merged.

use async_trait::async_trait;
use datafusion::arrow::array::{Array, BooleanArray};
use datafusion::arrow::compute::filter_record_batch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use reticent_engine::{
    Embedded, Engine, EngineError, GroupTotals, OpenQuery, Progress, SecretKey, Sources,
    TotalsQuery,
};
use reticent_policy::Policy;
use reticent_sources::{Batches, Share, Source, SourceError};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// An engine that computes so many parts.
#[derive(Debug)]
pub(super) struct InParts {
    engine: Embedded,
    parts: u64,
    /// By table, where the column of the unit is; none where each row is one.
    units: HashMap<String, Option<usize>>,
}

impl InParts {
    pub(super) fn new(policy: &Policy, parts: u64) -> InParts {
        let unit = |table: &reticent_policy::TablePolicy| {
            let index = table.unit().and_then(|unit| {
                table.columns().iter().position(|column| column.name() == unit.name())
            });
            (table.name().to_owned(), index)
        };
        let units = policy.tables().iter().map(unit).collect();
        InParts { engine: Embedded::new().expect("an engine"), parts, units }
    }
}

#[async_trait]
impl Engine for InParts {
    async fn open(
        &self,
        query: &TotalsQuery,
        sources: Sources,
    ) -> Result<Box<dyn OpenQuery>, EngineError> {
        let mut parts = Vec::new();
        for part in 0..self.parts {
            let of_part = |(name, source): (&String, &Arc<dyn Source>)| {
                let (source, unit) = (Arc::clone(source), self.units[name]);
                let source = OfPart { source, unit, part, parts: self.parts };
                (name.clone(), Arc::new(source) as Arc<dyn Source>)
            };
            parts.push(self.engine.open(query, sources.iter().map(of_part).collect()).await?);
        }
        Ok(Box::new(OpenParts { parts, none: query.of_no_rows()? }))
    }
}

#[derive(Debug)]
struct OpenParts {
    parts: Vec<Box<dyn OpenQuery>>,
    none: GroupTotals,
}

#[async_trait]
impl OpenQuery for OpenParts {
    /// The last part first: the order is of no consequence.
    async fn totals(&self, key: SecretKey, progress: Progress) -> Result<GroupTotals, EngineError> {
        let query = [7; 32];
        let mut totals = vec![self.none.clone()];
        for part in self.parts.iter().rev() {
            let bytes = part.totals(key, progress.clone()).await?.to_bytes(&query)?;
            totals.push(GroupTotals::from_bytes(&bytes, &query, &self.none).expect("a part"));
        }
        GroupTotals::merged(totals)
    }
}

/// The rows of those units of a source that are in one part.
#[derive(Clone, Debug)]
struct OfPart {
    source: Arc<dyn Source>,
    unit: Option<usize>,
    part: u64,
    parts: u64,
}

impl Source for OfPart {
    fn schema(&self) -> SchemaRef {
        self.source.schema()
    }

    fn shares(
        &self,
        columns: &[usize],
        threads: usize,
    ) -> Result<Vec<Arc<dyn Share>>, SourceError> {
        let mut read = columns.to_vec();
        read.extend(self.unit);
        let shares = self.source.shares(&read, threads)?;
        let of_part = |share| Arc::new(ShareOfPart { share, of: self.clone() }) as Arc<dyn Share>;
        Ok(shares.into_iter().map(of_part).collect())
    }
}

#[derive(Debug)]
struct ShareOfPart {
    share: Arc<dyn Share>,
    of: OfPart,
}

impl Share for ShareOfPart {
    fn rows(&self, batch_rows: usize) -> Result<Batches, SourceError> {
        let (of, mut passed) = (self.of.clone(), 0);
        Ok(Box::new(self.share.rows(batch_rows)?.map(move |batch| {
            let batch = batch?;
            let kept = of.kept(&batch, passed);
            passed += batch.num_rows();
            Ok(kept)
        })))
    }
}

impl OfPart {
    /// Rows of the units of this part, without the column that was read for it. Where each row is a
    /// unit they are dealt in turn.
    fn kept(&self, batch: &RecordBatch, passed: usize) -> RecordBatch {
        let columns: Vec<usize> = (0..batch.num_columns()).collect();
        let (part_of, columns): (Vec<u64>, _) = match (self.unit, columns.split_last()) {
            (Some(_), Some((&unit, others))) => {
                let options = FormatOptions::new();
                let units = batch.column(unit);
                let shown = ArrayFormatter::try_new(units, &options).expect("a unit");
                let hash = |row: usize| {
                    let mut hasher = DefaultHasher::new();
                    units.is_valid(row).then(|| shown.value(row).to_string()).hash(&mut hasher);
                    hasher.finish()
                };
                ((0..batch.num_rows()).map(hash).collect(), others.to_vec())
            }
            _ => ((passed as u64..).take(batch.num_rows()).collect(), columns),
        };
        let kept = part_of.iter().map(|number| Some(number % self.parts == self.part));
        let rows = filter_record_batch(batch, &BooleanArray::from_iter(kept)).expect("filtered");
        rows.project(&columns).expect("the columns that were asked for")
    }
}
