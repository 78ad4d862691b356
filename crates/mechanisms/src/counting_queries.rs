//! What it costs to answer `k` counting queries.
//!
//! Each query counts the rows that satisfy a predicate, and one person's row may satisfy all `k`:
//! the l1 sensitivity of the vector of counts is `k`, the l2 sensitivity `sqrt k`. All errors are
//! in counts; divide by the number of people for proportions.
//!
//! | mechanism | guarantee | error of one answer | rate |
//! |---|---|---|---|
//! | Laplace | `epsilon` | scale `b = k/epsilon` | `k/epsilon` |
//! | Gaussian | `(epsilon, delta)` | `sigma = sqrt(k) s(epsilon, delta)` | `sqrt(k ln(1/delta))/epsilon` |
//! | randomized response, no trusted curator | `epsilon` | `sqrt(n)/(2 sinh(epsilon/2k))` | `k sqrt(n)/epsilon` |
//!
//! `s` is the exact ratio of the analytic method. "The Gaussian always has higher variance than
//! Laplace" for a single query is not so (erratum N2): [`gaussian_overtakes_laplace`] is 1 for
//! large `delta`.
//!
//! # References
//! Lecture notes, *Differentially private algorithms*, sections 2.1, 4.1, 5 and appendix A, with
//! exact constants instead of `O(.)`.

use crate::MechanismError;
use crate::gaussian::{analytic::analytic, normal_errors};
use crate::parameters::{Delta, Epsilon};
use reticent_numerics::normal_quantile::normal_isf;
use reticent_numerics::{Bounds, Enclosure, require};

/// The errors of `k` released counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CountingErrors {
    /// `b`, `sigma`, or for randomized response the standard deviation.
    pub scale: Bounds,
    /// `E|error|` of one answer; for randomized response its bound by the root mean square.
    pub mean_absolute: Bounds,
    /// The root mean square error of one answer.
    pub root_mean_square: Bounds,
    /// What the largest of the `k` errors exceeds with probability `beta`, exactly; for randomized
    /// response an upper bound on it.
    pub maximum: Bounds,
    /// What the union bound says of the maximum, rounded up; none where the maximum is that bound.
    pub union_bound: Option<f64>,
}

/// The errors with Laplace noise of scale `b = k/epsilon`.
///
/// `P[max <= t] = (1 - e^(-t/b))^k`, so the maximum is `-b ln(1 - (1 - beta)^(1/k))`; the union
/// bound of the notes, `b ln(k/beta)`, is a little more.
///
/// # Errors
/// If `epsilon` is zero, there are no queries, or `beta` is not between 0 and 1.
pub fn laplace_counting_errors(
    queries: u64,
    epsilon: Epsilon,
    beta: f64,
) -> Result<CountingErrors, MechanismError> {
    let (count, epsilon) = (checked(queries, beta)?, positive(epsilon)?);
    let scale = count / epsilon;
    Ok(CountingErrors {
        scale,
        mean_absolute: scale,
        root_mean_square: Bounds::exact(2.0).sqrt() * scale,
        maximum: -(scale * exceedance(count, beta).ln()),
        union_bound: Some((scale * (count / Bounds::exact(beta)).ln()).upper()),
    })
}

/// The errors with Gaussian noise of the least `sigma` for the l2 sensitivity `sqrt k`.
///
/// `P[max <= t] = (1 - 2 Q(t/sigma))^k`; the union bound of the notes, with
/// `2 Q(t) <= 2 e^(-t^2/2)`, is `sigma sqrt(2 ln(2k/beta))`.
///
/// # Errors
/// If there are no queries, `beta` is not between 0 and 1, or no scale is certified.
pub fn gaussian_counting_errors(
    queries: u64,
    epsilon: Epsilon,
    delta: Delta,
    beta: f64,
) -> Result<CountingErrors, MechanismError> {
    let count = checked(queries, beta)?;
    let scale = count.sqrt() * Bounds::exact(analytic(epsilon.get(), delta.get())?);
    let unit = normal_errors(1.0);
    Ok(CountingErrors {
        scale,
        mean_absolute: scale * unit.mean_absolute,
        root_mean_square: scale,
        maximum: scale * normal_isf(exceedance(count, beta).times_power_of_two(-1)),
        union_bound: Some(
            (scale * doubled_logarithm(count, beta).times_power_of_two(1).sqrt()).upper(),
        ),
    })
}

