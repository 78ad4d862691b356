//! What ran, as plain data.
//!
//! What it is: the description of a release ([`Event`]) that mechanisms give and accountants read. What it never does: compute a cost, draw noise,
//! see data, or depend on how a release was made.

mod event;

pub use event::{Event, InverseScale};
