//! A policy that is open for questions.

use crate::Error;
use crate::explanation::Explanation;
use crate::limits::{conversion_delta, limits};
use crate::question::Ask;
use crate::workload::AskWorkload;
use reticent_ledger::{Balance, Ledger};
use reticent_policy::Policy;
use reticent_query::WorkloadQuestion;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// A policy that is open for questions, with its ledger. Cloning it is cheap, and clones share the
/// ledger.
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
/// let session = reticent::Session::open(policy).await?;
/// let sql = "SELECT smokes, COUNT(*) AS n FROM workers GROUP BY smokes";
/// println!("{} rows would be released", session.explain(sql).await?.statistics.len());
///
/// let answer = session.ask(sql).epsilon(0.5).asker("anna").await?;
/// assert_eq!(answer.table.num_rows(), 2);
/// assert_eq!(answer.guarantee().to_string(), "pure differential privacy, epsilon = 0.5");
/// assert!(answer.half_widths()[0][1].is_some_and(|width| width < 10.0));
/// assert_eq!(session.budget().await?.spent.cost, 0.5);
///
/// // The same question gets the same answer, at no cost.
/// let again = session.ask(sql).epsilon(0.5).await?;
/// assert!(again.stored && again.table == answer.table);
/// # Ok::<_, Box<dyn std::error::Error>>(()) })?;
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Session {
    policy: Arc<Policy>,
    path: Arc<Path>,
    /// The ledger, once it was opened.
    pub(crate) ledger: Arc<Mutex<Option<Ledger>>>,
}

impl Session {
    /// Loads a policy. Its ledger is opened by the first question.
    ///
    /// # Errors
    /// If it cannot be read, or is not one.
    pub async fn open(path: impl Into<PathBuf>) -> Result<Self, Error> {
        let path = path.into();
        blocking(move || {
            let policy = Arc::new(Policy::load(&path)?);
            Ok(Session { policy, path: path.into(), ledger: Arc::default() })
        })
        .await
    }

    /// The policy.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Where the policy was read from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Asks a query: from the ledger if it was answered before, and otherwise by paying for it.
    /// What is returned is awaited; before that it can be given a budget and more.
    ///
    /// ```text
    /// prepare (nothing private is open) -> open the tables (no row is read) -> reserve (durable)
    ///     -> compute -> store (durable) -> reply
    /// ```
    ///
    /// Awaiting it fails if the query cannot be answered. What was reserved stays spent, also if
    /// the future is dropped.
    pub fn ask(&self, sql: impl Into<String>) -> Ask<'_> {
        Ask::new(self, sql.into())
    }

    /// What a query would do and cost. No private row is read, and nothing is spent.
    ///
    /// # Errors
    /// If it cannot be answered under the policy.
    pub async fn explain(&self, sql: impl Into<String>) -> Result<Explanation, Error> {
        self.ask(sql).explain().await
    }

    /// Asks many counting queries over a table in one release: see [`AskWorkload`]. Paid for and
    /// stored as [`Session::ask`] does.
    pub fn workload(&self, question: WorkloadQuestion) -> AskWorkload<'_> {
        AskWorkload::new(self, question)
    }

    /// What is spent and what remains; of a policy without a ledger, nothing and everything.
    ///
    /// # Errors
    /// If the ledger cannot be read.
    pub async fn budget(&self) -> Result<Balance, Error> {
        self.blocking(|session| {
            let budget = session.policy.budget();
            match session.open_ledger()? {
                Some((ledger, _)) => Ok(ledger.balance(conversion_delta(budget))?),
                None => Ok(Balance::untouched(limits(budget)?)),
            }
        })
        .await
    }

    /// Runs what waits for the disk where it may.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        run: impl FnOnce(&Session) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let session = self.clone();
        blocking(move || run(&session)).await
    }
}

async fn blocking<T: Send + 'static>(
    run: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    match tokio::task::spawn_blocking(run).await {
        Ok(result) => result,
        Err(_) => Err(Error::Fault("the thread that uses the ledger ended".into())),
    }
}
