//! What releases cost.
//!
//! What it is: the plain-data description of what ran ([`Event`]), from which every accountant computes. What it never does: draw noise, see data,
//! or depend on how a release was made.

mod event;

pub use event::{Event, InverseScale};
