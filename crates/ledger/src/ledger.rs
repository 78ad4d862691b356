//! The protocol: check, reserve, compute, complete, show.

use crate::entry::{Action, Entry, Row, damaged};
use crate::history::History;
use crate::index::{Fate, Node, find};
use crate::request::{Admission, ChargeRequest, Pending, Quote, Reservation, StoredAnswer};
use crate::state::{State, Summary};
use crate::statement::{Balance, Listed, Statement};
use crate::store::Store;
use crate::{Anchor, Charge, Digest, LedgerError, Limits, Protected, clock};
use reticent_numerics::OutOfRange;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The most bytes of a query's text.
const MOST_QUERY_BYTES: usize = 1 << 20;
/// The most bytes of an answer.
const MOST_ANSWER_BYTES: usize = 64 << 20;
/// The most bytes of an entry's text: events with large tables are long.
const MOST_BODY_BYTES: usize = 32 << 20;
/// The most bytes of the name of who asks.
const MOST_ASKER_BYTES: usize = 1 << 10;
/// How many of the newest entries are replayed when a ledger is opened, and listed on demand.
const REPLAYED: u64 = 64;

/// A ledger that is open: a handle, which threads share by cloning it.
///
/// What the entries amount to is kept in memory. Before each operation, what other processes have
/// added since is read and checked, so that the time of an operation does not depend on how many
/// entries there are.
///
/// # Guarantee
/// Whatever crashes, and however many processes use the file: what is spent covers every answer
/// that [`Ledger::complete`] or [`Ledger::lookup`] returned, and is within the limits. This rests
/// on a disk that keeps what it said it had synchronised, on file locks that work (not every
/// network file system's do), and on nobody replacing the file by an older copy; [`Ledger::anchor`]
/// notices the last.
///
/// # Blocking
/// Operations wait for the disk and for other processes; asynchronous code calls them from a thread
/// that may block.
///
/// # Failure
/// Any failure to read or write closes the handle and all its clones: later calls return
/// [`LedgerError::Closed`]. An operation that failed may or may not have been written; a
/// reservation that was is spent, an answer that was is paid for.
#[derive(Clone, Debug)]
pub struct Ledger {
    name: Digest,
    path: Arc<Path>,
    open: Arc<Mutex<Open>>,
}

#[derive(Debug)]
struct Open {
    store: Store,
    state: State,
    /// What became of fingerprints in entries of format 2, which are not in the index.
    format_2: HashMap<Digest, Fate>,
    closed: bool,
}

/// What a change amounts to, after looking at the state.
enum Decision<T> {
    /// Add this, with the bytes of an answer and its entry in the index.
    Write(Box<Action>, Option<Vec<u8>>, Option<Node>),
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
    /// Makes a new ledger. The file is readable and writable by its owner only, and complete before
    /// it appears under its name.
    ///
    /// # Errors
    /// If there is something at `path`, the folder does not exist, or the file cannot be written.
    pub fn create(path: &Path, limits: Limits, protects: &Protected) -> Result<Self, LedgerError> {
        let mut name = [0; 32];
        getrandom::fill(&mut name)
            .map_err(|error| LedgerError::Storage(format!("there is no entropy: {error}")))?;
        let ledger = Digest::from_bytes(name);
        let action = Action::Create { ledger, limits, protects: protects.clone() };
        let summary = State::created(&action).map(|state| state.summary);
        let first = Row::new(Digest::ZERO, 1, &now(action, summary, None), None)?;
        accept_body(&first, "tables", "tables of at most 32 MiB as text")?;
        Store::create(path, &ledger.to_string()[..16], &first)?;
        Ledger::open(path, &limits, protects)
    }

    /// Opens a ledger that must have these limits and protect these tables.
    ///
    /// The newest entries are read and replayed (see `docs/ledger.md` for what is checked when;
    /// [`crate::verify`] checks everything).
    ///
    /// # Errors
    /// If there is no ledger, it is damaged or cannot be used, it has other limits, or it protects
    /// other tables.
    pub fn open(path: &Path, limits: &Limits, protects: &Protected) -> Result<Self, LedgerError> {
        let ledger = Ledger::open_as_stored(path)?;
        ledger.check_terms(limits, protects)?;
        Ok(ledger)
    }

    /// An error unless the ledger has these limits and protects these tables now.
    ///
    /// # Errors
    /// [`LedgerError::OtherTables`] and [`LedgerError::OtherLimits`] say in what they differ.
    pub fn check_terms(&self, limits: &Limits, protects: &Protected) -> Result<(), LedgerError> {
        self.check_protects(protects)?;
        let stored = self.read(|open| Ok(open.state.limits))?;
        if stored == *limits {
            return Ok(());
        }
        Err(LedgerError::OtherLimits { stored, given: *limits })
    }