/// The errors when each of `people` answers all queries by randomized response, with `epsilon/k`
/// for each.
///
/// The true bit is reported with probability `p = e^e/(1 + e^e)`, `e = epsilon/k`; the unbiased
/// count has the variance `n p (1-p)/(2p-1)^2 = n/(4 sinh^2(e/2))` whatever the data. Its `n` terms
/// have range `1/(2p-1) = 1/tanh(e/2)`, so by Hoeffding's inequality and the union bound the
/// maximum is at most `sqrt(n ln(2k/beta)/2)/tanh(e/2)`.
///
/// # Errors
/// If `epsilon` is zero, there are no queries or no people, or `beta` is not between 0 and 1.
pub fn randomized_response_counting_errors(
    queries: u64,
    people: u64,
    epsilon: Epsilon,
    beta: f64,
) -> Result<CountingErrors, MechanismError> {
    let (count, epsilon) = (checked(queries, beta)?, positive(epsilon)?);
    require(people > 0, "people", 0.0, "at least 1")?;
    let people = Bounds::ONE.integer(i128::from(people));
    // With r = e^-e: 2 sinh(e/2) = (1 - r)/sqrt r and tanh(e/2) = (1 - r)/(1 + r), without overflow
    // or cancellation.
    let each = epsilon / count;
    let missing = -((-each).exp_m1());
    let deviation = people.sqrt() * (-each.times_power_of_two(-1)).exp() / missing;
    let range = (Bounds::ONE + (-each).exp()) / missing;
    let logarithm = doubled_logarithm(count, beta);
    let bound = (people * logarithm).times_power_of_two(-1).sqrt() * range;
    Ok(CountingErrors {
        scale: deviation,
        mean_absolute: Bounds::new(0.0, deviation.upper()),
        root_mean_square: deviation,
        maximum: Bounds::new(0.0, bound.upper()),
        union_bound: None,
    })
}

/// The least number of queries from which Gaussian noise has at most the variance of Laplace noise
/// at the same `epsilon`.
///
/// `k s^2 <= 2 k^2/epsilon^2` from `k = s^2 epsilon^2/2` on. Rounded up where the bounds leave it
/// open.
///
/// # Errors
/// If `epsilon` is zero (where Laplace noise does not exist), or no scale is certified.
pub fn gaussian_overtakes_laplace(epsilon: Epsilon, delta: Delta) -> Result<u64, MechanismError> {
    let product = positive(epsilon)? * Bounds::exact(analytic(epsilon.get(), delta.get())?);
    Ok((product.square().times_power_of_two(-1).upper().ceil() as u64).max(1))
}

/// `ln(2k/beta)`.
fn doubled_logarithm(count: Bounds, beta: f64) -> Bounds {
    (count.times_power_of_two(1) / Bounds::exact(beta)).ln()
}

/// `1 - (1 - beta)^(1/k)`, without cancellation: what each of `k` independent errors exceeds, so
/// that one of them does with probability `beta`.
fn exceedance(count: Bounds, beta: f64) -> Bounds {
    -(((-Bounds::exact(beta)).ln_1p() / count).exp_m1())
}

fn checked(queries: u64, beta: f64) -> Result<Bounds, MechanismError> {
    require(queries > 0, "queries", 0.0, "at least 1")?;
    let accepted = "a probability from 1e-300 to 1, not 1 itself";
    require((1e-300..1.0).contains(&beta), "beta", beta, accepted)?;
    Ok(Bounds::ONE.integer(i128::from(queries)))
}

