//! Confidence bounds on a probability from counted successes.
//!
//! Chernoff's bound in its relative-entropy form: for `K` binomial with `n` tries of probability
//! `p`, and `k >= n p`, `P[K >= k] <= exp(-n D(k/n || p))` with
//! `D(a || p) = a ln(a/p) + (1-a) ln((1-a)/(1-p))`, and the mirrored bound for `k <= n p`
//! (Hoeffding, *Probability inequalities for sums of bounded random variables*, 1963, Theorem 1).
//! Setting the right side to `alpha` and solving for `p` gives a bound that fails with probability
//! at most `alpha`, for every `n` and `p`: no approximation is involved, as with Clopper and
//! Pearson's interval, of which it is a slightly wider and much simpler relative.

/// A lower bound on the probability, wrong with probability at most `alpha`.
pub fn lower_bound(successes: u64, tries: u64, alpha: f64) -> f64 {
    1.0 - upper_bound(tries - successes, tries, alpha)
}

/// An upper bound on the probability, wrong with probability at most `alpha`.
pub fn upper_bound(successes: u64, tries: u64, alpha: f64) -> f64 {
    assert!(successes <= tries && tries > 0 && alpha > 0.0);
    let share = successes as f64 / tries as f64;
    let wanted = -alpha.ln() / tries as f64;
    // The entropy grows with p from the share on: the largest p that is not refuted.
    let (mut kept, mut refuted) = (share, 1.0);
    while refuted - kept > 1e-15 {
        let middle = 0.5 * (kept + refuted);
        if relative_entropy(share, middle) < wanted {
            kept = middle;
        } else {
            refuted = middle;
        }
    }
    refuted
}

/// `D(a || p)`, with `0 ln 0 = 0`.
fn relative_entropy(a: f64, p: f64) -> f64 {
    let part = |a: f64, p: f64| if a == 0.0 { 0.0 } else { a * (a / p).ln() };
    part(a, p) + part(1.0 - a, 1.0 - p)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bound must not be below the exact one: Clopper and Pearson's `p` solves
    /// `P[K <= k] = alpha`.
    #[test]
    fn bounds_are_never_inside_the_exact_interval_and_not_far_outside() {
        for (k, n) in [(0u64, 50u64), (3, 50), (25, 50), (49, 50)] {
            let alpha = 1e-3;
            let p = upper_bound(k, n, alpha);
            let cumulative: f64 = (0..=k).map(|j| binomial_probability(j, n, p)).sum();
            assert!(cumulative <= alpha, "{k} of {n}: {cumulative:e}");
            assert!(cumulative > alpha / 30.0, "{k} of {n}: {cumulative:e}");
            assert!((1.0 - p - lower_bound(n - k, n, alpha)).abs() < 1e-12);
        }
        assert_eq!(upper_bound(5, 5, 1e-6), 1.0);
    }

    fn binomial_probability(j: u64, n: u64, p: f64) -> f64 {
        let choose = (0..j).fold(1.0, |c, i| c * (n - i) as f64 / (i + 1) as f64);
        choose * p.powi(j as i32) * (1.0 - p).powi((n - j) as i32)
    }
}
