//! The protocol: check, reserve, compute, complete, show.

use crate::entry::{Deed, Entry, Row};
use crate::history::{Fate, History};
use crate::request::{Admission, Pending, Quote, Request, Reservation, StoredAnswer};
use crate::statement::Statement;
use crate::store::Store;
use crate::{Anchor, Charge, Digest, LedgerError, Limits, Protected, clock};
use std::path::Path;
use std::time::{Duration, Instant};

/// The most bytes of a query's text.
const MOST_QUERY_BYTES: usize = 1 << 20;
/// The most bytes of an answer.
const MOST_ANSWER_BYTES: usize = 64 << 20;
/// The most bytes of an entry's text: events with large tables are long.
const MOST_BODY_BYTES: usize = 32 << 20;
/// How often somebody who waits looks.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A ledger that is open.
///
/// # Guarantee
/// Whatever crashes, and however many processes use the file: what is spent covers every answer that [`Ledger::complete`] or [`Ledger::lookup`] returned, and is within the limits. This rests on a disk that keeps what it said it had
/// synchronised, on file locks that work (not every network file system's do), and on nobody replacing the file by an older copy; [`Ledger::anchor`] notices the last.
///
/// # Failure
/// Any failure to read or write closes the handle: all later calls return [`LedgerError::Closed`]. Opening again reads and checks everything from the beginning. An operation that failed may or may not have
/// been written; a reservation that was is spent, an answer that was is paid for.
#[derive(Debug)]
pub struct Ledger {
    store: Store,
    history: History,
    closed: bool,
}

/// What a change amounts to, after looking at the history.
enum Decision<T> {
    /// Add this, with the bytes of an answer.
    Write(Deed, Option<Vec<u8>>),
    /// Leave all as it is.
    Leave(T),
}

/// What was done, once it is durable.
enum Done<T> {
    /// The number of the new entry.
    Written(u64),
    Left(T),
}

impl Ledger {
    /// Makes a new ledger. The file is readable and writable by its owner only, and complete before it appears under its name.
    ///
    /// # Errors
    /// If there is something at `path`, the folder does not exist, or the file cannot be written.
    pub fn create(path: &Path, limits: Limits, protects: &Protected) -> Result<Self, LedgerError> {
        let mut name = [0; 32];
        getrandom::fill(&mut name).map_err(|error| LedgerError::Storage(format!("there is no entropy: {error}")))?;
        let ledger = Digest::from_bytes(name);
        let deed = Deed::Create { ledger, limits, protects: protects.clone() };
        let first = Row::new(Digest::ZERO, 1, &now(deed), None)?;
        accept_body(&first, "tables", "tables of at most 32 MiB as text")?;
        Store::create(path, &ledger.to_string()[..16], &first)?;
        Ledger::open(path, &limits, protects)
    }

    /// Opens a ledger that must have these limits and protect these tables.
    ///
    /// All entries are read: the chain of hashes is checked, and the sums are computed anew. (Answers are checked when they are used, and by [`crate::verify`].)
    ///
    /// # Errors
    /// If there is no ledger, it is damaged or cannot be used, it has other limits, or it protects
    /// other tables.
    pub fn open(path: &Path, limits: &Limits, protects: &Protected) -> Result<Self, LedgerError> {
        let ledger = Ledger::open_as_stored(path)?;
        ledger.check_protects(protects)?;
        if ledger.history.limits() == limits {
            return Ok(ledger);
        }
        Err(LedgerError::OtherLimits { stored: *ledger.history.limits(), given: *limits })
    }

    /// An error unless the ledger protects these tables, and no others.
    ///
    /// # Errors
    /// [`LedgerError::OtherTables`] says in what they differ.
    pub fn check_protects(&self, protects: &Protected) -> Result<(), LedgerError> {
        let stored = self.history.protects();
        if stored == protects {
            return Ok(());
        }
        let (stored, given) = (Box::new(stored.clone()), Box::new(protects.clone()));
        Err(LedgerError::OtherTables { path: self.store.path().to_path_buf(), stored, given })
    }

    /// Opens a ledger under whatever limits it has, and whatever it protects: for reports and
    /// decisions of the owner.
    ///
    /// # Errors
    /// If there is no ledger, or it is damaged or cannot be used.
    pub fn open_as_stored(path: &Path) -> Result<Self, LedgerError> {
        let store = Store::open(path)?;
        store.begin_reading()?;
        store.check_unchanged()?;
        let history = read_all(&store)?;
        store.end_reading()?;
        Ok(Ledger { store, history, closed: false })
    }