fn positive(epsilon: Epsilon) -> Result<Bounds, MechanismError> {
    Epsilon::positive(epsilon.get()).map(|epsilon| Bounds::exact(epsilon.get()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn epsilon(value: f64) -> Epsilon {
        Epsilon::new(value).expect("valid")
    }

    fn delta(value: f64) -> Delta {
        Delta::new(value).expect("valid")
    }

    #[test]
    fn the_rates_are_those_of_the_lecture() {
        let laplace = |k| {
            laplace_counting_errors(k, epsilon(1.0), 0.05)
                .expect("valid")
                .root_mean_square
                .estimate()
        };
        let gaussian = |k| {
            gaussian_counting_errors(k, epsilon(1.0), delta(1e-6), 0.05)
                .expect("valid")
                .root_mean_square
                .estimate()
        };
        let local = |k, n| {
            randomized_response_counting_errors(k, n, epsilon(1.0), 0.05)
                .expect("valid")
                .root_mean_square
                .estimate()
        };
        assert!((laplace(400) / laplace(4) - 100.0).abs() < 1e-9);
        assert!((gaussian(400) / gaussian(4) - 10.0).abs() < 1e-9);
        assert!((local(1, 10_000) / local(1, 100) - 10.0).abs() < 1e-9);
        assert!((local(1000, 100) / local(100, 100) - 10.0).abs() < 1e-3);
        // A trusted curator is worth sqrt(n): the notes' first comparison.
        assert!(local(1, 1_000_000) > 500.0 * laplace(1));
    }

    #[test]
    fn maxima_are_below_the_union_bound_and_above_the_median_of_one() {
        for k in [1u64, 10, 1000, 1_000_000_000] {
            let errors = laplace_counting_errors(k, epsilon(0.5), 0.05).expect("valid");
            let union = errors.scale.estimate() * (k as f64 / 0.05).ln();
            let is_near = |bound: Option<f64>, union: f64| {
                bound.is_some_and(|bound| (bound / union - 1.0).abs() < 1e-12)
            };
            assert!(is_near(errors.union_bound, union), "{k}");
            assert!(
                errors.maximum.upper() <= union * (1.0 + 1e-12)
                    && errors.maximum.lower() > 0.98 * union,
                "{k}"
            );
            let gaussian =
                gaussian_counting_errors(k, epsilon(0.5), delta(1e-6), 0.05).expect("valid");
            let union = gaussian.scale.estimate() * (2.0 * (2.0 * k as f64 / 0.05).ln()).sqrt();
            assert!(is_near(gaussian.union_bound, union), "{k}");
            assert!(
                gaussian.maximum.upper() < union && gaussian.maximum.lower() > 0.6 * union,
                "{k}"
            );
        }
    }

    #[test]
    fn the_variance_of_randomized_response_is_that_of_its_estimator() {
        let (n, e) = (1000.0, 0.25f64);
        let p = e.exp() / (1.0 + e.exp());
        let plain = (n * p * (1.0 - p)).sqrt() / (2.0 * p - 1.0);
        let errors =
            randomized_response_counting_errors(4, 1000, epsilon(1.0), 0.05).expect("valid");
        assert!((errors.root_mean_square.estimate() / plain - 1.0).abs() < 1e-13);
        assert!(errors.maximum.upper() > 2.0 * plain);
    }

    #[test]
    fn erratum_n2_a_single_query_may_already_favour_the_gaussian() {
        assert_eq!(gaussian_overtakes_laplace(epsilon(1.0), delta(0.04)).expect("valid"), 1);
        let k = gaussian_overtakes_laplace(epsilon(1.0), delta(1e-6)).expect("valid");
        // s = 4.2247: s^2/2 = 8.92.
        assert_eq!(k, 9);
        for (k, gaussian_wins) in [(k - 1, false), (k, true)] {
            let laplace =
                laplace_counting_errors(k, epsilon(1.0), 0.05).expect("valid").root_mean_square;
            let gaussian = gaussian_counting_errors(k, epsilon(1.0), delta(1e-6), 0.05)
                .expect("valid")
                .root_mean_square;
            assert_eq!(gaussian.upper() <= laplace.lower(), gaussian_wins, "{k}");
        }
    }

    #[test]
    fn bad_parameters_are_refused() {
        for beta in [0.0, 1.0, -1.0, f64::NAN] {
            assert!(laplace_counting_errors(3, epsilon(1.0), beta).is_err(), "{beta}");
        }
        assert!(laplace_counting_errors(0, epsilon(1.0), 0.1).is_err());
        assert!(laplace_counting_errors(1, epsilon(0.0), 0.1).is_err());
        assert!(randomized_response_counting_errors(1, 0, epsilon(1.0), 0.1).is_err());
        assert!(gaussian_overtakes_laplace(epsilon(0.0), delta(0.1)).is_err());
    }
}