    /// An error unless the ledger protects these tables, and no others.
    ///
    /// # Errors
    /// [`LedgerError::OtherTables`] says in what they differ.
    pub fn check_protects(&self, protects: &Protected) -> Result<(), LedgerError> {
        let stored = self.read(|open| Ok(open.state.protects.clone()))?;
        if *stored == *protects {
            return Ok(());
        }
        let (stored, given) = (Box::new((*stored).clone()), Box::new(protects.clone()));
        Err(LedgerError::OtherTables { path: self.path.to_path_buf(), stored, given })
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
        let (state, format_2) = newest_state(&store)?;
        store.end_reading()?;
        Ok(Ledger {
            name: state.ledger,
            path: store.path().into(),
            open: Arc::new(Mutex::new(Open { store, state, format_2, closed: false })),
        })
    }

    /// Opens the ledger anew after a failure closed it. What this handle has seen must still be
    /// there.
    ///
    /// # Errors
    /// As [`Ledger::open_as_stored`], and [`LedgerError::NotAnchored`] if entries are gone or were
    /// changed.
    pub fn reopen(&self) -> Result<Self, LedgerError> {
        let (again, anchor) = (Ledger::open_as_stored(&self.path)?, self.lock().state.newest);
        let found = again.read(|open| open.store.hash(anchor.number))?;
        if again.name != self.name || found == Some(anchor.hash) {
            return Ok(again);
        }
        let problem = format!("entry {} was changed or is gone", anchor.number);
        Err(LedgerError::NotAnchored { anchor, problem })
    }

    /// How long to wait while other processes write; half a minute unless said otherwise. A write
    /// takes milliseconds.
    pub fn set_patience(&self, patience: Duration) {
        self.lock().store.set_patience(patience);
    }

    /// Its random name: no two ledgers have the same, but a copy has that of its original.
    pub fn name(&self) -> Digest {
        self.name
    }

    /// Where it is, with links resolved.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What a release would cost, if it would be admitted now. Nothing is charged, and no data is
    /// needed.
    ///
    /// # Errors
    /// If it would not be admitted, or the ledger cannot be read.
    pub fn check(&self, request: &ChargeRequest) -> Result<Quote, LedgerError> {
        self.read(|open| {
            let is_stored = !request.fresh && open.node(request.fingerprint)?.fate.answer.is_some();
            let mut after = open.state.spent().clone();
            let charge = if is_stored { None } else { Some(open.charge_for(request)?) };
            if let Some(charge) = charge {
                after.add(charge);
            }
            Ok(Quote { charge, remaining: after.remaining(&open.state.limits) })
        })
    }

    /// The stored answer to a query, if there is one, byte for byte and at no cost: the newest
    /// where there are several.
    ///
    /// # Errors
    /// If the ledger cannot be read, or the answer is not what its digest stands for.
    pub fn lookup(&self, fingerprint: Digest) -> Result<Option<StoredAnswer>, LedgerError> {
        self.read(|open| open.stored_answer(&open.node(fingerprint)?))
    }

    /// The newest reservation of a query, if it has neither an answer nor was given up: somebody is
    /// computing it, or crashed.
    ///
    /// # Errors
    /// If the ledger cannot be read.
    pub fn pending(&self, fingerprint: Digest) -> Result<Option<Pending>, LedgerError> {
        self.read(|open| open.pending(&open.node(fingerprint)?))
    }

