//! Many counting queries under a policy: asked, explained, paid for once, answered, stored.

use crate::Error;
use crate::answer::{Cell, Cost, Remaining, cells};
use crate::explanation::LedgerAnswer;
use crate::limits::{conversion_delta, limits};
use crate::purchase::{Listener, Lookup, Payment};
use crate::question::{Progress, stable_name};
use crate::release_file::ReleaseRecord;
use crate::session::Session;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{Field, Schema};
use reticent_accounting::{Filter, FilterBudget};
use reticent_events::Event;
use reticent_ledger::{ChargeRequest, Digest, LedgerError, Quote};
use reticent_mechanisms::Delta;
use reticent_noise::randomness::SecureRandom;
use reticent_policy::Accounting;
use reticent_query::{Attribute, PreparedWorkload, QueryError, WorkloadQuestion, prepare_workload};
use reticent_workloads::{ExpectedError, Finish, Workload, WorkloadBudget, WorkloadRelease};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

/// A workload that can be awaited: many counting queries in one release, with one charge.
///
/// # Example
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// # let folder = tempfile::tempdir()?;
/// # let factory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/factory");
/// # for file in ["policy.toml", "workers.csv"] {
/// #     std::fs::copy(format!("{factory}/{file}"), folder.path().join(file))?;
/// # }
/// # let policy = folder.path().join("policy.toml");
/// use reticent::query::{Options, WorkloadQuestion};
///
/// let session = reticent::Session::open(policy).await?;
/// let pairs = WorkloadQuestion {
///     table: "workers".into(),
///     statements: "all 2-way".into(),
///     options: Options { epsilon: Some(1.0), ..Options::default() },
///     ..WorkloadQuestion::default()
/// };
/// let plan = session.workload(pairs.clone()).explain().await?;
/// assert!(plan.expected_error.is_some_and(|error| error.rmse < 20.0));
///
/// let answer = session.workload(pairs).await?;
/// assert_eq!(answer.record.tables.len(), 15);
/// assert_eq!(session.budget().await?.spent.cost, 1.0);
/// # Ok::<_, Box<dyn std::error::Error>>(()) })?;
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[must_use = "nothing is asked until it is awaited"]
pub struct AskWorkload<'a> {
    session: &'a Session,
    question: WorkloadQuestion,
    fresh: bool,
    asker: Option<String>,
    progress: Listener,
}

impl fmt::Debug for AskWorkload<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AskWorkload({:?})", self.question)
    }
}

/// The error to expect, and the least that is possible.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ErrorRecord {
    /// The root mean squared error over all answers, by their weights, rounded up.
    pub rmse: f64,
    /// What no Gaussian matrix mechanism of the same cost has less of, rounded down; none where no
    /// proof covers the noise.
    pub limit: Option<f64>,
    /// The one over the other, rounded up.
    pub ratio: Option<f64>,
}

impl ErrorRecord {
    fn of(error: &ExpectedError) -> Self {
        let (limit, ratio) = (error.limit, error.ratio());
        ErrorRecord { rmse: error.rmse.upper(), limit, ratio }
    }
}

/// An attribute and its public values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttributeRecord {
    /// Its name.
    pub name: String,
    /// Its values in the order of the tables.
    pub values: Vec<Cell>,
}

/// What is measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredRecord {
    /// What.
    pub what: String,
    /// How many numbers.
    pub numbers: u64,
    /// The scale of the noise on each: `sigma` of Gaussian noise, `b` of Laplace noise.
    pub scale: f64,
}

/// A marginal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MarginalRecord {
    /// The names of its attributes; none for the total.
    pub attributes: Vec<String>,
    /// Its cells in row-major order: the value of the last attribute changes fastest.
    pub values: Vec<f64>,
    /// The exact count of a cell lies within this of the value with probability 95%; none where
    /// what was done to the cells leaves no such claim.
    pub half_width: Option<f64>,
    /// The standard deviation of the noise of every cell, rounded up.
    pub standard_deviation: f64,
}

/// The answer of one query.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueryAnswer {
    /// What was asked.
    pub query: String,
    /// The answer.
    pub value: f64,
    /// The exact answer lies within this of it with probability 95%; none where nothing is claimed.
    pub half_width: Option<f64>,
}

