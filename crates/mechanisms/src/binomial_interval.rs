//! Confidence intervals for the mean probability of independent trials, certified.

use reticent_numerics::gamma::ln_gamma;
use reticent_numerics::{Bounds, Enclosure, OutOfRange, Wide, require};

/// An interval for `p`, the mean of the probabilities of `trials` independent trials of which
/// `successes` succeeded: it misses `p` with probability at most `1 - confidence`, whatever the
/// probabilities are.
///
/// # Formula
/// Clopper and Pearson: the ends are the `p` at which a binomial number of successes is so large,
/// or so small, with probability `(1 - confidence)/2`.
///
/// # Guarantee
/// The trials need not have one probability in common. Among all with the same mean the binomial
/// distribution has the heaviest tails one step and more away from the mean (Hoeffding, *On the
/// distribution of the number of successes in independent trials*, 1956, Theorem 4), and the ends
/// lie farther out than that. Each end is moved outwards until a bound on the tail proves it.
///
/// # Errors
/// If there are no trials or more than `2^53`, more successes than trials, or `confidence` is not
/// from 0.5 to `1 - 1e-12`.
pub fn binomial_interval(
    successes: u64,
    trials: u64,
    confidence: f64,
) -> Result<Bounds, OutOfRange> {
    require((1..=1 << 53).contains(&trials), "trials", trials as f64, "from 1 to 2^53")?;
    require(successes <= trials, "successes", successes as f64, "at most the trials")?;
    let accepted = "a probability from 0.5 to 1 - 1e-12";
    require((0.5..=1.0 - 1e-12).contains(&confidence), "confidence", confidence, accepted)?;
    // Rounded down, so that the interval is wide enough.
    let outside = ((Bounds::ONE - Bounds::exact(confidence)).lower() / 2.0).next_down();
    let upper = upper_end(successes, trials, outside);
    // Failures are successes of the complement.
    let lower = 1.0 - upper_end(trials - successes, trials, outside);
    Ok(Bounds::new(lower.next_down().max(0.0), upper.min(1.0)))
}

/// The least `p` found with `P[Bin(n, p) <= c] <= outside`, proved.
fn upper_end(successes: u64, trials: u64, outside: f64) -> f64 {
    if successes == trials {
        return 1.0;
    }
    // One step beyond the mean at the least, where the theorem holds.
    let least = ((successes + 1) as f64 / trials as f64).min(1.0);
    let is_proved = |p: f64| lower_tail(successes, trials, p) <= outside;
    let (mut open, mut proved) = (least, 1.0);
    // 60 halvings are finer than the doubles near any p above 1e-3, and than 1e-18 below.
    for _ in 0..60 {
        let middle = 0.5 * (open + proved);
        if is_proved(middle) {
            proved = middle;
        } else {
            open = middle;
        }
    }
    proved
}

