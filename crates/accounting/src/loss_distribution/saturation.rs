//! Losses far above the answer, counted for what they are worth: a part at the end of the grid, the
//! rest as infinite.
//!
//! From above this dominates. From below, with `A_i` distributions that the releases dominate,
//! `B_i` those with the losses beyond `c_i` split, and `v_i` what that makes infinite,
//!
//! `0 <= delta_B(epsilon) - delta_A(epsilon) <= sum_i k_i v_i P[S_(-i) < epsilon - c_i]`,
//!
//! where `S_(-i)` is the sum of all losses but one of kind `i`, in which everything beyond `c_j` is
//! moved down to `c_j`; the probability is bounded by Markov's inequality for `e^(-s S_(-i))`.
//! Proof: docs/proofs/saturation.md.

use super::grid::Masses;
use reticent_numerics::rounding::{add_up, sub_up};
use reticent_numerics::{Bounds, Enclosure};

/// Bounds `delta_B - delta_A` from above.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Excess {
    /// `s`.
    rate: f64,
    /// `ln sum_i k_i v_i e^(-s c_i) M / M_i`.
    log_factor: f64,
    /// `sum_i k_i v_i`, at which a probability of 1 leaves it.
    most: f64,
}

impl Excess {
    /// Of these releases on a grid, with the rate `s`.
    pub(super) fn of(terms: &[(Masses, u64)], step: f64, rate: f64) -> Self {
        let weighed = |(masses, times): &(Masses, u64)| {
            Bounds::exact(*times as f64) * Bounds::exact(masses.saturated)
        };
        let most = terms.iter().map(weighed).fold(Bounds::ZERO, |sum, one| sum + one).upper();
        if most == 0.0 {
            return Excess { rate, log_factor: f64::NEG_INFINITY, most };
        }
        // s (1 - s) h^2 / 8, where s is below 1.
        let split = Bounds::exact(rate)
            * Bounds::exact(sub_up(1.0, rate).max(0.0))
            * Bounds::exact(step).square();
        let mut all = Bounds::ZERO;
        let mut each = Vec::new();
        for term in terms {
            let (masses, times) = term;
            let log_moment = log_moment(masses, step, rate);
            all = all + Bounds::exact(*times as f64) * (log_moment + split.times_power_of_two(-3));
            if masses.saturated > 0.0 {
                each.push(
                    (weighed(term).ln() - Bounds::exact(rate) * end(masses, step) - log_moment)
                        .upper(),
                );
            }
        }
        let greatest = Bounds::exact(each.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b)));
        let sum =
            each.iter().fold(Bounds::ZERO, |sum, &log| sum + (Bounds::exact(log) - greatest).exp());
        Excess { rate, log_factor: (all + greatest + sum.ln()).upper(), most }
    }

    /// At an `epsilon`, with which it rises.
    pub(super) fn at(&self, epsilon: f64) -> f64 {
        if self.most == 0.0 {
            return 0.0;
        }
        let exponent =
            Bounds::exact(self.log_factor) + Bounds::exact(self.rate) * Bounds::exact(epsilon);
        let bound = exponent.exp().upper();
        if self.rate > 0.0 && bound < self.most { bound } else { self.most }
    }
}

/// `c`, the loss of the last grid point.
fn end(masses: &Masses, step: f64) -> Bounds {
    let index = masses.first + masses.masses.len() as i64 - 1;
    Bounds::exact(masses.offset) + Bounds::exact(index as f64) * Bounds::exact(step)
}