/// What is known of a workload beforehand.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorkloadExplanation {
    /// The statements, one a line.
    pub workload: String,
    /// The attributes.
    pub attributes: Vec<AttributeRecord>,
    /// What it would cost.
    pub cost: Cost,
    /// In zero-concentrated differential privacy, where the budget was given so.
    pub rho: Option<f64>,
    /// How many numbers would be released.
    pub answers: u64,
    /// The strategy by name.
    pub strategy: String,
    /// Why this one.
    pub reason: String,
    /// The error to expect; none where nothing is stated.
    pub expected_error: Option<ErrorRecord>,
    /// What would be measured.
    pub measured: Vec<MeasuredRecord>,
    /// The 95% half-width of the cells of each marginal, with its attributes; none where queries
    /// are asked.
    pub half_widths: Vec<(Vec<String>, Option<f64>)>,
    /// The most joint cells of the attributes in which one unit counts.
    pub max_groups: u32,
    /// The most rows of one unit that count in one of them.
    pub max_rows: u32,
    /// Whether a unit may have several rows; else each row is protected by itself.
    pub has_unit: bool,
    /// What the ledger says to it, as it stands.
    pub ledger: LedgerAnswer,
    /// The currency in which the ledger counts: `epsilon` or `rho`.
    pub unit: String,
    /// The rows that are counted.
    pub rows: String,
}

/// A released workload with all that belongs to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkloadRecord {
    /// The statements, one a line.
    pub workload: String,
    /// The attributes with their values.
    pub attributes: Vec<AttributeRecord>,
    /// The marginals, if such were asked for.
    pub tables: Vec<MarginalRecord>,
    /// The answers, if queries were asked.
    pub answers: Vec<QueryAnswer>,
    /// The error that was to be expected; none where nothing is stated.
    pub expected_error: Option<ErrorRecord>,
    /// The strategy by name.
    pub strategy: String,
    /// Why this one.
    pub reason: String,
    /// What was done to cells: `unbiased`, `cells` or `totals`.
    pub finish: String,
    /// What was measured.
    pub measured: Vec<MeasuredRecord>,
    /// What it cost.
    pub cost: Cost,
    /// In zero-concentrated differential privacy, where the budget was given so.
    pub rho: Option<f64>,
    /// What was left after it.
    pub remaining: Remaining,
    /// What ran, and what it guarantees.
    pub release: ReleaseRecord,
    /// The rows that were counted.
    pub rows: String,
    /// The entry of the ledger that paid.
    pub entry: u64,
}

/// A workload that is paid for and stored.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadAnswer {
    /// The answer as it is stored.
    pub record: WorkloadRecord,
    /// The bytes that are stored, JSON: the same each time.
    pub bytes: Vec<u8>,
    /// Whether it was stored before, and cost nothing now.
    pub stored: bool,
}

impl WorkloadAnswer {
    fn new(bytes: Vec<u8>, stored: bool) -> Result<Self, Error> {
        let record = serde_json::from_slice(&bytes)
            .map_err(|_| Error::Fault("the stored answer is not one of this program's".into()))?;
        Ok(WorkloadAnswer { record, bytes, stored })
    }
}

/// A workload that was read, planned and priced.
struct Priced {
    prepared: PreparedWorkload,
    cost: Cost,
    rho: Option<f64>,
    request: ChargeRequest,
}

impl<'a> AskWorkload<'a> {
    pub(crate) fn new(session: &'a Session, question: WorkloadQuestion) -> Self {
        AskWorkload { session, question, fresh: false, asker: None, progress: Arc::new(|_| ()) }
    }

    /// Pays for a new answer although there is one.
    pub fn fresh(mut self) -> Self {
        self.fresh = true;
        self
    }

    /// Who asks: recorded in the ledger, and part of no decision.
    pub fn asker(mut self, asker: impl Into<String>) -> Self {
        self.asker = Some(asker.into());
        self
    }

    /// Whom to tell what happens meanwhile.
    pub fn progress(mut self, progress: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.progress = Arc::new(progress);
        self
    }

    /// What would be measured, the error to expect and the price. No private row is read, and
    /// nothing is spent.
    ///
    /// # Errors
    /// If it cannot be answered under the policy.
    pub async fn explain(self) -> Result<WorkloadExplanation, Error> {
        let session = self.session;
        let priced = self.priced().await?;
        let request = priced.request.clone();
        let quote = session.blocking(move |session| session.quote(&request)).await;
        let ledger = match quote.map_err(|error| priced.refusal(error)) {
            Ok(None) => {
                let made_by_first_query = session.policy().budget().create_ledger();
                LedgerAnswer::None { made_by_first_query }
            }
            Ok(Some(Quote { charge: None, .. })) => LedgerAnswer::Stored,
            Ok(Some(Quote { charge: Some(_), remaining })) => LedgerAnswer::Fits { remaining },
            Err(refused) => LedgerAnswer::Refused { reason: refused.to_string() },
        };
        let Priced { prepared, cost, rho, .. } = priced;
        let domain = prepared.domain();
        let names = |set: reticent_workloads::Attributes| {
            set.iter().filter_map(|index| domain.name(index)).map(str::to_owned).collect()
        };
        let widths = prepared.plan.marginal_half_widths().into_iter();
        let half_widths = widths.map(|(set, width)| (names(set), width)).collect();
        Ok(WorkloadExplanation {
            workload: prepared.statements.clone(),
            attributes: attributes(&prepared.attributes)?,
            cost,
            rho,
            answers: prepared.plan.answers(),
            strategy: prepared.plan.strategy().to_owned(),
            reason: prepared.plan.reason().to_owned(),
            expected_error: prepared.plan.expected_error().as_ref().map(ErrorRecord::of),
            measured: measured(&prepared),
            half_widths,
            max_groups: prepared.max_groups,
            max_rows: prepared.max_rows,
            has_unit: prepared.has_unit,
            ledger,
            unit: limits(session.policy().budget())?.unit().name().to_owned(),
            rows: prepared.sql.clone(),
        })
    }

