//! The durable record of what a privacy budget was spent on.
//!
//! What it is: one file that admits releases as long as a budget lasts, and keeps every answer.
//! What it never does: see data, give anything back, or return an answer that is not paid for and
//! stored.
//!
//! # The protocol
//! 1. [`Ledger::check`]: would the release be admitted? No data is needed.
//! 2. [`Ledger::reserve`]: it is paid for, durably. Or it was answered before, and here is the
//!    answer.
//! 3. Compute.
//! 4. [`Ledger::complete`]: the answer is stored, durably.
//! 5. Show what `complete` returned.
//!
//! A [`Ledger`] is a handle that threads share by cloning it; several processes may have one each.
//! A crash after step 2 loses the charge, never privacy: spent is at least what was released. The
//! format of the file, and what it rests on, are in `docs/ledger.md`.
//!
//! # Example
//! ```
//! use reticent_accounting::FilterBudget;
//! use reticent_events::Event;
//! use reticent_ledger::{
//!     Admission, ChargeRequest, Digest, Ledger, Limits, Protected, ProtectedTable, Source,
//! };
//!
//! let folder = tempfile::tempdir()?;
//! let limits = Limits::new(FilterBudget::ZeroConcentrated { rho: 0.5 }, 0.0)?;
//! let source = Source { path: "/data/workers.csv".into(), pattern: None };
//! let unit = Some("worker".into());
//! let workers = ProtectedTable { name: "workers".into(), sources: vec![source], unit };
//! let protects = Protected::new(vec![workers])?;
//! let ledger = Ledger::create(&folder.path().join("workers.ledger"), limits, &protects)?;
//!
//! let request = ChargeRequest {
//!     fingerprint: Digest::of(&[b"SELECT COUNT(*) FROM workers", b"policy", b"options"]),
//!     query: "SELECT COUNT(*) FROM workers".into(),
//!     events: vec![Event::Gaussian { sigma: 2.0, sensitivity: 1.0 }],
//!     selection_delta: 0.0,
//!     fresh: false,
//!     asker: None,
//! };
//! assert_eq!(ledger.check(&request)?.remaining.cost, 0.375);
//!
//! let Admission::Reserved(reservation) = ledger.reserve(&request)? else {
//!     unreachable!("nobody asked before")
//! };
//! let answer = ledger.complete(&reservation, b"1841.3")?;
//! println!("{}", String::from_utf8_lossy(&answer.bytes));
//!
//! // Asked again: the same bytes, and no charge.
//! let Admission::Stored(again) = ledger.reserve(&request)? else { unreachable!("it is stored") };
//! assert_eq!(again, answer);
//! assert_eq!(ledger.balance(None)?.spent.cost, 0.125);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod anchor;
mod charge;
mod clock;
mod digest;
mod entry;
mod error;
mod history;
mod image;
mod index;
mod ledger;
mod limits;
mod location;
mod protected;
mod request;
mod spent;
mod state;
mod statement;
mod store;
mod verify;

pub use anchor::{Anchor, NotAnAnchor};
pub use charge::Charge;
pub use digest::{Digest, NotADigest};
pub use error::LedgerError;
pub use ledger::Ledger;
pub use limits::{CostUnit, Limits};
pub use protected::{Protected, ProtectedTable, Source};
pub use request::{Admission, ChargeRequest, Pending, Quote, Reservation, StoredAnswer};
pub use spent::Amounts;
pub use statement::{Balance, Converted, DecisionSummary, ReleaseState, ReleaseSummary, Statement};
pub use verify::{Verification, verify};
