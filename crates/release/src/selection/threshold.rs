//! Groups whose noisy count is large enough.

use crate::added_noise::AddedNoise;
use reticent_numerics::rounding::mul_up;

/// Shows a group if a noisy count of it is at least `least`: of units, or of rows of which one unit
/// has at most `r`.
///
/// A count that is released anyway selects groups at no loss of its own: what is seen is a function
/// of the noisy counts, and only groups that hold one unit alone, which are not there without it,
/// need a delta. That is why nothing is better than it for the error of the figures. A count
/// of units (`r = 1`) selects smaller groups than one of rows where units have fewer rows than they
/// may.
///
/// # Guarantee
/// With `k` the most groups that one unit touches and `q = P[r + N >= least]` the probability that
/// a unit alone shows a group: if the noise keeps `(eps, d)`, what is seen keeps `(eps, d + k q)`,
/// on a condition that is checked (docs/proofs/threshold_selection.md). As an event: outside a
/// probability `k q`, what is seen is what the noise alone lets see.
///
/// # References
/// Korolova, Kenthapadi, Mishra, Ntoulas, *Releasing search queries and clicks privately*, 2009;
/// Wilkins, Kifer, Zhang, Karrer, *Exact privacy analysis of the Gaussian sparse histogram
/// mechanism*, 2024.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Threshold {
    /// The count that is compared: a statistic of the release, or `None` for a number of units that
    /// is not shown.
    pub(crate) statistic: Option<usize>,
    /// `r`, the most that one unit counts in one group.
    pub(crate) lone_count: u32,
    pub(crate) least: i64,
    /// `k q`, rounded up.
    pub(crate) delta: f64,
    /// `q`, rounded up.
    pub(crate) lone: f64,
}

impl Threshold {
    /// The least threshold with `k P[r + N >= least] <= delta`; `None` where no threshold below
    /// `2^61` has that.
    pub(crate) fn least(
        noise: &AddedNoise,
        compared: Compared,
        groups: u32,
        delta: f64,
    ) -> Option<Self> {
        let lone_count = i64::from(compared.lone_count);
        let all = |least: i64| mul_up(f64::from(groups), noise.tail(least - lone_count));
        let (mut low, mut high) = (lone_count, lone_count + 1);
        while all(high) > delta {
            low = high;
            high = high.checked_mul(2).filter(|&high| high <= 1 << 61)?;
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if all(middle) <= delta { high = middle } else { low = middle }
        }
        let Compared { statistic, lone_count } = compared;
        Some(Threshold {
            statistic,
            lone_count,
            least: high,
            delta: all(high),
            lone: noise.tail(high - i64::from(lone_count)),
        })
    }
}

/// The count that a threshold is for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Compared {
    /// Its index among the statistics; `None` for a number of units that is not shown.
    pub(crate) statistic: Option<usize>,
    /// The most that one unit counts in one group.
    pub(crate) lone_count: u32,
}

impl Compared {
    /// A number of units that is not shown.
    pub(crate) const HIDDEN_UNITS: Compared = Compared { statistic: None, lone_count: 1 };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_is_the_least_that_keeps_lone_units_hidden() {
        let gaussian = AddedNoise::gaussian(5.0, 1.0).expect("valid");
        let laplace = AddedNoise::pure(1, 3, 1.0 / 3.0).expect("valid");
        for (noise, groups) in [(gaussian, 7), (laplace, 3)] {
            let threshold =
                Threshold::least(&noise, Compared::HIDDEN_UNITS, groups, 1e-6).expect("exists");
            assert!(threshold.delta <= 1e-6);
            assert!(
                f64::from(groups) * noise.tail(threshold.least - 2) > 1e-6,
                "one less would do"
            );
        }
    }

    #[test]
    fn golden_thresholds() {
        // 1.5 + 5 * 4.8916 (the normal's upper 5e-7 point) = 25.96.
        let gaussian = AddedNoise::gaussian(5.0, 1.0).expect("valid");
        assert_eq!(
            Threshold::least(&gaussian, Compared::HIDDEN_UNITS, 1, 5e-7).map(|t| t.least),
            Some(26)
        );
        // e^-(t-1) / (1 + e^-1) <= 1e-5 from t - 1 = 11.2 on.
        let laplace = AddedNoise::pure(1, 1, 1.0).expect("valid");
        assert_eq!(
            Threshold::least(&laplace, Compared::HIDDEN_UNITS, 1, 1e-5).map(|t| t.least),
            Some(13)
        );
        assert_eq!(Threshold::least(&laplace, Compared::HIDDEN_UNITS, 1, 0.0), None);
    }

