//! Differential privacy with certified figures: SQL over tables about people, under a budget that
//! is spent once and remembered; and the mathematics by itself.
//!
//! What it is: the one crate to depend on. What it never does: show an answer that is not paid for
//! and stored, or give anything back because something failed.
//!
//! # Asking
//! A policy (`docs/policy.md`) says what is private and how much may be spent. [`Session`] answers
//! SQL under it, and its ledger remembers every answer:
//!
//! ```no_run
//! # #[cfg(feature = "sql")]
//! # async fn run() -> Result<(), reticent::Error> {
//! let session = reticent::Session::open("policy.toml").await?;
//! let sql = "SELECT town, COUNT(*) FROM people GROUP BY town";
//! let answer = session.ask(sql).epsilon(0.25).await?;
//! println!("{:?}\n± {:?}", answer.table, answer.half_widths());
//! println!("{}; left: epsilon {}", answer.guarantee(), answer.remaining().epsilon);
//! # Ok(()) }
//! ```
//!
//! [`Session::explain`] says beforehand what a query would do and cost, [`Session::budget`] what is
//! left, [`Session::create_ledger`] makes the ledger, once, unless the policy lets the first
//! question do that. Whatever goes wrong is an [`Error`], whose [`kind`](Error::kind) says whether
//! it was refused, beyond the budget, or a fault.
//!
//! # The mathematics
//! Each part is a module of its own behind a feature, and needs no query engine:
//!
//! | feature | module | what it holds |
//! |---|---|---|
//! | `sql` | [`policy`], [`ledger`], [`query`] and the types above | asking, as above |
//! | `mechanisms` | [`mechanisms`], [`noise`], [`events`] | calibrated mechanisms, exact noise |
//! | `accounting` | [`accounting`] | what many releases cost together, proved from both sides |
//! | `choice` | [`choice`] | the best noise for a measure of error |
//! | `denoising` | [`denoising`] | better answers from the same release |
//! | `workloads` | [`workloads`] | many counting queries in one release |
//!
//! All are on by default; `default-features = false, features = ["mechanisms", "accounting"]`
//! builds in seconds. A mechanism is calibrated to a guarantee and releases with it:
//!
//! ```
//! # #[cfg(feature = "mechanisms")] {
//! use reticent::mechanisms::{DiscreteLaplace, Epsilon, Mechanism, Sensitivity};
//! use reticent::noise::randomness::SecureRandom;
//!
//! // One person changes the count by at most 1.
//! let mechanism = DiscreteLaplace::calibrate(&Sensitivity::whole(1), Epsilon::new(0.5)?)?;
//! let released = mechanism.releaser()?.release(1841.0, &mut SecureRandom::new()?)?;
//! println!("{released}, with {}", mechanism.released_guarantee());
//! assert!((released - 1841.0).abs() < 400.0); // fails about once in 10^87 releases
//! # }
//! # Ok::<(), reticent::Error>(())
//! ```

mod error;

#[cfg(feature = "sql")]
mod answer;
#[cfg(feature = "sql")]
mod explanation;
#[cfg(feature = "sql")]
mod limits;
#[cfg(feature = "sql")]
mod notes;
#[cfg(feature = "sql")]
mod owned_ledger;
#[cfg(feature = "sql")]
mod protected;
#[cfg(feature = "sql")]
mod purchase;
#[cfg(feature = "sql")]
mod question;
#[cfg(feature = "mechanisms")]
mod release_file;
#[cfg(feature = "sql")]
mod session;
#[cfg(feature = "sql")]
mod workload;

#[cfg(feature = "sql")]
pub use answer::{Answer, Cell, Cost, Record, Remaining, SelectionRecord, StatisticRecord};
pub use error::{Error, ErrorKind, Remedy};
#[cfg(feature = "sql")]
pub use explanation::{
    Explanation, Groups, LedgerAnswer, NoiseAlternative, NoiseComparison, NoiseRefusal,
};
#[cfg(feature = "sql")]
pub use limits::limits;
#[cfg(feature = "sql")]
pub use notes::Unnoted;
#[cfg(feature = "sql")]
pub use owned_ledger::NewLedger;
#[cfg(feature = "sql")]
pub use protected::protected;
#[cfg(feature = "sql")]
pub use question::{Ask, Progress, Question};
#[cfg(feature = "mechanisms")]
pub use release_file::{GroupsRecord, ReleaseFile, ReleaseRecord};
#[cfg(feature = "sql")]
pub use session::Session;
#[cfg(feature = "sql")]
pub use workload::{
    AskWorkload, AttributeRecord, ErrorRecord, MarginalRecord, MeasuredRecord, QueryAnswer,
    WorkloadAnswer, WorkloadExplanation, WorkloadRecord,
};

#[cfg(feature = "accounting")]
pub use reticent_accounting as accounting;
#[cfg(feature = "choice")]
pub use reticent_choice as choice;
#[cfg(feature = "denoising")]
pub use reticent_denoising as denoising;
#[cfg(feature = "mechanisms")]
pub use reticent_events as events;
#[cfg(feature = "sql")]
pub use reticent_ledger as ledger;
#[cfg(feature = "mechanisms")]
pub use reticent_mechanisms as mechanisms;
#[cfg(feature = "mechanisms")]
pub use reticent_noise as noise;
#[cfg(feature = "sql")]
pub use reticent_policy as policy;
#[cfg(feature = "sql")]
pub use reticent_query as query;
#[cfg(feature = "workloads")]
pub use reticent_workloads as workloads;

/// The README's example, run as a documentation test.
#[cfg(all(doctest, feature = "sql"))]
#[doc = include_str!("../../../README.md")]
struct Readme;