    /// Pays for a release, durably before this returns, or says why not.
    ///
    /// Whether there is a stored answer, whether another run is at work, whether the charge fits,
    /// and the charge itself are one transaction. So of two that ask the same at once, one pays and
    /// the other is told [`Admission::Pending`]; and of two that want the last of the budget, one
    /// gets it. A query whose run crashed is pending for ever, and is asked again with `fresh`: the
    /// charge of the lost run stays. One whose run failed and was given up by [`Ledger::abandon`]
    /// is charged anew.
    ///
    /// # Errors
    /// If the charge does not fit or cannot be computed, the request is malformed, or the ledger
    /// cannot be read or written. Nothing may be computed from data then.
    pub fn reserve(&self, request: &ChargeRequest) -> Result<Admission, LedgerError> {
        accept_length("query", request.query.len(), MOST_QUERY_BYTES, "text of at most 1 MiB")?;
        let asker_bytes = request.asker.as_ref().map_or(0, String::len);
        accept_length("asker", asker_bytes, MOST_ASKER_BYTES, "text of at most 1 KiB")?;
        let fingerprint = request.fingerprint;
        let mut charged = None;
        let done = self.change(|open| {
            let node = open.node(fingerprint)?;
            if !request.fresh {
                if let Some(answer) = open.stored_answer(&node)? {
                    return Ok(Decision::Leave(Admission::Stored(answer)));
                }
                if let Some(pending) = open.pending(&node)? {
                    return Ok(Decision::Leave(Admission::Pending(pending)));
                }
            }
            let charge = open.charge_for(request)?;
            charged = Some(charge);
            let action = Action::Reserve {
                fingerprint,
                query: request.query.clone(),
                events: request.events.clone(),
                selection_delta: request.selection_delta,
                charge,
                asker: request.asker.clone(),
            };
            Ok(Decision::Write(Box::new(action), None, Some(node)))
        })?;
        match (done, charged) {
            (Done::Left(admission), _) => Ok(admission),
            (Done::Written(number), Some(charge)) => Ok(Admission::Reserved(Reservation {
                ledger: self.name,
                number,
                fingerprint,
                charge,
            })),
            (Done::Written(number), None) => Err(LedgerError::NotReserved { number }),
        }
    }

    /// Stores the answer, durably before this returns. Only what this returns may be shown.
    ///
    /// # Errors
    /// If the reservation is not open in this ledger, the answer is longer than 64 MiB, or the
    /// ledger cannot be written. Nothing may be shown then. (If the answer was written
    /// nevertheless, [`Ledger::lookup`] returns it later. After [`LedgerError::Busy`] this may be
    /// called again.)
    pub fn complete(
        &self,
        reservation: &Reservation,
        answer: &[u8],
    ) -> Result<StoredAnswer, LedgerError> {
        accept_length("answer", answer.len(), MOST_ANSWER_BYTES, "at most 64 MiB")?;
        let number = reservation.number;
        let action = Action::Answer { reservation: number, digest: Digest::of(&[answer]) };
        self.end_reservation(reservation, action, Some(answer.to_vec()))?;
        Ok(StoredAnswer { reservation: number, bytes: answer.to_vec() })
    }

    /// Says that a reservation will never be answered. It stays paid; but the same query, asked
    /// again, is charged anew and not told to wait.
    ///
    /// # Errors
    /// If the reservation is not open in this ledger, or the ledger cannot be written.
    pub fn abandon(&self, reservation: &Reservation) -> Result<(), LedgerError> {
        let action = Action::Abandon { reservation: reservation.number };
        self.end_reservation(reservation, action, None)
    }

    fn end_reservation(
        &self,
        reservation: &Reservation,
        action: Action,
        answer: Option<Vec<u8>>,
    ) -> Result<(), LedgerError> {
        let is_foreign = reservation.ledger != self.name;
        self.change(|open| {
            if is_foreign {
                return Err(LedgerError::NotReserved { number: reservation.number });
            }
            Ok(Decision::Write(Box::new(action), answer, Some(open.node(reservation.fingerprint)?)))
        })
        .map(|_: Done<()>| ())
    }

    /// Changes the limits: a decision of the owner of the data, recorded as an entry.
    ///
    /// What is guaranteed afterwards is what the larger limits guarantee. (The theorem wants limits
    /// that are fixed beforehand. To raise them because of what the answers were is to have had the
    /// larger ones all along.)
    ///
    /// # Errors
    /// If the limits are in another currency or below what is spent, or the ledger cannot be
    /// written.
    pub fn amend(&self, limits: Limits) -> Result<(), LedgerError> {
        self.change(|open| {
            if open.state.limits == limits {
                return Ok(Decision::Leave(()));
            }
            Ok(Decision::Write(Box::new(Action::Amend { limits }), None, None))
        })
        .map(|_| ())
    }

    /// Has the ledger protect these tables from now on: a decision of the owner of the data,
    /// recorded as an entry.
    ///
    /// Nothing is given back: what was spent on other tables counts against the budget of these.
    /// Answers stay stored.
    ///
    /// # Errors
    /// If the ledger cannot be written.
    pub fn adopt(&self, protects: &Protected) -> Result<(), LedgerError> {
        self.change(|open| {
            if *open.state.protects == *protects {
                return Ok(Decision::Leave(()));
            }
            let action = Action::Adopt { protects: protects.clone() };
            Ok(Decision::Write(Box::new(action), None, None))
        })
        .map(|_| ())
    }

