//! The program under test: it keeps the protocol in a process of its own, and prints what it
//! releases.

use crate::{COST_SCALE, limits, others, protects};
use reticent_events::Event;
use reticent_ledger::{Admission, ChargeRequest, Digest, Ledger, LedgerError, StoredAnswer};
use std::env::var;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The exit code after an error that the program has reported.
pub const FAILED: i32 = 3;

/// Does what the environment says, and ends the process.
pub fn run() -> ! {
    let path = PathBuf::from(var("LEDGER_PATH").unwrap());
    let code = match task(&path, &var("LEDGER_TASK").unwrap()) {
        Ok(()) => 0,
        Err(error) => {
            say(&format!("failed {error}"));
            FAILED
        }
    };
    std::process::exit(code)
}

/// A line on standard output, at once and whole.
fn say(line: &str) {
    std::io::stdout().write_all(format!("{line}\n").as_bytes()).unwrap();
}

pub fn request(query: &str) -> ChargeRequest {
    ChargeRequest {
        fingerprint: Digest::of(&[query.as_bytes()]),
        query: query.into(),
        events: vec![Event::Laplace { scale: COST_SCALE, sensitivity: 1.0 }],
        selection_delta: 0.0,
        fresh: false,
        asker: None,
    }
}

fn task(path: &Path, task: &str) -> Result<(), LedgerError> {
    match task {
        "session" => {
            let ledger = match Ledger::open(path, &limits(), &protects()) {
                Err(LedgerError::Missing { .. }) => Ledger::create(path, limits(), &protects())?,
                opened => opened?,
            };
            ask(&ledger, "first")?;
            ask(&ledger, "second")
        }
        "create" => Ledger::create(path, limits(), &protects()).map(|_| ()),
        "adopt" => Ledger::open_as_stored(path)?.adopt(&others()),
        "many" => {
            let ledger = Ledger::open(path, &limits(), &protects())?;
            for count in 0.. {
                ask(&ledger, &format!("{} {count}", std::process::id()))?;
            }
            Ok(())
        }
        "race" => {
            let ledger = Ledger::open(path, &limits(), &protects())?;
            let start = PathBuf::from(var("LEDGER_START").unwrap());
            say("ready");
            while !start.exists() {
                std::hint::spin_loop();
            }
            match ledger.reserve(&request(&var("LEDGER_QUERY").unwrap())) {
                Ok(Admission::Reserved(reservation)) => {
                    ledger
                        .complete(&reservation, format!("of {}", std::process::id()).as_bytes())?;
                    say("paid");
                }
                Ok(Admission::Pending(_) | Admission::Stored(_)) => {
                    let fingerprint = request(&var("LEDGER_QUERY").unwrap()).fingerprint;
                    let answer = loop {
                        match ledger.lookup(fingerprint)? {
                            Some(answer) => break answer,
                            None => std::thread::sleep(Duration::from_millis(1)),
                        }
                    };
                    say(&format!("waited {}", String::from_utf8(answer.bytes).unwrap()));
                }
                Err(LedgerError::Exhausted { .. }) => say("refused"),
                Err(error) => return Err(error),
            }
            Ok(())
        }
        other => panic!("there is no task {other}"),
    }
}

/// Asks one query, pays for a fresh answer where an earlier run was lost, and prints the answer
/// once it may be shown.
fn ask(ledger: &Ledger, query: &str) -> Result<(), LedgerError> {
    let answer = paid(ledger, query).inspect_err(|error| {
        let refusal = matches!(error, LedgerError::Exhausted { .. } | LedgerError::Busy);
        if !refusal && !matches!(ledger.anchor(), Err(LedgerError::Closed)) {
            say("the handle is still open after a failure");
        }
    })?;
    say(&format!("released {}={}", query, String::from_utf8(answer.bytes).unwrap()));
    Ok(())
}

fn paid(ledger: &Ledger, query: &str) -> Result<StoredAnswer, LedgerError> {
    let mut admission = ledger.reserve(&request(query))?;
    if let Admission::Pending(_) = admission {
        admission = ledger.reserve(&ChargeRequest { fresh: true, ..request(query) })?;
    }
    match admission {
        Admission::Stored(answer) => Ok(answer),
        Admission::Reserved(reservation) => {
            // The second answer of a session fills several pages.
            let padding = "x".repeat(if query == "second" { 70_000 } else { 0 });
            let answer = format!("{} of {}{padding}", reservation.number(), std::process::id());
            ledger.complete(&reservation, answer.as_bytes())
        }
        Admission::Pending(pending) => panic!("a fresh answer is not {pending:?}"),
    }
}
