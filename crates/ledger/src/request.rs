//! What is asked of a ledger, and what it says.

use crate::{Amounts, Charge, Digest};
use reticent_events::Event;

/// A release that somebody wants to make.
///
/// The events describe the noise that will be drawn; the ledger computes the charge from them, so
/// that noise and charge come from the same values.
#[derive(Clone, Debug, PartialEq)]
pub struct ChargeRequest {
    /// Of everything that the answer depends on besides the data and chance: the query in its
    /// canonical form, the policy, the options. The same fingerprint gets the same answer. See
    /// [`Digest::of`].
    pub fingerprint: Digest,
    /// The query, for people to read.
    pub query: String,
    /// What will run on the data.
    pub events: Vec<Event>,
    /// The `delta` of selections that no event carries; 0 where there are none. State each `delta`
    /// once: here, or in an [`Event::Approximate`].
    pub selection_delta: f64,
    /// Whether to pay for a new answer although there is one.
    pub fresh: bool,
    /// Who asks, as the front end knows them; recorded with the charge, and part of no decision.
    pub asker: Option<String>,
}

/// What a release would cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quote {
    /// The charge, nothing where a stored answer will be returned.
    pub charge: Option<Charge>,
    /// What remains after it, rounded down.
    pub remaining: Amounts,
}

/// What became of a request for a reservation.
#[derive(Debug)]
#[must_use = "a reservation has been paid for"]
pub enum Admission {
    /// It is paid. Compute the answer and hand it to [`crate::Ledger::complete`].
    Reserved(Reservation),
    /// This was answered before; nothing was charged.
    Stored(StoredAnswer),
    /// Another run of the same query has paid and has not answered; nothing was charged. It is at
    /// work, or it crashed: see [`crate::Ledger::lookup`], or pay with `fresh`.
    Pending(Pending),
}

/// The right to make one release, paid for. It can be neither copied nor made up, and it stays paid
/// whatever happens to it.
#[derive(Debug)]
pub struct Reservation {
    pub(crate) ledger: Digest,
    pub(crate) number: u64,
    pub(crate) fingerprint: Digest,
    pub(crate) charge: Charge,
}

impl Reservation {
    /// The number of the entry.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// What was charged.
    pub fn charge(&self) -> Charge {
        self.charge
    }
}

/// An answer that is durably stored, and may be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredAnswer {
    /// The entry that paid for it.
    pub reservation: u64,
    /// The bytes that were handed to [`crate::Ledger::complete`].
    pub bytes: Vec<u8>,
}

/// A reservation by somebody else that has no answer yet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pending {
    /// The entry that paid.
    pub reservation: u64,
    /// Its time, seconds since 1970, by the clock of whoever made it.
    pub time: i64,
    /// What was charged.
    pub charge: Charge,
}
