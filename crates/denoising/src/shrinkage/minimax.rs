//! The rates and bounds of Balle and Wang's Section 4, as functions.

use super::ball::Ball;
use crate::error::DenoisingError;
use reticent_numerics::normal::normal_sf;
use reticent_numerics::require;

/// Eqn 7 as printed, the rate of the minimax risk for `0 < p < 2`, without its constant:
/// `B^p sigma^(2-p) (1 + ln(d sigma^p / B^p))^(1 - p/2)`.
///
/// # Errors
/// If the order is 2 or more, or the signal is outside the range in which the rate is stated, of
/// which the computable part is `sqrt(ln d) <= B/sigma <= d^(1/p)`.
pub fn sparse_rate(ball: &Ball, sigma: f64, d: usize) -> Result<f64, DenoisingError> {
    let (p, signal) = (ball.order(), checked(ball, sigma, d)?);
    require(p < 2.0, "order of the ball", p, "below 2 for Eqn 7")?;
    let count = d as f64;
    let range = (count.ln().sqrt()..=count.powf(1.0 / p)).contains(&signal);
    require(range, "radius over sigma", signal, "from sqrt(ln d) to d^(1/p) for Eqn 7")?;
    let logarithm = 1.0 + (count / signal.powf(p)).ln();
    Ok(sigma * sigma * signal.powf(p) * logarithm.powf(1.0 - 0.5 * p))
}

/// The rate for `p >= 2`: `r^2 sigma^2/(sigma^2 + r^2/d)` with the Euclidean radius `r`.
///
/// # Erratum B5
/// Printed is the radius `B` of the ball itself, which is right for `p = 2` only. For larger `p`
/// the ball holds vectors of length `r = d^(1/2 - 1/p) B`: at `p` infinite and `B = sigma` each
/// value is unknown within `sigma`, and the risk is of the order `d sigma^2`, not `sigma^2`.
///
/// This is the greatest risk of the best linear estimator exactly, and so an upper bound of the
/// minimax risk, which is at least 0.8 of it (Donoho, Liu and MacGibbon 1990).
///
/// # Errors
/// If the order is below 2.
pub fn dense_rate(ball: &Ball, sigma: f64, d: usize) -> Result<f64, DenoisingError> {
    require(ball.order() >= 2.0, "order of the ball", ball.order(), "2 or more")?;
    checked(ball, sigma, d)?;
    let square = ball.euclidean_radius(d).powi(2);
    Ok(square / (1.0 + square / (d as f64 * sigma * sigma)))
}

/// Theorem 12's bound on the risk of the universal soft threshold, given the minimax risk `R` or an
/// upper bound of it: `(2 ln d + 1)(sigma^2 + 2.22 R)`.
///
/// # Errors
/// If there are no dimensions, or `sigma` or the risk is not a positive number.
pub fn universal_threshold_bound(
    minimax_risk: f64,
    sigma: f64,
    d: usize,
) -> Result<f64, DenoisingError> {
    require(d >= 1, "dimension", d as f64, "at least 1")?;
    positive("sigma", sigma)?;
    positive("minimax risk", minimax_risk)?;
    Ok((2.0 * (d as f64).ln() + 1.0) * (sigma * sigma + 2.22 * minimax_risk))
}

/// The rate for a histogram of `items` items, without logarithms: `min(s sigma^2,
/// n^(1/k) sigma^(2 - 1/k))` for `s` nonzero counts that fall like `n i^-k`, `k > 1`.
///
/// # Errors
/// If `sigma` or the number of items is not positive, or `k` not above 1.
pub fn histogram_rate(
    nonzero: usize,
    items: f64,
    power: f64,
    sigma: f64,
) -> Result<f64, DenoisingError> {
    positive("sigma", sigma)?;
    positive("items", items)?;
    require(power > 1.0 && power.is_finite(), "power", power, "a number above 1")?;
    let decay = items.powf(1.0 / power) * sigma.powf(2.0 - 1.0 / power);
    Ok((nonzero as f64 * sigma * sigma).min(decay))
}

