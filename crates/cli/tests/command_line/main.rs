//! The program as a shell sees it: what it prints, where, and with which exit code.
#![allow(clippy::unwrap_used, clippy::panic)]

mod account;
mod calibrate;
mod check;
mod choose;
mod denoise;
mod estimate;
mod help;
mod ledgers;
mod never_panics;
mod noise;
mod profile;
mod program;
mod query;
mod query_faults;
mod question;
mod readme;
mod refusals;
mod workload;