    /// What one group shows when its exact count is `count` (`None`: it is not there): hidden, or a
    /// number from the threshold on, the last standing for all beyond.
    fn shown(noise: &AddedNoise, threshold: i64, count: Option<i64>) -> Vec<f64> {
        let Some(count) = count else { return std::iter::once(1.0).chain([0.0; 60]).collect() };
        let above = |t: i64| if t > 0 { noise.tail(t) } else { 1.0 - noise.tail(1 - t) };
        let numbers: Vec<f64> = (0..60)
            .map(|i| {
                above(threshold - count + i)
                    - if i < 59 { above(threshold - count + i + 1) } else { 0.0 }
            })
            .collect();
        std::iter::once(1.0 - numbers.iter().sum::<f64>()).chain(numbers).collect()
    }

    /// `sum max(0, P - e^epsilon Q)` over the outputs of two independent groups.
    fn hockey_stick(p: [&[f64]; 2], q: [&[f64]; 2], epsilon: f64) -> f64 {
        let mut sum = 0.0;
        for (p0, q0) in p[0].iter().zip(q[0]) {
            for (p1, q1) in p[1].iter().zip(q[1]) {
                sum += (p0 * p1 - epsilon.exp() * q0 * q1).max(0.0);
            }
        }
        sum
    }

    /// Both directions, for units of one row or `r` that are alone in none, one or two of the two
    /// groups that they touch, against the claim; and the claim is not idle.
    #[test]
    fn neighbours_are_as_close_as_was_said() {
        let epsilon = 1.0;
        for (rows, sigma) in [(1u32, 5.0), (3, 15.0)] {
            let compared = Compared { statistic: Some(0), lone_count: rows };
            let laplace = AddedNoise::pure(u64::from(rows), 2, epsilon / 2.0).expect("valid");
            let distance = f64::from(rows) * 2f64.sqrt();
            let gaussian = AddedNoise::gaussian(sigma, distance).expect("valid");
            let of_gaussian =
                crate::split::gaussian_delta(std::slice::from_ref(&gaussian), epsilon)
                    .expect("valid");
            for (noise, of_noise) in [(laplace, 0.0), (gaussian, of_gaussian)] {
                for delta in [0.2, 1e-3, 1e-6] {
                    let threshold = Threshold::least(&noise, compared, 2, delta).expect("exists");
                    let mut worst = 0.0f64;
                    let counts = [None, Some(0), Some(1), Some(9), Some(15)];
                    for (first, second) in
                        counts.iter().flat_map(|&first| counts.map(|second| (first, second)))
                    {
                        for (more, less) in [(rows, rows), (rows, 0), (1, rows)] {
                            // A unit without a value that counts is in its group all the same.
                            let added = |count: Option<i64>, own: u32| {
                                Some(count.unwrap_or(0) + i64::from(own))
                            };
                            let with = [added(first, more), added(second, less)]
                                .map(|count| shown(&noise, threshold.least, count));
                            let without =
                                [first, second].map(|count| shown(&noise, threshold.least, count));
                            let (with, without) =
                                ([&with[0][..], &with[1]], [&without[0][..], &without[1]]);
                            worst = worst.max(hockey_stick(with, without, epsilon));
                            worst = worst.max(hockey_stick(without, with, epsilon));
                        }
                    }
                    assert!(
                        worst <= of_noise + threshold.delta + 1e-12,
                        "{noise:?} {delta}: {worst:e}"
                    );
                    assert!(
                        worst > 0.7 * threshold.delta,
                        "{noise:?} {delta}: {worst:e} is far below the claim"
                    );
                    // Power: to take a unit of several rows for one row would be found out.
                    let mistaken =
                        Threshold { least: threshold.least - i64::from(rows) + 1, ..threshold };
                    let alone = [Some(i64::from(rows)); 2]
                        .map(|count| shown(&noise, mistaken.least, count));
                    let nobody = [None; 2].map(|count| shown(&noise, mistaken.least, count));
                    let found =
                        hockey_stick([&alone[0], &alone[1]], [&nobody[0], &nobody[1]], epsilon);
                    assert!(
                        rows == 1 || delta == 0.2 || found > threshold.delta,
                        "{noise:?} {delta}: {found:e}"
                    );
                }
            }
        }
    }
}
