//! Many counting queries in one release: from a policy's table to a plan, and from rows to tables.
//!
//! ```text
//! WorkloadQuestion --prepare_workload--> PreparedWorkload: attributes with their public values,
//!         what is asked for, strategy, expected error; nothing private is open yet
//!     --open-----> sources are open, no row is read
//!     --run------> one scan: bounded counts of the joint cells that occur -> the tables that the
//!                  plan needs -> noise -> WorkloadRelease
//! ```
//!
//! Design. The attributes are the keys of one `SELECT COUNT(*) ... GROUP BY` under the policy, so
//! that expressions, filters, joins, public domains and the bounding of contributions are those of
//! every other query, with their proofs. The engine is asked for the groups that occur, since the
//! public ones may be 10^12; a unit then has a part in at most `max_groups` joint cells, with at
//! most `max_rows` in each, so that adding or removing it adds or removes at most
//! `max_groups max_rows` rows of what is tallied, all of which may be in one cell of a marginal:
//! that is the [`Contribution`] that the plan is made for. Which cells occur is private, and stays
//! in [`tally`]. Rows whose values are not among the public ones count nowhere.

mod attributes;
mod predicate;
mod statements;
mod tally;

pub use attributes::Attribute;

use crate::answer::private_sources;
use crate::error::QueryError;
use crate::prepare::price;
use crate::sql::Options;
use attributes::{Read, read};
use futures::FutureExt;
use reticent_engine::{Engine, OpenQuery, SecretKey};
use reticent_mechanisms::{Delta, Epsilon, Neighbours};
use reticent_noise::randomness::SecureRandom;
use reticent_policy::{Accounting, Policy, TablePolicy};
use reticent_sources::TableSources;
use reticent_workloads::{
    Attributes, Contribution, Domain, Finish, Method, Workload, WorkloadBudget, WorkloadError,
    WorkloadPlan, WorkloadRelease,
};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

/// What is asked: statements over attributes of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkloadQuestion {
    /// The table of the policy.
    pub table: String,
    /// The attributes: columns, or expressions with a name, as in `age / 10 AS decade`. If there
    /// are none, all columns of the table whose values are public.
    pub over: Vec<String>,
    /// Which rows count, as after WHERE; all of them if there is none.
    pub filter: Option<String>,
    /// The statements, separated by semicolons or line breaks: see docs/workloads.md.
    pub statements: String,
    /// The budget and the bounds, where they are not the policy's.
    pub options: Options,
    /// A budget in zero-concentrated differential privacy in place of `epsilon` and `delta`.
    pub rho: Option<f64>,
    /// How it is measured.
    pub method: Method,
    /// What is done to cells that are negative or no integers.
    pub finish: Option<Finish>,
}

/// A workload that can be run.
pub struct PreparedWorkload {
    /// The attributes with their public values.
    pub attributes: Vec<Attribute>,
    /// What is asked for.
    pub workload: Workload,
    /// The statements, one a line, without comments and spaces around them.
    pub statements: String,
    /// The strategy, and what it costs.
    pub plan: WorkloadPlan,
    /// The budget that was given.
    pub budget: WorkloadBudget,
    /// What is done to cells that are negative or no integers.
    pub finish: Finish,
    /// The rows that are counted, as SQL in its canonical form.
    pub sql: String,
    /// The most joint cells in which one unit counts.
    pub max_groups: u32,
    /// The most rows of one unit that count in one of them.
    pub max_rows: u32,
    /// Whether a unit may have several rows; else each row is protected by itself.
    pub has_unit: bool,
    read: Read,
}

impl std::fmt::Debug for PreparedWorkload {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "PreparedWorkload {{ statements: {:?} }}", self.statements)
    }
}

impl From<WorkloadError> for QueryError {
    fn from(error: WorkloadError) -> Self {
        QueryError::Refused(error.to_string())
    }
}

/// The most numbers of one release: with its digits an answer stays below what a ledger stores.
const MOST_NUMBERS: u64 = 1 << 21;

