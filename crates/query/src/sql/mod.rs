//! SQL: read, checked and split at its private aggregate.
//!
//! The syntax tree is walked once ([`syntax`]), and what is not understood is refused by name. Then
//! the query is planned by the engine's own planner over tables that have names and types but no
//! rows. Public parts are computed ([`public`]). The tree that comes out is walked once ([`walk`]):
//! what is below the one private aggregate are rows that each belong to one unit ([`rows`]), what
//! is above sees released figures only ([`released`]). Every expression is read into our own
//! ([`reticent_engine`]). Everything else is refused by name.

mod aggregation;
mod domain;
mod facts;
mod options;
mod public;
mod range;
mod released;
mod rows;
mod statistics;
mod syntax;
mod walk;

pub(crate) use aggregation::Unplanned;
pub use aggregation::{Aggregation, Key, Output};
pub use options::Options;
pub use statistics::Formula;

pub(crate) use facts::{Domain, Facts};
pub(crate) use options::take_options;
pub(crate) use range::Range;
pub(crate) use released::{RELEASED, Released, released_schema};
pub(crate) use rows::planner;
pub(crate) use syntax::understood;
pub(crate) use walk::{Relation, Walk};
