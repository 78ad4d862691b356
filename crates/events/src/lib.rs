//! What ran, as plain data.
//!
//! What it is: the description of a release ([`Event`]) that mechanisms give and accountants read.
//! What it never does: compute a cost, draw noise, see data, or depend on how a release was made.

mod event;
mod json;
mod words;

pub use event::{Event, InverseScale};
pub use json::{JsonError, events_from_json};
pub use words::{TextError, Word, Words};
