//! What is released, under which budget, and what is to be small.

use crate::error::ChoiceError;
use crate::metric::Metric;
use reticent_mechanisms::{Distance, Neighbours, Sensitivity};
use reticent_numerics::require;
use reticent_numerics::rounding::{div_down, mul_up, sqrt_up};

/// The most numbers that a vector has.
pub const LARGEST_DIMENSION: u32 = 1_000_000_000;

/// What is released: a number, or a vector of them, and how far one privacy unit moves it.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    dimension: u32,
    l1: f64,
    l2: f64,
    integer: bool,
    bounds: Option<(f64, f64)>,
    neighbours: Neighbours,
}

impl Query {
    /// A number that moves by at most `sensitivity`, or many numbers of which one privacy unit
    /// moves one only.
    ///
    /// # Errors
    /// If the sensitivity is not from 1e-100 to 1e100.
    pub fn scalar(sensitivity: f64, neighbours: Neighbours) -> Result<Self, ChoiceError> {
        let distance = Distance::new(sensitivity)?.get();
        Ok(Query {
            dimension: 1,
            l1: distance,
            l2: distance,
            integer: false,
            bounds: None,
            neighbours,
        })
    }

    /// A vector of `dimension` numbers, of which the l1 or the l2 sensitivity or both are known.
    /// What is not known is bounded by what is: `D_2 <= D_1 <= sqrt(k) D_2`.
    ///
    /// # Errors
    /// If neither is known, one is out of range, the two contradict each other, or the dimension is
    /// zero or above 1e9.
    pub fn vector(
        dimension: u32,
        l1: Option<f64>,
        l2: Option<f64>,
        neighbours: Neighbours,
    ) -> Result<Self, ChoiceError> {
        let accepted = "an integer from 1 to 1e9";
        require(
            (1..=LARGEST_DIMENSION).contains(&dimension),
            "dimension",
            f64::from(dimension),
            accepted,
        )?;
        let checked = |norm: Option<f64>| {
            norm.map(|value| Distance::new(value).map(Distance::get)).transpose()
        };
        let root = sqrt_up(f64::from(dimension));
        let (l1, l2) = match (checked(l1)?, checked(l2)?) {
            (Some(l1), Some(l2)) => (l1.min(mul_up(root, l2)), l2.min(l1)),
            (Some(l1), None) => (l1, l1),
            (None, Some(l2)) => (mul_up(root, l2), l2),
            (None, None) => {
                let message = "a vector needs its l1 or its l2 sensitivity, how far one privacy \
                    unit moves all of it";
                return Err(ChoiceError::Meaningless(message.into()));
            }
        };
        Ok(Query { dimension, l1, l2, integer: false, bounds: None, neighbours })
    }

    /// The same for integers: releases are integers, and the comparison is of integer errors.
    ///
    /// # Errors
    /// If the l1 sensitivity is not an integer from 1 to `2^53`; integers move by integers.
    pub fn of_integers(self) -> Result<Self, ChoiceError> {
        let whole = self.l1.fract() == 0.0 && (1.0..=9_007_199_254_740_992.0).contains(&self.l1);
        require(
            whole,
            "sensitivity",
            self.l1,
            "an integer from 1 to 2^53, because the answers are integers",
        )?;
        Ok(Query { integer: true, ..self })
    }

    /// The same for real numbers.
    pub(crate) fn of_real_numbers(self) -> Self {
        Query { integer: false, ..self }
    }

    /// The same for an answer that is known to lie between public bounds.
    ///
    /// # Errors
    /// If the bounds are not finite and in order, the answer is a vector, or the bounds are nearer
    /// to each other than the sensitivity.
    pub fn within(self, lower: f64, upper: f64) -> Result<Self, ChoiceError> {
        require(lower.is_finite(), "lower bound", lower, "a finite number")?;
        require(
            upper.is_finite() && upper > lower,
            "upper bound",
            upper,
            "a finite number above the lower bound",
        )?;
        if self.dimension > 1 {
            return Err(ChoiceError::Meaningless(
                "bounds are for one number: bounded noise for vectors is not offered".into(),
            ));
        }
        require(
            upper - lower >= self.l1,
            "sensitivity",
            self.l1,
            "at most the distance of the bounds",
        )?;
        Ok(Query { bounds: Some((lower, upper)), ..self })
    }

    /// How many numbers.
    pub fn dimension(&self) -> u32 {
        self.dimension
    }

    /// The l1 sensitivity, which is that of a single number.
    pub fn l1(&self) -> f64 {
        self.l1
    }

    /// The l2 sensitivity.
    pub fn l2(&self) -> f64 {
        self.l2
    }

    /// Whether answers are integers.
    pub fn is_integer(&self) -> bool {
        self.integer
    }

    /// The public bounds of the answer, if there are any.
    pub fn bounds(&self) -> Option<(f64, f64)> {
        self.bounds
    }

    /// The sensitivity as mechanisms take it.
    pub(crate) fn sensitivity(&self) -> Result<Sensitivity, ChoiceError> {
        let known = if self.dimension == 1 {
            Sensitivity::scalar(self.l1, self.neighbours)?
        } else {
            Sensitivity::l1_bound(self.l1, self.neighbours)?.with_coordinates(self.dimension)?
        };
        Ok(if self.integer { known.of_integers() } else { known })
    }
}

/// What may be lost, over all releases together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SharedBudget {
    epsilon: f64,
    delta: Option<f64>,
    releases: u32,
}

/// What one of several releases may lose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Share {
    pub(crate) epsilon: f64,
    pub(crate) delta: Option<f64>,
}

