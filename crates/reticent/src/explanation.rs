//! What a query would do and cost, before anything is read or spent: plain data.

use crate::Error;
use crate::answer::{Cost, StatisticRecord};
use crate::limits::limits;
use crate::question::Question;
use reticent_ledger::{Amounts, Quote};
use reticent_policy::Policy;
use reticent_query::Comparison;
use serde::Serialize;

/// What is known of a query beforehand.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// The query in its canonical form.
    pub query: String,
    /// What it would cost.
    pub cost: Cost,
    /// Which groups it would show.
    pub groups: Groups,
    /// The most groups in which one privacy unit counts.
    pub max_groups: u32,
    /// The most rows of one privacy unit that count in one group.
    pub max_rows: u32,
    /// Whether a unit may have several rows; else each row is protected by itself.
    pub has_unit: bool,
    /// How each statistic would be released.
    pub statistics: Vec<StatisticRecord>,
    /// Why this noise.
    pub reason: String,
    /// What each noise would give.
    pub comparison: NoiseComparison,
    /// What the ledger says to it, as it stands.
    pub ledger: LedgerAnswer,
    /// The currency in which the ledger counts: `epsilon` or `rho`.
    pub unit: String,
    /// The rows that are counted, as a plan.
    pub plan: String,
}

/// What each noise would give for the statistics of a query, at the same cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NoiseComparison {
    /// The metric, as it is written: `l2` where none was given.
    pub metric: String,
    /// What could serve, the best first. Empty where no noise is added to numbers.
    pub alternatives: Vec<NoiseAlternative>,
    /// What could not.
    pub refusals: Vec<NoiseRefusal>,
}

/// Noise that could serve.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NoiseAlternative {
    /// Its name, or several where statistics would get different noise.
    pub mechanism: String,
    /// The error of each statistic by the metric, in units of the answer, rounded up; none for
    /// quantiles.
    pub errors: Vec<Option<f64>>,
    /// How many times the least error of all statistics together it has; none where that is 0.
    pub times_least: Option<f64>,
}

/// Noise that could not serve.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NoiseRefusal {
    /// Its name.
    pub mechanism: String,
    /// Why.
    pub reason: String,
}

impl NoiseComparison {
    fn of(comparison: &Comparison) -> Self {
        let alternatives = comparison.alternatives.iter().map(|one| NoiseAlternative {
            mechanism: one.mechanism.clone(),
            errors: one.errors.clone(),
            times_least: one.times_least,
        });
        let refusals = comparison.refusals.iter().map(|(mechanism, reason)| NoiseRefusal {
            mechanism: (*mechanism).to_owned(),
            reason: reason.clone(),
        });
        NoiseComparison {
            metric: comparison.metric.clone(),
            alternatives: alternatives.collect(),
            refusals: refusals.collect(),
        }
    }
}

/// Which groups a query shows.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Groups {
    /// So many, all of them public knowledge: the empty ones are shown too.
    Public(u64),
    /// Those that are large enough.
    Selected {
        /// The rule by name.
        rule: &'static str,
        /// The least count with which a group is shown more often than not.
        shown_from: u64,
        /// 1 where units are counted; for rows, how many of them one unit may have.
        rows_of_unit: u32,
        /// The `delta` that the selection costs.
        delta: f64,
    },
}

/// What a ledger says to a query, as it stands.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum LedgerAnswer {
    /// There is none yet.
    None {
        /// Whether the first query makes it; else its owner does.
        made_by_first_query: bool,
    },
    /// The query was answered before, and is free.
    Stored,
    /// It would be paid for, and this would be left.
    Fits {
        /// What would be left, rounded down.
        remaining: Amounts,
    },
    /// It would be refused.
    Refused {
        /// Why.
        reason: String,
    },
}

impl Explanation {
    pub(crate) fn new(
        policy: &Policy,
        question: &Question,
        quote: Result<Option<Quote>, Error>,
        comparison: &Comparison,
    ) -> Result<Self, Error> {
        let ledger = match quote.map_err(|error| question.refusal(error)) {
            Ok(None) => {
                let made_by_first_query = policy.budget().create_ledger();
                LedgerAnswer::None { made_by_first_query }
            }
            Ok(Some(Quote { charge: None, .. })) => LedgerAnswer::Stored,
            Ok(Some(Quote { charge: Some(_), remaining })) => LedgerAnswer::Fits { remaining },
            Err(refused) => LedgerAnswer::Refused { reason: refused.to_string() },
        };
        let prepared = &question.prepared;
        let guarantee = prepared.plan.guarantee();
        let groups = match prepared.plan.selection() {
            Some(selection) => Groups::Selected {
                rule: selection.rule,
                shown_from: selection.shown_at_half,
                rows_of_unit: selection.rows_of_unit,
                delta: selection.delta,
            },
            None => Groups::Public(prepared.aggregation.public_groups().unwrap_or(1)),
        };
        Ok(Explanation {
            query: prepared.sql.clone(),
            cost: Cost { epsilon: guarantee.epsilon, delta: guarantee.delta },
            groups,
            max_groups: prepared.aggregation.max_groups,
            max_rows: prepared.aggregation.max_rows,
            has_unit: prepared.aggregation.has_unit,
            statistics: question.statistics.clone(),
            reason: prepared.plan.reason().to_owned(),
            comparison: NoiseComparison::of(comparison),
            ledger,
            unit: limits(policy.budget())?.unit().to_string(),
            plan: prepared.aggregation.rows_as_written(),
        })
    }
}
