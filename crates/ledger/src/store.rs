//! The file: a SQLite database with one table, to which rows are only ever added.
//!
//! # Why SQLite
//! It is the best tested embedded store there is: its own tests cover crashes, full disks, failing
//! reads and damaged files at every step. It keeps everything in one file at rest, copes with
//! hostile files, locks against other processes, and the file can be read for decades with an
//! ordinary tool. The alternatives were an own log file, whose recovery would have to be proved
//! here, and key-value stores such as redb, which one process holds at a time.
//!
//! # How it is used
//! - A rollback journal, not a write-ahead log, and `synchronous = EXTRA`: a change returns when
//!   the journal, the file and the folder from which the journal was deleted have been
//!   synchronised.
//! - `BEGIN IMMEDIATE`: one writer at a time, from before it looks until after it has written.
//! - Triggers, views and functions in the schema are switched off, and the schema must be exactly
//!   the one below.
//! - Any failure but a lock that others hold ends the use of the connection.

use crate::entry::{Entry, Row, damaged};
use crate::index::{Node, Nodes};
use crate::location::{Location, Unfinished};
use crate::{Digest, LedgerError};
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, MAIN_DB, OpenFlags, OptionalExtension, params};
use std::borrow::Cow;
use std::path::Path;
use std::time::{Duration, Instant};

/// The text of the only table, as it stands in the schema.
pub(crate) const TABLE: &str = "CREATE TABLE entry (number INTEGER PRIMARY KEY, body TEXT NOT \
    NULL, hash BLOB NOT NULL, answer BLOB) STRICT";
/// `Rtct` in ASCII.
pub(crate) const APPLICATION: i32 = 0x5274_6374;
/// The version of the format that is written. Version 2 is read, and becomes this one with the next
/// entry.
pub(crate) const FORMAT: i32 = 3;
/// Large pages keep the tree of the table two levels deep up to some 3600 pages of rows, about 100
/// MB: see `image.rs` for why that is worth something.
pub(crate) const PAGE_BYTES: usize = 32_768;
/// The most bytes that a row can have.
pub(crate) const MOST_BYTES: usize = 128 << 20;

/// How long to wait for other processes, unless the caller says otherwise.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often to try for a lock that others hold: much less than a write takes. (SQLite's own
/// waiting slows down to ten times a second, and a reader beside a busy writer was seen to wait for
/// minutes.)
const TRY_EVERY: Duration = Duration::from_millis(1);

/// An open file, its schema checked.
#[derive(Debug)]
pub(crate) struct Store {
    connection: Connection,
    location: Location,
    format: i64,
    schema_version: i64,
    patience: Duration,
}

impl Store {
    /// Makes a file that holds one row, durable under its name when this returns.
    pub(crate) fn create(path: &Path, unique: &str, first: &Row) -> Result<(), LedgerError> {
        let unfinished = Unfinished::new(path, unique)?;
        let connection = connect(unfinished.temporary())?;
        connection.pragma_update(None, "page_size", PAGE_BYTES as i64)?;
        connection.execute_batch("BEGIN EXCLUSIVE")?;
        connection.pragma_update(None, "application_id", APPLICATION)?;
        connection.pragma_update(None, "user_version", FORMAT)?;
        connection.execute_batch(TABLE)?;
        insert(&connection, first)?;
        connection.execute_batch("COMMIT")?;
        connection.close().map_err(|(_, error)| error)?;
        unfinished.finish()
    }

    /// Opens an existing file. Damage to the schema or the length is found here, damage to rows
    /// when they are read.
    pub(crate) fn open(path: &Path) -> Result<Self, LedgerError> {
        let location = Location::of(path)?;
        location.check_no_log()?;
        let connection = connect(location.path())?;
        let mut store =
            Store { connection, location, format: 0, schema_version: 0, patience: PATIENCE };
        store.location.check()?;
        store.begin_reading()?;
        store.check_schema()?;
        store.end_reading()?;
        Ok(store)
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        self.location.path()
    }

    /// Whether the newest entry must carry a summary.
    pub(crate) fn is_summarised(&self) -> bool {
        self.format == i64::from(FORMAT)
    }

