//! All entries, replayed from the first: for reports and for the full check.

use crate::entry::{Action, Entry, Row, damaged};
use crate::index::{Fate, Node, Nodes, find};
use crate::state::State;
use crate::store::Store;
use crate::{Anchor, Digest, LedgerError};
use std::borrow::Cow;
use std::collections::HashMap;

/// The entries read so far, each checked against those before it.
#[derive(Clone, Debug)]
pub(crate) struct History {
    pub(crate) state: State,
    entries: Vec<(Entry, Digest)>,
    /// What became of each fingerprint.
    fates: HashMap<Digest, Fate>,
    /// The fingerprint of each reservation.
    reservations: HashMap<u64, Digest>,
}

impl History {
    /// Begins with the first row.
    pub(crate) fn begin(row: &Row) -> Result<Self, LedgerError> {
        let (state, entry) = State::begin(row)?;
        if row.answer.is_some() {
            return Err(damaged(1, "has an answer, but is none"));
        }
        let entries = vec![(entry, row.hash)];
        let (fates, reservations) = (HashMap::new(), HashMap::new());
        Ok(History { state, entries, fates, reservations })
    }

    /// Adds the next row, or says why it cannot be the next. An error leaves what is no history any
    /// more.
    ///
    /// Checked: what [`State::follow`] checks, that an answer is to an open reservation, and the
    /// index. Not checked here: the bytes of the answer, which [`History::check_answer`] compares
    /// with their digest.
    pub(crate) fn follow(&mut self, row: &Row) -> Result<(), LedgerError> {
        let (number, newest) = (row.number, self.state.index());
        let entry = self.state.follow(row)?;
        let unopened = || damaged(number, "ends a reservation that is not open");
        let fingerprint = match &entry.action {
            Action::Create { .. } | Action::Amend { .. } | Action::Adopt { .. } => None,
            Action::Reserve { fingerprint, .. } => {
                self.reservations.insert(number, *fingerprint);
                Some(*fingerprint)
            }
            Action::Answer { reservation, .. } | Action::Abandon { reservation } => {
                Some(*self.reservations.get(reservation).ok_or_else(unopened)?)
            }
        };
        if let Some(fingerprint) = fingerprint {
            let fate = self.fates.entry(fingerprint).or_default();
            *fate = fate.after(number, &entry.action).map_err(|_| unopened())?;
            if let Some(found) = &entry.index {
                let others = find(self, newest, fingerprint)?.others;
                let expected = Node { fingerprint, fate: self.fates[&fingerprint].clone(), others };
                if *found != expected {
                    return Err(damaged(number, "does not stand in the index as it should"));
                }
            }
        }
        self.entries.push((entry, row.hash));
        Ok(())
    }

    /// The entries of a store up to a number, or all, each shown to `visit` with what it led to.
    pub(crate) fn read(
        store: &Store,
        last: Option<u64>,
        mut visit: impl FnMut(&State, &Entry),
    ) -> Result<Self, LedgerError> {
        let (mut history, length) = (None::<History>, store.length()?);
        store.rows_from(1, |row| {
            match &mut history {
                None => history = Some(History::begin(&row)?),
                Some(_) if last.is_some_and(|last| row.number > last) => return Ok(()),
                Some(history) => history.follow(&row)?,
            }
            if let Some(History { state, entries, .. }) = &history
                && let Some((entry, _)) = entries.last()
            {
                visit(state, entry);
            }
            Ok(())
        })?;
        match history {
            Some(history) if history.state.newest.number == last.unwrap_or(length) => Ok(history),
            _ => Err(LedgerError::Damaged("it has no entries".into())),
        }
    }

    /// Whether the bytes of a row are those that its entry, which is part of this history, stands
    /// for.
    pub(crate) fn check_answer(&self, row: &Row) -> Result<(), LedgerError> {
        match self.entry(row.number) {
            Some(entry) => entry.check_answer(row.number, row.answer.as_deref()),
            None => Err(damaged(row.number, "is not in the chain")),
        }
    }

    pub(crate) fn entry(&self, number: u64) -> Option<&Entry> {
        Some(&self.entries.get(usize::try_from(number.checked_sub(1)?).ok()?)?.0)
    }

    /// What became of each fingerprint.
    pub(crate) fn into_fates(self) -> HashMap<Digest, Fate> {
        self.fates
    }

    /// Whether this history contains what an anchor stands for.
    pub(crate) fn contains(&self, anchor: &Anchor) -> Result<(), LedgerError> {
        let hash = anchor.number.checked_sub(1).and_then(|at| self.entries.get(at as usize));
        let problem = match hash {
            Some((_, hash)) if *hash == anchor.hash => return Ok(()),
            Some(_) => format!("entry {} has another hash", anchor.number),
            None => format!("it has {} entries only, so it is an older copy", self.entries.len()),
        };
        Err(LedgerError::NotAnchored { anchor: *anchor, problem })
    }
}

impl Nodes for History {
    fn node(&self, number: u64) -> Result<Cow<'_, Node>, LedgerError> {
        let node = self.entry(number).and_then(|entry| entry.index.as_ref());
        node.map(Cow::Borrowed).ok_or_else(|| damaged(number, "is in no index"))
    }
}
