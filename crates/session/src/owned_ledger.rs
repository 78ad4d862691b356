//! The ledger of a policy: opened, made, moved and reported on. What its owner decides is a
//! function of its own.

use crate::error::SessionError;
use crate::limits::{conversion_delta, limits};
use crate::notes::{self, Other, Standing, Unnoted};
use crate::protected::protected;
use crate::session::{Progress, Session};
use reticent_ledger::{Anchor, Digest, Ledger, LedgerError, Protected, Statement, Verification, verify};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// A ledger that was made, or has adopted tables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NewLedger {
    /// Its random name.
    pub ledger: Digest,
    /// Where it is.
    pub path: PathBuf,
    /// What it protects.
    pub protects: Protected,
    /// Folders of sources in which it could not be noted: there, another ledger over the same data
    /// will not be noticed.
    pub unnoted: Vec<Unnoted>,
}

impl Session {
    /// A command of the program about this policy, as one would type it.
    pub fn command(&self, words: &str) -> String {
        let path = self.path.to_string_lossy();
        let plain = |c: char| c.is_alphanumeric() || "/._-+,=@:".contains(c);
        let quoted = if !path.is_empty() && path.chars().all(plain) {
            path.into_owned()
        } else {
            format!("'{}'", path.replace('\'', "'\\''"))
        };
        format!("`reticent {words} --policy {quoted}`")
    }

    /// The ledger, if there is one; it protects what the policy says, and the notes beside the data
    /// name no other in its place. Nothing is written. The second value says whether a note of it
    /// is missing.
    pub(crate) fn open(&self) -> Result<Option<(Ledger, bool)>, SessionError> {
        let (protects, limits) = (protected(&self.policy)?, limits(self.policy.budget())?);
        let path = self.policy.ledger();
        let ledger = match Ledger::open(path, &limits, &protects) {
            Err(LedgerError::Missing { .. }) => match notes::others(&protects, None)?.first() {
                None => return Ok(None),
                // Another process has made and noted it meanwhile.
                Some(_) if path.symlink_metadata().is_ok() => Ledger::open(path, &limits, &protects)?,
                Some(other) => return Err(self.another(other, "ledger create --another-budget")),
            },
            other => other?,
        };
        let noted = self.check_standing(&protects, &ledger)?;
        Ok(Some((ledger, !noted)))
    }

    /// Whether a ledger is noted beside the data, or an error if the notes speak against it.
    fn check_standing(&self, protects: &Protected, ledger: &Ledger) -> Result<bool, SessionError> {
        match notes::standing(protects, ledger)? {
            Standing::Noted => Ok(true),
            Standing::ToBeNoted => Ok(false),
            Standing::Usurped(other) => Err(self.another(&other, "ledger adopt --another-budget")),
            Standing::CopyOf(original) => Err(SessionError::NoLedger(format!(
                "the ledger {} is a copy of {}, which is still there: two copies that are both used are two budgets. Delete one of them",
                ledger.path().display(),
                original.display()
            ))),
        }
    }

    /// Another ledger is noted for the same data.
    fn another(&self, other: &Other, words: &str) -> SessionError {
        let (source, theirs, noted) = (&other.source, other.path.display(), other.noted_in.display());
        let own = self.policy.ledger();
        let folder = own.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let is_same_place = folder.canonicalize().ok() == other.path.parent().map(Path::to_owned)
            && own.file_name() == other.path.file_name();
        let story = if !other.is_there() {
            format!(
                "{source} was protected by the ledger {theirs}, as is noted in {noted}, and that is not there any more. Put it back, or \
                 name the place that it was moved to as `ledger = ...` in the policy"
            )
        } else if is_same_place {
            format!(
                "{source} was protected by another ledger than is at {theirs} now, as is noted in {noted}. Put the right one back"
            )
        } else {
            format!(
                "{source} is protected by the ledger {theirs} already, as is noted in {noted}. Use that one: `ledger = ...` in the policy \
                 names it"
            )
        };
        SessionError::NoLedger(format!(
            "{story}. A second ledger is a second budget, and what is spent under both adds up: only the owner of the data can decide that, with {}",
            self.command(words)
        ))
    }

    /// There is no ledger, and nobody but its owner may make one.
    pub(crate) fn missing(&self) -> SessionError {
        SessionError::NoLedger(format!(
            "there is no ledger at {}, so nobody knows what is spent. If there never was one, {} makes it. If there was one, put it back: \
             a new one would count nothing as spent, although what was answered before stays known",
            self.policy.ledger().display(),
            self.command("ledger create")
        ))
    }

    fn or_missing(&self, error: LedgerError) -> SessionError {
        if matches!(error, LedgerError::Missing { .. }) { self.missing() } else { error.into() }
    }

