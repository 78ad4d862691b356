//! The truncated Laplace mechanism: Laplace noise that ends, with a small delta.

use crate::sensitivity_lattice::SensitivityLattice;
use crate::sharp::{Formula, sharp};
use crate::{
    Budget, Certificate, Epsilon, Errors, Guarantee, Mechanism, MechanismError, MechanismKind,
    Notion, Releaser, Scale, Sensitivity,
};
use reticent_events::Event;
use reticent_noise::error::{quantile, usefulness};
use reticent_numerics::rounding::div_up;
use reticent_numerics::{Bounds, Enclosure, OutOfRange, Wide};
use std::cmp::Ordering;

/// Adds Laplace noise of scale `b`, given that it is at most `A`, to a number.
///
/// # Distribution
/// `f(x) = exp(-|x|/b) / (2 b (1 - exp(-A/b)))` for `|x| <= A`, and zero beyond.
///
/// # Guarantee
/// `(epsilon, delta)`-differential privacy for a scalar of sensitivity `D` with `b = D/epsilon` and
/// `A = b ln(1 + (e^epsilon - 1)/(2 delta))`, for `delta` up to one half, tight. Noise of at most
/// `A` is in itself of use: the answer is within `A`, always.
///
/// # Profile
/// Let `u = D/b`, `a = A/b`, and `T(x)` the mass of `exp(-|x|)` on `[-a, a]` beyond `x`, so that
/// `T(-a) = 2 (1 - e^-a)` is all of it. Over the shift `D` the loss is infinite on the last piece
/// of length `u`, and elsewhere `u` beyond the answer and `u + 2x` at `x` from `-u/2` to 0. Hence
/// the loss exceeds `epsilon' <= u` from `t = (epsilon' - u)/2` on, or from `a - u` on if that is
/// less, and
///
/// `delta(epsilon') = [T(min(t, a - u)) - e^epsilon' T(t + u)]/T(-a)`, and `T(a - u)/T(-a)` for
/// `epsilon' >= u`.
///
/// For symmetric noise that does not increase away from zero a smaller shift loses less
/// ([`crate::Tabulated`] has the argument). The figures of the paper are the case `epsilon' = u`.
///
/// # Numerics
/// The answer is put on a lattice of which the sensitivity is a multiple, so nothing is lost to
/// that. `b` is rounded up, and `a` upwards until the profile's upper bound is at most `delta`.
///
/// # Example
/// ```
/// use reticent_mechanisms::{Delta, Epsilon, Mechanism, Neighbours, Sensitivity, TruncatedLaplace};
/// let count = Sensitivity::scalar(1.0, Neighbours::AddRemove)?;
/// let mechanism = TruncatedLaplace::calibrate(&count, (Epsilon::new(1.0)?, Delta::new(1e-6)?))?;
/// assert!((mechanism.support_in_answers() - 13.664).abs() < 1e-3);
/// assert!(mechanism.usefulness(13.7).is_some_and(|p| p.lower() == 1.0));
/// assert!(mechanism.delta(1.0)?.upper() <= 1e-6);
/// # Ok::<(), reticent_mechanisms::MechanismError>(())
/// ```
///
/// # References
/// Geng, Ding, Guo, Kumar, *Tight analysis of privacy and utility tradeoff in approximate
/// differential privacy*, 2020.
#[derive(Clone, Debug, PartialEq)]
pub struct TruncatedLaplace {
    sensitivity: f64,
    scale: f64,
    noise: reticent_noise::TruncatedLaplace,
    guarantee: Guarantee,
    method: &'static str,
}

/// The largest noise there is, with its unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Support {
    /// `A/b`, a number of noise scales.
    InScales(f64),
    /// `A`, in the unit of the answer, which is also that of the scale and of the sensitivity.
    InAnswers(f64),
}

impl Support {
    fn in_scales(self, scale: f64) -> f64 {
        match self {
            Support::InScales(support) => support,
            Support::InAnswers(support) => support / scale,
        }
    }
}

