//! What the entries say together: limits, sums, open reservations and answers, by replaying all of them.

use crate::entry::{Deed, Entry, Row, link};
use crate::spent::Spent;
use crate::{Anchor, Charge, Digest, LedgerError, Limits, Protected};
use std::collections::HashMap;

/// What became of a reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Nothing yet, or the process that made it ended.
    Open,
    /// This entry holds the answer.
    Answered(u64),
    /// It was given up.
    Abandoned,
}

/// The entries read so far, each checked against the one before.
#[derive(Clone, Debug)]
pub(crate) struct History {
    ledger: Digest,
    limits: Limits,
    protects: Protected,
    spent: Spent,
    entries: Vec<(Entry, Digest)>,
    fates: HashMap<u64, Fate>,
    /// The newest reservation of each fingerprint, and the newest that has an answer.
    newest: HashMap<Digest, u64>,
    newest_answered: HashMap<Digest, u64>,
}

fn damaged(number: u64, problem: &str) -> LedgerError {
    LedgerError::Damaged(format!("entry {number} {problem}"))
}

impl History {
    /// Begins with the first row.
    pub(crate) fn begin(row: &Row) -> Result<Self, LedgerError> {
        let entry = checked(Digest::ZERO, 1, row)?;
        let Deed::Create { ledger, limits, protects } = entry.deed.clone() else {
            return Err(damaged(1, "is not the creation of a ledger"));
        };
        if row.answer.is_some() {
            return Err(damaged(1, "has an answer, but is none"));
        }
        Ok(History {
            ledger,
            limits,
            protects,
            spent: Spent::default(),
            entries: vec![(entry, row.hash)],
            fates: HashMap::new(),
            newest: HashMap::new(),
            newest_answered: HashMap::new(),
        })
    }

    /// Adds the next row, or says why it cannot be the next. An error leaves the history as it was.
    ///
    /// Checked: the number, the hash, the text, and that the deed was allowed at its time: a charge within the limits, an answer to an open reservation, limits not below what was spent. Not checked here: the
    /// bytes of the answer, which [`History::check_answer`] compares with their digest.
    pub(crate) fn follow(&mut self, row: &Row) -> Result<(), LedgerError> {
        let number = self.length() + 1;
        let entry = checked(self.head(), number, row)?;
        match &entry.deed {
            Deed::Create { .. } => return Err(damaged(number, "creates a ledger inside another")),
            Deed::Amend { limits } => {
                self.allows_amendment(limits).map_err(|error| damaged(number, &error.to_string()))?;
                self.limits = *limits;
            }
            Deed::Adopt { protects } => self.protects = protects.clone(),
            Deed::Reserve { fingerprint, charge, .. } => {
                let charge = charge.checked().map_err(|error| damaged(number, &error.to_string()))?;
                self.spent =
                    self.spent.with(&self.limits, charge).map_err(|error| damaged(number, &error.to_string()))?;
                self.fates.insert(number, Fate::Open);
                self.newest.insert(*fingerprint, number);
            }
            Deed::Answer { reservation, .. } => {
                let fingerprint = self.open_reservation(*reservation).ok_or_else(|| unopened(number))?;
                self.fates.insert(*reservation, Fate::Answered(number));
                // Two fresh runs of one query can end in either order: the newest answer counts.
                self.newest_answered.insert(fingerprint, *reservation);
            }
            Deed::Abandon { reservation } => {
                self.open_reservation(*reservation).ok_or_else(|| unopened(number))?;
                self.fates.insert(*reservation, Fate::Abandoned);
            }
        }
        self.entries.push((entry, row.hash));
        Ok(())
    }

    /// Whether the bytes of a row are those that its entry, which is part of this history, stands for.
    pub(crate) fn check_answer(&self, row: &Row) -> Result<(), LedgerError> {
        let deed = self.entry(row.number).map(|entry| &entry.deed);
        match (deed, &row.answer) {
            (Some(Deed::Answer { digest, .. }), Some(bytes)) if Digest::of(&[bytes]) == *digest => Ok(()),
            (Some(Deed::Answer { .. }), _) => Err(damaged(row.number, "has not the answer that its digest stands for")),
            (Some(_), None) => Ok(()),
            (Some(_), Some(_)) => Err(damaged(row.number, "has an answer, but is none")),
            (None, _) => Err(damaged(row.number, "is not in the chain")),
        }
    }

