//! By how much an error exceeds a threshold on average, in closed form where there is one.

use reticent_noise::random_scale::InverseScale;
use reticent_noise::{
    Gaussian, GaussianMixture, GeneralizedGaussian, Laplace, Noise, RandomScaleLaplace, Staircase,
    TruncatedLaplace,
};
use reticent_numerics::gamma::gamma;
use reticent_numerics::incomplete_gamma::gamma_q;
use reticent_numerics::normal::{normal_density, normal_sf};
use reticent_numerics::quadrature::{Integrand, Options, integrate};
use reticent_numerics::{Bounds, Enclosure, Wide};

/// Noise that bounds `E(|X| - x)_+ = integral of P[|X| > t] from x to infinity`, for `x >= 0`: the
/// expectation of every hinge, and so, by linear combination, of every piecewise linear loss.
/// Infinite where `E|X|` is.
pub trait Excess: Noise {
    /// `E(|X| - x)_+`.
    fn excess(&self, x: Bounds) -> Bounds;
}

/// `e^-x`.
impl Excess for Laplace {
    fn excess(&self, x: Bounds) -> Bounds {
        (-x).exp()
    }
}

/// `[e^-x - e^-a (1 + a - x)]/(1 - e^-a)` up to the end `a`, and zero beyond.
impl Excess for TruncatedLaplace {
    fn excess(&self, x: Bounds) -> Bounds {
        let (support, x) = (Wide::from(self.support_in_scales()), Wide::from_bounds(x));
        let end = (-support).exp();
        let rest = match x.compare(&support) {
            Some(std::cmp::Ordering::Greater) => return Bounds::ZERO,
            _ => support - x,
        };
        // e^-a (e^r - 1 - r) for a short rest r would cancel; a Wide has the digits to spare.
        let inside = ((-x).exp() - end * (Wide::ONE + rest)) / -(-support).exp_m1();
        Bounds::new(inside.bounds().lower().max(0.0), inside.bounds().upper().max(0.0))
    }
}

/// `2 (phi(x) - x Q(x))`. The difference loses `x^2` units in the last place, against terms of
/// which nothing is left by `x = 40`.
impl Excess for Gaussian {
    fn excess(&self, x: Bounds) -> Bounds {
        ((normal_density(x) - x * normal_sf(x)) * Bounds::exact(2.0)).clamp(0.0, f64::INFINITY)
    }
}

/// The same for each standard deviation, on average.
impl Excess for GaussianMixture {
    fn excess(&self, x: Bounds) -> Bounds {
        self.weighted(&x, |sigma| sigma * Gaussian.excess(x / sigma)) / self.mass(&x)
    }
}

/// `Gamma(2/p)/Gamma(1/p) Q(2/p, x^p) - x Q(1/p, x^p)`.
impl Excess for GeneralizedGaussian {
    fn excess(&self, x: Bounds) -> Bounds {
        let inverse = Bounds::ONE / Bounds::exact(self.order());
        let mean = gamma(&(inverse + inverse)) / gamma(&inverse);
        if x.upper() <= 0.0 {
            return mean;
        }
        // Noise of this order has nothing left that an f64 could show beyond x^p = 800.
        let power = x.clamp(f64::MIN_POSITIVE, f64::MAX).pow(self.order()).clamp(0.0, 800.0);
        let beyond = mean * gamma_q(inverse + inverse, power) - x * gamma_q(inverse, power);
        if power.upper() >= 800.0 {
            Bounds::new(0.0, beyond.upper().max(1e-300))
        } else {
            beyond.clamp(0.0, f64::MAX)
        }
    }
}

/// With `x = k + v` and `2a = (1 - b)/(gamma + b (1 - gamma))`, the tail is
/// `P[|X| > k + v] = b^k (1 - 2a v)` up to `v = gamma` and `b^k (b + 2ab (1 - v))` from there to 1:
/// both are integrated from `v` to 1, and beyond lies `E(|X| - k - 1)_+ = b^(k+1) E|X|`.
impl Excess for Staircase {
    fn excess(&self, x: Bounds) -> Bounds {
        // Steps past which less than e^-750 is left.
        let steps = x.lower().floor().max(0.0);
        if steps * self.epsilon() > 750.0 {
            return Bounds::new(0.0, 1e-300);
        }
        let on = |k: f64| {
            let exponent = Wide::from(-self.epsilon());
            let (b, one_less_b, gamma) =
                (exponent.exp(), -exponent.exp_m1(), Wide::from(self.gamma()));
            let period = gamma + b * (Wide::ONE - gamma);
            let twice_peak = one_less_b / period;
            let half = |value: Wide| value.times_power_of_two(-1);
            let v = Wide::from_bounds(x) - Wide::from(k);
            // The integral of the lower half's line from v to 1, and of the upper half's from v to
            // gamma.
            let low = |v: Wide| {
                b * (Wide::ONE - v) + half(twice_peak * b * (Wide::ONE - v) * (Wide::ONE - v))
            };
            let rest = gamma - v;
            let high = |v: Wide| rest - half(twice_peak * rest * (gamma + v)) + low(gamma);
            let within = match v.compare(&gamma) {
                Some(std::cmp::Ordering::Less) => high(v),
                Some(_) => low(v),
                None => high(v).hull(low(v)),
            };
            // E|X| = b/(1 - b) + [gamma^2 + b (1 - gamma^2)]/(2 S).
            let square = gamma * gamma;
            let mean = b / one_less_b + half((square + b * (Wide::ONE - square)) / period);
            (-(Wide::from(k) * Wide::from(self.epsilon()))).exp() * (within + b * mean)
        };
        let last = x.upper().floor().max(steps);
        let near = on(steps);
        (if last == steps { near } else { near.hull(on(last)) }).bounds().clamp(0.0, f64::INFINITY)
    }
}

