//! Paying for an answer: found in the ledger, or reserved before a row is read, and stored before
//! it is shown. What is computed in between is the caller's.

use crate::Error;
use crate::limits::conversion_delta;
use crate::question::Progress;
use crate::session::Session;
use reticent_ledger::{Admission, ChargeRequest, Digest, Ledger, Reservation, StoredAnswer};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long to wait for the same query that somebody else has paid for, before it is said that one
/// waits ...
const SILENCE: Duration = Duration::from_secs(1);
/// ... and from then on.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often somebody who waits looks.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Whom to tell what happens meanwhile.
pub(crate) type Listener = Arc<dyn Fn(Progress) + Send + Sync>;

/// What the ledger says to a request before anything is paid.
pub(crate) enum Lookup {
    /// It was answered before.
    Stored(Vec<u8>),
    /// It has to be paid for, in this ledger if there is one.
    Unpaid(Unpaid),
}

/// A request that has to be paid for.
pub(crate) struct Unpaid(Option<(Ledger, bool)>);

/// What became of a payment.
pub(crate) enum Payment {
    /// Somebody else has paid, and this is the answer.
    Stored(Vec<u8>),
    /// It is paid.
    Paid(Paid),
}

/// A reservation that is paid and has no answer yet.
pub(crate) struct Paid {
    ledger: Ledger,
    reservation: Arc<Reservation>,
}

impl Session {
    /// Looks for an answer. Nothing is charged.
    pub(crate) async fn look_up(&self, fingerprint: Digest, fresh: bool) -> Result<Lookup, Error> {
        self.blocking(move |session| {
            let ledger = session.open_ledger()?;
            if ledger.is_none() && !session.policy().budget().create_ledger() {
                return Err(session.missing());
            }
            let stored = match &ledger {
                Some((ledger, _)) if !fresh => ledger.lookup(fingerprint)?,
                Some(_) | None => None,
            };
            Ok(match stored {
                Some(answer) => Lookup::Stored(answer.bytes),
                None => Lookup::Unpaid(Unpaid(ledger)),
            })
        })
        .await
    }

    /// Pays, durably, or waits for the answer that somebody else has paid for.
    pub(crate) async fn pay(
        &self,
        unpaid: Unpaid,
        request: &ChargeRequest,
        progress: &Listener,
    ) -> Result<Payment, Error> {
        let (request, listener) = (request.clone(), progress.clone());
        let fingerprint = request.fingerprint;
        let (ledger, admission) = self
            .blocking(move |session| {
                let ledger = session.made_and_noted(unpaid.0, &*listener)?;
                let admission = ledger.reserve(&request)?;
                Ok((ledger, admission))
            })
            .await?;
        match admission {
            Admission::Reserved(reservation) => {
                Ok(Payment::Paid(Paid { ledger, reservation: Arc::new(reservation) }))
            }
            Admission::Stored(answer) => Ok(Payment::Stored(answer.bytes)),
            Admission::Pending(pending) => {
                let entry = pending.reservation;
                let mut answer = wait(self, &ledger, fingerprint, SILENCE).await?;
                if answer.is_none() {
                    progress(Progress::Waiting { entry, at_most: PATIENCE });
                    answer = wait(self, &ledger, fingerprint, PATIENCE).await?;
                }
                match answer {
                    Some(answer) => Ok(Payment::Stored(answer.bytes)),
                    None => Err(Error::Pending { entry }),
                }
            }
        }
    }
}

impl Paid {
    /// The entry of the ledger that paid.
    pub(crate) fn entry(&self) -> u64 {
        self.reservation.number()
    }

    /// What is left of the budget.
    pub(crate) async fn balance(
        &self,
        session: &Session,
    ) -> Result<reticent_ledger::Balance, Error> {
        let (of, delta) = (self.ledger.clone(), conversion_delta(session.policy().budget()));
        session.blocking(move |_| Ok(of.balance(delta)?)).await
    }

    /// Stores what was computed, and returns it; or says that nothing was.
    pub(crate) async fn complete(
        self,
        session: &Session,
        written: Result<Vec<u8>, Error>,
    ) -> Result<Vec<u8>, Error> {
        let Paid { ledger, reservation } = self;
        session
            .blocking(move |_| match written {
                Ok(bytes) => Ok(ledger.complete(&reservation, &bytes)?.bytes),
                Err(error) => {
                    // It stays paid either way; saying so lets the next one pay anew and not wait.
                    ledger.abandon(&reservation)?;
                    Err(error)
                }
            })
            .await
    }
}

/// Waits until there is an answer to a query. None after `patience`, or when nobody has it pending
/// any more.
async fn wait(
    session: &Session,
    ledger: &Ledger,
    fingerprint: Digest,
    patience: Duration,
) -> Result<Option<StoredAnswer>, Error> {
    let begin = Instant::now();
    loop {
        let ledger = ledger.clone();
        let (answer, is_pending) = session
            .blocking(move |_| {
                let is_pending = ledger.pending(fingerprint)?.is_some();
                Ok((ledger.lookup(fingerprint)?, is_pending))
            })
            .await?;
        if answer.is_some() || !is_pending || begin.elapsed() >= patience {
            return Ok(answer);
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
