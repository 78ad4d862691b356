//! What is spent, what remains, and on what: plain data for whoever prints it.

use crate::entry::Deed;
use crate::history::{Fate, History};
use crate::{Amounts, Anchor, Charge, Digest, LedgerError, Limits, Protected, clock};
use reticent_accounting::{Budget, Filter};
use reticent_mechanisms::Delta;
use reticent_numerics::rounding::sub_down;
use serde::Serialize;

/// The state of a ledger.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Statement {
    /// The random name of the ledger.
    pub ledger: Digest,
    /// How much may be spent.
    pub limits: Limits,
    /// What it protects.
    pub protects: Protected,
    /// What is spent, rounded up.
    pub spent: Amounts,
    /// What remains, rounded down.
    pub remaining: Amounts,
    /// The same as `epsilon` at a `delta`, if one was given.
    pub converted: Option<Converted>,
    /// Every release that was paid for, in order.
    pub releases: Vec<ReleaseSummary>,
    /// Every change of the limits and of what is protected, with the creation.
    pub decisions: Vec<DecisionSummary>,
    /// The newest entry, to be kept elsewhere.
    pub anchor: Anchor,
}

/// Amounts of the budget as `epsilon` at a `delta`.
///
/// What holds whatever happens is `budget`, with `delta` and the `delta` for selections together. The other two say how far one is on the way: `spent` is what a budget of that size, fixed beforehand, would have promised, and `remaining` the
/// difference, rounded down. They are not themselves promises, because to stop there would be a choice made from the answers. (For a pure budget they are.)
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Converted {
    /// The `delta` of the conversion. The `delta` for selections comes on top.
    pub delta: f64,
    /// Of the whole budget.
    pub budget: f64,
    /// Of what is spent.
    pub spent: f64,
    /// The difference.
    pub remaining: f64,
}

/// What a release was and cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReleaseSummary {
    /// The number of the entry that paid.
    pub number: u64,
    /// When, in UTC, by the clock of whoever asked.
    pub time: String,
    /// The query.
    pub query: String,
    /// Its fingerprint.
    pub fingerprint: Digest,
    /// The mechanisms that ran.
    pub mechanisms: Vec<&'static str>,
    /// What was charged.
    pub charge: Charge,
    /// What became of it.
    pub state: ReleaseState,
}

/// What became of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReleaseState {
    /// Its answer is stored.
    Answered,
    /// It is being computed, or its process ended. It is spent.
    Open,
    /// It failed. It is spent.
    Abandoned,
}

/// A decision about the limits, or about what is protected.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DecisionSummary {
    /// The number of the entry.
    pub number: u64,
    /// When, in UTC.
    pub time: String,
    /// The limits from then on.
    pub limits: Limits,
    /// What is protected from then on.
    pub protects: Protected,
}

impl Statement {
    pub(crate) fn of(history: &History, delta: Option<f64>) -> Result<Self, LedgerError> {
        let (mut releases, mut decisions) = (Vec::new(), Vec::<DecisionSummary>::new());
        let (mut limits, mut protects) = (*history.limits(), history.protects().clone());
        for (number, entry) in history.entries() {
            let time = clock::utc(entry.time);
            match &entry.deed {
                Deed::Create { .. } | Deed::Amend { .. } | Deed::Adopt { .. } => {
                    if let Deed::Create { limits: from_now, .. } | Deed::Amend { limits: from_now } = &entry.deed {
                        limits = *from_now;
                    }
                    if let Deed::Create { protects: from_now, .. } | Deed::Adopt { protects: from_now } = &entry.deed {
                        protects = from_now.clone();
                    }
                    decisions.push(DecisionSummary { number, time, limits, protects: protects.clone() });
                }
                Deed::Reserve { fingerprint, query, events, charge, .. } => releases.push(ReleaseSummary {
                    number,
                    time,
                    query: query.clone(),
                    fingerprint: *fingerprint,
                    mechanisms: events.iter().map(|event| event.mechanism()).collect(),
                    charge: *charge,
                    state: match history.fate(number) {
                        Some(Fate::Answered(_)) => ReleaseState::Answered,
                        Some(Fate::Abandoned) => ReleaseState::Abandoned,
                        Some(Fate::Open) | None => ReleaseState::Open,
                    },
                }),
                Deed::Answer { .. } | Deed::Abandon { .. } => {}
            }
        }
        let spent = history.spent().total();
        Ok(Statement {
            ledger: history.ledger(),
            limits,
            protects,
            spent,
            remaining: history.spent().remaining(&limits),
            converted: delta.map(|delta| convert(&limits, spent.cost, delta)).transpose()?,
            releases,
            decisions,
            anchor: history.anchor(),
        })
    }
}

fn convert(limits: &Limits, spent: f64, delta: f64) -> Result<Converted, LedgerError> {
    let accepted = "a number between 0 and 1";
    let at = Delta::new(delta).map_err(|_| LedgerError::Parameter {
        name: "delta",
        value: format!("{delta:e}"),
        accepted,
    })?;
    let epsilon = |amount: f64| -> Result<f64, LedgerError> {
        if amount == 0.0 {
            return Ok(0.0);
        }
        // Filters count from 1e-100 on; less is rounded up to that.
        let amount = amount.max(1e-100);
        let budget = match limits.budget() {
            Budget::Pure { .. } => Budget::Pure { epsilon: amount },
            _ => Budget::ZeroConcentrated { rho: amount },
        };
        Ok(Filter::new(budget)?.epsilon(at)?)
    };
    let (budget, spent) = (epsilon(limits.amount())?, epsilon(spent)?);
    Ok(Converted { delta, budget, spent, remaining: sub_down(budget, spent).max(0.0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_budget_converts_as_its_filter_does() {
        let limits = Limits::new(Budget::ZeroConcentrated { rho: 0.5 }, 0.0).expect("valid");
        let filter = Filter::new(limits.budget()).expect("valid");
        let whole = filter.epsilon(Delta::new(1e-6).expect("valid")).expect("in range");
        let nothing = convert(&limits, 0.0, 1e-6).expect("in range");
        assert_eq!((nothing.budget, nothing.spent, nothing.remaining), (whole, 0.0, whole));
        let all = convert(&limits, 0.5, 1e-6).expect("in range");
        assert_eq!((all.budget, all.spent, all.remaining), (whole, whole, 0.0));
        let half = convert(&limits, 0.25, 1e-6).expect("in range");
        assert!(half.spent < whole && half.spent > 0.5 * whole && half.remaining == sub_down(whole, half.spent));
        let pure = Limits::new(Budget::Pure { epsilon: 1.0 }, 0.0).expect("valid");
        assert_eq!(convert(&pure, 0.25, 1e-6).expect("in range").remaining, 0.75);
        for bad in [0.0, 1.0, -1.0, f64::NAN] {
            assert!(convert(&limits, 0.1, bad).is_err(), "{bad}");
        }
    }
}