    /// The newest entry and its hash, to be kept elsewhere.
    ///
    /// # Errors
    /// If the ledger cannot be read.
    pub fn anchor(&self) -> Result<Anchor, LedgerError> {
        self.read(|open| Ok(open.state.newest))
    }

    /// What is spent and what remains. If `delta` is given, also as `epsilon` at that `delta`.
    ///
    /// # Errors
    /// If the ledger cannot be read, or `delta` is not between 0 and 1.
    pub fn balance(&self, delta: Option<f64>) -> Result<Balance, LedgerError> {
        self.read(|open| Balance::of(&open.state, delta))
    }

    /// The same with what it was spent on: all entries are read and checked for it.
    ///
    /// # Errors
    /// If the ledger cannot be read, or `delta` is not between 0 and 1.
    pub fn statement(&self, delta: Option<f64>) -> Result<Statement, LedgerError> {
        self.read(|open| {
            let mut listed = Listed::default();
            History::read(&open.store, None, |state, entry| listed.add(state, entry))?;
            Statement::new(&open.state, listed, delta)
        })
    }

    /// The same with the newest entries alone, 64 of them, in a time that does not grow with the
    /// ledger. What is spent and what remains is that of all entries, as the newest states it.
    ///
    /// # Errors
    /// If the ledger cannot be read, or `delta` is not between 0 and 1.
    pub fn recent_statement(&self, delta: Option<f64>) -> Result<Statement, LedgerError> {
        let recent = self.read(|open| {
            let mut listed = Listed::default();
            let state = replay(&open.store, |state, entry| listed.add(state, entry))?;
            state.map(|_| Statement::new(&open.state, listed, delta)).transpose()
        })?;
        // Entries of format 2 do not say what they amount to.
        recent.map_or_else(|| self.statement(delta), Ok)
    }

    /// A panic while it was held has left the ledger closed.
    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One transaction that reads, after what others have added was read.
    fn read<T>(
        &self,
        look: impl FnOnce(&Open) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        self.lock().guarded(|open| {
            open.store.begin_reading()?;
            open.store.check_unchanged()?;
            open.catch_up()?;
            let found = look(open)?;
            open.store.end_reading()?;
            Ok(found)
        })
    }

    /// One transaction: looks, decides, writes, and returns when it is durable.
    fn change<T>(
        &self,
        decide: impl FnOnce(&Open) -> Result<Decision<T>, LedgerError>,
    ) -> Result<Done<T>, LedgerError> {
        self.lock().guarded(|open| {
            open.store.begin_writing()?;
            open.catch_up()?;
            let (action, answer, mut node) = match decide(open)? {
                Decision::Write(action, answer, node) => (*action, answer, node),
                Decision::Leave(left) => {
                    open.store.roll_back()?;
                    return Ok(Done::Left(left));
                }
            };
            let mut next = open.state.after(&action)?;
            let number = next.newest.number;
            if let Some(node) = &mut node {
                node.fate = node.fate.after(number, &action)?;
            }
            let entry = now(action, Some(next.summary.clone()), node);
            let row = Row::new(open.state.newest.hash, number, &entry, answer)?;
            accept_body(&row, "events", "events of at most 32 MiB as text")?;
            open.store.commit(&row)?;
            next.newest.hash = row.hash;
            next.sqlite = entry.sqlite;
            open.state = next;
            Ok(Done::Written(number))
        })
    }
}

impl Open {
    /// Runs something that reads or writes. After a failure nothing is left half done; after one
    /// that is not a refusal, the handle is closed.
    fn guarded<T>(
        &mut self,
        run: impl FnOnce(&mut Self) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        if self.closed {
            return Err(LedgerError::Closed);
        }
        // Closed until proved otherwise: a panic inside leaves it so.
        self.closed = true;
        let result = run(self);
        let undone = self.store.roll_back();
        self.closed = undone.is_err() || matches!(&result, Err(error) if error.closes());
        result
    }

    /// Reads what others have added. The last entry that was read must still be there.
    fn catch_up(&mut self) -> Result<(), LedgerError> {
        let Open { store, state, .. } = self;
        let Anchor { number: last, hash } = state.newest;
        let mut is_there = false;
        let changed = || damaged(last, "was changed while the ledger was in use");
        store.rows_from(last, |row| {
            if row.number == last {
                is_there = row.hash == hash;
                return Ok(());
            }
            if is_there { state.follow(&row).map(|_| ()) } else { Err(changed()) }
        })?;
        if is_there { Ok(()) } else { Err(changed()) }
    }