/// Reads, checks and plans a workload under a policy. Only public tables are opened.
///
/// # Errors
/// If an attribute has no public values, a statement cannot be read, or no noise fits.
pub async fn prepare_workload<'a>(
    sources: impl Into<TableSources<'a>>,
    question: &WorkloadQuestion,
) -> Result<PreparedWorkload, QueryError> {
    let sources = sources.into();
    let policy = sources.policy();
    let table = private_table(policy, &question.table)?;
    let Options { metric, mechanism, .. } = question.options;
    if metric.is_some() || mechanism.is_some() {
        return Err(QueryError::Refused(
            "metric and mechanism choose the noise of one query; a workload has a method".into(),
        ));
    }
    let budget = budget(policy, question)?;
    let filter = question.filter.as_deref();
    let mut over = question.over.clone();
    if over.is_empty() {
        over = attributes::public_columns(table);
        if over.is_empty() {
            return Err(QueryError::Refused(format!(
                "no column of {} has public values: a workload is over columns whose `values` or \
                 whole `bounds` are in the policy, or over expressions of such",
                table.name()
            )));
        }
    }
    let mut read = read(&sources, table, &over, filter, &question.options).await?;
    let (mut workload, statements) = statements::read(&question.statements, &read).await?;
    if question.over.is_empty() {
        // A unit counts in at most `max_groups` joint cells: of what is asked for, and of no more.
        let used = used(&workload);
        if used.len() < over.len() {
            over = used.iter().filter_map(|index| over.get(index).cloned()).collect();
            if over.is_empty() {
                over.push("1 AS total".into());
            }
            read = self::read(&sources, table, &over, filter, &question.options).await?;
            workload = statements::read(&question.statements, &read).await?.0;
        }
    }
    let aggregation = &read.aggregation;
    let (max_groups, max_rows) = (aggregation.max_groups, aggregation.max_rows);
    let has_unit = aggregation.has_unit;
    let contribution = contribution(max_groups, max_rows, has_unit)?;
    let method = match (question.method, policy.budget().accounting(), budget) {
        // In this currency Gaussian noise costs a small part of what pure noise does.
        (Method::Auto, Accounting::ZeroConcentrated, WorkloadBudget::Approximate { .. }) => {
            Method::Gaussian
        }
        (method, _, _) => method,
    };
    let plan = WorkloadPlan::new(&workload, budget, contribution, method)?;
    if plan.answers() > MOST_NUMBERS {
        return Err(QueryError::Refused(format!(
            "the workload asks for {} numbers, and one answer holds at most {MOST_NUMBERS}: ask \
             for fewer or coarser tables",
            plan.answers()
        )));
    }
    let finish = question.finish.unwrap_or(Finish::Unbiased);
    let (attributes, sql) = (read.attributes.clone(), read.sql.clone());
    Ok(PreparedWorkload {
        attributes,
        workload,
        statements,
        plan,
        budget,
        finish,
        sql,
        max_groups,
        max_rows,
        has_unit,
        read,
    })
}

fn private_table<'a>(policy: &'a Policy, name: &str) -> Result<&'a TablePolicy, QueryError> {
    let refused = |problem: String| Err(QueryError::Refused(problem));
    match policy.tables().iter().find(|table| table.name().eq_ignore_ascii_case(name)) {
        None => {
            let known: Vec<&str> = policy.tables().iter().map(TablePolicy::name).collect();
            refused(format!("there is no table `{name}` in the policy, but {}", known.join(", ")))
        }
        Some(table) if table.is_public() => {
            refused(format!("the table `{name}` is public and needs no noise"))
        }
        Some(table) => Ok(table),
    }
}

/// The attributes that a workload needs.
fn used(workload: &Workload) -> Attributes {
    match workload {
        Workload::Marginals(marginals) => {
            marginals.marginals().fold(Attributes::NONE, |all, (set, _)| all.union(set))
        }
        Workload::Linear(cells) => cells.attributes(),
    }
}

