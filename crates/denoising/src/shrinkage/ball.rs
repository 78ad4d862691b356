//! A true vector that lies in a known ball: Balle and Wang's Assumption A.2.

use super::minimax::soft_threshold_bound;
use super::threshold::ThresholdKind;
use crate::error::DenoisingError;
use crate::release::{Denoised, Denoiser, Release};
use crate::rule::PiecewiseLinear;
use crate::ruled::Ruled;
use crate::shape::Shape;
use reticent_numerics::require;

/// `||theta||_p <= radius`; for `p` below 1 the sum of `|theta_i|^p` is at most `radius^p`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ball {
    order: f64,
    radius: f64,
}

impl Ball {
    /// The ball of an order and a radius.
    ///
    /// # Errors
    /// If the order is not from 0.01 to 100, or the radius not from 1e-75 to 1e75.
    pub fn new(order: f64, radius: f64) -> Result<Self, DenoisingError> {
        require((0.01..=100.0).contains(&order), "order of the ball", order, "from 0.01 to 100")?;
        let accepted = "a number from 1e-75 to 1e75";
        require((1e-75..=1e75).contains(&radius), "radius of the ball", radius, accepted)?;
        Ok(Ball { order, radius })
    }

    /// `p`.
    pub fn order(&self) -> f64 {
        self.order
    }

    /// The radius.
    pub fn radius(&self) -> f64 {
        self.radius
    }

    /// The largest `||theta||_2` in `d` dimensions: the radius itself for `p <= 2`, and
    /// `d^(1/2 - 1/p)` times it beyond, by Hölder's inequality.
    pub fn euclidean_radius(&self, d: usize) -> f64 {
        self.radius * (d as f64).powf((0.5 - 1.0 / self.order).max(0.0))
    }

    fn assumption(&self) -> String {
        format!("the l_{} norm of the true values is at most {}", self.order, self.radius)
    }
}

/// The estimator whose greatest risk over the ball is proved to be least, of two.
///
/// With `v` the variance of the noise and `r` the Euclidean radius of the ball:
///
/// | estimator | greatest risk over the ball | noise |
/// |---|---|---|
/// | `y r^2/(r^2 + d v)` | `r^2 d v/(r^2 + d v)`, the least of linear estimators | any |
/// | soft threshold `t sigma` | at most [`soft_threshold_bound`], with the `t` of least bound | Gaussian, `p <= 2` |
///
/// The first is within 1.25 of the minimax risk for `p >= 2` (Donoho, Liu and MacGibbon 1990), and
/// the second within a constant of it for `p < 2`, over the range of Eqn 7 (Donoho and Johnstone
/// 1994). The stated risk does not trust the ball: it is the unbiased estimate for this release.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MinimaxOnBall {
    /// Where the true vector lies.
    pub ball: Ball,
}

impl MinimaxOnBall {
    /// The rule in scales, what it is called, and its greatest risk over the ball.
    fn rule(&self, release: &Release) -> Result<(PiecewiseLinear, String, f64), DenoisingError> {
        let variances = release.finite_variances("an estimator for a ball")?;
        let reason = "its scales differ, and the bounds are those of one scale";
        let method = "an estimator for a ball";
        let refused = DenoisingError::UnsuitedNoise { method, reason };
        let scale = release.noise().common_scale().ok_or(refused)?;
        let d = variances.len();
        let noise = d as f64 * variances[0];
        let square = self.ball.euclidean_radius(d).powi(2);
        // Both forms of the harmonic mean overflow nowhere that the radius and scale do not.
        let linear = noise / (1.0 + noise / square);
        let kept = 1.0 / (1.0 + noise / square);
        let affine = (PiecewiseLinear::affine(0.0, kept), "linear shrinkage".into(), linear);
        if release.noise().shape() != &Shape::Gaussian || self.ball.order > 2.0 {
            return Ok(affine);
        }
        let (threshold, bound) = soft_threshold_bound(&self.ball, scale, d);
        if bound < linear {
            let rule = ThresholdKind::Soft.rule(threshold, &Shape::Gaussian);
            return Ok((rule, format!("soft threshold, {threshold:.4} scales"), bound));
        }
        Ok(affine)
    }

    /// The greatest risk over the ball, proved.
    ///
    /// # Errors
    /// As [`Denoiser::denoise`].
    pub fn greatest_risk(&self, release: &Release) -> Result<f64, DenoisingError> {
        Ok(self.rule(release)?.2)
    }
}

impl Denoiser for MinimaxOnBall {
    fn denoise(&self, release: &Release) -> Result<Denoised, DenoisingError> {
        let (rule, name, greatest) = self.rule(release)?;
        // Six digits, and no less than it is.
        let shown = format!("{:.5e}", greatest * (1.0 + 1e-5)).parse().unwrap_or(greatest);
        let ruled = Ruled::apply(&[rule], release);
        Ok(Denoised {
            risk_before: release.risk(),
            risk_after: ruled.risk(release),
            values: ruled.values,
            assumptions: vec![
                self.ball.assumption(),
                format!("then the risk is at most {shown}, whatever the true values are"),
            ],
            method: format!("near-minimax on a ball: {name}"),
        })
    }
}

/// The nearest point of the ball, for orders 1 and 2.
///
/// The ball is convex: if the true vector is in it, no error grows, whatever the noise is. For
/// order 1 it is a soft threshold that makes the norm right; for order 2 all values are multiplied
/// by one number. The distance is Euclidean, also where variances differ. No risk is stated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProjectionOnBall {
    ball: Ball,
}

impl ProjectionOnBall {
    /// The projection on a ball.
    ///
    /// # Errors
    /// If its order is neither 1 nor 2.
    pub fn new(ball: Ball) -> Result<Self, DenoisingError> {
        let known = ball.order == 1.0 || ball.order == 2.0;
        require(known, "order of the ball", ball.order, "1 or 2 for a projection")?;
        Ok(ProjectionOnBall { ball })
    }
}