    /// What is known of a fingerprint.
    fn node(&self, fingerprint: Digest) -> Result<Node, LedgerError> {
        let mut node = find(&self.store, self.state.index(), fingerprint)?;
        if node.fate.reservation == 0
            && let Some(fate) = self.format_2.get(&fingerprint)
        {
            node.fate = fate.clone();
        }
        Ok(node)
    }

    /// The newest answer.
    fn stored_answer(&self, node: &Node) -> Result<Option<StoredAnswer>, LedgerError> {
        let Some(number) = node.fate.answer else { return Ok(None) };
        let (entry, answer) = self.store.row(number)?;
        entry.check_answer(number, answer.as_deref())?;
        let (Action::Answer { reservation, .. }, Some(bytes)) = (entry.action, answer) else {
            return Err(damaged(number, "is not the answer that the index says"));
        };
        match self.store.entry(reservation)?.action {
            Action::Reserve { fingerprint, .. } if fingerprint == node.fingerprint => {
                Ok(Some(StoredAnswer { reservation, bytes }))
            }
            _ => Err(damaged(number, "is the answer to another query")),
        }
    }

    /// The newest reservation, if it is open.
    fn pending(&self, node: &Node) -> Result<Option<Pending>, LedgerError> {
        let reservation = node.fate.reservation;
        if !node.fate.open.contains(&reservation) {
            return Ok(None);
        }
        let Entry { time, action: Action::Reserve { charge, .. }, .. } =
            self.store.entry(reservation)?
        else {
            return Err(damaged(reservation, "is not the reservation that the index says"));
        };
        Ok(Some(Pending { reservation, time, charge }))
    }

    /// What a request costs, if it fits.
    fn charge_for(&self, request: &ChargeRequest) -> Result<Charge, LedgerError> {
        let limits = &self.state.limits;
        let charge = Charge::of(limits, &request.events, request.selection_delta)?;
        self.state.spent().with(limits, charge)?;
        Ok(charge)
    }
}

/// Replays the last [`REPLAYED`] entries, each shown to `visit` with what it led to; none if they
/// do not carry what the entries up to them amount to.
fn replay(
    store: &Store,
    mut visit: impl FnMut(&State, &Entry),
) -> Result<Option<State>, LedgerError> {
    let (mut replayed, mut previous) = (None::<State>, Digest::ZERO);
    // One more, for its hash.
    store.rows_from(store.length()?.saturating_sub(REPLAYED).max(1), |row| {
        let next = match replayed.take() {
            Some(mut state) => {
                let entry = state.follow(&row)?;
                Some((state, entry))
            }
            None if row.number == 1 => Some(State::begin(&row)?),
            None if previous != Digest::ZERO => State::resume(store, previous, &row)?,
            None => None,
        };
        replayed = next.map(|(state, entry)| {
            visit(&state, &entry);
            state
        });
        previous = row.hash;
        Ok(())
    })?;
    Ok(replayed)
}

/// What the entries of a store amount to, from the newest of them: each carries that. The last
/// [`REPLAYED`] are replayed; of format 2, all.
fn newest_state(store: &Store) -> Result<(State, HashMap<Digest, Fate>), LedgerError> {
    let length = store.length()?;
    let mut state = replay(store, |_, _| ())?;
    let last_of_format_2 =
        state.as_ref().map_or(Some(length), |state| state.format_2().map(|last| last.number));
    let mut format_2 = HashMap::new();
    if let Some(last) = last_of_format_2 {
        let history = History::read(store, Some(last), |_, _| ())?;
        let begin = history.state.newest;
        let state = state.get_or_insert_with(|| history.state.clone());
        if state.format_2() != Some(begin) {
            return Err(damaged(last, "is not the one that newer entries go on from"));
        }
        format_2 = history.into_fates();
    }
    match state {
        Some(state) if state.is_summarised() == store.is_summarised() => Ok((state, format_2)),
        _ => Err(LedgerError::Damaged("its entries are not of the format that it states".into())),
    }
}

/// An entry about what is done now.
fn now(action: Action, summary: Option<Summary>, index: Option<Node>) -> Entry {
    Entry { time: clock::now(), sqlite: rusqlite::version_number(), action, summary, index }
}

fn accept_length(
    name: &'static str,
    length: usize,
    most: usize,
    accepted: &'static str,
) -> Result<(), LedgerError> {
    if length <= most {
        return Ok(());
    }
    Err(OutOfRange { name, value: format!("{length} bytes long"), accepted }.into())
}

fn accept_body(row: &Row, name: &'static str, accepted: &'static str) -> Result<(), LedgerError> {
    accept_length(name, row.body.len(), MOST_BODY_BYTES, accepted)
}
