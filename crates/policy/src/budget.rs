//! How much may be spent, in all and by a query that does not say.

use crate::error::{FieldPath, PolicyError};
use crate::file::BudgetFile;
use schemars::JsonSchema;
use serde::Deserialize;

/// How the costs of queries add up. Both hold for queries that are chosen from earlier answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Accounting {
    /// Basic composition: epsilons are added, and so are deltas.
    #[default]
    Basic,
    /// In zero-concentrated privacy, which is converted to epsilon at half of delta.
    ZeroConcentrated,
}

/// The budget of all queries together, and what one costs unless it says otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PolicyBudget {
    epsilon: f64,
    delta: f64,
    query_epsilon: f64,
    query_delta: f64,
    min_query_epsilon: f64,
    accounting: Accounting,
    create_ledger: bool,
}

impl PolicyBudget {
    /// The total privacy loss: finite and greater than 0.
    #[must_use]
    pub fn epsilon(&self) -> f64 {
        self.epsilon
    }

    /// The total delta: at least 0, less than 1.
    #[must_use]
    pub fn delta(&self) -> f64 {
        self.delta
    }

    /// The loss of a query that does not say: greater than 0, at most [`PolicyBudget::epsilon`].
    #[must_use]
    pub fn query_epsilon(&self) -> f64 {
        self.query_epsilon
    }

    /// The delta of a query that does not say: at least 0, at most [`PolicyBudget::delta`].
    #[must_use]
    pub fn query_delta(&self) -> f64 {
        self.query_delta
    }

    /// The least loss that a query may ask for: greater than 0, at most
    /// [`PolicyBudget::query_epsilon`].
    ///
    /// Noise alone does not bound how much is learnt from questions that cost nearly nothing: each
    /// of them is also one run over private rows, whose time and memory are not covered. By default
    /// some ten thousand questions fit into a budget.
    #[must_use]
    pub fn min_query_epsilon(&self) -> f64 {
        self.min_query_epsilon
    }

    /// How costs add up.
    #[must_use]
    pub fn accounting(&self) -> Accounting {
        self.accounting
    }

    /// Whether the first query may make the ledger. If not, that takes a command of its own.
    #[must_use]
    pub fn create_ledger(&self) -> bool {
        self.create_ledger
    }

    pub(crate) fn read(file: &BudgetFile) -> Result<PolicyBudget, PolicyError> {
        let field = FieldPath::top("budget");
        let epsilon = file.epsilon;
        // Phrased so that NaN is refused.
        if !(epsilon > 0.0 && epsilon.is_finite()) {
            return Err(field
                .at("epsilon")
                .invalid(written(epsilon), "a finite number greater than 0, such as 1"));
        }
        let delta = file.delta.unwrap_or(0.0) + 0.0;
        if !(0.0..1.0).contains(&delta) {
            return Err(field.at("delta").invalid(
                written(delta),
                "a number from 0 to less than 1, such as 1e-6; without it delta is 0",
            ));
        }
        // What a query costs by default is one that may be asked for.
        let floor = file.min_query_epsilon.filter(|least| *least <= epsilon).unwrap_or(0.0);
        let query_epsilon =
            file.query_epsilon.unwrap_or_else(|| share_down(epsilon, 10.0).max(floor));
        if !(query_epsilon > 0.0 && query_epsilon <= epsilon) {
            return Err(field.at("query_epsilon").invalid(
                written(query_epsilon),
                format!(
                    "a number greater than 0 and at most budget.epsilon, which is {}",
                    written(epsilon)
                ),
            ));
        }
        let query_delta = file.query_delta.unwrap_or_else(|| share_down(delta, 100.0)) + 0.0;
        if !(query_delta >= 0.0 && query_delta <= delta) {
            return Err(field.at("query_delta").invalid(
                written(query_delta),
                format!("a number from 0 to budget.delta, which is {}", written(delta)),
            ));
        }
        let accounting = file.accounting.unwrap_or_default();
        if accounting == Accounting::ZeroConcentrated && delta == 0.0 {
            return Err(field.at("accounting").invalid(
                "zero-concentrated",
                "with a delta greater than 0; without one, leave it out",
            ));
        }
        let min_query_epsilon =
            file.min_query_epsilon.unwrap_or(epsilon / accounting.least_share_of_a_query());
        if !(min_query_epsilon > 0.0 && min_query_epsilon <= query_epsilon) {
            let least = written(min_query_epsilon);
            return Err(match file.min_query_epsilon {
                Some(_) => field.at("min_query_epsilon").invalid(
                    least,
                    format!(
                        "a number greater than 0 and at most budget.query_epsilon, which is {}",
                        written(query_epsilon)
                    ),
                ),
                None => field.at("query_epsilon").invalid(
                    written(query_epsilon),
                    format!(
                        "at least {least}, the least that a query may ask for under this budget \
                         unless budget.min_query_epsilon \
                         says otherwise"
                    ),
                ),
            });
        }
        let create_ledger = file.create_ledger.unwrap_or(false);
        Ok(PolicyBudget {
            epsilon,
            delta,
            query_epsilon,
            query_delta,
            min_query_epsilon,
            accounting,
            create_ledger,
        })
    }
}

impl Accounting {
    /// By which number the budget's epsilon is divided to get the least epsilon of a query, so that
    /// about ten thousand of them fit: `n` queries of `e` cost `n e` by addition, and about
    /// `sqrt(n) e` in zero-concentrated privacy.
    fn least_share_of_a_query(self) -> f64 {
        match self {
            Accounting::Basic => 10_000.0,
            Accounting::ZeroConcentrated => 100.0,
        }
    }
}

