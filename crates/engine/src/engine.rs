//! The contract of an engine, and the one that is embedded.

use crate::rules::context;
use crate::tables::with_tables;
use crate::totals::{GroupKeys, Layout, SecretKey, exact_totals, totals_of_no_rows};
use crate::{EngineError, GroupTotals, SourceTable};
use async_trait::async_trait;
use datafusion::catalog::TableProvider;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionContext;
use reticent_sources::Source;
use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::Arc;

/// What is to be computed: rows that each belong to one unit, and which totals of them.
#[derive(Clone, Debug)]
pub struct TotalsQuery {
    /// The plan of the rows, over tables that have names and types and no rows.
    pub rows: LogicalPlan,
    /// What the columns of the rows mean, and which totals are wanted, with the bounds on what one
    /// unit adds.
    pub layout: Layout,
    /// The groups.
    pub groups: GroupKeys,
}

impl TotalsQuery {
    /// The totals of tables without rows: zero in every public group, or no group.
    ///
    /// # Errors
    /// If the layout does not fit the rows.
    pub fn of_no_rows(&self) -> Result<GroupTotals, EngineError> {
        totals_of_no_rows(self.rows.schema().as_arrow(), &self.layout, self.groups.clone())
    }
}

/// Where the rows of private tables come from, by the names of the tables.
pub type Sources = HashMap<String, Arc<dyn Source>>;

/// Is told how many rows were read, whenever some were.
pub type Progress = Arc<dyn Fn(u64) + Send + Sync>;

/// From a query to exact totals by group.
///
/// What every implementation keeps, and the conformance suite tries:
///
/// - **The totals are defined**, bit for bit, by the rows as a multiset and by the key: of each
///   unit those groups count that the key orders lowest, at most `max_groups`, and in each of them
///   what [`Layout`] allows. Nothing depends on the order of rows, or on how they are divided among
///   batches, threads, processes and machines.
/// - **Units apart**: the rows of one unit decide over what that unit adds, and over nothing else
///   (docs/proofs/units_apart.md).
/// - **No content of a row is an error**: whether there are totals depends on the query, the public
///   tables and the machine.
/// - **Errors** of [`open`](Engine::open) come before any row is read, and may be shown. Those of
///   [`OpenQuery::totals`] come after, and say nothing.
#[async_trait]
pub trait Engine: Debug + Send + Sync {
    /// Takes a query over these sources. No row is read.
    ///
    /// # Errors
    /// If a source cannot be read as asked, or the layout does not fit the rows.
    async fn open(
        &self,
        query: &TotalsQuery,
        sources: Sources,
    ) -> Result<Box<dyn OpenQuery>, EngineError>;
}

/// A query whose tables are open.
#[async_trait]
pub trait OpenQuery: Debug + Send + Sync {
    /// The totals of all rows.
    ///
    /// # Errors
    /// If the rows cannot be read to the end. Whoever asked sees one error, whatever the cause.
    async fn totals(&self, key: SecretKey, progress: Progress) -> Result<GroupTotals, EngineError>;
}

/// The engine of this process.
#[derive(Clone)]
pub struct Embedded {
    context: SessionContext,
}

impl Debug for Embedded {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Embedded")
    }
}

impl Embedded {
    /// An engine without tables.
    ///
    /// # Errors
    /// If its settings are not accepted, which is a fault of this program.
    pub fn new() -> Result<Embedded, EngineError> {
        Ok(Embedded { context: context()? })
    }

    /// What plans and runs the public parts of queries.
    #[must_use]
    pub fn context(&self) -> &SessionContext {
        &self.context
    }

    /// How the rows of a query are computed.
    ///
    /// # Errors
    /// If a source cannot be read as asked.
    pub async fn plan_rows(
        &self,
        query: &TotalsQuery,
        sources: Sources,
    ) -> Result<Arc<dyn ExecutionPlan>, EngineError> {
        let table = |(name, source): (String, Arc<dyn Source>)| {
            let table: Arc<dyn TableProvider> = Arc::new(SourceTable::new(&name, source));
            (name, table)
        };
        let tables = sources.into_iter().map(table).collect();
        let rows = with_tables(query.rows.clone(), &tables)?;
        let planned = self.context.state().create_physical_plan(&rows).await;
        planned.map_err(|error| match SourceTable::error_in(&error) {
            Some(error) => error.into(),
            None => EngineError::Fault { part: "the plan of the rows" },
        })
    }
}

#[async_trait]
impl Engine for Embedded {
    async fn open(
        &self,
        query: &TotalsQuery,
        sources: Sources,
    ) -> Result<Box<dyn OpenQuery>, EngineError> {
        query.of_no_rows()?;
        let input = self.plan_rows(query, sources).await?;
        let (context, query) = (self.context.clone(), query.clone());
        Ok(Box::new(OpenRows { context, query, input }))
    }
}

/// Rows that are ready to be read.
struct OpenRows {
    context: SessionContext,
    query: TotalsQuery,
    input: Arc<dyn ExecutionPlan>,
}

impl Debug for OpenRows {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_tuple("OpenRows").field(&self.input).finish()
    }
}

#[async_trait]
impl OpenQuery for OpenRows {
    async fn totals(&self, key: SecretKey, progress: Progress) -> Result<GroupTotals, EngineError> {
        let TotalsQuery { layout, groups, .. } = &self.query;
        let context = self.context.task_ctx();
        exact_totals(self.input.clone(), layout, groups.clone(), context, key, progress).await
    }
}
