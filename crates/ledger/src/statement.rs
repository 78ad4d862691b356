//! What is spent, what remains, and on what: plain data for whoever prints it.

use crate::entry::{Action, Entry};
use crate::state::State;
use crate::{Amounts, Anchor, Charge, Digest, LedgerError, Limits, Protected, clock};
use reticent_accounting::Filter;
use reticent_mechanisms::Delta;
use reticent_numerics::OutOfRange;
use reticent_numerics::rounding::sub_down;
use serde::Serialize;
use std::collections::HashMap;

/// What is spent, and what remains.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Balance {
    /// How much may be spent.
    pub limits: Limits,
    /// What is spent, rounded up.
    pub spent: Amounts,
    /// What remains, rounded down.
    pub remaining: Amounts,
    /// The same as `epsilon` at a `delta`, if one was given.
    pub converted: Option<Converted>,
}

/// What a ledger says, entry by entry.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Statement {
    /// The random name of the ledger.
    pub ledger: Digest,
    /// What it protects.
    pub protects: Protected,
    /// What is spent, and what remains.
    #[serde(flatten)]
    pub balance: Balance,
    /// The first entry that is listed below; before it there are others unless it is 1.
    pub since: u64,
    /// Every release that was paid for from that entry on, in order.
    pub releases: Vec<ReleaseSummary>,
    /// Every change of the limits and of what is protected, with the creation, from that entry on.
    pub decisions: Vec<DecisionSummary>,
    /// The newest entry, to be kept elsewhere.
    pub anchor: Anchor,
}

/// Amounts of the budget as `epsilon` at a `delta`.
///
/// What holds whatever happens is `budget`, with `delta` and the `delta` for selections together.
/// The other two say how far one is on the way: `spent` is what a budget of that size, fixed
/// beforehand, would have guaranteed, and `remaining` the difference, rounded down. They are not
/// themselves guarantees, because to stop there would be a choice made from the answers. (For a
/// pure budget they are.)
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
    /// Who asked, where that was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asker: Option<String>,
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

impl Balance {
    /// Of limits under which nothing was spent yet.
    pub fn untouched(limits: Limits) -> Self {
        let spent = Amounts { cost: 0.0, delta: 0.0 };
        let remaining = Amounts { cost: limits.amount(), delta: limits.selection_delta() };
        Balance { limits, spent, remaining, converted: None }
    }

    pub(crate) fn of(state: &State, delta: Option<f64>) -> Result<Self, LedgerError> {
        let (limits, spent) = (state.limits, state.spent().total());
        Ok(Balance {
            limits,
            spent,
            remaining: state.spent().remaining(&limits),
            converted: delta.map(|delta| convert(&limits, spent.cost, delta)).transpose()?,
        })
    }
}

/// What entries did, in order.
#[derive(Debug, Default)]
pub(crate) struct Listed {
    since: Option<u64>,
    releases: Vec<ReleaseSummary>,
    decisions: Vec<DecisionSummary>,
    /// Where the release of a reservation is listed.
    indices: HashMap<u64, usize>,
}

impl Listed {
    /// Adds an entry, which led to this state.
    pub(crate) fn add(&mut self, state: &State, entry: &Entry) {
        let (number, time) = (state.newest.number, clock::utc(entry.time));
        self.since.get_or_insert(number);
        match &entry.action {
            Action::Create { .. } | Action::Amend { .. } | Action::Adopt { .. } => {
                let (limits, protects) = (state.limits, (*state.protects).clone());
                self.decisions.push(DecisionSummary { number, time, limits, protects });
            }
            Action::Reserve { fingerprint, query, events, charge, asker, .. } => {
                self.indices.insert(number, self.releases.len());
                self.releases.push(ReleaseSummary {
                    number,
                    time,
                    query: query.clone(),
                    asker: asker.clone(),
                    fingerprint: *fingerprint,
                    mechanisms: events.iter().map(|event| event.mechanism()).collect(),
                    charge: *charge,
                    state: ReleaseState::Open,
                });
            }
            Action::Answer { reservation, .. } => self.end(*reservation, ReleaseState::Answered),
            Action::Abandon { reservation } => self.end(*reservation, ReleaseState::Abandoned),
        }
    }

    fn end(&mut self, reservation: u64, state: ReleaseState) {
        if let Some(&index) = self.indices.get(&reservation) {
            self.releases[index].state = state;
        }
    }
}

impl Statement {
    pub(crate) fn new(
        state: &State,
        listed: Listed,
        delta: Option<f64>,
    ) -> Result<Self, LedgerError> {
        Ok(Statement {
            ledger: state.ledger,
            protects: (*state.protects).clone(),
            balance: Balance::of(state, delta)?,
            since: listed.since.unwrap_or(1),
            releases: listed.releases,
            decisions: listed.decisions,
            anchor: state.newest,
        })
    }
}

fn convert(limits: &Limits, spent: f64, delta: f64) -> Result<Converted, LedgerError> {
    let accepted = "a number between 0 and 1";
    let at = Delta::new(delta).map_err(|_| OutOfRange::new("delta", delta, accepted))?;
    let epsilon = |amount: f64| -> Result<f64, LedgerError> {
        if amount == 0.0 {
            return Ok(0.0);
        }
        // Filters count from 1e-100 on; less is rounded up to that.
        Ok(Filter::new(limits.budget_of(amount.max(1e-100)))?.epsilon(at)?)
    };
    let (budget, spent) = (epsilon(limits.amount())?, epsilon(spent)?);
    Ok(Converted { delta, budget, spent, remaining: sub_down(budget, spent).max(0.0) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_accounting::FilterBudget;

    #[test]
    fn the_whole_budget_converts_as_its_filter_does() {
        let limits = Limits::new(FilterBudget::ZeroConcentrated { rho: 0.5 }, 0.0).expect("valid");
        let filter = Filter::new(limits.budget()).expect("valid");
        let whole = filter.epsilon(Delta::new(1e-6).expect("valid")).expect("in range");
        let nothing = convert(&limits, 0.0, 1e-6).expect("in range");
        assert_eq!((nothing.budget, nothing.spent, nothing.remaining), (whole, 0.0, whole));
        let all = convert(&limits, 0.5, 1e-6).expect("in range");
        assert_eq!((all.budget, all.spent, all.remaining), (whole, whole, 0.0));
        let half = convert(&limits, 0.25, 1e-6).expect("in range");
        assert!(
            half.spent < whole
                && half.spent > 0.5 * whole
                && half.remaining == sub_down(whole, half.spent)
        );
        let pure = Limits::new(FilterBudget::Pure { epsilon: 1.0 }, 0.0).expect("valid");
        assert_eq!(convert(&pure, 0.25, 1e-6).expect("in range").remaining, 0.75);
        for bad in [0.0, 1.0, -1.0, f64::NAN] {
            assert!(convert(&limits, 0.1, bad).is_err(), "{bad}");
        }
    }
}
