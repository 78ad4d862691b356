//! The results of the papers this project stands on, recomputed with the library, and corrected
//! where they are wrong.
//!
//! What it is: one short program an experiment, over the public interfaces of the other crates.
//! What it never does: protect data. The noise comes from a seed, so that a run can be repeated
//! byte for byte; nothing made here may be released for real.
//!
//! ```
//! use research::{Experiment, Setting, Verdict};
//!
//! let experiment = Experiment::named("zhao-classical-limits")?;
//! let outcome = experiment.run(&Setting::new(1))?;
//! assert!(outcome.findings.iter().all(|finding| finding.verdict == Verdict::Holds));
//! # Ok::<(), research::ReproductionError>(())
//! ```

mod balle_wang;
mod count_query;
mod counts;
mod data;
mod error;
mod experiment;
mod finding;
mod format;
mod ink;
mod lecture;
mod liu;
mod page;
mod paper;
mod parallel;
mod png;
mod r2dp;
mod reproduce;
mod results;
mod sample;
mod setting;
mod summary;
mod table;
mod zhao;

pub use error::ReproductionError;
pub use experiment::{Experiment, Outcome, Picture};
pub use finding::{Answer, Cases, Finding, Tally, Verdict};
pub use page::page;
pub use paper::Paper;
pub use png::{PngError, png};
pub use reproduce::{Run, reproduce};
pub use results::{Entry, Origin, Record, Results};
pub use sample::Margin;
pub use setting::Setting;
pub use summary::summary;
pub use table::Table;