    /// Makes the ledger of the policy, which counts nothing as spent: a decision of the owner of
    /// the data. It is noted beside the data.
    ///
    /// # Errors
    /// If there is one, if another is noted for some of the same data and `another_budget` does not
    /// say that a second budget is meant, or if it cannot be written.
    pub fn create_ledger(&self, another_budget: bool) -> Result<NewLedger, SessionError> {
        let protects = protected(&self.policy)?;
        let limits = limits(self.policy.budget())?;
        let path = self.policy.ledger();
        let mut held = notes::hold(&protects)?;
        // Before the notes: who makes a ledger notes it before the lock is given back.
        if path.symlink_metadata().is_ok() {
            return Err(LedgerError::Exists { path: path.to_owned() }.into());
        }
        if !another_budget && let Some(other) = notes::others(&protects, None)?.first() {
            return Err(self.another(other, "ledger create --another-budget"));
        }
        let ledger = Ledger::create(path, limits, &protects)?;
        let unnoted = held.add(ledger.name(), ledger.path());
        Ok(NewLedger { ledger: ledger.name(), path: ledger.path().to_owned(), protects, unnoted })
    }

    /// Has the ledger protect the private tables of the policy from now on, and notes it beside
    /// their data: a decision of the owner of the data. What is spent stays spent.
    ///
    /// # Errors
    /// If there is no ledger, it is a copy of another that is noted, another is noted for some of
    /// the same data and `another_budget` does not say that a second budget is meant, or it cannot
    /// be written.
    pub fn adopt(&self, another_budget: bool) -> Result<NewLedger, SessionError> {
        let protects = protected(&self.policy)?;
        let mut ledger = Ledger::open_as_stored(self.policy.ledger()).map_err(|error| self.or_missing(error))?;
        let mut held = notes::hold(&protects)?;
        match notes::standing(&protects, &ledger)? {
            Standing::Noted => {}
            Standing::CopyOf(_) => {
                self.check_standing(&protects, &ledger)?;
            }
            Standing::ToBeNoted | Standing::Usurped(_) if another_budget => {}
            Standing::ToBeNoted | Standing::Usurped(_) => {
                if let Some(other) = notes::others(&protects, Some(ledger.name()))?.first() {
                    return Err(self.another(other, "ledger adopt --another-budget"));
                }
            }
        }
        ledger.adopt(&protects)?;
        let unnoted = held.add(ledger.name(), ledger.path());
        Ok(NewLedger { ledger: ledger.name(), path: ledger.path().to_owned(), protects, unnoted })
    }

    /// What is spent, what remains, and on what. Nothing is written; none if there is no ledger.
    ///
    /// # Errors
    /// If the ledger cannot be read.
    pub fn statement(&self) -> Result<Option<Statement>, SessionError> {
        let mut ledger = match Ledger::open_as_stored(self.policy.ledger()) {
            Err(LedgerError::Missing { .. }) => return Ok(None),
            other => other?,
        };
        Ok(Some(ledger.statement(conversion_delta(self.policy.budget()))?))
    }

    /// The newest entry of the ledger and its hash, to be kept elsewhere.
    ///
    /// # Errors
    /// If there is no ledger, or it cannot be read.
    pub fn anchor(&self) -> Result<Anchor, SessionError> {
        Ok(self.statement()?.ok_or_else(|| self.missing())?.anchor)
    }

    /// Checks every byte of the ledger, and that it contains what an anchor stands for.
    ///
    /// # Errors
    /// If there is no ledger, or it is not whole.
    pub fn verify(&self, anchor: Option<&Anchor>) -> Result<Verification, SessionError> {
        verify(self.policy.ledger(), anchor).map_err(|error| self.or_missing(error))
    }

    /// Records the policy's budget as the new limits of the ledger: a decision of the owner of the
    /// data.
    ///
    /// # Errors
    /// If less is allowed than is spent, the ledger protects other tables, or it cannot be written.
    pub fn amend(&self) -> Result<(), SessionError> {
        let mut ledger = Ledger::open_as_stored(self.policy.ledger()).map_err(|error| self.or_missing(error))?;
        ledger.check_protects(&protected(&self.policy)?)?;
        Ok(ledger.amend(limits(self.policy.budget())?)?)
    }

    /// The ledger, made if there is none, and noted beside the data as far as that is possible.
    pub(crate) fn made_and_noted(
        &self,
        ledger: Option<(Ledger, bool)>,
        progress: &impl Fn(Progress),
    ) -> Result<Ledger, SessionError> {
        if ledger.is_none() {
            match self.create_ledger(false) {
                Ok(created) => progress(Progress::Created(created)),
                // Another process was faster.
                Err(SessionError::Ledger(LedgerError::Exists { .. })) => {}
                Err(error) => return Err(error),
            }
        }
        let opened = if ledger.is_none() { self.open()? } else { ledger };
        let (ledger, unnoted) = opened.ok_or_else(|| self.missing())?;
        if unnoted && let Ok(mut held) = notes::hold(&protected(&self.policy)?) {
            // A crash came between the ledger and its note, or the ledger was moved. Where it
            // cannot be noted, it is as it was.
            held.add(ledger.name(), ledger.path());
        }
        Ok(ledger)
    }
}