/// An upper bound of `P[Bin(n, p) <= c]` for `p > c/n`.
///
/// From `c` down each term is the one above times `j (1 - p) / ((n - j + 1) p)`, which is below 1
/// and falls: what is left out after some terms is at most a geometric series.
fn lower_tail(successes: u64, trials: u64, p: f64) -> f64 {
    if p >= 1.0 {
        return 0.0;
    }
    let integer = |value: u64| Wide::ONE.integer(i128::from(value));
    let (c, n) = (integer(successes), integer(trials));
    let ln_choose =
        ln_gamma(&(n + Wide::ONE)) - ln_gamma(&(c + Wide::ONE)) - ln_gamma(&(n - c + Wide::ONE));
    let p = Wide::from(p);
    let first = (ln_choose + c * p.ln() + (n - c) * (-p).ln_1p()).exp().bounds();
    let odds = ((Wide::ONE - p) / p).bounds();
    let (mut term, mut sum, mut j) = (Bounds::ONE, Bounds::ONE, successes);
    while j > 0 {
        let ratio = Bounds::exact(j as f64) * odds / Bounds::exact((trials - j + 1) as f64);
        term = term * ratio;
        sum = sum + term;
        let rest = term * ratio / (Bounds::ONE - ratio);
        if ratio.upper() < 1.0 && rest.upper() < 1e-12 * sum.lower() {
            sum = sum + rest;
            break;
        }
        j -= 1;
    }
    let bound = (first * sum).upper();
    // What is no number proves nothing.
    if bound.is_nan() { 1.0 } else { bound }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tail as printed, term by term.
    fn plain_tail(c: u64, n: u64, p: f64) -> f64 {
        (0..=c)
            .map(|k| {
                let choose: f64 = (0..k).map(|i| (n - i) as f64 / (k - i) as f64).product();
                choose * p.powi(k as i32) * (1.0 - p).powi((n - k) as i32)
            })
            .sum()
    }

    #[test]
    fn the_ends_solve_the_equations_of_clopper_and_pearson() {
        for (c, n, confidence) in [(0, 10, 0.95), (3, 10, 0.95), (10, 10, 0.9), (25, 60, 0.99)] {
            let interval = binomial_interval(c, n, confidence).expect("valid");
            let outside = (1.0 - confidence) / 2.0;
            if c < n {
                let tail = plain_tail(c, n, interval.upper());
                assert!((tail / outside - 1.0).abs() < 1e-9, "{c} {n}: {tail}");
            }
            if c > 0 {
                let tail = plain_tail(n - c, n, 1.0 - interval.lower());
                assert!((tail / outside - 1.0).abs() < 1e-9, "{c} {n}: {tail}");
            }
        }
        // R's binom.test(3, 10): 0.06673951, 0.6524529.
        let known = binomial_interval(3, 10, 0.95).expect("valid");
        assert!((known.lower() - 0.066_739_51).abs() < 1e-8, "{known:?}");
        assert!((known.upper() - 0.652_452_9).abs() < 1e-7, "{known:?}");
    }

    #[test]
    fn large_counts_are_near_the_normal_interval() {
        let interval = binomial_interval(300_000, 1_000_000, 0.95).expect("valid");
        let half = 1.959_964 * (0.3 * 0.7 / 1e6f64).sqrt();
        assert!((interval.upper() - 0.3 - half).abs() < 0.01 * half, "{interval:?}");
        assert!((0.3 - interval.lower() - half).abs() < 0.01 * half, "{interval:?}");
    }

    /// Exactly, by summing over all outcomes of two kinds of trials: never less than stated.
    #[test]
    fn unequal_probabilities_are_covered() {
        let (n, confidence) = (24u64, 0.9);
        let pmf = |n: u64, k: u64, p: f64| {
            plain_tail(k, n, p) - if k > 0 { plain_tail(k - 1, n, p) } else { 0.0 }
        };
        let intervals: Vec<Bounds> =
            (0..=n).map(|c| binomial_interval(c, n, confidence).expect("valid")).collect();
        for ones in 0..=n {
            let (t, l) = (0.8, 0.1);
            let mean = (ones as f64 * t + (n - ones) as f64 * l) / n as f64;
            let mut covered = 0.0;
            for a in 0..=ones {
                for b in 0..=(n - ones) {
                    let interval = intervals[(a + b) as usize];
                    if interval.lower() <= mean && mean <= interval.upper() {
                        covered += pmf(ones, a, t) * pmf(n - ones, b, l);
                    }
                }
            }
            assert!(covered >= confidence, "{ones}: {covered}");
        }
    }

    #[test]
    fn bad_parameters_are_refused() {
        assert!(binomial_interval(0, 0, 0.95).is_err() && binomial_interval(2, 1, 0.95).is_err());
        for bad in [0.0, 0.4, 1.0, f64::NAN] {
            assert!(binomial_interval(1, 2, bad).is_err(), "{bad}");
        }
    }
}
