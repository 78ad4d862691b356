//! From a plan over private rows to exact totals.
//!
//! What it is: the trait [`Engine`] with what every engine must keep, and the embedded one: its
//! rules ([`Embedded`]), sources as tables of it ([`SourceTable`]), expressions over rows computed
//! by kernels of our own ([`Total`]), aggregates over the rows of one unit ([`unit_aggregate`]),
//! and exact totals by group with every unit's contribution bounded ([`GroupTotals`]), which can be
//! computed in parts. What it never does: release anything, sum in floating point, or let a value
//! of a row become an error.

mod engine;
mod error;
mod expression;
mod group_totals;
mod nan;
mod part;
mod rules;
mod source_table;
mod tables;
mod totals;
mod unit_aggregates;

pub use engine::{Embedded, Engine, OpenQuery, Progress, Sources, TotalsQuery};
pub use error::{EngineError, planner};
pub use expression::{Total, constant, functions, plan_as_written, written};
pub use group_totals::GroupTotals;
pub use part::{PartError, QueryIdentity};
pub use rules::public_state;
pub use source_table::SourceTable;
pub use tables::{COMPUTED, tables_of, with_tables};
pub use totals::{GroupKeys, Layout, SecretKey};
pub use unit_aggregates::{exact as unit_aggregate, key as unit_key};
