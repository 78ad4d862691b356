//! One file a command: its options, and what it does with them.

pub mod account;
pub mod budget;
pub mod calibrate;
pub mod check;
pub mod choose;
pub mod denoise;
pub mod errors;
pub mod estimate;
pub mod explain;
pub mod init;
pub mod ledger;
pub mod mechanisms;
pub mod noise;
pub mod profile;
pub mod query;
pub mod workload;
