//! Fuzzers over everything that comes from outside: SQL, files, the policy, the ledger.
//!
//! What it is: seeded mutation of inputs on the stable toolchain. What it never does: take part in
//! a release, or call an outcome right; it knows only what must never happen.
//!
//! | target | input | never |
//! |---|---|---|
//! | `sql` | the text of a query | an error after the query was accepted |
//! | `csv` | the bytes of a file | an error after a table was opened; for a file without a header, any |
//! | `parquet`, `arrow` | the bytes of a file | an error that is not one of the file |
//! | `values` | a recipe for rows, which a writer then writes | any error |
//! | `policy` | the text of a policy | |
//! | `ledger` | edits of a ledger's bytes | a ledger that verifies and cannot be opened |
//!
//! Besides, never and nowhere: a panic, an end of the process, an answer that takes longer than
//! [`campaign::LIMIT`], a message with a cell in it, more than [`campaign::MEMORY`] of address
//! space.
//!
//! Without the coverage of a compiler, an input is worth keeping if its outcome has something that
//! no other had: an error of a new kind or wording, a function that was accepted. Each runs in a
//! process of its own kind (`worker`), which a supervisor watches, so that nothing an input does
//! can hide it.

pub mod campaign;
pub mod corpus;
mod files;
mod minimal;
pub mod mutation;
mod sql;
pub mod target;
mod values;
pub mod worker;