impl TruncatedLaplace {
    /// The noise of the paper for a budget.
    ///
    /// # Errors
    /// If epsilon is not from 1e-9 to 700 or delta above one half, if more than one coordinate of
    /// the answer can move, or if the noise leaves the accepted range.
    pub fn calibrate(
        sensitivity: &Sensitivity,
        budget: impl Into<Budget>,
    ) -> Result<Self, MechanismError> {
        let (epsilon, delta) = budget.into().approximate(MechanismKind::TruncatedLaplace)?;
        if epsilon < 1e-9 {
            let accepted = "a number from 1e-9 to 700";
            return Err(OutOfRange::new("epsilon", epsilon, accepted).into());
        }
        if delta > 0.5 {
            let accepted = "a number from 1e-300 to 0.5";
            return Err(OutOfRange::new("delta", delta, accepted).into());
        }
        let distance = sensitivity.of_one_number("truncated Laplace noise")?;
        let scale = Scale::new(div_up(distance, epsilon))?.get();
        let mut support = paper_support(epsilon, delta).bounds().upper();
        // An ulp more takes about an ulp off delta, and the bounds are a few ulps wide.
        for step in 0..60 {
            let noise = reticent_noise::TruncatedLaplace::new(support)?;
            let certified = profile(distance, scale, support, epsilon);
            if certified.upper() <= delta {
                let guarantee = Guarantee { notion: Notion::Approximate, epsilon, delta };
                return Ok(TruncatedLaplace {
                    sensitivity: distance,
                    scale,
                    noise,
                    guarantee,
                    method: "exact",
                });
            }
            support += support * f64::EPSILON * f64::from(step).exp2();
        }
        Err(MechanismError::NotCertified {
            what: "truncated Laplace noise",
            reason: "no support was proved to suffice".into(),
        })
    }

    /// Noise of a given scale and support, guaranteeing the least `delta` that is proved at
    /// `epsilon`.
    ///
    /// # Errors
    /// If the support is not from 1e-12 to 1e6 scales, or more than one coordinate of the answer
    /// can move.
    pub fn with_support(
        sensitivity: &Sensitivity,
        scale: Scale,
        support: Support,
        epsilon: Epsilon,
    ) -> Result<Self, MechanismError> {
        let (distance, scale, epsilon) =
            (sensitivity.of_one_number("truncated Laplace noise")?, scale.get(), epsilon.get());
        let noise = reticent_noise::TruncatedLaplace::new(support.in_scales(scale))?;
        let delta = profile(distance, scale, noise.support_in_scales(), epsilon).upper();
        let guarantee = Guarantee { notion: Notion::Approximate, epsilon, delta };
        Ok(TruncatedLaplace { sensitivity: distance, scale, noise, guarantee, method: "given" })
    }

    /// `A/b`, which the noise, the certificate and the event are made of.
    pub fn support_in_scales(&self) -> f64 {
        self.noise.support_in_scales()
    }

    /// `A`, the largest noise there is, in units of the answer; rounded.
    pub fn support_in_answers(&self) -> f64 {
        self.noise.support_in_scales() * self.scale
    }

    fn error(&self, figure: Figure) -> Bounds {
        sharp(&ErrorFormula { figure, support: self.noise.support_in_scales(), scale: self.scale })
    }
}

/// `ln(1 + (e^epsilon - 1)/(2 delta))`, for large losses as
/// `epsilon + ln(1 - (1 - 2 delta) e^-epsilon) - ln(2 delta)`, which does not overflow.
fn paper_support(epsilon: f64, delta: f64) -> Wide {
    let (loss, twice_delta) = (Wide::from(epsilon), Wide::from(delta).times_power_of_two(1));
    if epsilon < 1.0 {
        (loss.exp_m1() / twice_delta).ln_1p()
    } else {
        loss + ((twice_delta - Wide::ONE) * (-loss).exp()).ln_1p() - twice_delta.ln()
    }
}

/// The formula at [`TruncatedLaplace`].
struct Profile {
    distance: f64,
    scale: f64,
    support: f64,
    epsilon: f64,
}

