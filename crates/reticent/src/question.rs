//! A question: asked with a budget of its own, explained, answered.

use crate::Error;
use crate::answer::{Answer, Remaining, StatisticRecord, record, statistics};
use crate::explanation::Explanation;
use crate::owned_ledger::NewLedger;
use crate::purchase::{Listener, Lookup, Payment};
use crate::session::Session;
use reticent_events::Event;
use reticent_ledger::{ChargeRequest, Digest, LedgerError};
use reticent_noise::randomness::SecureRandom;
use reticent_policy::Accounting;
use reticent_query::{AnswerMetric, NoiseName, Options, Prepared, prepare};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// What happens while a question is answered. None of it is for the analyst: rows are counted
/// exactly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// There was no ledger, and the policy allows the first question to make it.
    Created(NewLedger),
    /// So many more rows were read.
    Rows(u64),
    /// Somebody else has paid for the same question, and its answer is waited for.
    Waiting {
        /// Where the ledger has that payment.
        entry: u64,
        /// How long at most.
        at_most: Duration,
    },
}

/// A question that can be awaited: see [`Session::ask`].
#[must_use = "nothing is asked until it is awaited"]
pub struct Ask<'a> {
    session: &'a Session,
    sql: String,
    options: Options,
    fresh: bool,
    asker: Option<String>,
    progress: Listener,
}

impl fmt::Debug for Ask<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ask({:?})", self.sql)
    }
}

impl<'a> Ask<'a> {
    pub(crate) fn new(session: &'a Session, sql: String) -> Self {
        let options = Options::default();
        Ask { session, sql, options, fresh: false, asker: None, progress: Arc::new(|_| ()) }
    }

    /// The privacy loss that it may cost; otherwise what the SQL or the policy says.
    pub fn epsilon(mut self, epsilon: f64) -> Self {
        self.options.epsilon = Some(epsilon);
        self
    }

    /// The `delta` that it may cost; 0 for pure differential privacy.
    pub fn delta(mut self, delta: f64) -> Self {
        self.options.delta = Some(delta);
        self
    }

    /// The most groups of the answer in which one privacy unit counts.
    pub fn max_groups(mut self, groups: u32) -> Self {
        self.options.max_groups = Some(groups);
        self
    }

    /// The most rows of one privacy unit that count in one group.
    pub fn max_rows(mut self, rows: u32) -> Self {
        self.options.max_rows = Some(rows);
        self
    }

    /// By what the noise is judged and chosen, from everything that there is; otherwise by the root
    /// mean square error.
    pub fn metric(mut self, metric: AnswerMetric) -> Self {
        self.options.metric = Some(metric);
        self
    }

    /// The noise by name; otherwise it is chosen.
    pub fn mechanism(mut self, mechanism: NoiseName) -> Self {
        self.options.mechanism = Some(mechanism);
        self
    }

    /// All six of these, where they are given.
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
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

    /// What the query would do and cost. No private row is read, and nothing is spent.
    ///
    /// # Errors
    /// If it cannot be answered under the policy.
    pub async fn explain(self) -> Result<Explanation, Error> {
        let question = self.question().await?;
        let compute = move |session: &Session| {
            let quote = session.quote(&question.request);
            let comparison = question.prepared.compare()?;
            Explanation::new(session.policy(), &question, quote, &comparison)
        };
        self.session.blocking(compute).await
    }

