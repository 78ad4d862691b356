//! All checks of a release in one: the distribution, the support, the precision.

use crate::bins::Bins;
use crate::chi_square::goodness_of_fit;
use crate::membership::is_on_lattice;
use crate::oracle::UpperTail;
use crate::precision;

/// What a release of `input + noise` claims.
pub struct Claimed<'a> {
    /// The exponent of the lattice that outputs lie on; at most 0, so that the inputs 0 and 1 lie
    /// on it.
    pub lattice_exponent: i32,
    /// The distribution of the noise, in lattice steps.
    pub noise: &'a dyn UpperTail,
}

impl std::fmt::Debug for Claimed<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Claimed")
            .field("lattice_exponent", &self.lattice_exponent)
            .finish_non_exhaustive()
    }
}

/// A check that failed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Finding {
    /// The noise does not have the claimed distribution.
    Distribution {
        /// The p-value.
        p: f64,
    },
    /// Some outputs are no lattice points: which ones are possible depends on the input.
    Support {
        /// The share of such outputs.
        off_lattice: f64,
    },
    /// The low bits of the outputs are not uniform, though the lattice is so fine that they must
    /// be.
    LowBits {
        /// The p-value.
        p: f64,
    },
    /// The weight of the lowest set bit depends on the input.
    Precision {
        /// The p-value.
        p: f64,
    },
}

impl Finding {
    /// Whether the distribution itself is wrong, which is not what the attacks on floating-point
    /// noise are about.
    pub fn is_of_distribution(&self) -> bool {
        matches!(self, Finding::Distribution { .. })
    }
}

/// The inputs that releases are made of.
pub const INPUTS: [f64; 2] = [0.0, 1.0];

/// Low bits that are examined.
const LOW_BITS: u32 = 4;

/// Below this probability of a single lattice point the lattice counts as fine: low bits are then
/// uniform, whatever the input, but for a deviation of this order, which a few million samples do
/// not show.
const FINE: f64 = 1e-8;

/// How many of the checks involve chance: two distributions, two of low bits, one of precision.
pub const RANDOM_CHECKS: u32 = 5;

/// Checks `releases` outputs for each of the two [`INPUTS`], each of the [`RANDOM_CHECKS`] at level
/// `alpha`: a release that is as claimed has a finding with probability at most `5 alpha`.
///
/// On a coarse lattice low bits and precision are not examined: there they are a part of the noisy
/// answer, and what they may tell is bounded by the guarantee of the noise.
pub fn battery(
    claimed: &Claimed,
    releases: usize,
    alpha: f64,
    mut release: impl FnMut(f64) -> f64,
) -> Vec<Finding> {
    let spacing = 2f64.powi(claimed.lattice_exponent);
    let steps = |output: f64| (output / spacing + 0.5).floor() as i128;
    let mut findings = Vec::new();
    let outputs = INPUTS.map(|input| {
        let pilot: Vec<i128> = (0..20_000).map(|_| steps(release(input)) - steps(input)).collect();
        let bins = Bins::from_pilot(pilot, 20);
        let outputs: Vec<f64> = (0..releases).map(|_| release(input)).collect();
        let counts = bins.histogram(outputs.iter().map(|&output| steps(output) - steps(input)));
        let p = goodness_of_fit(&counts, &bins.probabilities(claimed.noise));
        if p < alpha {
            findings.push(Finding::Distribution { p });
        }
        let off = outputs
            .iter()
            .filter(|&&output| !is_on_lattice(output, claimed.lattice_exponent))
            .count();
        if off > 0 {
            findings.push(Finding::Support { off_lattice: off as f64 / releases as f64 });
        }
        outputs
    });
    if claimed.noise.probability(0).to_f64() < FINE {
        for outputs in &outputs {
            let p = low_bits_p_value(outputs.iter().map(|&output| steps(output)));
            if p < alpha {
                findings.push(Finding::LowBits { p });
            }
        }
        let p = precision::p_value([&outputs[0], &outputs[1]]);
        if p < alpha {
            findings.push(Finding::Precision { p });
        }
    }
    findings
}

/// The p-value of "the low bits are uniform".
pub fn low_bits_p_value(steps: impl Iterator<Item = i128>) -> f64 {
    let mut counts = [0; 1 << LOW_BITS];
    for step in steps {
        counts[step.rem_euclid(1 << LOW_BITS) as usize] += 1;
    }
    goodness_of_fit(&counts, &[1.0 / f64::from(1 << LOW_BITS); 1 << LOW_BITS])
}
