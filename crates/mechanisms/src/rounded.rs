//! Releases rounded to the integers.

use crate::{
    Certificate, Errors, Guarantee, Mechanism, MechanismError, MechanismKind, Notion, Releaser,
};
use reticent_events::Event;
use reticent_noise::randomness::{RandomBits, RandomnessError};
use reticent_numerics::{Bounds, Enclosure};

/// A mechanism whose releases are rounded to the nearest integer, halves away from zero.
///
/// # Guarantee
/// The inner one: rounding is post-processing, which pure and approximate privacy survive and
/// probabilistic privacy does not (erratum L4).
///
/// # Error
/// An integer answer's error `N` is the noise `X` rounded, so
/// `P[|N| <= t] = P[|X| <= floor(t) + 1/2]` exactly, and `|N|` differs from `|X|` by at most a
/// half.
#[derive(Debug)]
pub struct RoundedToIntegers {
    inner: Box<dyn Mechanism>,
}

impl RoundedToIntegers {
    /// Rounds the releases of a mechanism.
    ///
    /// # Errors
    /// If its guarantee is probabilistic, or it releases no numbers.
    pub fn new(inner: Box<dyn Mechanism>) -> Result<Self, MechanismError> {
        if inner.guarantee().notion == Notion::Probabilistic {
            return Err(MechanismError::Refused(
                "rounding does not keep a probabilistic guarantee; ask for the approximate notion, \
                 which it keeps"
                    .into(),
            ));
        }
        if inner.usefulness(0.0).is_none() {
            return Err(MechanismError::Refused(format!(
                "the {} mechanism adds no noise that could be rounded",
                inner.name()
            )));
        }
        Ok(RoundedToIntegers { inner })
    }
}

impl Mechanism for RoundedToIntegers {
    fn kind(&self) -> MechanismKind {
        self.inner.kind()
    }

    fn method(&self) -> &'static str {
        self.inner.method()
    }

    fn scale(&self) -> f64 {
        self.inner.scale()
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        let mut parameters = self.inner.parameters();
        parameters.push(("rounded to multiples of", 1.0));
        parameters
    }

    fn guarantee(&self) -> Guarantee {
        self.inner.guarantee()
    }

    /// Rounding can only lower what is lost: the lower bounds are those of an output that says
    /// nothing.
    fn certificate(&self) -> Certificate {
        match self.inner.certificate() {
            Certificate::Epsilon(bounds) => Certificate::Epsilon(Bounds::new(0.0, bounds.upper())),
            Certificate::Delta(bounds) => Certificate::Delta(Bounds::new(0.0, bounds.upper())),
        }
    }

    fn delta(&self, epsilon: f64) -> Result<Bounds, MechanismError> {
        self.inner.delta(epsilon).map(|bounds| Bounds::new(0.0, bounds.upper()))
    }

    fn event(&self) -> Event {
        self.inner.event()
    }

    /// Within a half of the inner figures. Shannon's entropy of `N` is at least the differential
    /// entropy of `X`, whose fraction lies in a unit interval, and at most that of a normal
    /// variable with the variance of `N` and another 1/12.
    fn errors(&self) -> Option<Errors> {
        let errors = self.inner.errors()?;
        let half = Bounds::exact(0.5);
        let near =
            |bounds: Bounds| Bounds::new((bounds - half).lower().max(0.0), (bounds + half).upper());
        let root_mean_square = near(errors.root_mean_square);
        let variance =
            Bounds::exact(root_mean_square.upper()).square() + Bounds::ONE / Bounds::exact(12.0);
        let normal = (Bounds::ONE.pi() * Bounds::ONE.exp() * variance)
            .times_power_of_two(1)
            .ln()
            .times_power_of_two(-1);
        Some(Errors {
            mean_absolute: near(errors.mean_absolute),
            root_mean_square,
            entropy: Bounds::new(errors.entropy.lower().max(0.0), normal.upper().max(0.0)),
            quantile_95: near(errors.quantile_95),
        })
    }

    fn usefulness(&self, t: f64) -> Option<Bounds> {
        if t < 0.0 {
            return Some(Bounds::ZERO);
        }
        self.inner.usefulness(t.floor() + 0.5)
    }

    fn releaser(&self) -> Result<Box<dyn Releaser>, MechanismError> {
        Ok(Box::new(ReleaseRounded { inner: self.inner.releaser()? }))
    }

    fn vector_releaser(&self, coordinates: u32) -> Result<Box<dyn Releaser>, MechanismError> {
        Ok(Box::new(ReleaseRounded { inner: self.inner.vector_releaser(coordinates)? }))
    }
}