    /// How long to wait while other processes write; half a minute unless said otherwise. A write takes milliseconds.
    pub fn set_patience(&mut self, patience: Duration) {
        self.store.set_patience(patience);
    }

    /// The limits.
    pub fn limits(&self) -> &Limits {
        self.history.limits()
    }

    /// Its random name: no two ledgers have the same, but a copy has that of its original.
    pub fn name(&self) -> Digest {
        self.history.ledger()
    }

    /// Where it is, with links resolved.
    pub fn path(&self) -> &Path {
        self.store.path()
    }

    /// What a release would cost, if it would be admitted now. Nothing is charged, and no data is needed.
    ///
    /// # Errors
    /// If it would not be admitted, or the ledger cannot be read.
    pub fn check(&mut self, request: &Request) -> Result<Quote, LedgerError> {
        self.guarded(|ledger| {
            ledger.refresh()?;
            let history = &ledger.history;
            let stored = !request.fresh && history.newest_answer(request.fingerprint).is_some();
            let mut after = history.spent().clone();
            let charge = if stored { None } else { Some(charge_for(history, request)?) };
            if let Some(charge) = charge {
                after.add(charge);
            }
            Ok(Quote { charge, remaining: after.remaining(history.limits()) })
        })
    }

    /// The stored answer to a query, if there is one, byte for byte and at no cost: the newest where there are several.
    ///
    /// # Errors
    /// If the ledger cannot be read, or the answer is not what its digest stands for.
    pub fn lookup(&mut self, fingerprint: Digest) -> Result<Option<StoredAnswer>, LedgerError> {
        self.guarded(|ledger| {
            ledger.refresh()?;
            ledger.stored_answer(fingerprint)
        })
    }

    /// Pays for a release, durably before this returns, or says why not.
    ///
    /// Whether there is a stored answer, whether another run is at work, whether the charge fits, and the charge itself are one transaction. So of two processes that ask the same at once, one pays and the other is told
    /// [`Admission::Pending`]; and of two that want the last of the budget, one gets it. A query whose run crashed is pending for ever, and is asked again with `fresh`: the charge of the lost run stays. One whose run failed and was
    /// given up by [`Ledger::abandon`] is charged anew.
    ///
    /// # Errors
    /// If the charge does not fit or cannot be computed, the request is malformed, or the ledger cannot be read or written. Nothing may be computed from data then.
    pub fn reserve(&mut self, request: &Request) -> Result<Admission, LedgerError> {
        accept_length("query", request.query.len(), MOST_QUERY_BYTES, "text of at most 1 MiB")?;
        let done = self.change(|ledger| {
            let history = &ledger.history;
            if !request.fresh {
                if let Some(answer) = ledger.stored_answer(request.fingerprint)? {
                    return Ok(Decision::Leave(Admission::Stored(answer)));
                }
                if let Some(pending) = pending(history, request.fingerprint) {
                    return Ok(Decision::Leave(Admission::Pending(pending)));
                }
            }
            let deed = Deed::Reserve {
                fingerprint: request.fingerprint,
                query: request.query.clone(),
                events: request.events.clone(),
                selection_delta: request.selection_delta,
                charge: charge_for(history, request)?,
            };
            Ok(Decision::Write(deed, None))
        })?;
        match done {
            Done::Left(admission) => Ok(admission),
            Done::Written(number) => match self.history.entry(number).map(|entry| &entry.deed) {
                Some(Deed::Reserve { charge, .. }) => {
                    Ok(Admission::Reserved(Reservation { ledger: self.history.ledger(), number, charge: *charge }))
                }
                _ => Err(LedgerError::NotReserved { number }),
            },
        }
    }

    /// Stores the answer, durably before this returns. Only what this returns may be shown.
    ///
    /// # Errors
    /// If the reservation is not open in this ledger, the answer is longer than 64 MiB, or the ledger cannot be written. Nothing may be shown then. (If the answer was written nevertheless, [`Ledger::lookup`] returns it later. After
    /// [`LedgerError::Busy`] this may be called again.)
    pub fn complete(&mut self, reservation: &Reservation, answer: &[u8]) -> Result<StoredAnswer, LedgerError> {
        accept_length("answer", answer.len(), MOST_ANSWER_BYTES, "at most 64 MiB")?;
        let number = reservation.number;
        let deed = Deed::Answer { reservation: number, digest: Digest::of(&[answer]) };
        self.end_reservation(reservation, deed, Some(answer.to_vec()))?;
        Ok(StoredAnswer { reservation: number, bytes: answer.to_vec() })
    }