    /// Reads, plans and prices the query. Only public tables are opened.
    ///
    /// # Errors
    /// If it cannot be answered under the policy.
    pub async fn question(&self) -> Result<Question, Error> {
        let policy = self.session.policy();
        let prepared = prepare(policy, &self.sql, self.options).await?;
        let aggregation = &prepared.aggregation;
        let accounting = policy.budget().accounting();
        let (policy_text, epsilon) = (policy.fingerprint_text(), prepared.epsilon.to_be_bytes());
        let delta = prepared.delta.unwrap_or(0.0).to_be_bytes();
        let [groups, rows] = [aggregation.max_groups, aggregation.max_rows].map(u32::to_be_bytes);
        let metric = prepared.metric.as_ref().map(|metric| format!("metric {metric}"));
        let mechanism = prepared.mechanism.map(|name| format!("mechanism {name}"));
        let mut parts: Vec<&[u8]> = vec![
            b"reticent answer 1",
            policy_text.as_bytes(),
            stable_name(accounting),
            prepared.sql.as_bytes(),
            &epsilon,
            &delta,
            &groups,
            &rows,
        ];
        // Answers from before there were these two keep their fingerprints.
        parts.extend(metric.iter().chain(&mechanism).map(String::as_bytes));
        let fingerprint = Digest::of(&parts);
        // Under basic accounting a guarantee with a delta is charged as it is stated,
        // (epsilon, delta); everything else by the noise itself.
        let guarantee = prepared.plan.guarantee();
        let (events, selection_delta) = match accounting {
            Accounting::Basic if guarantee.delta > 0.0 => (
                vec![Event::Approximate { epsilon: guarantee.epsilon, delta: guarantee.delta }],
                0.0,
            ),
            Accounting::Basic | Accounting::ZeroConcentrated => {
                let charge = prepared.plan.cost();
                (charge.event.into_iter().collect(), charge.delta)
            }
        };
        let (query, fresh, asker) = (prepared.sql.clone(), self.fresh, self.asker.clone());
        let request = ChargeRequest { fingerprint, query, events, selection_delta, fresh, asker };
        Ok(Question { statistics: statistics(&prepared), request, prepared })
    }

    async fn answer(self) -> Result<Answer, Error> {
        let session = self.session;
        let question = self.question().await?;
        let request = &question.request;
        let unpaid = match session.look_up(request.fingerprint, self.fresh).await? {
            Lookup::Stored(bytes) => return Answer::new(bytes, true),
            Lookup::Unpaid(unpaid) => unpaid,
        };
        // What can be wrong with files and entropy is found before anything is paid.
        let opened = question.prepared.open(session.policy()).await?;
        let mut random = SecureRandom::new()?;
        let payment = session.pay(unpaid, request, &self.progress).await;
        let paid = match payment.map_err(|error| question.refusal(error))? {
            Payment::Stored(bytes) => return Answer::new(bytes, true),
            Payment::Paid(paid) => paid,
        };
        let progress = self.progress.clone();
        let computed = opened.run(&mut random, move |rows| progress(Progress::Rows(rows))).await;
        let written = match computed {
            Ok(answer) => paid.balance(session).await.and_then(|balance| {
                let remaining = Remaining::of(&balance);
                let record = record(&question, &answer, remaining, paid.entry())?;
                serde_json::to_vec(&record)
                    .map_err(|_| Error::Fault("the answer cannot be written".into()))
            }),
            Err(error) => Err(error.into()),
        };
        Answer::new(paid.complete(session, written).await?, false)
    }
}

impl<'a> IntoFuture for Ask<'a> {
    type Output = Result<Answer, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.answer())
    }
}

/// A query that was read, planned and priced, before anything private was opened.
#[derive(Debug)]
pub struct Question {
    /// The query.
    pub prepared: Prepared,
    /// How each statistic is released.
    pub statistics: Vec<StatisticRecord>,
    /// What the ledger charges for. The same fingerprint gets the same answer.
    pub request: ChargeRequest,
}

impl Question {
    /// A refusal of the ledger in the words of the query.
    pub(crate) fn refusal(&self, error: Error) -> Error {
        match error {
            Error::Ledger(LedgerError::Exhausted { unit, asked, remaining, limit }) => {
                Error::Budget { unit, asked, remaining, limit, epsilon: self.prepared.epsilon }
            }
            other => other,
        }
    }
}

/// How a budget is counted, in fingerprints: these words never change.
pub(crate) fn stable_name(accounting: Accounting) -> &'static [u8] {
    match accounting {
        Accounting::Basic => b"Basic",
        Accounting::ZeroConcentrated => b"ZeroConcentrated",
    }
}
