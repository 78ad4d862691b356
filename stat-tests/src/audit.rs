//! Whether samples contradict a claim of `(epsilon, delta)`-differential privacy.
//!
//! The claim says `P_1[E] <= e^epsilon P_0[E] + delta` for every event `E`, and the same with the
//! inputs swapped. Half of the samples are used to choose an event among the intervals between
//! sample quantiles, open ones included; the other half are new to it and give confidence bounds on
//! both probabilities. If the lower bound on the left exceeds the upper one on the right, the claim
//! is false, or an event of probability at most `alpha` has happened.

use crate::binomial::{lower_bound, upper_bound};

/// How many quantiles of the pooled samples are tried as ends of the event.
const QUANTILES: usize = 160;

/// A claim that a release is `(epsilon, delta)`-differentially private.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claim {
    /// `epsilon`.
    pub epsilon: f64,
    /// `delta`.
    pub delta: f64,
}

/// Whether the outputs for two neighbouring inputs contradict the claim. A true claim is
/// contradicted with probability at most `alpha`.
pub fn contradicts(outputs: [&[i128]; 2], claim: Claim, alpha: f64) -> bool {
    // Two directions, two bounds each.
    [[outputs[0], outputs[1]], [outputs[1], outputs[0]]].into_iter().any(|[rare, frequent]| {
        let (choose_rare, judge_rare) = rare.split_at(rare.len() / 2);
        let (choose_frequent, judge_frequent) = frequent.split_at(frequent.len() / 2);
        let event = most_telling_interval(choose_rare, choose_frequent, claim);
        let hits = |sample: &[i128]| {
            sample.iter().filter(|&&y| event.0 <= y && y < event.1).count() as u64
        };
        let least = lower_bound(hits(judge_frequent), judge_frequent.len() as u64, alpha / 4.0);
        let most = upper_bound(hits(judge_rare), judge_rare.len() as u64, alpha / 4.0);
        least > claim.epsilon.exp() * most + claim.delta
    })
}

/// The half-open interval with the largest excess over the claim, in standard errors.
fn most_telling_interval(rare: &[i128], frequent: &[i128], claim: Claim) -> (i128, i128) {
    let mut sorted = [rare, frequent].map(<[i128]>::to_vec);
    sorted.iter_mut().for_each(|sample| sample.sort_unstable());
    let mut ends: Vec<i128> = sorted
        .iter()
        .flat_map(|sample| (0..QUANTILES).map(|i| sample[i * sample.len() / QUANTILES]))
        .chain([i128::MIN, i128::MAX])
        .collect();
    ends.sort_unstable();
    ends.dedup();
    let below = |sample: &[i128]| -> Vec<f64> {
        ends.iter()
            .map(|&end| sample.partition_point(|&y| y < end) as f64 / sample.len() as f64)
            .collect()
    };
    let [rare_below, frequent_below] = [below(&sorted[0]), below(&sorted[1])];
    let factor = claim.epsilon.exp();
    let mut best = (f64::NEG_INFINITY, (i128::MIN, i128::MAX));
    for i in 0..ends.len() {
        for j in i + 1..ends.len() {
            let (p, q) = (frequent_below[j] - frequent_below[i], rare_below[j] - rare_below[i]);
            let deviation = (p + factor * factor * q + 1e-4).sqrt();
            let excess = (p - factor * q - claim.delta) / deviation;
            if excess > best.0 {
                best = (excess, (ends[i], ends[j]));
            }
        }
    }
    best.1
}