    /// How long to wait for other processes.
    pub(crate) fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
    }

    fn run_patiently(&self, statement: &str) -> Result<(), LedgerError> {
        run_patiently(&self.connection, self.patience, statement)
    }

    fn check_schema(&mut self) -> Result<(), LedgerError> {
        let number = |pragma: &str| {
            self.connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0))
        };
        let (application, format) = (number("application_id")?, number("user_version")?);
        let unusable =
            |problem| LedgerError::Unusable { path: self.location.path().to_path_buf(), problem };
        if application != i64::from(APPLICATION) {
            return Err(unusable("is a database, but not a ledger"));
        }
        if format == 1 {
            return Err(unusable(
                "is a ledger of format 1, which does not say what it protects; this program reads \
                 formats 2 and 3. Keep it: what is spent there is spent",
            ));
        }
        if format != 2 && format != i64::from(FORMAT) {
            return Err(unusable("is a ledger of another format than this program knows"));
        }
        if self.connection.is_readonly(MAIN_DB)? {
            return Err(unusable("cannot be opened for writing"));
        }
        let journal: String =
            self.connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
        if journal != "delete" || number("synchronous")? != 3 {
            return Err(LedgerError::Damaged(format!(
                "it is set up for journals of the kind `{journal}`"
            )));
        }
        let mut statement = self
            .connection
            .prepare("SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema")?;
        let tables = statement
            .query_map([], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
            })?
            .collect::<Result<Vec<(String, String, String, i64, String)>, _>>()?;
        if tables != [("table".into(), "entry".into(), "entry".into(), 2, TABLE.into())] {
            return Err(LedgerError::Damaged("its schema is not that of a ledger".into()));
        }
        let (pages, page) = (number("page_count")?, number("page_size")?);
        if pages.checked_mul(page).map(|bytes| bytes as u64) != Some(self.location.bytes()?) {
            return Err(LedgerError::Damaged("the file is not as long as it says".into()));
        }
        self.schema_version = number("schema_version")?;
        self.format = format;
        Ok(())
    }

    /// Takes the right to write, or waits for it. The schema is still what it was when the file was
    /// opened.
    pub(crate) fn begin_writing(&self) -> Result<(), LedgerError> {
        self.location.check()?;
        self.run_patiently("BEGIN IMMEDIATE")?;
        self.check_unchanged()
    }

    /// Keeps others from writing while this one reads.
    pub(crate) fn begin_reading(&self) -> Result<(), LedgerError> {
        self.location.check()?;
        // A transaction takes its lock with its first read.
        self.connection.execute_batch("BEGIN")?;
        self.run_patiently("SELECT 1 FROM sqlite_schema")
    }

    pub(crate) fn check_unchanged(&self) -> Result<(), LedgerError> {
        let now: i64 =
            self.connection.pragma_query_value(None, "schema_version", |row| row.get(0))?;
        if now == self.schema_version {
            Ok(())
        } else {
            Err(LedgerError::Damaged("its schema was changed while it was in use".into()))
        }
    }

    pub(crate) fn end_reading(&self) -> Result<(), LedgerError> {
        Ok(self.connection.execute_batch("COMMIT")?)
    }

    /// Adds a row and makes it durable.
    pub(crate) fn commit(&mut self, row: &Row) -> Result<(), LedgerError> {
        insert(&self.connection, row)?;
        if !self.is_summarised() {
            self.connection.pragma_update(None, "user_version", FORMAT)?;
        }
        // Waits for those who read. An attempt that had to wait has written nothing.
        self.run_patiently("COMMIT")?;
        self.format = i64::from(FORMAT);
        self.location.check()
    }

    /// Undoes what is not committed.
    pub(crate) fn roll_back(&self) -> Result<(), LedgerError> {
        if self.connection.is_autocommit() {
            Ok(())
        } else {
            Ok(self.connection.execute_batch("ROLLBACK")?)
        }
    }

    /// The rows from a number on, in order, without their answers.
    pub(crate) fn rows_from(
        &self,
        number: u64,
        mut visit: impl FnMut(Row) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError> {
        let mut statement = self
            .connection
            .prepare("SELECT number, body, hash FROM entry WHERE number >= ?1 ORDER BY number")?;
        let mut rows = statement.query([signed(number)?])?;
        while let Some(row) = rows.next()? {
            let number: i64 = row.get(0)?;
            let number = u64::try_from(number)
                .map_err(|_| LedgerError::Damaged(format!("there is an entry {number}")))?;
            visit(Row {
                number,
                body: row.get(1)?,
                hash: Digest::from_bytes(row.get(2)?),
                answer: None,
            })?;
        }
        Ok(())
    }

    /// The number of the last row; an error if there is none, or if there are rows whose numbers
    /// are not positive: no reading from 1 on would meet them.
    pub(crate) fn length(&self) -> Result<u64, LedgerError> {
        let ends: (Option<i64>, Option<i64>) = self.connection.query_row(
            "SELECT (SELECT min(number) FROM entry), (SELECT max(number) FROM entry)",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        match ends {
            (Some(1..), Some(last)) => Ok(last as u64),
            (Some(_), _) => Err(LedgerError::Damaged("there are entries before the first".into())),
            (None, _) => Err(LedgerError::Damaged("it has no entries".into())),
        }
    }

    /// An entry by its number, with the bytes of its answer. Its hash is what it must be after the
    /// row before it.
    pub(crate) fn row(&self, number: u64) -> Result<(Entry, Option<Vec<u8>>), LedgerError> {
        let mut statement = self.connection.prepare(
            "SELECT this.body, this.hash, this.answer, before.hash FROM entry this LEFT JOIN entry \
             before ON before.number = this.number - 1 WHERE this.number = ?1",
        )?;
        let found = statement
            .query_row([signed(number)?], |row| {
                let (body, hash) = (row.get(0)?, Digest::from_bytes(row.get(1)?));
                let previous: Option<[u8; 32]> = row.get(3)?;
                Ok((Row { number, body, hash, answer: row.get(2)? }, previous))
            })
            .optional()?;
        let (row, previous) = found.ok_or_else(|| damaged(number, "is missing"))?;
        let entry = row.checked(previous.map_or(Digest::ZERO, Digest::from_bytes), number)?;
        Ok((entry, row.answer))
    }

    /// The hash of a row, if there is one of that number.
    pub(crate) fn hash(&self, number: u64) -> Result<Option<Digest>, LedgerError> {
        let sql = "SELECT hash FROM entry WHERE number = ?1";
        let found = self.connection.query_row(sql, [signed(number)?], |row| row.get(0)).optional();
        Ok(found?.map(Digest::from_bytes))
    }

    /// An entry by its number.
    pub(crate) fn entry(&self, number: u64) -> Result<Entry, LedgerError> {
        Ok(self.row(number)?.0)
    }

    /// What SQLite itself finds wrong.
    pub(crate) fn check_integrity(&self) -> Result<(), LedgerError> {
        let verdict: String =
            self.connection.pragma_query_value(None, "integrity_check", |row| row.get(0))?;
        if verdict == "ok" { Ok(()) } else { Err(LedgerError::Damaged(verdict)) }
    }

    /// The bytes of the file, read by SQLite under its lock, and its length on disk.
    pub(crate) fn image(&mut self) -> Result<(Vec<u8>, u64), LedgerError> {
        let bytes = self.connection.serialize(MAIN_DB)?.to_vec();
        Ok((bytes, self.location.bytes()?))
    }
}

impl Nodes for Store {
    fn node(&self, number: u64) -> Result<Cow<'_, Node>, LedgerError> {
        let node = self.entry(number)?.index.ok_or_else(|| damaged(number, "is in no index"))?;
        Ok(Cow::Owned(node))
    }
}

