//! What no mechanism can do better: lower bounds on the errors of `k` counting queries.
//!
//! The last column of the lecture's table (Section 5), with constants. All errors are in counts.
//! Arbitrary counting queries are meant: their answers on one person's row may be any `k` bits.
//!
//! | guarantee | lower bound | rate in the lecture |
//! |---|---|---|
//! | local, `epsilon` | root mean square of one query: `sqrt(n)/(2 cosh(epsilon/2))` | `sqrt(n)/epsilon` |
//! | `epsilon` | maximum of `k`: half the largest integer below `(k ln 2 + ln(1-beta))/epsilon` | `k/epsilon` |
//! | `(epsilon, delta)` | one query: half the `m` of [`approximate_counting_limit`] | `sqrt(k)/epsilon` |
//!
//! The first has the rate in `n` and not that in small `epsilon`; the last is that of a single
//! query, which `k` of them cannot be easier than: the constant of the rate `sqrt(k)` is not known
//! here. For one number and a metric, `reticent choose` computes the least error exactly.

use crate::MechanismError;
use crate::parameters::{Delta, Epsilon};
use reticent_numerics::{Bounds, Enclosure, require};

/// The least root mean square error of one count of `people` bits under local `epsilon`-DP, on some
/// data, rounded down.
///
/// # Proof
/// Let the bits be independent and fair. What a person sends changes the odds of their bit by at
/// most `e^epsilon`, so that given all messages, bits are still independent and each has a variance
/// of at least `e^epsilon/(1 + e^epsilon)^2`. No estimate of their sum has a smaller mean square
/// error than the sum of these, on average over the bits, and so on some of them. It holds for
/// messages that look at earlier ones, too.
///
/// # Errors
/// If there are no people.
pub fn local_counting_limit(people: u64, epsilon: Epsilon) -> Result<f64, MechanismError> {
    require(people > 0, "people", 0.0, "at least 1")?;
    let small = (-Bounds::exact(epsilon.get())).exp();
    // sqrt(e^-epsilon)/(1 + e^-epsilon) = 1/(2 cosh(epsilon/2)).
    let each = (-Bounds::exact(epsilon.get()).times_power_of_two(-1)).exp() / (Bounds::ONE + small);
    Ok((Bounds::ONE.integer(i128::from(people)).sqrt() * each).lower().max(0.0))
}

/// The least maximum error of `queries` counting queries under `epsilon`-DP: on some data it is at
/// least this with probability `beta` or more.
///
/// # Proof
/// By packing (Hardt and Talwar 2010; Vadhan, *The complexity of differential privacy*, Section
/// 5.2). For each `x` of the `2^k` bit vectors let `m` of the people have rows whose answers are
/// `x`, and the others rows whose answers are 0. The answers for two `x` differ by `m` somewhere,
/// so that no output is within less than `m/2` of both. If on all data the error were below `m/2`
/// with probability above `1 - beta`, then, the data being `m` replacements from that of `x = 0`,
/// `1 >= 2^k (1 - beta) e^(-m epsilon)`, which is false if `m epsilon < k ln 2 + ln(1 - beta)`.
///
/// # Errors
/// If `epsilon` is zero, there are no queries or no people, or `beta` is not between 0 and 1.
pub fn pure_counting_limit(
    queries: u64,
    people: u64,
    epsilon: Epsilon,
    beta: f64,
) -> Result<f64, MechanismError> {
    checked(queries, people, beta)?;
    let epsilon = Epsilon::positive(epsilon.get())?;
    let bits = Bounds::ONE.integer(i128::from(queries)) * Bounds::exact(2.0).ln();
    let most = (bits + (-Bounds::exact(beta)).ln_1p()) / Bounds::exact(epsilon.get());
    // The largest integer strictly below; 0 where even one replacement proves nothing.
    let replaced = (most.lower().ceil() - 1.0).clamp(0.0, people as f64);
    Ok(replaced / 2.0)
}