impl Denoiser for ProjectionOnBall {
    fn denoise(&self, release: &Release) -> Result<Denoised, DenoisingError> {
        let (values, radius) = (release.values(), self.ball.radius);
        let projected = if self.ball.order == 1.0 {
            let threshold = threshold_of_norm(values, radius);
            let shrink = |y: &f64| (y.abs() - threshold).max(0.0).copysign(*y);
            values.iter().map(shrink).collect()
        } else {
            // Divided by the largest, so that no square overflows.
            let largest = values.iter().fold(0.0_f64, |most, y| most.max(y.abs()));
            let squares: f64 = values.iter().map(|y| (y / largest).powi(2)).sum();
            let norm = if largest > 0.0 { largest * squares.sqrt() } else { 0.0 };
            let factor = if norm > radius { radius / norm } else { 1.0 };
            values.iter().map(|y| factor * y).collect()
        };
        Ok(Denoised {
            values: projected,
            risk_before: release.risk(),
            risk_after: None,
            assumptions: vec![self.ball.assumption()],
            method: format!("projection on the l_{} ball", self.ball.order),
        })
    }
}

/// The `t >= 0` with `sum max(|y_i| - t, 0) = radius`; 0 if the sum of `|y_i|` is no more.
fn threshold_of_norm(values: &[f64], radius: f64) -> f64 {
    let mut sizes: Vec<f64> = values.iter().map(|value| value.abs()).collect();
    sizes.sort_unstable_by(|left, right| right.total_cmp(left));
    let (mut sum, mut threshold) = (0.0, 0.0_f64);
    for (index, size) in sizes.iter().enumerate() {
        sum += size;
        let next = (sum - radius) / (index as f64 + 1.0);
        if next >= *size {
            break;
        }
        threshold = next;
    }
    threshold.max(0.0)
}

/// The nearest shares: `max(x_i - t, 0)` with the `t` that makes them add up to 1.
///
/// Shares are known to be nonnegative with sum 1; this set is convex, and the projection on it
/// makes no squared error larger. It is the projection for estimates with equal variances, as those
/// of randomized response nearly are.
pub fn nearest_shares(estimates: &[f64]) -> Vec<f64> {
    let mut sorted = estimates.to_vec();
    sorted.sort_unstable_by(|left, right| right.total_cmp(left));
    let (mut sum, mut shift) = (0.0, 0.0);
    for (index, value) in sorted.iter().enumerate() {
        sum += value;
        let next = (sum - 1.0) / (index as f64 + 1.0);
        if index > 0 && next >= *value {
            break;
        }
        shift = next;
    }
    estimates.iter().map(|value| (value - shift).max(0.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoiseDescription;

    fn release(values: &[f64]) -> Release {
        Release::new(values.to_vec(), NoiseDescription::gaussian(1.0).expect("valid"))
            .expect("valid")
    }

    #[test]
    fn projections_are_the_nearest_points() {
        let values = [3.0, -1.0, 0.5, 0.0];
        for (order, radius, expected) in [
            (1.0, 2.0, [2.0, 0.0, 0.0, 0.0]),
            (1.0, 3.0, [2.5, -0.5, 0.0, 0.0]),
            (1.0, 9.0, values),
            (2.0, 100.0, values),
        ] {
            let ball = ProjectionOnBall::new(Ball::new(order, radius).expect("valid"));
            let nearest = ball.expect("1 or 2").denoise(&release(&values)).expect("valid").values;
            for (value, expected) in nearest.iter().zip(expected) {
                assert!((value - expected).abs() < 1e-12, "{order} {radius}: {nearest:?}");
            }
        }
        let unit = ProjectionOnBall::new(Ball::new(2.0, 1.0).expect("valid")).expect("2");
        let nearest = unit.denoise(&release(&[3.0, 4.0])).expect("valid").values;
        assert!((nearest[0] - 0.6).abs() < 1e-12 && (nearest[1] - 0.8).abs() < 1e-12);
        assert!(ProjectionOnBall::new(Ball::new(0.5, 1.0).expect("valid")).is_err());
    }

    #[test]
    fn shares_are_the_nearest_that_add_up() {
        for (estimates, expected) in [
            (vec![0.6, 0.5, -0.1], vec![0.55, 0.45, 0.0]),
            (vec![0.2, 0.8], vec![0.2, 0.8]),
            (vec![5.0, 0.0], vec![1.0, 0.0]),
            (vec![-0.5, -0.5], vec![0.5, 0.5]),
        ] {
            let shares = nearest_shares(&estimates);
            assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{shares:?}");
            for (share, expected) in shares.iter().zip(expected) {
                assert!((share - expected).abs() < 1e-12, "{shares:?}");
            }
        }
    }

    #[test]
    fn large_balls_change_nothing_and_small_ones_leave_nothing() {
        let values = [30.0, -20.0, 1.0, 4.0];
        for order in [0.3, 1.0, 2.0, 4.0] {
            let at = |radius| {
                let ball = Ball::new(order, radius).expect("valid");
                MinimaxOnBall { ball }.denoise(&release(&values)).expect("valid")
            };
            for (value, original) in at(1e9).values.iter().zip(values) {
                assert!((value - original).abs() < 1e-3, "{order}");
            }
            assert!(at(1e-6).values.iter().all(|value| value.abs() < 1e-3), "{order}");
        }
    }

    #[test]
    fn hostile_balls_are_refused() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e80] {
            assert!(Ball::new(bad, 1.0).is_err() && Ball::new(1.0, bad).is_err(), "{bad}");
        }
    }
}