/// The greatest double of which `parts` copies add up to no more than `total`: ten queries at the
/// default fit, exactly.
fn share_down(total: f64, parts: f64) -> f64 {
    let share = total / parts;
    // The fused operation rounds once, so its sign is that of the exact difference.
    if share.mul_add(parts, -total) > 0.0 { share.next_down() } else { share }
}

/// Short and without loss: 1e-9 does not become 0.000000001.
fn written(number: f64) -> String {
    if number != 0.0 && !(1e-4..1e6).contains(&number.abs()) {
        format!("{number:e}")
    } else {
        format!("{number}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(
        epsilon: f64,
        delta: Option<f64>,
        query_epsilon: Option<f64>,
        query_delta: Option<f64>,
    ) -> Result<PolicyBudget, String> {
        PolicyBudget::read(&BudgetFile {
            epsilon,
            delta,
            query_epsilon,
            query_delta,
            ..BudgetFile::default()
        })
        .map_err(|error| error.to_string())
    }

    /// A budget of 1 with a least epsilon of a query, and what a query costs unless it says
    /// otherwise.
    fn with_least(
        least: Option<f64>,
        query_epsilon: Option<f64>,
        accounting: Accounting,
    ) -> Result<PolicyBudget, String> {
        let (delta, accounting) = (Some(1e-6), Some(accounting));
        let file = BudgetFile {
            epsilon: 1.0,
            delta,
            query_epsilon,
            min_query_epsilon: least,
            accounting,
            ..BudgetFile::default()
        };
        PolicyBudget::read(&file).map_err(|error| error.to_string())
    }

    #[test]
    fn the_least_epsilon_of_a_query_is_a_share_of_the_budget_unless_it_is_given() {
        use Accounting::{Basic, ZeroConcentrated};
        let least = |least, query, accounting| {
            with_least(least, query, accounting).expect("valid").min_query_epsilon()
        };
        assert_eq!(least(None, None, Basic), 1e-4);
        assert_eq!(least(None, None, ZeroConcentrated), 0.01);
        assert_eq!(least(Some(1e-9), Some(1e-9), Basic), 1e-9);
        assert_eq!(least(Some(0.1), None, Basic), 0.1);
        assert_eq!(with_least(Some(0.4), None, Basic).expect("valid").query_epsilon(), 0.4);
        assert_eq!(
            with_least(Some(0.01), None, Basic).expect("valid").query_epsilon(),
            share_down(1.0, 10.0)
        );
        let message = with_least(Some(1.5), None, Basic).expect_err("more than the budget");
        assert!(message.starts_with("budget.min_query_epsilon = 1.5"), "{message}");
        assert!(
            !with_least(None, None, Basic).expect("valid").create_ledger(),
            "ledgers are made by a command"
        );
        for wrong in [0.0, -0.0, -1.0, 0.11, f64::NAN, f64::INFINITY] {
            let message = with_least(Some(wrong), Some(0.1), Basic).expect_err("min_query_epsilon");
            assert!(
                message.starts_with("budget.min_query_epsilon = ")
                    && message.contains("which is 0.1"),
                "{message}"
            );
        }
        // What a query costs by default is not below what one may ask for.
        for (query, accounting, least) in
            [(9.9e-5, Basic, "at least 0.0001"), (9.9e-3, ZeroConcentrated, "at least 0.01")]
        {
            let message = with_least(None, Some(query), accounting).expect_err("below the floor");
            assert!(
                message.starts_with("budget.query_epsilon = ") && message.contains(least),
                "{message}"
            );
            assert!(message.contains("budget.min_query_epsilon"), "{message}");
        }
    }

    #[test]
    fn ten_queries_at_the_default_never_exceed_the_budget() {
        for total in [1.0, 2.0, 3.0, 0.1, 0.7, 1e-300, 5e-324 * 1e4, 1e300, f64::MAX] {
            let share = share_down(total, 10.0);
            assert!(share.mul_add(10.0, -total) <= 0.0, "{total}");
            assert!(share.next_up().mul_add(10.0, -total) > 0.0, "{total}: more would fit");
        }
        let budget = read(1.0, Some(1e-6), None, None).expect("a budget");
        assert!(
            (budget.query_epsilon() - 0.1).abs() < 1e-15
                && (budget.query_delta() - 1e-8).abs() < 1e-22
        );
        assert_eq!(read(4.0, None, Some(4.0), None).expect("a budget").query_delta(), 0.0);
    }

    #[test]
    fn every_wrong_number_is_refused_by_name() {
        for epsilon in [0.0, -0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(
                read(epsilon, None, None, None)
                    .expect_err("epsilon")
                    .starts_with("budget.epsilon = ")
            );
        }
        for delta in [-1e-9, 1.0, f64::NAN, f64::INFINITY] {
            assert!(
                read(1.0, Some(delta), None, None)
                    .expect_err("delta")
                    .starts_with("budget.delta = ")
            );
        }
        for query in [0.0, 1.1, f64::NAN, -1.0] {
            let message = read(1.0, None, Some(query), None).expect_err("query_epsilon");
            assert!(
                message.starts_with("budget.query_epsilon = ") && message.contains("which is 1"),
                "{message}"
            );
        }
        for query in [-1e-9, 1e-5, f64::NAN] {
            let message = read(1.0, Some(1e-6), None, Some(query)).expect_err("query_delta");
            assert!(
                message.starts_with("budget.query_delta = ") && message.contains("which is 1e-6"),
                "{message}"
            );
        }
        // The tenth of the least positive number is no number greater than 0.
        assert!(read(5e-324, None, None, None).expect_err("too small").contains("query_epsilon"));
    }
}
