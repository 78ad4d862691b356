//! One file a command: its options, and what it does with them.

pub mod account;
pub mod calibrate;
pub mod choose;
pub mod denoise;
pub mod mechanisms;
pub mod noise;
pub mod profile;
pub mod reproduce;
