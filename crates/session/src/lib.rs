//! Asking under a policy: what every front end does.
//!
//! What it is: the protocol that joins a policy, a query, its noise and the ledger. What it never does: show an answer that is not paid for and stored, or give anything back because something failed.
//!
//! ```text
//! prepare (nothing private is open) -> open the tables (no row is read) -> reserve (durable) -> compute -> store (durable) -> reply
//! ```

mod error;
mod limits;
mod notes;
mod owned_ledger;
mod protected;
mod record;
mod session;

pub use error::SessionError;
pub use limits::limits;
pub use notes::Unnoted;
pub use owned_ledger::NewLedger;
pub use protected::protected;
pub use record::{Cell, Cost, GroupsRecord, NoisyColumn, Record, Remaining, StatisticRecord};
pub use session::{Ask, Progress, Question, Reply, Session};
