//! Exact totals of bounded contributions, in one pass over the rows.
//!
//! What it is: rows in, for each group the exact value of each statistic out, with every unit's
//! part bounded. What it never does: release anything, sum in floating point, or let a value of a
//! row become an error.
//!
//! ```text
//! rows of a partition ─ identity ─┬─ each row a unit:  interner ─ counters by group
//!                           └─ a column of units: parts of all units ─ interner ─ kept groups
//!                                      ─ counters by unit and group
//! partitions, or parts ─ totals by group ─ merge ─ groups in the order of the answer
//! ```
//!
//! **Rules for rows.** A row whose unit is NULL is left out. A NULL value is not part of statistics
//! about it, and NaN is NULL; infinities and numbers outside are clamped to the ends of the public
//! grid. A NULL key is a group of its own, -0.0 and 0.0 are one key, and so are all NaN.
//!
//! **Nothing depends on the order of rows, batches, partitions or threads**: the same rows and the
//! same key give the same totals. Sums are sums of integers, kept groups and samples are the lowest
//! in an order that the key and the values define, and groups that were found are sorted.

mod bounded;
mod by_group;
mod counters;
mod divided;
mod division;
mod each_row;
mod few_groups;
mod groups;
mod identity;
mod interner;
mod kept_groups;
mod layout;
mod lines;
mod many_groups;
#[cfg(test)]
mod model;
mod sample;
mod secret_key;
mod short_text;
mod steps;
#[cfg(test)]
mod tests;
mod view_memo;

pub use groups::GroupKeys;
pub use layout::Layout;
pub use secret_key::SecretKey;

use crate::{EngineError, GroupTotals, Progress};
use by_group::ByGroup;
use datafusion::arrow::datatypes::Schema;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use divided::{Divided, Reader};
use each_row::EachRow;
use futures::StreamExt;
use groups::Groups;
use layout::Tracks;
use sample::Histogram;
use std::sync::Arc;
use tokio::task::JoinSet;

/// The keys of the groups and the exact totals of each, with every unit's part bounded.
///
/// Partitions run in parallel. Where each row is a unit, each has a state of its own, of the size
/// of the answer; else they share one, divided by units. `progress` is told the number of rows of
/// each batch when it has been added.
///
/// # Errors
/// For a layout that does not fit the rows, if rows cannot be read, and for more than `2^32 - 1`
/// units or groups. Whoever asked sees one error for all of them: [`EngineError::Interrupted`].
pub(crate) async fn exact_totals(
    input: Arc<dyn ExecutionPlan>,
    layout: &Layout,
    groups: GroupKeys,
    context: Arc<TaskContext>,
    key: SecretKey,
    progress: Progress,
) -> Result<GroupTotals, EngineError> {
    let schema = input.schema();
    let tracks = Arc::new(Tracks::new(layout, &schema)?);
    let groups = Groups::new(&layout.keys, groups, &schema, key)?;
    let threads = input.output_partitioning().partition_count();
    let mut parts = JoinSet::new();
    if let Some(unit) = layout.unit {
        let unit = (unit, schema.field(unit));
        let state = Arc::new(Divided::new(
            tracks.clone(),
            unit,
            groups.another(key)?,
            layout.max_groups,
            key,
            threads,
        )?);
        let mut readers = JoinSet::new();
        for thread in 0..threads {
            let rows =
                input.execute(thread, context.clone()).map_err(|_| EngineError::Interrupted)?;
            let (mut reader, progress) = (Reader::new(state.clone(), thread), progress.clone());
            readers.spawn(async move {
                for_each_batch(rows, progress, |batch| reader.absorb(batch)).await
            });
        }
        while let Some(read) = readers.join_next().await {
            read.map_err(|_| EngineError::Interrupted)??;
        }
        for part in Arc::into_inner(state).ok_or(EngineError::Interrupted)?.into_parts()? {
            parts.spawn(async move { Ok(part.finish()) });
        }
    } else {
        for thread in 0..threads {
            let rows =
                input.execute(thread, context.clone()).map_err(|_| EngineError::Interrupted)?;
            let (mut state, progress) =
                (EachRow::new(tracks.clone(), groups.another(key)?, key), progress.clone());
            parts.spawn(async move {
                for_each_batch(rows, progress, |batch| state.absorb(batch)).await?;
                Ok::<ByGroup, EngineError>(state.finish())
            });
        }
    }
    let mut whole: Option<ByGroup> = None;
    while let Some(part) = parts.join_next().await {
        let part = part.map_err(|_| EngineError::Interrupted)??;
        match &mut whole {
            None => whole = Some(part),
            Some(whole) => whole.merge(part)?,
        }
    }
    let nothing = || EachRow::new(tracks, groups, key).finish();
    whole.unwrap_or_else(nothing).answer()
}

/// The totals of no rows.
pub(crate) fn totals_of_no_rows(
    schema: &Schema,
    layout: &Layout,
    groups: GroupKeys,
) -> Result<GroupTotals, EngineError> {
    let tracks = Arc::new(Tracks::new(layout, schema)?);
    // Without a row nothing is chosen by it.
    let key = SecretKey::NONE;
    EachRow::new(tracks, Groups::new(&layout.keys, groups, schema, key)?, key).finish().answer()
}

/// The values of both, each ascending, and how often they occur.
pub(crate) fn add_values(one: Vec<(i64, u64)>, other: Vec<(i64, u64)>) -> Vec<(i64, u64)> {
    Histogram::of_both(one, other).into_values()
}

/// Reads all rows of a partition.
async fn for_each_batch(
    mut rows: SendableRecordBatchStream,
    progress: Progress,
    mut absorb: impl FnMut(&RecordBatch) -> Result<(), EngineError>,
) -> Result<(), EngineError> {
    while let Some(batch) = rows.next().await {
        let batch = batch.map_err(|_| EngineError::Interrupted)?;
        absorb(&batch)?;
        progress(batch.num_rows() as u64);
    }
    Ok(())
}