impl Profile {
    /// `T(x)`.
    fn beyond<E: Enclosure>(&self, x: E) -> E {
        let support = x.exactly(self.support);
        let whole = (-x.exactly(-self.support).exp_m1()).times_power_of_two(1);
        // T(x) = e^-a (e^(a-x) - 1) for x from 0 to a, and the whole less T(-x) below. The part
        // below is taken as (1 - e^-a) + (1 - e^-|x|), a sum of like signs.
        let right = |x: E| (-x.clone()).exp() * -(-(support.clone() - x)).exp_m1();
        let left = |x: E| -x.exactly(-self.support).exp_m1() - x.exp_m1();
        let (below, zero) = ((-support.clone()), x.exactly(0.0));
        let inside = match x.compare(&zero) {
            Some(Ordering::Less) => left(x.clone()),
            Some(_) => right(x.clone()),
            None => left(x.clone()).hull(right(x.clone())),
        };
        match (x.compare(&below), x.compare(&support)) {
            (Some(Ordering::Less | Ordering::Equal), _) => whole,
            (_, Some(Ordering::Greater | Ordering::Equal)) => zero,
            (Some(_), Some(_)) => inside,
            // At either end the law is continuous.
            (None, _) => inside.hull(whole),
            (_, None) => inside.hull(zero),
        }
    }
}

impl Formula for Profile {
    fn at<E: Enclosure>(&self, like: &E) -> E {
        let (u, epsilon) =
            (like.exactly(self.distance) / like.exactly(self.scale), like.exactly(self.epsilon));
        let end = like.exactly(self.support) - u.clone();
        let whole = self.beyond(like.exactly(-self.support));
        let cut_off = || self.beyond(end.clone()) / whole.clone();
        let turning = || {
            let t = (epsilon.clone() - u.clone()).times_power_of_two(-1);
            let start = -((-t.clone()).max(-end.clone()));
            (self.beyond(start) - epsilon.clone().exp() * self.beyond(t + u.clone()))
                / whole.clone()
        };
        match epsilon.compare(&u) {
            Some(Ordering::Less) => turning(),
            Some(_) => cut_off(),
            None => cut_off().hull(turning()),
        }
    }
}

fn profile(distance: f64, scale: f64, support: f64, epsilon: f64) -> Bounds {
    sharp(&Profile { distance, scale, support, epsilon }).clamp(0.0, 1.0)
}

#[derive(Clone, Copy)]
enum Figure {
    MeanAbsolute,
    MeanSquare,
    Entropy,
}

/// With `E = e^-a`: `E|X| = b [1 - a E/(1 - E)]`, `E X^2 = b^2 [2 - (a^2 + 2a) E/(1 - E)]`, entropy
/// `ln(2 b (1 - E)) + E|X|/b`.
struct ErrorFormula {
    figure: Figure,
    support: f64,
    scale: f64,
}

impl Formula for ErrorFormula {
    fn at<E: Enclosure>(&self, like: &E) -> E {
        let (a, b, one) = (like.exactly(self.support), like.exactly(self.scale), like.exactly(1.0));
        let rest = -(-a.clone()).exp_m1();
        let share = (-a.clone()).exp() / rest.clone();
        let mean = one - a.clone() * share.clone();
        match self.figure {
            Figure::MeanAbsolute => mean * b,
            Figure::MeanSquare => {
                let two = like.exactly(2.0);
                (two.clone() - (a.clone() * a.clone() + two * a) * share) * b.clone() * b
            }
            Figure::Entropy => (b * rest).times_power_of_two(1).ln() + mean,
        }
    }
}

impl Mechanism for TruncatedLaplace {
    fn kind(&self) -> MechanismKind {
        MechanismKind::TruncatedLaplace
    }