    /// Says that a reservation will never be answered. It stays paid; but the same query, asked again, is charged anew and not told to wait.
    ///
    /// # Errors
    /// If the reservation is not open in this ledger, or the ledger cannot be written.
    pub fn abandon(&mut self, reservation: &Reservation) -> Result<(), LedgerError> {
        self.end_reservation(reservation, Deed::Abandon { reservation: reservation.number }, None)
    }

    fn end_reservation(
        &mut self,
        reservation: &Reservation,
        deed: Deed,
        answer: Option<Vec<u8>>,
    ) -> Result<(), LedgerError> {
        let number = reservation.number;
        let foreign = reservation.ledger != self.history.ledger();
        let done: Done<()> = self.change(|ledger| {
            if foreign || ledger.history.open_reservation(number).is_none() {
                return Err(LedgerError::NotReserved { number });
            }
            Ok(Decision::Write(deed, answer))
        })?;
        match done {
            Done::Written(_) | Done::Left(()) => Ok(()),
        }
    }

    /// Waits until there is an answer to a query. `None` after `patience`, or when nobody has it pending any more.
    ///
    /// # Errors
    /// If the ledger cannot be read.
    pub fn wait_for_answer(
        &mut self,
        fingerprint: Digest,
        patience: Duration,
    ) -> Result<Option<StoredAnswer>, LedgerError> {
        let begin = Instant::now();
        loop {
            let answer = self.lookup(fingerprint)?;
            if answer.is_some() || pending(&self.history, fingerprint).is_none() || begin.elapsed() >= patience {
                return Ok(answer);
            }
            std::thread::sleep(LOOK_EVERY.min(patience));
        }
    }

    /// Changes the limits: a decision of the owner of the data, recorded as an entry.
    ///
    /// What is promised afterwards is what the larger limits promise. (The theorem wants limits that are fixed beforehand. To raise them because of what the answers were is to have had the larger ones all along.)
    ///
    /// # Errors
    /// If the limits are in another currency or below what is spent, or the ledger cannot be written.
    pub fn amend(&mut self, limits: Limits) -> Result<(), LedgerError> {
        let done: Done<()> = self.change(|ledger| {
            if *ledger.history.limits() == limits {
                return Ok(Decision::Leave(()));
            }
            ledger.history.allows_amendment(&limits)?;
            Ok(Decision::Write(Deed::Amend { limits }, None))
        })?;
        match done {
            Done::Written(_) | Done::Left(()) => Ok(()),
        }
    }

    /// Has the ledger protect these tables from now on: a decision of the owner of the data,
    /// recorded as an entry.
    ///
    /// Nothing is given back: what was spent on other tables counts against the budget of these.
    /// Answers stay stored.
    ///
    /// # Errors
    /// If the ledger cannot be written.
    pub fn adopt(&mut self, protects: &Protected) -> Result<(), LedgerError> {
        let done: Done<()> = self.change(|ledger| {
            if ledger.history.protects() == protects {
                return Ok(Decision::Leave(()));
            }
            Ok(Decision::Write(Deed::Adopt { protects: protects.clone() }, None))
        })?;
        match done {
            Done::Written(_) | Done::Left(()) => Ok(()),
        }
    }

    /// The newest entry and its hash, to be kept elsewhere.
    ///
    /// # Errors
    /// If the ledger cannot be read.
    pub fn anchor(&mut self) -> Result<Anchor, LedgerError> {
        self.guarded(|ledger| {
            ledger.refresh()?;
            Ok(ledger.history.anchor())
        })
    }

    /// What is spent, what remains, and on what. If `delta` is given, also as `epsilon` at that `delta`.
    ///
    /// # Errors
    /// If the ledger cannot be read, or `delta` is not between 0 and 1.
    pub fn statement(&mut self, delta: Option<f64>) -> Result<Statement, LedgerError> {
        self.guarded(|ledger| {
            ledger.refresh()?;
            Statement::of(&ledger.history, delta)
        })
    }

    /// Reads what others have added since.
    fn refresh(&mut self) -> Result<(), LedgerError> {
        self.store.begin_reading()?;
        self.store.check_unchanged()?;
        catch_up(&self.store, &mut self.history)?;
        self.store.end_reading()
    }

