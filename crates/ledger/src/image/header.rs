//! The first 100 bytes of the file.

use crate::LedgerError;
use crate::store::{APPLICATION, FORMAT, PAGE_BYTES};

/// What the header says about the changes of the file.
pub(super) struct Changes {
    /// How many transactions have changed the file: each adds one entry.
    pub(super) count: u32,
    /// The version of SQLite that made the last, which the last entry names too.
    pub(super) sqlite: i32,
    /// Whether the format is one in which the last entry carries a summary.
    pub(super) summarised: bool,
}

/// Checks every field, but for what it returns.
pub(super) fn check(header: &[u8], pages: usize) -> Result<Changes, LedgerError> {
    let word = |at: usize| {
        let bytes =
            header.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).unwrap_or([0xff; 4]);
        u32::from_be_bytes(bytes)
    };
    let page_bytes = [(PAGE_BYTES >> 8) as u8, PAGE_BYTES as u8];
    // Rollback journal for reading and writing, no reserved bytes, and three fractions that never
    // vary.
    let fixed = [1, 1, 0, 64, 32, 32];
    let constants = [
        ("number of pages", 28, pages as u32),
        ("first free page", 32, 0),
        ("number of free pages", 36, 0),
        ("number of changes of the schema", 40, 1),
        ("format of the schema", 44, 4),
        ("size of the cache", 48, 0),
        ("largest root page", 52, 0),
        ("encoding of text", 56, 1),
        ("vacuum mode", 64, 0),
        ("application", 68, APPLICATION as u32),
        ("expansion", 72, 0),
        ("expansion", 76, 0),
        ("expansion", 80, 0),
        ("expansion", 84, 0),
        ("expansion", 88, 0),
        // For which value of the change counter the version of SQLite is: the present one.
        ("change counter", 92, word(24)),
    ];
    let wrong = |field: &str| {
        Err(LedgerError::Damaged(format!("the header of the file is wrong: {field}")))
    };
    if !header.starts_with(b"SQLite format 3\0")
        || header.get(16..18) != Some(&page_bytes)
        || header.get(18..24) != Some(&fixed)
    {
        return wrong("it does not begin as that of a ledger does");
    }
    for (field, at, expected) in constants {
        if word(at) != expected {
            return wrong(field);
        }
    }
    let summarised = word(60) == FORMAT as u32;
    if !summarised && word(60) != 2 {
        return wrong("version of the format");
    }
    match i32::try_from(word(96)) {
        Ok(sqlite) => Ok(Changes { count: word(24), sqlite, summarised }),
        Err(_) => wrong("version of SQLite"),
    }
}
