//! The protocol: check, reserve, compute, store, reply.

use crate::error::SessionError;
use crate::limits::conversion_delta;
use crate::owned_ledger::NewLedger;
use crate::record::{
    Cost, GroupsRecord, Record, Remaining, SelectionRecord, StatisticRecord, cells, releases, statistics,
};
use reticent_events::Event;
use reticent_ledger::{Admission, Digest, Ledger, LedgerError, Quote, Request};
use reticent_noise::randomness::SecureRandom;
use reticent_policy::{Accounting, Policy};
use reticent_query::{Answer, Options, Prepared, prepare};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long to wait for the same query that another process has paid for, before it is said that one waits ...
const SILENCE: Duration = Duration::from_secs(1);

/// ... and from then on.
const PATIENCE: Duration = Duration::from_secs(30);

/// What happens while a question is answered. None of it is for the analyst: rows are counted exactly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// There was no ledger, and the policy allows the first question to make it.
    Created(NewLedger),
    /// So many more rows were read.
    Rows(u64),
    /// Another process has paid for the same question, and its answer is waited for.
    Waiting {
        /// Where the ledger has that payment.
        entry: u64,
        /// How long at most.
        at_most: Duration,
    },
}

/// What is asked.
#[derive(Clone, Debug)]
pub struct Ask<'a> {
    /// The query.
    pub sql: &'a str,
    /// What it may cost, where it does not say so itself.
    pub options: Options,
    /// Whether to pay for a new answer although there is one.
    pub fresh: bool,
}

/// A query that was read, planned and priced, before anything private was opened.
#[derive(Debug)]
pub struct Question {
    /// The query.
    pub prepared: Prepared,
    /// How each statistic is released.
    pub statistics: Vec<StatisticRecord>,
    /// What the same fingerprint gets is the same answer.
    pub fingerprint: Digest,
    /// What it costs in the currency of the ledger.
    request: Request,
}

/// An answer that is paid for and stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// The answer.
    pub record: Record,
    /// The bytes that are stored: the same each time.
    pub bytes: Vec<u8>,
    /// Whether it was stored before, and cost nothing now.
    pub stored: bool,
}

/// A policy that is open for questions.
#[derive(Debug)]
pub struct Session {
    pub(crate) policy: Policy,
    /// Where the policy was read from.
    pub(crate) path: PathBuf,
}

impl Session {
    /// Loads a policy.
    ///
    /// # Errors
    /// If it cannot be read, or is not one.
    pub fn load(path: &Path) -> Result<Self, SessionError> {
        Ok(Session { policy: Policy::load(path)?, path: path.to_owned() })
    }

    /// The policy.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Reads, plans and prices a query. Only public tables are opened.
    ///
    /// # Errors
    /// If it cannot be answered under the policy.
    pub async fn question(&self, ask: &Ask<'_>) -> Result<Question, SessionError> {
        let prepared = prepare(&self.policy, ask.sql, ask.options).await?;
        let aggregation = &prepared.aggregation;
        let fingerprint = Digest::of(&[
            b"reticent answer 1",
            self.policy.fingerprint_text().as_bytes(),
            format!("{:?}", self.policy.budget().accounting()).as_bytes(),
            prepared.sql.as_bytes(),
            &prepared.epsilon.to_be_bytes(),
            &prepared.delta.unwrap_or(0.0).to_be_bytes(),
            &aggregation.max_groups.to_be_bytes(),
            &aggregation.max_rows.to_be_bytes(),
        ]);
        let request = self.request(&prepared, fingerprint, ask.fresh);
        Ok(Question { statistics: statistics(&prepared), fingerprint, request, prepared })
    }

    /// What the ledger charges for. Under basic accounting a promise with an exception is charged as it is stated, `(epsilon, delta)`; everything else by the noise itself.
    fn request(&self, prepared: &Prepared, fingerprint: Digest, fresh: bool) -> Request {
        let guarantee = prepared.plan.guarantee();
        let (events, selection_delta) = match self.policy.budget().accounting() {
            Accounting::Basic if guarantee.delta > 0.0 => {
                (vec![Event::Approximate { epsilon: guarantee.epsilon, delta: guarantee.delta }], 0.0)
            }
            Accounting::Basic | Accounting::ZeroConcentrated => {
                let charge = prepared.plan.charge();
                (charge.event.into_iter().collect(), charge.delta)
            }
        };
        Request { fingerprint, query: prepared.sql.clone(), events, selection_delta, fresh }
    }

    /// What the ledger says to a question: whether it was answered before, and what would be left.
    /// Nothing is written; none if there is no ledger.
    ///
    /// # Errors
    /// If the question would be refused, or the ledger cannot be read.
    pub fn quote(&self, question: &Question) -> Result<Option<Quote>, SessionError> {
        let Some((mut ledger, _)) = self.open()? else { return Ok(None) };
        ledger.check(&question.request).map(Some).map_err(|error| self.refusal(error, question))
    }

