//! What all entries up to one amount to. Each entry carries it, so that the newest one is enough.

use crate::entry::{Action, Entry, Row, damaged};
use crate::spent::Spent;
use crate::store::Store;
use crate::{Anchor, CostUnit, Digest, LedgerError, Limits, Protected};
use reticent_numerics::OutOfRange;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What the entries up to one amount to, as it stands in that entry and is covered by its hash.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Summary {
    terms: Terms,
    spent: Spent,
    /// The newest entry of the index, 0 before there is one.
    index: u64,
    /// The last entry of format 2, which carries no summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    format_2: Option<Anchor>,
}

/// Which entries state the limits and the tables that hold now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Terms {
    limits: u64,
    protects: u64,
    /// Of the ledger's name, the limits and the tables as JSON.
    digest: Digest,
}

/// What the entries up to one amount to.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) ledger: Digest,
    pub(crate) limits: Limits,
    pub(crate) protects: Arc<Protected>,
    /// The newest entry and its hash.
    pub(crate) newest: Anchor,
    /// The version of SQLite that wrote it.
    pub(crate) sqlite: i32,
    pub(crate) summary: Summary,
}

impl State {
    /// Begins with the first row.
    pub(crate) fn begin(row: &Row) -> Result<(Self, Entry), LedgerError> {
        let entry = row.checked(Digest::ZERO, 1)?;
        let mut state = State::created(&entry.action)
            .ok_or_else(|| damaged(1, "is not the creation of a ledger"))?;
        state.accept(&entry, row)?;
        Ok((state, entry))
    }

    /// The state after an entry that creates a ledger.
    pub(crate) fn created(action: &Action) -> Option<Self> {
        let Action::Create { ledger, limits, protects } = action else { return None };
        let terms = Terms { limits: 1, protects: 1, digest: digest(*ledger, limits, protects) };
        Some(State {
            ledger: *ledger,
            limits: *limits,
            protects: Arc::new(protects.clone()),
            newest: Anchor { number: 1, hash: Digest::ZERO },
            sqlite: 0,
            summary: Summary { terms, spent: Spent::default(), index: 0, format_2: None },
        })
    }

    /// Adds the next row, or says why it cannot be the next. An error leaves the state as it was.
    ///
    /// Checked: the number, the hash, the text, that a charge is within the limits of its time and
    /// limits not below what was spent, and that the row's summary is the one that follows from
    /// the rows before. Not checked: answers, and the index.
    pub(crate) fn follow(&mut self, row: &Row) -> Result<Entry, LedgerError> {
        let number = self.newest.number + 1;
        let entry = row.checked(self.newest.hash, number)?;
        let mut next =
            self.after(&entry.action).map_err(|error| damaged(number, &error.to_string()))?;
        next.accept(&entry, row)?;
        *self = next;
        Ok(entry)
    }

    /// The state after another entry; its hash is not known yet.
    ///
    /// # Errors
    /// If the charge does not fit, or the limits are below what is spent.
    pub(crate) fn after(&self, action: &Action) -> Result<Self, LedgerError> {
        let number = self.newest.number + 1;
        let mut next = self.clone();
        next.newest = Anchor { number, hash: Digest::ZERO };
        match action {
            Action::Create { .. } => {
                return Err(LedgerError::Damaged("creates a ledger inside another".into()));
            }
            Action::Amend { limits } => {
                self.allows_amendment(limits)?;
                next.limits = *limits;
                next.summary.terms.limits = number;
                next.summary.terms.digest = digest(self.ledger, limits, &self.protects);
            }
            Action::Adopt { protects } => {
                next.protects = Arc::new(protects.clone());
                next.summary.terms.protects = number;
                next.summary.terms.digest = digest(self.ledger, &self.limits, protects);
            }
            Action::Reserve { charge, .. } => {
                next.summary.spent = self.spent().with(&self.limits, charge.checked()?)?;
                next.summary.index = number;
            }
            Action::Answer { .. } | Action::Abandon { .. } => next.summary.index = number,
        }
        Ok(next)
    }