fn contribution(
    max_groups: u32,
    max_rows: u32,
    has_unit: bool,
) -> Result<Contribution, QueryError> {
    if !has_unit {
        return Ok(Contribution::ONE_ROW);
    }
    let rows = max_groups.checked_mul(max_rows).filter(|rows| *rows <= 1_000_000);
    let rows = rows.ok_or_else(|| {
        QueryError::Refused(format!(
            "one unit may have {max_rows} rows in each of {max_groups} cells, and a million rows \
             are the most: lower max_groups or max_rows"
        ))
    })?;
    Contribution::new(rows, Neighbours::AddRemove)
        .map_err(|error| QueryError::Refused(error.to_string()))
}

fn budget(policy: &Policy, question: &WorkloadQuestion) -> Result<WorkloadBudget, QueryError> {
    let refused = |problem: &str| Err(QueryError::Refused(problem.to_owned()));
    let out_of_range =
        |error: reticent_mechanisms::MechanismError| QueryError::Refused(error.to_string());
    if let Some(rho) = question.rho {
        if question.options.epsilon.is_some() {
            return refused("rho takes the place of epsilon: give one of them");
        }
        if policy.budget().delta() == 0.0 {
            return refused(
                "a budget in rho has an epsilon only at some delta, and the policy's budget has \
                 none: give an epsilon, or add delta to the policy",
            );
        }
        if !(1e-20..=1e6).contains(&rho) {
            return Err(QueryError::Refused(format!(
                "rho is {rho}: a number from 1e-20 to 1e6 is accepted"
            )));
        }
        return Ok(WorkloadBudget::ZeroConcentrated { rho });
    }
    let (epsilon, delta) = price(policy, &question.options)?;
    let epsilon = Epsilon::positive(epsilon).map_err(out_of_range)?;
    // Laplace noise costs no delta, so none is asked for.
    let delta = delta.filter(|_| question.method != Method::Laplace);
    Ok(match delta {
        None => WorkloadBudget::Pure { epsilon },
        Some(delta) => {
            WorkloadBudget::Approximate { epsilon, delta: Delta::new(delta).map_err(out_of_range)? }
        }
    })
}

impl PreparedWorkload {
    /// The public domain.
    pub fn domain(&self) -> &Domain {
        &self.read.domain
    }

    /// Opens the private tables. No row is read.
    ///
    /// # Errors
    /// If a source cannot be opened.
    pub async fn open<'a>(
        &self,
        sources: impl Into<TableSources<'a>>,
    ) -> Result<OpenedWorkload<'_>, QueryError> {
        let sources = private_sources(&self.read.aggregation.rows, &sources.into())?;
        let rows = self.read.engine.open(&self.read.totals_query(), sources).await?;
        Ok(OpenedWorkload { prepared: self, rows })
    }
}

/// A workload whose tables are open.
#[derive(Debug)]
pub struct OpenedWorkload<'a> {
    prepared: &'a PreparedWorkload,
    rows: Box<dyn OpenQuery>,
}

impl OpenedWorkload<'_> {
    /// Counts in one scan, and releases what was planned. What it costs must have been paid before.
    ///
    /// # Errors
    /// [`QueryError::Interrupted`], whatever the cause, a panic among them.
    pub async fn run(
        &self,
        random: &mut SecureRandom,
        progress: impl Fn(u64) + Send + Sync + 'static,
    ) -> Result<WorkloadRelease, QueryError> {
        match AssertUnwindSafe(self.release(random, progress)).catch_unwind().await {
            Ok(Ok(release)) => Ok(release),
            Ok(Err(_)) | Err(_) => Err(QueryError::Interrupted),
        }
    }

    async fn release(
        &self,
        random: &mut SecureRandom,
        progress: impl Fn(u64) + Send + Sync + 'static,
    ) -> Result<WorkloadRelease, QueryError> {
        let key = SecretKey::draw(random)?;
        let totals = self.rows.totals(key, Arc::new(progress)).await?;
        let counts = tally::counted(&self.prepared.read, &self.prepared.plan, totals)?;
        Ok(self.prepared.plan.release(&counts, self.prepared.finish, random)?)
    }
}

#[cfg(test)]
mod tests;
