//! Whole queries under a policy: what they compute, what one person can change, and what is
//! refused.
//!
//! The noise is off here, and only here: [`noiseless`] takes exact totals for a release. It is
//! compiled for tests alone.

mod amplifiers;
mod conformance;
mod explained;
mod folders;
mod grammar;
mod influence;
mod neighbours;
mod noiseless;
mod refusals;
mod tables;
mod totality;
mod units_apart;