    fn method(&self) -> &'static str {
        self.method
    }

    fn scale(&self) -> f64 {
        self.scale
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("support", self.support_in_answers())]
    }

    fn guarantee(&self) -> Guarantee {
        self.guarantee
    }

    fn certificate(&self) -> Certificate {
        Certificate::Delta(profile(
            self.sensitivity,
            self.scale,
            self.noise.support_in_scales(),
            self.guarantee.epsilon,
        ))
    }

    fn delta(&self, epsilon: f64) -> Result<Bounds, MechanismError> {
        let epsilon = Epsilon::new(epsilon)?.get();
        Ok(profile(self.sensitivity, self.scale, self.noise.support_in_scales(), epsilon))
    }

    fn event(&self) -> Event {
        Event::TruncatedLaplace {
            scale: self.scale,
            support_in_scales: self.noise.support_in_scales(),
            sensitivity: self.sensitivity,
        }
    }

    fn errors(&self) -> Option<Errors> {
        Some(Errors {
            mean_absolute: self.error(Figure::MeanAbsolute),
            root_mean_square: self.error(Figure::MeanSquare).sqrt(),
            entropy: self.error(Figure::Entropy),
            quantile_95: quantile(&self.noise, self.scale, 0.95).ok()?,
        })
    }

    fn usefulness(&self, t: f64) -> Option<Bounds> {
        (!t.is_nan()).then(|| usefulness(&self.noise, self.scale, t))
    }

    fn releaser(&self) -> Result<Box<dyn Releaser>, MechanismError> {
        Ok(Box::new(SensitivityLattice::new(self.noise, self.scale, self.sensitivity)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Delta;
    use crate::Neighbours::AddRemove;
    use reticent_noise::privacy::violation;
    use reticent_noise::randomness::SeededRandom;

    fn scalar(distance: f64) -> Sensitivity {
        Sensitivity::scalar(distance, AddRemove).expect("valid")
    }

    fn calibrated(distance: f64, epsilon: f64, delta: f64) -> TruncatedLaplace {
        let (epsilon, delta) =
            (Epsilon::new(epsilon).expect("valid"), Delta::new(delta).expect("valid"));
        TruncatedLaplace::calibrate(&scalar(distance), (epsilon, delta)).expect("valid")
    }

    #[test]
    fn the_support_is_that_of_the_paper_and_delta_is_met_tightly() {
        for distance in [1.0, 0.3, 7e20] {
            for epsilon in [1e-9, 1e-3, 0.1, 1.0, 4.0, 30.0, 700.0] {
                for delta in [1e-300, 1e-20, 1e-6, 1e-3, 0.1, 0.5] {
                    let mechanism = calibrated(distance, epsilon, delta);
                    let paper = distance / epsilon * (f64::exp_m1(epsilon) / (2.0 * delta)).ln_1p();
                    let overflow = !paper.is_finite();
                    assert!(
                        overflow || (mechanism.support_in_answers() / paper - 1.0).abs() < 1e-13,
                        "{epsilon} {delta}"
                    );
                    let Certificate::Delta(certified) = mechanism.certificate() else {
                        unreachable!("approximate")
                    };
                    assert!(certified.upper() <= delta, "{epsilon} {delta}: {certified:?}");
                    assert!(
                        certified.lower() > delta * (1.0 - 1e-9),
                        "{distance} {epsilon} {delta}: {certified:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_profile_agrees_with_the_violation_of_the_density() {
        for (epsilon, delta) in [(0.3, 0.01), (1.0, 1e-4), (2.5, 0.2), (0.7, 0.5)] {
            let mechanism = calibrated(1.0, epsilon, delta);
            for share in [0.0, 0.2, 0.6, 0.9, 1.5] {
                let direct =
                    violation(&mechanism.noise, mechanism.scale, 1.0, share * epsilon).delta;
                let formula = mechanism.delta(share * epsilon).expect("valid");
                assert!(direct.relative_width() < 1e-5, "{epsilon} {delta} {share}: {direct:?}");
                assert!(
                    direct.lower() <= formula.upper() && formula.lower() <= direct.upper(),
                    "{direct:?} {formula:?}"
                );
                assert!(formula.relative_width() < 1e-12);
            }
        }
        // A support below half a sensitivity: two neighbours never give the same answer.
        let narrow = TruncatedLaplace::with_support(
            &scalar(1.0),
            Scale::new(1.0).expect("valid"),
            Support::InAnswers(0.49),
            Epsilon::new(1.0).expect("valid"),
        );
        assert_eq!(narrow.map(|m| m.guarantee.delta), Ok(1.0));
    }

    #[test]
    fn a_narrow_support_is_judged_by_where_the_noise_ends() {
        // D = 1, A = 0.8: neighbours share 0.6 of the line.
        let mechanism = TruncatedLaplace::with_support(
            &scalar(1.0),
            Scale::new(2.0).expect("valid"),
            Support::InAnswers(0.8),
            Epsilon::new(0.2).expect("valid"),
        );
        let mechanism = mechanism.expect("valid");
        for epsilon in [0.0f64, 0.1, 0.3, 0.5, 0.9] {
            // The midpoint rule on the densities.
            let (cells, density) = (400_000, |x: f64| {
                if x.abs() <= 0.8 {
                    (-x.abs() / 2.0).exp() / (4.0 * -(-0.4f64).exp_m1())
                } else {
                    0.0
                }
            });
            let width = 1.6 / f64::from(cells);
            let direct: f64 = (0..cells)
                .map(|i| -0.8 + (f64::from(i) + 0.5) * width)
                .map(|x| (density(x) - epsilon.exp() * density(x + 1.0)).max(0.0) * width)
                .sum();
            let formula = mechanism.delta(epsilon).expect("valid");
            assert!((formula.estimate() - direct).abs() < 1e-5, "{epsilon}: {formula:?} {direct}");
        }
    }

    #[test]
    fn errors_are_those_of_the_integrals() {
        for (epsilon, delta) in [(0.01, 0.4), (0.5, 0.01), (3.0, 1e-9)] {
            let mechanism = calibrated(1.0, epsilon, delta);
            let (b, a) = (mechanism.scale, mechanism.support_in_answers());
            let cells = 400_000;
            let width = a / f64::from(cells);
            let density = |x: f64| (-x / b).exp() / (2.0 * b * -(-a / b).exp_m1());
            let expect = |f: &dyn Fn(f64) -> f64| {
                (0..cells)
                    .map(|i| (f64::from(i) + 0.5) * width)
                    .map(|x| 2.0 * f(x) * density(x) * width)
                    .sum::<f64>()
            };
            let errors = mechanism.errors().expect("additive");
            let close = |bounds: Bounds, truth: f64| {
                (bounds.estimate() / truth - 1.0).abs() < 1e-8 && bounds.relative_width() < 1e-13
            };
            assert!(close(errors.mean_absolute, expect(&|x| x)), "{epsilon} {delta} {errors:?}");
            assert!(close(errors.root_mean_square, expect(&|x| x * x).sqrt()), "{epsilon} {delta}");
            assert!(close(errors.entropy, expect(&|x| -density(x).ln())), "{epsilon} {delta}");
            let t = errors.quantile_95.upper();
            assert!((mechanism.usefulness(t).expect("additive").estimate() - 0.95).abs() < 1e-12);
            assert_eq!(mechanism.usefulness(a * 1.001), Some(Bounds::ONE));
            assert_eq!(
                (mechanism.usefulness(-1.0), mechanism.usefulness(f64::NAN)),
                (Some(Bounds::ZERO), None)
            );
        }
    }

    #[test]
    fn releases_stay_within_the_support() {
        let mechanism = calibrated(0.1, 0.5, 1e-3);
        let releaser = mechanism.releaser().expect("a sampler");
        let mut random = SeededRandom::new(1);
        for _ in 0..20_000 {
            let released = releaser.release(5.0, &mut random).expect("seeded");
            assert!((released - 5.0).abs() <= mechanism.support_in_answers() * (1.0 + 1e-12));
        }
        assert!(!releaser.accepts(f64::NAN) && releaser.spacing() < 1e-9);
    }

    #[test]
    fn what_cannot_be_guaranteed_is_refused() {
        let (epsilon, delta) =
            (Epsilon::new(1.0).expect("valid"), Delta::new(1e-6).expect("valid"));
        let vector = Sensitivity::l2_bound(1.0, AddRemove).expect("valid");
        let refused = |result: Result<TruncatedLaplace, MechanismError>, word: &str| {
            assert!(
                result.as_ref().is_err_and(|error| error.to_string().contains(word)),
                "{word}: {result:?}"
            );
        };
        refused(TruncatedLaplace::calibrate(&vector, (epsilon, delta)), "one number");
        refused(
            TruncatedLaplace::calibrate(&scalar(1.0), (Epsilon::new(0.0).expect("valid"), delta)),
            "epsilon",
        );
        refused(
            TruncatedLaplace::calibrate(&scalar(1.0), (epsilon, Delta::new(0.6).expect("valid"))),
            "delta",
        );
        for support in [f64::NAN, 0.0, -1.0, f64::INFINITY] {
            refused(
                TruncatedLaplace::with_support(
                    &scalar(1.0),
                    Scale::new(1.0).expect("valid"),
                    Support::InScales(support),
                    epsilon,
                ),
                "support",
            );
        }
    }
}