    /// Reads, plans and prices. Only public tables are opened.
    async fn priced(&self) -> Result<Priced, Error> {
        let policy = self.session.policy();
        let prepared = prepare_workload(policy, &self.question).await?;
        let accounting = policy.budget().accounting();
        let (cost, rho) = self.cost(&prepared)?;
        let plan = &prepared.plan;
        let fingerprint = Digest::of(&[
            b"reticent workload 1",
            policy.fingerprint_text().as_bytes(),
            stable_name(accounting),
            prepared.sql.as_bytes(),
            names(&prepared).as_bytes(),
            prepared.statements.as_bytes(),
            plan.strategy().as_bytes(),
            &plan.event().to_string().into_bytes(),
            finish_name(prepared.finish).as_bytes(),
            &cost.epsilon.to_be_bytes(),
            &cost.delta.to_be_bytes(),
            &rho.unwrap_or(0.0).to_be_bytes(),
            &prepared.max_groups.to_be_bytes(),
            &prepared.max_rows.to_be_bytes(),
        ]);
        // Under basic accounting a guarantee with a delta is charged as it is stated; everything
        // else by the noise itself.
        let event = match accounting {
            Accounting::Basic if cost.delta > 0.0 => {
                Event::Approximate { epsilon: cost.epsilon, delta: cost.delta }
            }
            Accounting::Basic | Accounting::ZeroConcentrated => plan.event(),
        };
        let query = format!("{}\n-- workload\n{}", prepared.sql, prepared.statements);
        let request = ChargeRequest {
            fingerprint,
            query,
            events: vec![event],
            selection_delta: 0.0,
            fresh: self.fresh,
            asker: self.asker.clone(),
        };
        Ok(Priced { prepared, cost, rho, request })
    }

    /// What is guaranteed: as asked; and for a budget in `rho`, the epsilon at the delta that was
    /// given, or at the policy's.
    fn cost(&self, prepared: &PreparedWorkload) -> Result<(Cost, Option<f64>), Error> {
        let budget = self.session.policy().budget();
        let rho = match prepared.budget {
            WorkloadBudget::Pure { epsilon } => {
                return Ok((Cost { epsilon: epsilon.get(), delta: 0.0 }, None));
            }
            WorkloadBudget::Approximate { epsilon, delta } => {
                let delta = if prepared.plan.is_pure() { 0.0 } else { delta.get() };
                return Ok((Cost { epsilon: epsilon.get(), delta }, None));
            }
            WorkloadBudget::ZeroConcentrated { rho } => rho,
        };
        let refused = |problem: String| Error::Query(QueryError::Refused(problem));
        let of_policy = match budget.accounting() {
            Accounting::Basic => Some(budget.query_delta()).filter(|delta| *delta > 0.0),
            Accounting::ZeroConcentrated => conversion_delta(budget),
        };
        let delta = self.question.options.delta.or(of_policy).ok_or_else(|| {
            refused(
                "a budget in rho has an epsilon only at some delta: give a delta, or add \
                 query_delta to the policy"
                    .into(),
            )
        })?;
        let at = Delta::new(delta).ok().filter(|at| at.get() > 0.0).ok_or_else(|| {
            refused(format!("delta is {delta}: a number above 0 and below 1 is accepted"))
        })?;
        let filter = Filter::new(FilterBudget::ZeroConcentrated { rho })?;
        let epsilon = filter.epsilon(at)?;
        let least = budget.min_query_epsilon();
        if epsilon < least {
            return Err(refused(format!(
                "rho {rho} is an epsilon of {epsilon}: at least {least} is accepted, which is \
                 budget.min_query_epsilon of the policy"
            )));
        }
        Ok((Cost { epsilon, delta }, Some(rho)))
    }