impl SharedBudget {
    /// A pure budget without `delta`, an approximate one with it, for so many releases of the same
    /// kind.
    ///
    /// # Errors
    /// If epsilon is not above 0 and at most 700, delta is not from 1e-300 to below 1, or there are
    /// no releases or more than a million.
    pub fn new(epsilon: f64, delta: Option<f64>, releases: u32) -> Result<Self, ChoiceError> {
        require(
            epsilon > 0.0 && epsilon <= 700.0,
            "epsilon",
            epsilon,
            "a number above 0 and at most 700",
        )?;
        if let Some(delta) = delta {
            let accepted =
                "a number from 1e-300 to below 1; a pure budget has none, so leave it out";
            require((1e-300..1.0).contains(&delta), "delta", delta, accepted)?;
        }
        require(
            (1..=1_000_000).contains(&releases),
            "releases",
            f64::from(releases),
            "an integer from 1 to 1000000",
        )?;
        Ok(SharedBudget { epsilon, delta, releases })
    }

    /// `epsilon` of all releases.
    pub fn epsilon(&self) -> f64 {
        self.epsilon
    }

    /// `delta` of all releases; `None` for a pure budget.
    pub fn delta(&self) -> Option<f64> {
        self.delta
    }

    /// How many releases share it.
    pub fn releases(&self) -> u32 {
        self.releases
    }

    /// What each release may lose by basic composition: `epsilon/n` and `delta/n`, rounded down.
    ///
    /// The one function that composes anything but Gaussians. Gaussian releases are composed
    /// exactly in [`SharedBudget::composed_distance`].
    pub(crate) fn share(&self) -> Share {
        let part = |whole: f64| div_down(whole, f64::from(self.releases));
        Share { epsilon: part(self.epsilon), delta: self.delta.map(part) }
    }

    /// The distance at which one Gaussian release loses as much as all: `n` releases of distance
    /// `D/sigma` are one of `sqrt(n) D/sigma`, exactly.
    pub(crate) fn composed_distance(&self, distance: f64) -> f64 {
        if self.releases == 1 {
            distance
        } else {
            mul_up(distance, sqrt_up(f64::from(self.releases)))
        }
    }
}

/// All that a choice depends on.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirements {
    /// What is released.
    pub query: Query,
    /// What may be lost.
    pub budget: SharedBudget,
    /// What is to be small.
    pub metric: Metric,
}

#[cfg(test)]
mod tests {
    use super::*;
    use Neighbours::AddRemove;

    #[test]
    fn the_norms_bound_each_other() {
        let known = |l1, l2| Query::vector(4, l1, l2, AddRemove).expect("valid");
        assert_eq!((known(Some(3.0), None).l1(), known(Some(3.0), None).l2()), (3.0, 3.0));
        assert_eq!(known(None, Some(3.0)).l2(), 3.0);
        assert!((6.0..6.0 + 1e-14).contains(&known(None, Some(3.0)).l1()));
        // Each is as small as the other makes it.
        assert_eq!(known(Some(2.0), Some(9.0)).l2(), 2.0);
        assert!((2.0..2.0 + 1e-14).contains(&known(Some(9.0), Some(1.0)).l1()));
        assert!(
            Query::vector(4, None, None, AddRemove).is_err()
                && Query::vector(0, Some(1.0), None, AddRemove).is_err()
        );
    }

    #[test]
    fn shares_add_up_to_no_more_than_the_budget() {
        for releases in [1, 2, 3, 7, 1000, 999_983] {
            for epsilon in [0.1, 1.0, 3.3] {
                let budget = SharedBudget::new(epsilon, Some(1e-6), releases).expect("valid");
                let share = budget.share();
                let n = f64::from(releases);
                assert!(mul_up(share.epsilon, n) <= epsilon, "{releases} {epsilon}");
                assert!(
                    share.epsilon * n >= epsilon * (1.0 - 1e-15)
                        && share.delta.is_some_and(|delta| delta * n <= 1e-6)
                );
            }
        }
        let four = SharedBudget::new(1.0, Some(1e-6), 4).expect("valid");
        assert!((6.0..6.0 + 1e-14).contains(&four.composed_distance(3.0)));
    }

    #[test]
    fn what_means_nothing_is_refused_by_name() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 701.0] {
            assert!(
                SharedBudget::new(bad, None, 1)
                    .is_err_and(|error| error.to_string().contains("epsilon")),
                "{bad}"
            );
        }
        for bad in [0.0, -1e-9, 1.0, f64::NAN] {
            let refused = SharedBudget::new(1.0, Some(bad), 1).map_err(|error| error.to_string());
            assert!(
                refused.is_err_and(
                    |message| message.contains("delta") && message.contains("leave it out")
                ),
                "{bad}"
            );
        }
        assert!(SharedBudget::new(1.0, None, 0).is_err());
        let one = Query::scalar(1.5, AddRemove).expect("valid");
        assert!(one.clone().of_integers().is_err_and(|error| error.to_string().contains("2^53")));
        for (lower, upper) in
            [(0.0, 0.0), (1.0, 0.0), (f64::NAN, 1.0), (0.0, f64::INFINITY), (0.0, 1.0)]
        {
            assert!(one.clone().within(lower, upper).is_err(), "{lower} {upper}");
        }
        let vector = Query::vector(3, Some(1.0), None, AddRemove).expect("valid");
        assert!(
            vector.within(0.0, 9.0).is_err_and(|error| error.to_string().contains("one number"))
        );
    }
}