    /// Takes the hash of the row that led here, if it says the same.
    fn accept(&mut self, entry: &Entry, row: &Row) -> Result<(), LedgerError> {
        self.newest.hash = row.hash;
        self.sqlite = entry.sqlite;
        let last_of_format_2 = self.summary.format_2.map_or(0, |last| last.number);
        match &entry.summary {
            None if entry.index.is_none() && last_of_format_2 + 1 == row.number => {
                // The index begins with the first entry that has a summary.
                self.summary.index = 0;
                self.summary.format_2 = Some(self.newest);
                Ok(())
            }
            Some(summary)
                if *summary == self.summary
                    && entry.index.is_some() == (summary.index == row.number) =>
            {
                Ok(())
            }
            _ => Err(damaged(row.number, "does not say what the entries up to it amount to")),
        }
    }

    /// The state that a row states, whose predecessor has this hash; none if it is of format 2.
    ///
    /// Checked: the row's own hash, and that the entries to which it points for its terms say what
    /// its digest of them stands for.
    pub(crate) fn resume(
        store: &Store,
        previous: Digest,
        row: &Row,
    ) -> Result<Option<(Self, Entry)>, LedgerError> {
        let entry = row.checked(previous, row.number)?;
        let Some(summary) = entry.summary.clone() else { return Ok(None) };
        let action = |number| store.entry(number).map(|entry| entry.action);
        let terms = summary.terms;
        let (Action::Create { ledger, .. }, limits, protects) =
            (action(1)?, action(terms.limits)?, action(terms.protects)?)
        else {
            return Err(damaged(1, "is not the creation of a ledger"));
        };
        let (
            Action::Create { limits, .. } | Action::Amend { limits },
            Action::Create { protects, .. } | Action::Adopt { protects },
        ) = (limits, protects)
        else {
            return Err(damaged(row.number, "points to terms that are none"));
        };
        if digest(ledger, &limits, &protects) != terms.digest {
            return Err(damaged(row.number, "was written under other terms"));
        }
        let state = State {
            ledger,
            limits,
            protects: Arc::new(protects),
            newest: Anchor { number: row.number, hash: row.hash },
            sqlite: entry.sqlite,
            summary,
        };
        Ok(Some((state, entry)))
    }

    /// Whether limits may replace the present ones.
    pub(crate) fn allows_amendment(&self, limits: &Limits) -> Result<(), LedgerError> {
        if limits.unit() != self.limits.unit() {
            let accepted =
                "in the currency of the ledger: charges in one cannot be counted in another";
            return Err(OutOfRange { name: "limits", value: limits.to_string(), accepted }.into());
        }
        if self.spent().is_within(limits) {
            return Ok(());
        }
        let (spent, rest) = (self.spent().total(), self.spent().remaining(limits));
        let below = |unit, spent, limit| Err(LedgerError::BelowSpent { unit, spent, limit });
        if rest.cost == 0.0 && spent.cost > limits.amount() {
            below(limits.unit(), spent.cost, limits.amount())
        } else {
            below(CostUnit::Delta, spent.delta, limits.selection_delta())
        }
    }

    pub(crate) fn spent(&self) -> &Spent {
        &self.summary.spent
    }

    /// The newest entry of the index, 0 before there is one.
    pub(crate) fn index(&self) -> u64 {
        self.summary.index
    }

    /// The last entry that is not in the index because it is of format 2.
    pub(crate) fn format_2(&self) -> Option<Anchor> {
        self.summary.format_2
    }

    /// Whether the newest entry carries a summary.
    pub(crate) fn is_summarised(&self) -> bool {
        self.summary.format_2 != Some(self.newest)
    }
}

fn digest(ledger: Digest, limits: &Limits, protects: &Protected) -> Digest {
    // Plain data has a text; without one nothing could have been written.
    let text = |found: serde_json::Result<Vec<u8>>| found.unwrap_or_default();
    Digest::of(&[
        b"reticent ledger terms 1",
        ledger.as_bytes(),
        &text(serde_json::to_vec(limits)),
        &text(serde_json::to_vec(protects)),
    ])
}