/// The threshold, in standard deviations, of least proved risk over a ball of order at most 2, and
/// that risk.
///
/// # Formula
/// For one value the risk is at most `sigma^2 (r(t) + min(theta^2/sigma^2, 1 + t^2))` with `r(t)`
/// the risk at zero (Johnstone, *Gaussian estimation*, Lemma 8.3), and
/// `min(x^2, c) <= c^(1 - p/2) |x|^p`. So over the ball it is at most
///
/// ```text
/// sigma^2 (d r(t) + (1 + t^2)^(1 - p/2) (B/sigma)^p),    r(t) = 2 ((1 + t^2) Q(t) - t f(t)),
/// ```
///
/// and at most `B^2` for an infinite threshold.
pub fn soft_threshold_bound(ball: &Ball, sigma: f64, d: usize) -> (f64, f64) {
    let (p, count) = (ball.order().min(2.0), d as f64);
    let signal = (ball.radius() / sigma).powf(p);
    let bound = |t: f64| {
        sigma * sigma * (count * zero_risk(t) + (1.0 + t * t).powf(1.0 - 0.5 * p) * signal)
    };
    // The bound is evaluated on a grid that is fine enough for the third digit of the threshold.
    let most = (2.0 * count.ln()).sqrt() + 1.0;
    let tried = (0..=1000).map(|step| most * f64::from(step) / 1000.0);
    tried
        .map(|t| (t, bound(t)))
        .fold((0.0, f64::INFINITY), |best, found| if found.1 < best.1 { found } else { best })
}

/// `r(t) = 2 ((1 + t^2) Q(t) - t f(t))`: the risk of a soft threshold at zero, for `sigma = 1`.
pub(crate) fn zero_risk(t: f64) -> f64 {
    let density = (-0.5 * t * t).exp() / (2.0 * std::f64::consts::PI).sqrt();
    (2.0 * ((1.0 + t * t) * normal_sf(t).estimate() - t * density)).max(0.0)
}

/// `B/sigma`.
fn checked(ball: &Ball, sigma: f64, d: usize) -> Result<f64, DenoisingError> {
    require(d >= 1, "dimension", d as f64, "at least 1")?;
    positive("sigma", sigma)?;
    Ok(ball.radius() / sigma)
}

fn positive(name: &'static str, value: f64) -> Result<(), DenoisingError> {
    require((1e-75..=1e150).contains(&value), name, value, "a number from 1e-75 to 1e150")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ball(order: f64, radius: f64) -> Ball {
        Ball::new(order, radius).expect("valid")
    }

    #[test]
    fn the_formulas_as_printed() {
        // p = 1, B = 10 sigma, sigma = 2, d = 1000: 20 * 2 sqrt(1 + ln 100).
        let rate = sparse_rate(&ball(1.0, 20.0), 2.0, 1000).expect("in range");
        assert!((rate - 40.0 * (1.0 + 100f64.ln()).sqrt()).abs() < 1e-9, "{rate}");
        let rate = dense_rate(&ball(2.0, 30.0), 2.0, 100).expect("valid");
        assert!((rate - 900.0 * 4.0 / (4.0 + 9.0)).abs() < 1e-9, "{rate}");
        let bound = universal_threshold_bound(7.0, 2.0, 100).expect("valid");
        assert!((bound - (2.0 * 100f64.ln() + 1.0) * (4.0 + 2.22 * 7.0)).abs() < 1e-9);
        assert_eq!(histogram_rate(5, 1e6, 2.0, 3.0).expect("valid"), 45.0);
        let decay = histogram_rate(1_000_000, 1e4, 2.0, 4.0).expect("valid");
        assert!((decay - 100.0 * 8.0).abs() < 1e-9, "{decay}");
    }

    #[test]
    fn erratum_b5_larger_orders_hold_longer_vectors() {
        // Each of 100 values unknown within sigma = 1: even erasing them risks 100, and the printed
        // rate would be about 1.
        let rate = dense_rate(&ball(100.0, 1.0), 1.0, 100).expect("valid");
        assert!((40.0..60.0).contains(&rate), "{rate}");
    }

    #[test]
    fn out_of_range_is_refused() {
        assert!(sparse_rate(&ball(2.0, 5.0), 1.0, 100).is_err());
        assert!(sparse_rate(&ball(1.0, 0.1), 1.0, 100).is_err());
        assert!(sparse_rate(&ball(1.0, 1e6), 1.0, 100).is_err());
        assert!(dense_rate(&ball(1.0, 5.0), 1.0, 100).is_err());
        for bad in [0.0, -1.0, f64::NAN] {
            assert!(dense_rate(&ball(2.0, 5.0), bad, 100).is_err(), "{bad}");
            assert!(universal_threshold_bound(bad, 1.0, 100).is_err(), "{bad}");
        }
        assert!(histogram_rate(1, 1.0, 1.0, 1.0).is_err());
    }
}