/// Numbers as SQLite has them.
fn signed(number: u64) -> Result<i64, LedgerError> {
    i64::try_from(number).map_err(|_| LedgerError::Damaged("it has too many entries".into()))
}

/// A connection with everything switched off that a ledger does not need.
fn connect(path: &Path) -> Result<Connection, LedgerError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW
        | OpenFlags::SQLITE_OPEN_EXRESCODE;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(Duration::ZERO)?;
    for (switch, on) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_ATTACH_CREATE, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_ATTACH_WRITE, false),
        (DbConfig::SQLITE_DBCONFIG_DQS_DML, false),
        (DbConfig::SQLITE_DBCONFIG_DQS_DDL, false),
    ] {
        connection.set_db_config(switch, on)?;
    }
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, MOST_BYTES as i32)?;
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    // Some of these read the schema, and so may have to wait.
    run_patiently(
        &connection,
        PATIENCE,
        "PRAGMA synchronous = EXTRA; PRAGMA fullfsync = ON; PRAGMA secure_delete = ON; PRAGMA \
         cell_size_check = ON; \
         PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY; PRAGMA cache_spill = OFF;",
    )?;
    Ok(connection)
}

/// Runs statements, again and again while others hold a lock that they need. Statements before the
/// one that had to wait are repeated too.
fn run_patiently(
    connection: &Connection,
    patience: Duration,
    statements: &str,
) -> Result<(), LedgerError> {
    let begin = Instant::now();
    loop {
        match connection.execute_batch(statements).map_err(LedgerError::from) {
            Err(LedgerError::Busy) if begin.elapsed() < patience => std::thread::sleep(TRY_EVERY),
            ended => return ended,
        }
    }
}

fn insert(connection: &Connection, row: &Row) -> Result<(), LedgerError> {
    let Row { number, body, hash, answer } = row;
    connection.execute(
        "INSERT INTO entry (number, body, hash, answer) VALUES (?1, ?2, ?3, ?4)",
        params![*number as i64, body, hash.as_bytes(), answer],
    )?;
    Ok(())
}