/// `E[e^(-x T)/T]`: closed for a two-point and a gamma `T`, an integral over `t` for a uniform one.
/// Of the other families nothing is known here but the sign; [`crate::Integrated`] serves them.
impl Excess for RandomScaleLaplace {
    fn excess(&self, x: Bounds) -> Bounds {
        match self.inverse_scale() {
            InverseScale::TwoPoint(family) => {
                let part = |t: f64| (-(x * Bounds::exact(t))).exp() / Bounds::exact(t);
                let weight = Bounds::exact(family.weight());
                weight * part(family.first()) + (Bounds::ONE - weight) * part(family.second())
            }
            InverseScale::Gamma(family) => {
                let (shape, scale) = (Bounds::exact(family.shape()), Bounds::exact(family.scale()));
                let rest = shape - Bounds::ONE;
                if rest.lower() <= 0.0 {
                    return Bounds::new(f64::INFINITY, f64::INFINITY);
                }
                (-(rest * (scale * x).ln_1p())).exp() / (scale * rest)
            }
            InverseScale::Uniform(family) if family.lower() > 0.0 => {
                let width = Bounds::exact(family.upper()) - Bounds::exact(family.lower());
                let at = |x: f64| {
                    let part = PartOfUniform { x };
                    integrate(
                        &part,
                        &Bounds::ONE,
                        family.lower(),
                        family.upper(),
                        &Options::default(),
                    ) / width
                };
                // It falls with x.
                Bounds::new(at(x.upper()).lower(), at(x.lower()).upper())
            }
            // A tail of unknown mean: nothing but its sign is known.
            _ => Bounds::new(0.0, f64::INFINITY),
        }
    }
}

/// `e^(-x t)/t` as a function of `t`.
struct PartOfUniform {
    x: f64,
}

impl Integrand for PartOfUniform {
    fn at<E: Enclosure>(&self, t: &E) -> E {
        (-(t.exactly(self.x) * t.clone())).exp() / t.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_noise::error::exceedance;
    use reticent_noise::random_scale::{GammaScale, TwoPointScale, UniformScale};
    use reticent_numerics::quadrature::integrate_convex;

    /// The definition, by quadrature of the convex tail up to where nothing is left.
    fn by_definition(noise: &impl Noise, x: f64, far: f64) -> Bounds {
        let options = Options { relative_tolerance: 1e-7, pieces: 100_000, ..Options::default() };
        integrate_convex(|t| exceedance(noise, 1.0, t), x, far, &options)
    }

    #[track_caller]
    fn agrees(noise: &impl Excess, x: f64, far: f64, left: f64) {
        let (closed, integral) = (noise.excess(Bounds::exact(x)), by_definition(noise, x, far));
        assert!(closed.relative_width() < 1e-10, "{noise:?} at {x}: {closed:?}");
        assert!(
            closed.lower() <= integral.upper() + left && integral.lower() <= closed.upper(),
            "{noise:?} at {x}: {closed:?} {integral:?}"
        );
    }

    #[test]
    fn closed_forms_are_the_integrals_of_the_tails() {
        for x in [0.0, 0.3, 1.0, 2.75, 5.0] {
            agrees(&Laplace, x, 60.0, 1e-25);
            agrees(&Gaussian, x, 30.0, 1e-25);
            agrees(&TruncatedLaplace::new(5.5).expect("valid"), x, 5.5, 1e-16);
            for order in [1.0, 1.5, 3.0, 8.0] {
                agrees(&GeneralizedGaussian::new(order).expect("valid"), x.min(1.5), 40.0, 1e-16);
            }
            for (epsilon, gamma) in [(1.0, 0.3), (4.0, 0.1), (0.5, 0.75), (2.0, 0.0), (2.0, 1.0)] {
                agrees(&Staircase::new(epsilon, gamma).expect("valid"), x, 80.0, 1e-15);
            }
            agrees(
                &RandomScaleLaplace::new(TwoPointScale::new(1.0, 5.0, 0.25).expect("valid")),
                x,
                60.0,
                1e-24,
            );
            agrees(
                &RandomScaleLaplace::new(UniformScale::new(1.0, 3.0).expect("valid")),
                x,
                60.0,
                1e-24,
            );
            agrees(
                &RandomScaleLaplace::new(GammaScale::new(40.0, 0.05).expect("valid")),
                x,
                400.0,
                1e-30,
            );
        }
    }

    #[test]
    fn a_step_that_is_in_doubt_is_covered_from_both_sides() {
        let noise = Staircase::new(1.0, 0.25).expect("valid");
        for edge in [1.0, 1.25, 3.0] {
            let around = noise.excess(Bounds::new(f64::next_down(edge), f64::next_up(edge)));
            let at = noise.excess(Bounds::exact(edge));
            assert!(
                around.lower() <= at.lower()
                    && at.upper() <= around.upper()
                    && around.relative_width() < 1e-14
            );
        }
    }

    #[test]
    fn an_infinite_mean_is_said() {
        let heavy = RandomScaleLaplace::new(GammaScale::new(1.0, 1.0).expect("valid"));
        assert_eq!(heavy.excess(Bounds::ONE).lower(), f64::INFINITY);
    }
}
