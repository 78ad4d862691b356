//! Small losses: what a group of moves costs.

use crate::limit::mesh::support_in_sensitivities;
use reticent_mechanisms::{Distance, Epsilon, MechanismError};
use reticent_numerics::rounding::{mul_down, mul_up};
use reticent_numerics::{Enclosure, Wide};

/// The loss up to which moves are put together. Noise on the multiples of a sensitivity is
/// `epsilon^2/8` better than noise on the line, and so much is lost: 0.03 percent.
const LARGEST_LOSS: f64 = 0.05;

/// The sensitivities that the noise must at least reach over. A sum of 100 terms is within 1e-4 of
/// an integral.
const LEAST_SUPPORT: f64 = 50.0;

/// A guarantee about moves of one sensitivity, as one about moves of `k`.
///
/// Noise that is `(epsilon, delta)`-differentially private for moves by up to `D` is
/// `(k epsilon, delta_k)`-differentially private for moves by up to `k D`,
/// `delta_k = delta (e^(k epsilon) - 1)/(e^epsilon - 1)`: the guarantee is applied `k` times. So a
/// limit for the second is one for the first. Nothing is lost where noise is wide: truncated
/// Laplace noise is the same for both, its end `(D/epsilon) ln(1 + (e^epsilon - 1)/(2 delta))` does
/// not depend on `k`. But there are `k` times fewer sensitivities in its support.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct GroupGuarantee {
    pub sensitivity: Distance,
    pub epsilon: f64,
    pub delta: f64,
}

impl GroupGuarantee {
    /// The guarantee about as many moves as keep the loss and the noise in proportion: weaker by
    /// rounding at most.
    ///
    /// # Errors
    /// If so many sensitivities are too large a number.
    pub(crate) fn of_groups(self) -> Result<GroupGuarantee, MechanismError> {
        let support = support_in_sensitivities(self.epsilon, self.delta);
        let moves = (LARGEST_LOSS / self.epsilon).min(support / LEAST_SUPPORT).floor();
        if moves < 2.0 || moves.is_nan() {
            return Ok(self);
        }
        let (loss, k) = (Wide::from(self.epsilon), Wide::from(moves));
        // 1 + e^epsilon + ... + e^((k-1) epsilon), and at most k e^(k epsilon) where a quotient of
        // zeros would say nothing.
        let times = if self.epsilon < 1e-100 {
            k * (k * loss).exp()
        } else {
            (k * loss).exp_m1() / loss.exp_m1()
        };
        let group = GroupGuarantee {
            sensitivity: Distance::new(mul_down(moves, self.sensitivity.get()))?,
            epsilon: Epsilon::new(mul_up(moves, self.epsilon))?.get(),
            delta: (Wide::from(self.delta) * times).bounds().upper(),
        };
        Ok(if group.delta < 1.0 { group } else { self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guarantee(epsilon: f64, delta: f64) -> GroupGuarantee {
        GroupGuarantee { sensitivity: Distance::new(2.0).expect("valid"), epsilon, delta }
    }

    #[test]
    fn truncated_laplace_noise_is_the_same_for_groups() {
        for (epsilon, delta) in
            [(0.01, 1e-6), (1e-4, 1e-9), (1e-7, 1e-12), (0.0, 1e-6), (5e-324, 1e-4)]
        {
            let one = guarantee(epsilon, delta);
            let group = one.of_groups().expect("valid");
            assert!(
                group.sensitivity.get() > 2.0 && group.epsilon <= 0.05 * (1.0 + 1e-15),
                "{group:?}"
            );
            let support = |p: GroupGuarantee| {
                p.sensitivity.get() * support_in_sensitivities(p.epsilon, p.delta)
            };
            assert!(
                (support(group) / support(one) - 1.0).abs() < 1e-3,
                "{epsilon} {delta}: {} {}",
                support(group),
                support(one)
            );
            assert!(support(group) / group.sensitivity.get() < 2000.0);
        }
    }

    #[test]
    fn the_guarantee_applied_again_and_again_is_that_of_the_group() {
        let (one, mut delta) = (guarantee(0.004, 1e-6), 0.0);
        let group = one.of_groups().expect("valid");
        let moves = group.sensitivity.get() / 2.0;
        assert_eq!(moves, 12.0);
        // P(S) <= e^epsilon P(S + D) + delta, twelve times.
        for _ in 0..12 {
            delta = 0.004f64.exp() * delta + 1e-6;
        }
        assert!(
            (group.delta / delta - 1.0).abs() < 1e-12 && group.epsilon >= 12.0 * 0.004,
            "{group:?} {delta}"
        );
    }

    #[test]
    fn guarantees_that_are_not_small_stay_as_they_are() {
        for (epsilon, delta) in [(0.1, 1e-6), (4.0, 1e-3), (1e-3, 0.1), (0.0, 0.3)] {
            assert_eq!(guarantee(epsilon, delta).of_groups(), Ok(guarantee(epsilon, delta)));
        }
        let huge = GroupGuarantee {
            sensitivity: Distance::new(1e100).expect("valid"),
            ..guarantee(1e-5, 1e-6)
        };
        assert!(huge.of_groups().is_err());
    }
}
