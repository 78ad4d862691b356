//! Error laws by their definitions, to compare plans with.

/// The root mean square error of staircase noise on integers for each integer step `r`: levels
/// `e^-(j epsilon)`, the first from 0 to `r`, the next ones `sensitivity` wide (Geng and Viswanath,
/// *The optimal noise-adding mechanism in differential privacy*, 2016, Theorem 7).
pub fn staircases(sensitivity: u32, epsilon: f64) -> impl Iterator<Item = f64> {
    let end = (60.0 * f64::from(sensitivity) / epsilon) as u32 + sensitivity;
    (1..=sensitivity).map(move |r| {
        let level = |n: u32| {
            let (whole, rest) = (n / sensitivity, n % sensitivity);
            (-epsilon * f64::from(whole + u32::from(rest >= r))).exp()
        };
        let sum = |power: i32| -> f64 {
            (1..end).map(|n| 2.0 * f64::from(n).powi(power) * level(n)).sum()
        };
        (sum(2) / (1.0 + sum(0))).sqrt()
    })
}
