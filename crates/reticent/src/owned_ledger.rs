//! The ledger of a policy: opened, made, moved and reported on. What its owner decides is a
//! function of its own. These functions wait for the disk.

use crate::error::{Error, Remedy};
use crate::limits::{conversion_delta, limits};
use crate::notes::{self, Other, Standing, Unnoted};
use crate::protected::protected;
use crate::question::Progress;
use crate::session::Session;
use reticent_ledger::{
    Anchor, ChargeRequest, Digest, Ledger, LedgerError, Protected, Quote, Statement, Verification,
    verify,
};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

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
    /// The ledger, if there is one; it protects what the policy says, and the notes beside the data
    /// name no other instead. Nothing is written. The second value says whether a note of it is
    /// missing.
    pub(crate) fn open_ledger(&self) -> Result<Option<(Ledger, bool)>, Error> {
        let protects = protected(self.policy())?;
        let opened = match self.open_as_stored() {
            Err(LedgerError::Missing { .. }) => match notes::others(&protects, None)?.first() {
                None => return Ok(None),
                // Another process has made and noted it meanwhile.
                Some(_) if self.policy().ledger().symlink_metadata().is_ok() => {
                    self.open_as_stored()
                }
                Some(other) => return Err(self.another(other, Remedy::CreateAnother)),
            },
            other => other,
        };
        let ledger = opened?;
        ledger.check_terms(&limits(self.policy().budget())?, &protects)?;
        let is_noted = self.check_standing(&protects, &ledger)?;
        Ok(Some((ledger, !is_noted)))
    }

    /// The handle of the ledger, which all questions share. It is opened anew if a failure closed
    /// it, or its file has another location now.
    fn open_as_stored(&self) -> Result<Ledger, LedgerError> {
        let mut held = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        let ledger = match held.as_ref().map(|ledger| (ledger, ledger.anchor())) {
            None => Ledger::open_as_stored(self.policy().ledger())?,
            Some((ledger, Ok(_))) => return Ok(ledger.clone()),
            Some((
                ledger,
                Err(
                    LedgerError::Closed
                    | LedgerError::Missing { .. }
                    | LedgerError::Unusable { .. },
                ),
            )) => ledger.reopen()?,
            Some((_, Err(error))) => return Err(error),
        };
        Ok(held.insert(ledger).clone())
    }

    /// What the ledger says to a request: whether it was answered before, and what would be left.
    /// Nothing is written; none if there is no ledger.
    pub(crate) fn quote(&self, request: &ChargeRequest) -> Result<Option<Quote>, Error> {
        let Some((ledger, _)) = self.open_ledger()? else { return Ok(None) };
        Ok(Some(ledger.check(request)?))
    }

    /// Whether a ledger is noted beside the data, or an error if the notes speak against it.
    fn check_standing(&self, protects: &Protected, ledger: &Ledger) -> Result<bool, Error> {
        match notes::standing(protects, ledger)? {
            Standing::Noted => Ok(true),
            Standing::ToBeNoted => Ok(false),
            Standing::Usurped(other) => Err(self.another(&other, Remedy::AdoptAnother)),
            Standing::CopyOf(original) => {
                let (copy, original) = (ledger.path().display(), original.display());
                let problem = format!(
                    "the ledger {copy} is a copy of {original}, which is still there: two copies \
                     that are both used are two budgets. Delete one of them"
                );
                Err(self.no_ledger(problem, None))
            }
        }
    }

    /// Another ledger is noted for the same data.
    fn another(&self, other: &Other, remedy: Remedy) -> Error {
        let (source, theirs, noted) =
            (&other.source, other.path.display(), other.noted_in.display());
        let own = self.policy().ledger();
        let folder =
            own.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let is_same_path = folder.canonicalize().ok() == other.path.parent().map(Path::to_owned)
            && own.file_name() == other.path.file_name();
        let story = if !other.is_there() {
            format!(
                "{source} was protected by the ledger {theirs}, as is noted in {noted}, and that \
                 is not there any more. Put it back, or \
                 name the path that it was moved to as `ledger = ...` in the policy"
            )
        } else if is_same_path {
            format!(
                "{source} was protected by another ledger than is at {theirs} now, as is noted in \
                 {noted}. Put the right one back"
            )
        } else {
            format!(
                "{source} is protected by the ledger {theirs} already, as is noted in {noted}. Use \
                 that one: `ledger = ...` in the policy \
                 names it"
            )
        };
        let problem = format!(
            "{story}. A second ledger is a second budget, and what is spent under both adds up: \
             only the owner of the data can decide that"
        );
        self.no_ledger(problem, Some(remedy))
    }

    fn no_ledger(&self, problem: String, remedy: Option<Remedy>) -> Error {
        Error::NoLedger { problem, remedy, policy: self.path().to_owned() }
    }

    /// There is no ledger, and nobody but its owner may make one.
    pub(crate) fn missing(&self) -> Error {
        let problem = format!(
            "there is no ledger at {}, so nobody knows what is spent. If there was one, put it \
             back: a new one would count nothing as spent, although what was answered before stays \
             known. If there never was one, its owner creates it",
            self.policy().ledger().display()
        );
        self.no_ledger(problem, Some(Remedy::Create))
    }

    fn or_missing(&self, error: LedgerError) -> Error {
        if matches!(error, LedgerError::Missing { .. }) { self.missing() } else { error.into() }
    }

    /// Makes the ledger of the policy, which counts nothing as spent: a decision of the owner of
    /// the data. It is noted beside the data.
    ///
    /// # Errors
    /// If there is one, if another is noted for some of the same data and `another_budget` does not
    /// say that a second budget is meant, or if it cannot be written.
    pub fn create_ledger(&self, another_budget: bool) -> Result<NewLedger, Error> {
        let protects = protected(self.policy())?;
        let limits = limits(self.policy().budget())?;
        let path = self.policy().ledger();
        let mut held = notes::hold(&protects)?;
        // Before the notes: who makes a ledger notes it before the lock is given back.
        if path.symlink_metadata().is_ok() {
            return Err(LedgerError::Exists { path: path.to_owned() }.into());
        }
        if !another_budget && let Some(other) = notes::others(&protects, None)?.first() {
            return Err(self.another(other, Remedy::CreateAnother));
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
    pub fn adopt(&self, another_budget: bool) -> Result<NewLedger, Error> {
        let protects = protected(self.policy())?;
        let ledger = self.open_as_stored().map_err(|error| self.or_missing(error))?;
        let mut held = notes::hold(&protects)?;
        match notes::standing(&protects, &ledger)? {
            Standing::Noted => {}
            Standing::CopyOf(_) => {
                self.check_standing(&protects, &ledger)?;
            }
            Standing::ToBeNoted | Standing::Usurped(_) if another_budget => {}
            Standing::ToBeNoted | Standing::Usurped(_) => {
                if let Some(other) = notes::others(&protects, Some(ledger.name()))?.first() {
                    return Err(self.another(other, Remedy::AdoptAnother));
                }
            }
        }
        ledger.adopt(&protects)?;
        let unnoted = held.add(ledger.name(), ledger.path());
        Ok(NewLedger { ledger: ledger.name(), path: ledger.path().to_owned(), protects, unnoted })
    }

    /// What is spent, what remains, and on what: all entries are read and checked. Nothing is
    /// written; none if there is no ledger.
    ///
    /// # Errors
    /// If the ledger cannot be read.
    pub fn statement(&self) -> Result<Option<Statement>, Error> {
        self.stated(Ledger::statement)
    }

    /// The same with the newest entries alone, in a time that does not grow with the ledger.
    ///
    /// # Errors
    /// If the ledger cannot be read.
    pub fn recent_statement(&self) -> Result<Option<Statement>, Error> {
        self.stated(Ledger::recent_statement)
    }

    fn stated(
        &self,
        of: fn(&Ledger, Option<f64>) -> Result<Statement, LedgerError>,
    ) -> Result<Option<Statement>, Error> {
        match self.open_as_stored() {
            Ok(ledger) => Ok(Some(of(&ledger, conversion_delta(self.policy().budget()))?)),
            Err(LedgerError::Missing { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The newest entry of the ledger and its hash, to be kept elsewhere.
    ///
    /// # Errors
    /// If there is no ledger, or it cannot be read.
    pub fn anchor(&self) -> Result<Anchor, Error> {
        Ok(self.open_as_stored().map_err(|error| self.or_missing(error))?.anchor()?)
    }

    /// Checks every byte of the ledger, and that it contains what an anchor stands for.
    ///
    /// # Errors
    /// If there is no ledger, or it is not whole.
    pub fn verify(&self, anchor: Option<&Anchor>) -> Result<Verification, Error> {
        verify(self.policy().ledger(), anchor).map_err(|error| self.or_missing(error))
    }

    /// Records the policy's budget as the new limits of the ledger: a decision of the owner of the
    /// data.
    ///
    /// # Errors
    /// If less is allowed than is spent, the ledger protects other tables, or it cannot be written.
    pub fn amend(&self) -> Result<(), Error> {
        let ledger = self.open_as_stored().map_err(|error| self.or_missing(error))?;
        ledger.check_protects(&protected(self.policy())?)?;
        Ok(ledger.amend(limits(self.policy().budget())?)?)
    }

    /// The ledger, made if there is none, and noted beside the data as far as that is possible.
    pub(crate) fn made_and_noted(
        &self,
        ledger: Option<(Ledger, bool)>,
        progress: &dyn Fn(Progress),
    ) -> Result<Ledger, Error> {
        if ledger.is_none() {
            match self.create_ledger(false) {
                Ok(created) => progress(Progress::Created(created)),
                // Another process was faster.
                Err(Error::Ledger(LedgerError::Exists { .. })) => {}
                Err(error) => return Err(error),
            }
        }
        let opened = if ledger.is_none() { self.open_ledger()? } else { ledger };
        let (ledger, unnoted) = opened.ok_or_else(|| self.missing())?;
        if unnoted && let Ok(mut held) = notes::hold(&protected(self.policy())?) {
            // A crash came between the ledger and its note, or the ledger was moved. Where it
            // cannot be noted, it is as it was.
            held.add(ledger.name(), ledger.path());
        }
        Ok(ledger)
    }
}