    async fn answer(self) -> Result<WorkloadAnswer, Error> {
        let session = self.session;
        let priced = self.priced().await?;
        let request = &priced.request;
        let unpaid = match session.look_up(request.fingerprint, self.fresh).await? {
            Lookup::Stored(bytes) => return WorkloadAnswer::new(bytes, true),
            Lookup::Unpaid(unpaid) => unpaid,
        };
        // What can be wrong with files and entropy is found before anything is paid.
        let opened = priced.prepared.open(session.policy()).await?;
        let mut random = SecureRandom::new()?;
        let payment = session.pay(unpaid, request, &self.progress).await;
        let paid = match payment.map_err(|error| priced.refusal(error))? {
            Payment::Stored(bytes) => return WorkloadAnswer::new(bytes, true),
            Payment::Paid(paid) => paid,
        };
        let progress = self.progress.clone();
        let computed = opened.run(&mut random, move |rows| progress(Progress::Rows(rows))).await;
        let written = match computed {
            Ok(release) => paid.balance(session).await.and_then(|balance| {
                let record = priced.record(release, Remaining::of(&balance), paid.entry())?;
                serde_json::to_vec(&record)
                    .map_err(|_| Error::Fault("the answer cannot be written".into()))
            }),
            Err(error) => Err(error.into()),
        };
        WorkloadAnswer::new(paid.complete(session, written).await?, false)
    }
}

impl<'a> IntoFuture for AskWorkload<'a> {
    type Output = Result<WorkloadAnswer, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.answer())
    }
}

impl Priced {
    /// A refusal of the ledger in the words of the question.
    fn refusal(&self, error: Error) -> Error {
        match error {
            Error::Ledger(LedgerError::Exhausted { unit, asked, remaining, limit }) => {
                Error::Budget { unit, asked, remaining, limit, epsilon: self.cost.epsilon }
            }
            other => other,
        }
    }

    fn record(
        &self,
        release: WorkloadRelease,
        remaining: Remaining,
        entry: u64,
    ) -> Result<WorkloadRecord, Error> {
        let Priced { prepared, cost, rho, .. } = self;
        let domain = prepared.domain();
        let plan = &prepared.plan;
        let tables = release.tables.into_iter().map(|table| {
            let names = table.attributes.iter().filter_map(|index| domain.name(index));
            MarginalRecord {
                attributes: names.map(str::to_owned).collect(),
                values: table.values,
                half_width: table.half_width,
                standard_deviation: table.standard_deviation,
            }
        });
        let answers = release.answers.into_iter().map(|answer| QueryAnswer {
            query: answer.query,
            value: answer.value,
            half_width: answer.half_width,
        });
        Ok(WorkloadRecord {
            workload: prepared.statements.clone(),
            attributes: attributes(&prepared.attributes)?,
            tables: tables.collect(),
            answers: answers.collect(),
            expected_error: plan.expected_error().as_ref().map(ErrorRecord::of),
            strategy: plan.strategy().to_owned(),
            reason: plan.reason().to_owned(),
            finish: finish_name(prepared.finish).to_owned(),
            measured: measured(prepared),
            cost: *cost,
            rho: *rho,
            remaining,
            release: ReleaseRecord {
                mechanism: plan.strategy().to_owned(),
                event: plan.event(),
                guarantee: cost.guarantee(),
                spacing: None,
                random: "secure".to_owned(),
                clamp: None,
                count: matches!(prepared.workload, Workload::Marginals(_)),
            },
            rows: prepared.sql.clone(),
            entry,
        })
    }
}

fn finish_name(finish: Finish) -> &'static str {
    match finish {
        Finish::Unbiased => "unbiased",
        Finish::Cells => "cells",
        Finish::Totals => "totals",
    }
}

/// The names of the attributes, so that no two lists have one text.
fn names(prepared: &PreparedWorkload) -> String {
    let names: Vec<String> =
        prepared.attributes.iter().map(|attribute| format!("{:?}", attribute.name)).collect();
    names.join(",")
}

fn measured(prepared: &PreparedWorkload) -> Vec<MeasuredRecord> {
    let parts = prepared.plan.measured().into_iter();
    parts
        .map(|part| MeasuredRecord { what: part.what, numbers: part.numbers, scale: part.scale })
        .collect()
}

fn attributes(found: &[Attribute]) -> Result<Vec<AttributeRecord>, Error> {
    let unprintable = || Error::Fault("the values of an attribute cannot be written".into());
    let record = |attribute: &Attribute| {
        let of = attribute.values.data_type().clone();
        let schema = Arc::new(Schema::new(vec![Field::new(&attribute.name, of, true)]));
        let batch = RecordBatch::try_new(schema, vec![attribute.values.clone()])
            .map_err(|_| unprintable())?;
        let values = cells(&batch).ok_or_else(unprintable)?.into_iter().flatten().collect();
        Ok(AttributeRecord { name: attribute.name.clone(), values })
    };
    found.iter().map(record).collect()
}