#[derive(Debug)]
struct ReleaseRounded {
    inner: Box<dyn Releaser>,
}

impl Releaser for ReleaseRounded {
    fn release(&self, value: f64, random: &mut dyn RandomBits) -> Result<f64, RandomnessError> {
        Ok(self.inner.release(value, random)?.round())
    }

    fn accepts(&self, value: f64) -> bool {
        value.fract() == 0.0 && self.inner.accepts(value)
    }

    fn spacing(&self) -> f64 {
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Delta, Distance, Epsilon, GeneralizedGaussian, GeneralizedGaussianMethod, Laplace,
        Neighbours, Order,
    };
    use crate::{Sensitivity, discrete_laplace::DiscreteLaplace};
    use reticent_noise::randomness::SeededRandom;

    fn rounded(epsilon: f64) -> RoundedToIntegers {
        let one = Sensitivity::scalar(1.0, Neighbours::AddRemove).expect("valid").of_integers();
        let laplace =
            Laplace::calibrate(&one, Epsilon::new(epsilon).expect("valid")).expect("valid");
        RoundedToIntegers::new(Box::new(laplace)).expect("pure")
    }

    #[test]
    fn errors_enclose_those_of_the_integers() {
        for epsilon in [0.1f64, 1.0, 3.0] {
            let (errors, q) = (rounded(epsilon).errors().expect("additive"), (-epsilon).exp());
            assert!(errors.mean_absolute.contains(q.sqrt() / (1.0 - q)), "{epsilon}: {errors:?}");
            let square = q.sqrt() * (1.0 + q) / ((1.0 - q) * (1.0 - q));
            assert!(errors.root_mean_square.contains(square.sqrt()), "{epsilon}: {errors:?}");
            let mass = |n: i32| match n {
                0 => 1.0 - q.sqrt(),
                n => 0.5 * (q.powf(f64::from(n) - 0.5) - q.powf(f64::from(n) + 0.5)),
            };
            let part = |p: f64| if p > 0.0 { -p * p.ln() } else { 0.0 };
            let entropy: f64 = part(mass(0)) + 2.0 * (1..2000).map(|n| part(mass(n))).sum::<f64>();
            assert!(errors.entropy.contains(entropy), "{epsilon}: {errors:?} {entropy}");
            let within = rounded(epsilon).usefulness(2.9).expect("additive");
            assert!((within.estimate() - (1.0 - q.powf(2.5))).abs() < 1e-15, "{within:?}");
            assert_eq!(rounded(epsilon).usefulness(-0.1), Some(Bounds::ZERO));
        }
    }

    #[test]
    fn releases_are_integers_with_the_inner_guarantee() {
        let mechanism = rounded(0.7);
        let (releaser, mut random) =
            (mechanism.releaser().expect("a sampler"), SeededRandom::new(1));
        assert!(releaser.accepts(7.0) && !releaser.accepts(7.5) && !releaser.accepts(f64::NAN));
        for _ in 0..100 {
            assert_eq!(releaser.release(7.0, &mut random).expect("bits").fract(), 0.0);
        }
        assert_eq!(mechanism.guarantee().epsilon, 0.7);
        assert!(
            matches!(mechanism.certificate(), Certificate::Epsilon(bounds) if bounds.upper() <= 0.7)
        );
    }

    #[test]
    fn guarantees_and_mechanisms_that_do_not_survive_are_refused() {
        let (one, epsilon) =
            (Distance::new(1.0).expect("valid"), Epsilon::new(1.0).expect("valid"));
        let (order, delta) = (Order::new(3.0).expect("valid"), Delta::new(1e-6).expect("valid"));
        let method = GeneralizedGaussianMethod::Probabilistic;
        let inner = GeneralizedGaussian::calibrate(
            order,
            method,
            &Sensitivity::from(&[one][..]),
            (epsilon, delta),
        )
        .expect("valid");
        assert!(RoundedToIntegers::new(Box::new(inner)).is_err());
        let clamped = DiscreteLaplace::calibrate(&Sensitivity::whole(1), epsilon)
            .and_then(|inner| inner.clamped(0, 9))
            .expect("valid");
        assert!(RoundedToIntegers::new(Box::new(clamped)).is_err());
    }
}