    /// The newest answer in the history as read.
    fn stored_answer(&self, fingerprint: Digest) -> Result<Option<StoredAnswer>, LedgerError> {
        let Some((reservation, number)) = self.history.newest_answer(fingerprint) else { return Ok(None) };
        let row = Row { number, body: String::new(), hash: Digest::ZERO, answer: self.store.answer(number)? };
        self.history.check_answer(&row)?;
        Ok(row.answer.map(|bytes| StoredAnswer { reservation, bytes }))
    }

    /// One transaction: looks, decides, writes, and returns when it is durable.
    fn change<T>(
        &mut self,
        decide: impl FnOnce(&Self) -> Result<Decision<T>, LedgerError>,
    ) -> Result<Done<T>, LedgerError> {
        self.guarded(|ledger| {
            ledger.store.begin_writing()?;
            catch_up(&ledger.store, &mut ledger.history)?;
            let (deed, answer) = match decide(ledger)? {
                Decision::Write(deed, answer) => (deed, answer),
                Decision::Leave(left) => {
                    ledger.store.roll_back()?;
                    return Ok(Done::Left(left));
                }
            };
            let number = ledger.history.length() + 1;
            let row = Row::new(ledger.history.head(), number, &now(deed), answer)?;
            accept_body(&row, "events", "events of at most 32 MiB as text")?;
            ledger.store.commit(&row)?;
            ledger.history.follow(&row)?;
            Ok(Done::Written(number))
        })
    }

    /// Runs something that reads or writes. After a failure nothing is left half done; after one that is not a refusal, the handle is closed.
    fn guarded<T>(&mut self, run: impl FnOnce(&mut Self) -> Result<T, LedgerError>) -> Result<T, LedgerError> {
        if self.closed {
            return Err(LedgerError::Closed);
        }
        // Open until proved otherwise: a panic inside leaves it closed.
        self.closed = true;
        let result = run(self);
        let undone = self.store.roll_back();
        self.closed = undone.is_err() || matches!(&result, Err(error) if error.closes());
        result
    }
}

/// An entry about what is done now.
fn now(deed: Deed) -> Entry {
    Entry { time: clock::now(), sqlite: rusqlite::version_number(), deed }
}

fn accept_length(name: &'static str, length: usize, most: usize, accepted: &'static str) -> Result<(), LedgerError> {
    if length <= most {
        return Ok(());
    }
    Err(LedgerError::Parameter { name, value: format!("{length} bytes long"), accepted })
}

fn accept_body(row: &Row, name: &'static str, accepted: &'static str) -> Result<(), LedgerError> {
    accept_length(name, row.body.len(), MOST_BODY_BYTES, accepted)
}

/// What a request costs, if it fits.
fn charge_for(history: &History, request: &Request) -> Result<Charge, LedgerError> {
    let charge = Charge::of(history.limits(), &request.events, request.selection_delta)?;
    history.admits(charge)?;
    Ok(charge)
}

/// The newest reservation of a query, if it is open.
fn pending(history: &History, fingerprint: Digest) -> Option<Pending> {
    let reservation = history.newest(fingerprint)?;
    match (history.fate(reservation)?, history.entry(reservation)?) {
        (Fate::Open, Entry { time, deed: Deed::Reserve { charge, .. }, .. }) => {
            Some(Pending { reservation, time: *time, charge: *charge })
        }
        _ => None,
    }
}

/// All entries of a store.
pub(crate) fn read_all(store: &Store) -> Result<History, LedgerError> {
    let mut history: Option<History> = None;
    store.rows_from(1, |row| match &mut history {
        None => {
            history = Some(History::begin(&row)?);
            Ok(())
        }
        Some(history) => history.follow(&row),
    })?;
    if store.has_row_before_first()? {
        return Err(LedgerError::Damaged("there are entries before the first".into()));
    }
    history.ok_or_else(|| LedgerError::Damaged("it has no entries".into()))
}

/// Reads on from where a history ends. The last entry that was read must still be there.
fn catch_up(store: &Store, history: &mut History) -> Result<(), LedgerError> {
    let (last, head) = (history.length(), history.head());
    let mut met = false;
    store.rows_from(last, |row| {
        if row.number == last {
            met = row.hash == head;
            return Ok(());
        }
        if !met {
            return Err(LedgerError::Damaged(format!("entry {last} was changed while the ledger was in use")));
        }
        history.follow(&row)
    })?;
    if met {
        Ok(())
    } else {
        Err(LedgerError::Damaged(format!("entry {last} was changed while the ledger was in use")))
    }
}