/// The least error of one counting query under `(epsilon, delta)`-DP: on some data it is at least
/// this with probability `beta` or more, and so is the maximum over more queries.
///
/// # Proof
/// Two data sets that are `m` replacements apart have counts `m` apart, and no output is within
/// less than `m/2` of both. If the error were below that with probability above `1 - beta` on both,
/// then, by the privacy of groups, `1 - beta < e^(m epsilon) beta + delta (e^(m epsilon) -
/// 1)/(e^epsilon - 1)`. The largest `m` for which this is false is taken.
///
/// # Errors
/// If there are no people, or `beta` is not between 0 and 1.
pub fn approximate_counting_limit(
    people: u64,
    epsilon: Epsilon,
    delta: Delta,
    beta: f64,
) -> Result<f64, MechanismError> {
    checked(1, people, beta)?;
    let (epsilon, delta) = (Bounds::exact(epsilon.get()), Bounds::exact(delta.get()));
    let (beta, is_zero) = (Bounds::exact(beta), epsilon.upper() == 0.0);
    let is_impossible = |replaced: f64| {
        let group = epsilon * Bounds::exact(replaced);
        let shares =
            if is_zero { Bounds::exact(replaced) } else { group.exp_m1() / epsilon.exp_m1() };
        let most = group.exp() * beta + delta * shares;
        most.upper() <= (Bounds::ONE - beta).lower()
    };
    // The bound grows with m: by doubling and halving.
    let people = people as f64;
    let (mut proved, mut step) = (0.0, 1.0);
    while proved + step <= people && is_impossible(proved + step) {
        proved += step;
        step *= 2.0;
    }
    while step >= 1.0 {
        if proved + step <= people && is_impossible(proved + step) {
            proved += step;
        }
        step /= 2.0;
    }
    Ok(proved / 2.0)
}

fn checked(queries: u64, people: u64, beta: f64) -> Result<(), MechanismError> {
    require(queries > 0, "queries", 0.0, "at least 1")?;
    require((1..=1 << 53).contains(&people), "people", people as f64, "from 1 to 2^53")?;
    let accepted = "a probability from 1e-300 to 1, not 1 itself";
    require((1e-300..1.0).contains(&beta), "beta", beta, accepted)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        gaussian_counting_errors, laplace_counting_errors, randomized_response_counting_errors,
    };

    fn epsilon(value: f64) -> Epsilon {
        Epsilon::new(value).expect("valid")
    }

    /// No mechanism beats its limit, and each is within the factor that its rate leaves open.
    #[test]
    fn mechanisms_are_above_their_limits() {
        for loss in [0.1, 1.0, 3.0] {
            for k in [1u64, 10, 1000] {
                let beta = 0.3;
                let laplace = laplace_counting_errors(k, epsilon(loss), beta).expect("valid");
                let limit = pure_counting_limit(k, 1 << 40, epsilon(loss), beta).expect("valid");
                assert!(limit <= laplace.maximum.lower(), "{loss} {k}: {limit}");
                let delta = Delta::new(1e-6).expect("valid");
                let gaussian =
                    gaussian_counting_errors(k, epsilon(loss), delta, beta).expect("valid");
                let limit = approximate_counting_limit(1 << 40, epsilon(loss), delta, beta);
                let limit = limit.expect("valid");
                assert!(limit <= gaussian.maximum.lower(), "{loss} {k}: {limit}");
            }
            let local = randomized_response_counting_errors(1, 10_000, epsilon(loss), 0.1);
            let limit = local_counting_limit(10_000, epsilon(loss)).expect("valid");
            assert!(limit <= local.expect("valid").root_mean_square.lower(), "{loss}: {limit}");
        }
    }

    #[test]
    fn the_rates_are_those_of_the_lecture() {
        let pure = |k| pure_counting_limit(k, 1 << 50, epsilon(0.01), 0.1).expect("valid");
        assert!((pure(10_000) / pure(100) - 100.0).abs() < 0.5);
        // k ln 2 / (2 epsilon), but for the integer and beta.
        assert!((pure(100) - 50.0 * 2f64.ln() / 0.01).abs() < 6.0, "{}", pure(100));
        let local = |n| local_counting_limit(n, epsilon(1.0)).expect("valid");
        assert!((local(10_000) / local(100) - 10.0).abs() < 1e-9);
        assert!((local(4) - 1.0 / 0.5f64.cosh()).abs() < 1e-12);
        // The largest m with e^(0.1 m) 0.1 <= 0.9 is 21.
        let tiny = Delta::new(1e-15).expect("valid");
        let one = approximate_counting_limit(1 << 40, epsilon(0.1), tiny, 0.1).expect("valid");
        assert_eq!(one, 10.5);
        let few = approximate_counting_limit(7, epsilon(0.1), tiny, 0.1).expect("valid");
        assert_eq!(few, 3.5, "no more people than there are");
    }

    #[test]
    fn bad_parameters_are_refused() {
        assert!(local_counting_limit(0, epsilon(1.0)).is_err());
        assert!(pure_counting_limit(0, 1, epsilon(1.0), 0.1).is_err());
        assert!(pure_counting_limit(1, 0, epsilon(1.0), 0.1).is_err());
        assert!(pure_counting_limit(1, 1, epsilon(0.0), 0.1).is_err());
        for beta in [0.0, 1.0, f64::NAN] {
            assert!(pure_counting_limit(1, 1, epsilon(1.0), beta).is_err(), "{beta}");
        }
    }
}