/// `ln E e^(-s L)` with the infinite losses moved to the end of the grid. Their sum with what is
/// there is off by an ulp, of which the margin of the moment leaves several.
fn log_moment(masses: &Masses, step: f64, rate: f64) -> Bounds {
    let mut moved = masses.clone();
    if let Some(last) = moved.masses.last_mut() {
        *last = add_up(*last, masses.infinite);
    }
    moved.log_moment(step, -rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: f64 = 0.125;

    /// Mostly a small loss either way, and two large ones that are rare.
    fn rare() -> Masses {
        let mut masses = vec![0.0; 60];
        (masses[0], masses[1], masses[2]) = (0.4, 0.1, 0.4985);
        (masses[20], masses[59]) = (1e-3, 4e-4);
        Masses { first: -1, offset: 0.0, masses, infinite: 1e-4, saturated: 0.0 }
    }

    /// The same with the losses beyond an index split.
    fn saturated_at(masses: &Masses, index: i64) -> Masses {
        let position = (index - masses.first) as usize;
        let mut kept = masses.masses[..=position].to_vec();
        let (mut at_end, mut beyond) = (0.0, 0.0);
        for (i, mass) in masses.masses.iter().enumerate().skip(position + 1) {
            let share = (-((i - position) as f64) * STEP).exp();
            at_end += mass * share;
            beyond += mass * (1.0 - share);
        }
        kept[position] += at_end;
        Masses { masses: kept, infinite: masses.infinite + beyond, saturated: beyond, ..*masses }
    }

    /// `delta` of sums of losses, by plain convolution.
    fn slowly(terms: &[(Masses, u64)], epsilon: f64) -> f64 {
        let (mut sum, mut first, mut finite) = (vec![1.0], 0, 1.0);
        for (masses, _) in terms.iter().flat_map(|term| std::iter::repeat_n(term, term.1 as usize))
        {
            let mut next = vec![0.0; sum.len() + masses.masses.len() - 1];
            for (i, a) in sum.iter().enumerate() {
                for (j, b) in masses.masses.iter().enumerate() {
                    next[i + j] += a * b;
                }
            }
            (sum, first, finite) = (next, first + masses.first, finite * (1.0 - masses.infinite));
        }
        let worth = |(i, mass): (usize, &f64)| {
            mass * -(epsilon - (first + i as i64) as f64 * STEP).min(0.0).exp_m1()
        };
        sum.iter().enumerate().map(worth).sum::<f64>() + 1.0 - finite
    }

    /// Saturating adds no more than is said, and adds something once the end is not far enough
    /// above `epsilon`; a hundredth of what is said would be too little.
    #[test]
    fn what_saturating_adds_is_bounded() {
        let other = Masses { masses: vec![0.2, 0.3, 0.499, 0.001], infinite: 0.0, ..rare() };
        let mut is_caught = false;
        for index in [4, 8, 12, 30] {
            let exact = [(rare(), 12), (other.clone(), 8)];
            let split = [(saturated_at(&rare(), index), 12), (other.clone(), 8)];
            for epsilon in [0.1, 0.5, 1.0, 1.6, 3.0] {
                let added = slowly(&split, epsilon) - slowly(&exact, epsilon);
                let bounds =
                    [1.0, 3.0, 8.0, 20.0].map(|rate| Excess::of(&split, STEP, rate).at(epsilon));
                let bound = bounds.into_iter().fold(f64::INFINITY, f64::min);
                assert!(
                    added >= -1e-13 && added <= bound + 1e-13,
                    "{index} at {epsilon}: {added:e} {bound:e}"
                );
                is_caught |= added > 0.01 * bound + 1e-13;
                // Far enough above, next to nothing.
                assert!(
                    index < 30 || epsilon > 1.6 || bound < 1e-4 * slowly(&exact, epsilon),
                    "{epsilon}: {bound:e}"
                );
            }
        }
        assert!(is_caught);
    }

    #[test]
    fn without_saturated_losses_there_is_no_excess() {
        assert_eq!(Excess::of(&[(rare(), 1000)], STEP, 2.0).at(5.0), 0.0);
    }

    /// No rate, or one that says nothing, leaves all that was made infinite.
    #[test]
    fn a_useless_rate_leaves_the_whole() {
        let split = saturated_at(&rare(), 8);
        let most = 12.0 * split.saturated;
        for rate in [0.0, 1e3, 1e300] {
            let excess = Excess::of(&[(split.clone(), 12)], STEP, rate).at(1e3);
            assert!(excess >= most && excess <= most * (1.0 + 1e-8), "{rate}: {excess:e} {most:e}");
        }
    }
}