    /// Answers a query: from the ledger if it was answered before, and otherwise by paying for it. `progress` is told what happens meanwhile.
    ///
    /// # Errors
    /// If it cannot be answered. What was reserved stays spent.
    pub async fn ask(
        &self,
        ask: &Ask<'_>,
        progress: impl Fn(Progress) + Send + Sync + 'static,
    ) -> Result<Reply, SessionError> {
        let question = self.question(ask).await?;
        let mut ledger = self.open()?;
        if ledger.is_none() && !self.policy.budget().create_ledger() {
            return Err(self.missing());
        }
        if let (Some((ledger, _)), false) = (&mut ledger, ask.fresh)
            && let Some(answer) = ledger.lookup(question.fingerprint)?
        {
            return stored(answer.bytes);
        }
        // What can be wrong with files and entropy is found before anything is paid.
        let opened = question.prepared.open(&self.policy).await?;
        let mut random = SecureRandom::new().map_err(|error| SessionError::Fault(error.to_string()))?;
        let mut ledger = self.made_and_noted(ledger, &progress)?;
        let admission = ledger.reserve(&question.request).map_err(|error| self.refusal(error, &question))?;
        let reservation = match admission {
            Admission::Reserved(reservation) => reservation,
            Admission::Stored(answer) => return stored(answer.bytes),
            Admission::Pending(pending) => {
                let mut answer = ledger.wait_for_answer(question.fingerprint, SILENCE)?;
                if answer.is_none() {
                    progress(Progress::Waiting { entry: pending.reservation, at_most: PATIENCE });
                    answer = ledger.wait_for_answer(question.fingerprint, PATIENCE)?;
                }
                return match answer {
                    Some(answer) => stored(answer.bytes),
                    None => Err(SessionError::Fault(format!(
                        "the same query was paid for before (entry {} of the ledger) and has no answer: it is being \
                         computed elsewhere, or it was interrupted. Ask again later, or pay anew with --fresh",
                        pending.reservation
                    ))),
                };
            }
        };
        let written = match opened.run(&mut random, move |rows| progress(Progress::Rows(rows))).await {
            Ok(answer) => self.written(&mut ledger, &question, &answer, reservation.number()),
            Err(error) => Err(error.into()),
        };
        let (record, bytes) = match written {
            Ok(written) => written,
            Err(error) => {
                // It stays paid either way; saying so lets the next one pay anew and not wait.
                ledger.abandon(&reservation)?;
                return Err(error);
            }
        };
        let kept = ledger.complete(&reservation, &bytes)?;
        Ok(Reply { record, bytes: kept.bytes, stored: false })
    }

    /// The answer as it is stored, with what is left after it.
    fn written(
        &self,
        ledger: &mut Ledger,
        question: &Question,
        answer: &Answer,
        entry: u64,
    ) -> Result<(Record, Vec<u8>), SessionError> {
        let record = record(question, answer, self.remaining(ledger)?, entry)?;
        let bytes =
            serde_json::to_vec(&record).map_err(|_| SessionError::Fault("the answer cannot be written".into()))?;
        Ok((record, bytes))
    }

    fn remaining(&self, ledger: &mut Ledger) -> Result<Remaining, SessionError> {
        let statement = ledger.statement(conversion_delta(self.policy.budget()))?;
        let epsilon = match &statement.converted {
            Some(converted) => converted.remaining,
            None => statement.remaining.cost,
        };
        Ok(Remaining {
            epsilon,
            delta: statement.remaining.delta,
            unit: statement.limits.unit().to_owned(),
            amount: statement.remaining.cost,
        })
    }

    /// A refusal of the ledger in the words of the policy.
    fn refusal(&self, error: LedgerError, question: &Question) -> SessionError {
        let LedgerError::Exhausted { unit, asked, remaining, limit } = &error else { return error.into() };
        let of_query = question.prepared.epsilon;
        let advice = match *unit {
            _ if *remaining == 0.0 => "Only what was answered before can still be asked".to_owned(),
            "rho" => format!(
                "Ask with a smaller --epsilon: this query asks for {of_query} (the ledger counts in zero-concentration, under \
                 which many small queries cost less, and a large one more, than their epsilon)"
            ),
            "delta" => "Ask with a smaller --delta, or group by keys with public values, which need none".to_owned(),
            _ => "Ask with a smaller --epsilon".to_owned(),
        };
        let (asked, remaining, limit) = (plain(*asked), plain(*remaining), plain(*limit));
        SessionError::Budget(format!(
            "the query costs {unit} {asked}, and of the budget of {limit} there is {remaining} left. {advice}"
        ))
    }
}

/// An amount in all its digits: one that was rounded could look as if it fitted.
fn plain(amount: f64) -> String {
    if amount == 0.0 || (1e-4..1e16).contains(&amount) { amount.to_string() } else { format!("{amount:e}") }
}

fn stored(bytes: Vec<u8>) -> Result<Reply, SessionError> {
    let record = serde_json::from_slice(&bytes)
        .map_err(|_| SessionError::Fault("the stored answer is not one of this program's".into()))?;
    Ok(Reply { record, bytes, stored: true })
}

fn record(question: &Question, answer: &Answer, remaining: Remaining, entry: u64) -> Result<Record, SessionError> {
    let prepared = &question.prepared;
    let plan = &prepared.plan;
    let guarantee = plan.guarantee();
    let unprintable = || SessionError::Fault("the answer cannot be written".into());
    let rows = cells(&answer.table).ok_or_else(unprintable)?;
    let half_widths = (0..rows.len())
        .map(|row| answer.half_widths.iter().map(|column| column.get(row).copied().flatten()).collect())
        .collect();
    Ok(Record {
        columns: prepared.columns.clone(),
        types: answer.table.schema().fields().iter().map(|field| field.data_type().to_string()).collect(),
        rows,
        half_widths,
        cost: Cost { epsilon: guarantee.epsilon, delta: guarantee.delta },
        remaining,
        mechanisms: question.statistics.clone(),
        selection: plan.selection().map(|selection| SelectionRecord {
            rule: selection.rule.to_owned(),
            shown_from: selection.shown_at_half,
            rows_of_unit: selection.rows_of_unit,
        }),
        reason: plan.reason().to_owned(),
        query: prepared.sql.clone(),
        entry,
        groups: GroupsRecord {
            columns: prepared.aggregation.keys.iter().map(|key| key.name.clone()).collect(),
            rows: cells(&answer.groups).ok_or_else(unprintable)?,
        },
        releases: releases(prepared, answer),
    })
}
