//! The full check of a ledger.

use crate::entry::{Action, Row};
use crate::history::History;
use crate::image::rows_of_image;
use crate::store::Store;
use crate::{Amounts, Anchor, Charge, Digest, LedgerError, Limits, Protected};
use serde::Serialize;
use std::path::Path;

/// What a full check found: nothing wrong.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verification {
    /// The random name of the ledger.
    pub ledger: Digest,
    /// How many entries there are.
    pub entries: u64,
    /// How many answers are stored.
    pub answers: u64,
    /// How long the file is. Every byte of it has been accounted for, but for `leftover_bytes`.
    pub bytes: u64,
    /// Bytes that SQLite uses for nothing, in inner pages that it has rearranged, and that it does
    /// not clear. There are none in ledgers of less than about 100 MB.
    pub leftover_bytes: u64,
    /// How much may be spent.
    pub limits: Limits,
    /// What it protects.
    pub protects: Protected,
    /// What is spent, rounded up.
    pub spent: Amounts,
    /// The newest entry, to be kept elsewhere.
    pub anchor: Anchor,
}

/// Checks everything there is to check:
///
/// - the file, byte by byte, without SQLite: its header, the tree of pages, every record, and that
///   what is unused is zero;
/// - the chain of hashes from the first entry to the last, with every answer;
/// - the rules of the protocol: no charge beyond the limits of its time, no answer without a
///   reservation;
/// - the sums and the index that each entry carries, and that every charge is at least what its
///   events cost by this version of the program;
/// - that SQLite reads the same entries and finds nothing wrong;
/// - that the ledger contains what `anchor` stands for.
///
/// A flip of any one bit, and any truncation, is found. Somebody who can write the file can also
/// write a whole new chain: that is noticed through an anchor, and through nothing else.
///
/// # Errors
/// What is wrong, or why it cannot be told.
pub fn verify(path: &Path, anchor: Option<&Anchor>) -> Result<Verification, LedgerError> {
    let mut store = Store::open(path)?;
    store.begin_reading()?;
    store.check_unchanged()?;
    let (image, bytes) = store.image()?;
    if image.len() as u64 != bytes {
        return Err(LedgerError::Damaged("the file is not as long as it says".into()));
    }
    let Examined { history, rows, answers, leftover_bytes } = examine(&image)?;
    let mut seen = rows.iter();
    let others = || LedgerError::Damaged("SQLite reads other entries than are in the file".into());
    store.length()?;
    store.rows_from(1, |row| match seen.next() {
        Some(seen)
            if (seen.number, seen.hash) == (row.number, row.hash) && seen.body == row.body =>
        {
            Ok(())
        }
        _ => Err(others()),
    })?;
    if seen.next().is_some() {
        return Err(others());
    }
    store.check_integrity()?;
    store.end_reading()?;
    if let Some(anchor) = anchor {
        history.contains(anchor)?;
    }
    let state = &history.state;
    Ok(Verification {
        ledger: state.ledger,
        entries: state.newest.number,
        answers,
        bytes,
        leftover_bytes,
        limits: state.limits,
        protects: (*state.protects).clone(),
        spent: state.spent().total(),
        anchor: state.newest,
    })
}

/// What the bytes of a file say.
pub(crate) struct Examined {
    pub(crate) history: History,
    rows: Vec<Row>,
    answers: u64,
    leftover_bytes: u64,
}

/// Checks the bytes of a file, without SQLite.
pub(crate) fn examine(image: &[u8]) -> Result<Examined, LedgerError> {
    let contents = rows_of_image(image)?;
    let mut rows = contents.rows.iter();
    let first = rows.next().ok_or_else(|| LedgerError::Damaged("it has no entries".into()))?;
    let mut history = History::begin(first)?;
    let mut answers = 0;
    for row in rows {
        history.follow(row)?;
        history.check_answer(row)?;
        check_charge(&history, row)?;
        answers += u64::from(row.answer.is_some());
    }
    let state = &history.state;
    if state.is_summarised() != contents.summarised {
        return Err(LedgerError::Damaged(
            "its entries are not of the format that it states".into(),
        ));
    }
    // The counter has 32 bits, and so has what is compared with it.
    if state.newest.number as u32 != contents.changes || state.sqlite != contents.sqlite {
        return Err(LedgerError::Damaged(
            "the file was changed otherwise than by adding entries".into(),
        ));
    }
    Ok(Examined { history, rows: contents.rows, answers, leftover_bytes: contents.leftover_bytes })
}

/// Whether a charge is at least what its events cost. An entry of another version may charge more.
fn check_charge(history: &History, row: &Row) -> Result<(), LedgerError> {
    let Some(Action::Reserve { events, selection_delta, charge, .. }) =
        history.entry(row.number).map(|entry| &entry.action)
    else {
        return Ok(());
    };
    let cost = Charge::of(&history.state.limits, events, *selection_delta)?;
    if charge.cost >= cost.cost && charge.delta >= cost.delta {
        return Ok(());
    }
    let Charge { cost: charged, .. } = charge;
    let problem =
        format!("entry {} charges {charged:e}, but its events cost {:e}", row.number, cost.cost);
    Err(LedgerError::Damaged(problem))
}

#[cfg(test)]
mod damage;