    /// Whether limits may take the place of the present ones.
    pub(crate) fn allows_amendment(&self, limits: &Limits) -> Result<(), LedgerError> {
        if limits.unit() != self.limits.unit() {
            let accepted = "in the currency of the ledger: charges in one cannot be counted in another";
            return Err(LedgerError::Parameter { name: "limits", value: limits.to_string(), accepted });
        }
        if self.spent.is_within(limits) {
            return Ok(());
        }
        let (spent, rest) = (self.spent.total(), self.spent.remaining(limits));
        let below = |unit, spent, limit| Err(LedgerError::BelowSpent { unit, spent, limit });
        if rest.cost == 0.0 && spent.cost > limits.amount() {
            below(limits.unit(), spent.cost, limits.amount())
        } else {
            below("delta", spent.delta, limits.selection_delta())
        }
    }

    /// The fingerprint of a reservation that is still open.
    pub(crate) fn open_reservation(&self, number: u64) -> Option<Digest> {
        match (self.fates.get(&number)?, &self.entry(number)?.deed) {
            (Fate::Open, Deed::Reserve { fingerprint, .. }) => Some(*fingerprint),
            _ => None,
        }
    }

    pub(crate) fn ledger(&self) -> Digest {
        self.ledger
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn protects(&self) -> &Protected {
        &self.protects
    }

    pub(crate) fn spent(&self) -> &Spent {
        &self.spent
    }

    /// The charge that a release would make, if it fits.
    pub(crate) fn admits(&self, charge: Charge) -> Result<(), LedgerError> {
        self.spent.with(&self.limits, charge).map(|_| ())
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = (u64, &Entry)> {
        (1..).zip(self.entries.iter().map(|(entry, _)| entry))
    }

    pub(crate) fn entry(&self, number: u64) -> Option<&Entry> {
        Some(&self.entries.get(usize::try_from(number.checked_sub(1)?).ok()?)?.0)
    }

    pub(crate) fn hash(&self, number: u64) -> Option<Digest> {
        Some(self.entries.get(usize::try_from(number.checked_sub(1)?).ok()?)?.1)
    }

    pub(crate) fn length(&self) -> u64 {
        self.entries.len() as u64
    }

    /// The hash of the last entry.
    pub(crate) fn head(&self) -> Digest {
        self.entries.last().map_or(Digest::ZERO, |(_, hash)| *hash)
    }

    pub(crate) fn anchor(&self) -> Anchor {
        Anchor { number: self.length(), hash: self.head() }
    }

    /// The version of SQLite that wrote last.
    pub(crate) fn last_writer(&self) -> Option<i32> {
        self.entries.last().map(|(entry, _)| entry.sqlite)
    }

    pub(crate) fn fate(&self, reservation: u64) -> Option<Fate> {
        self.fates.get(&reservation).copied()
    }

    /// The newest reservation of a fingerprint.
    pub(crate) fn newest(&self, fingerprint: Digest) -> Option<u64> {
        self.newest.get(&fingerprint).copied()
    }

    /// The reservation and the entry of the newest answer to a fingerprint.
    pub(crate) fn newest_answer(&self, fingerprint: Digest) -> Option<(u64, u64)> {
        let reservation = *self.newest_answered.get(&fingerprint)?;
        match self.fates.get(&reservation)? {
            Fate::Answered(answer) => Some((reservation, *answer)),
            Fate::Open | Fate::Abandoned => None,
        }
    }

    /// Whether this history contains what an anchor stands for.
    pub(crate) fn contains(&self, anchor: &Anchor) -> Result<(), LedgerError> {
        let problem = match self.hash(anchor.number) {
            Some(hash) if hash == anchor.hash => return Ok(()),
            Some(_) => format!("entry {} has another hash", anchor.number),
            None => format!("it has {} entries only, so it is an older copy", self.length()),
        };
        Err(LedgerError::NotAnchored { anchor: *anchor, problem })
    }
}

fn unopened(number: u64) -> LedgerError {
    damaged(number, "ends a reservation that is not open")
}

/// The entry in a row, if the row is what must stand at this place.
fn checked(previous: Digest, number: u64, row: &Row) -> Result<Entry, LedgerError> {
    if row.number != number {
        return Err(LedgerError::Damaged(format!(
            "entry {number} is missing; entry {} stands in its place",
            row.number
        )));
    }
    if link(previous, number, &row.body) != row.hash {
        return Err(damaged(number, "does not have the hash that it should have"));
    }
    serde_json::from_str(&row.body).map_err(|error| damaged(number, &format!("cannot be read: {error}")))
}
