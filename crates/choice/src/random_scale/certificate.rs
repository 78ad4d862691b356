//! A lower bound of a Lagrangian over the whole half line, by interval arithmetic.

use super::programme::Problem;
use reticent_numerics::{Bounds, Enclosure, Jet, Wide};

/// How far below the error of a solution the proof may stay, relative to it: the multiplier is an
/// `f64`, and where the error is a small difference of large terms its last bit is more than the
/// least of these.
const SLACKS: [f64; 4] = [1e-10, 1e-8, 1e-6, 1e-3];
/// The most pieces of the half line that are looked at.
const PIECES: usize = 20_000;

/// A number that `c(t) - lambda g(t)` is proved to be at least, for every `t > 0`. At best it is
/// `target` less a relative 1e-10; where nothing near the target can be proved, what `c` is never
/// below.
///
/// # Method
/// Beyond some `t`, `-lambda g(t) = lambda t (e^-epsilon - e^(-t D))` alone is above the target,
/// and grows from there on; for the entropy, which has no lower bound, the sum of both is, and
/// grows from there on as soon as `-lambda g(t) >= 1`. Below, pieces are halved until one of two
/// bounds is above it: `c` at the far end, where it is least, with `-lambda g` over the piece; or
/// Taylor's formula around the middle `m` with the second derivative over the piece, `F(m) -
/// |F'(m)| h + min(0, F''/2) h^2` for a piece of half width `h`, and `F(m) - F'(m)^2/(2 F'')` where
/// `F''` is positive.
pub fn proved_floor(problem: &Problem<'_>, multiplier: f64, target: f64) -> f64 {
    let least = problem.loss.least();
    if !(multiplier > 0.0 && target.is_finite() && target > least) {
        return least;
    }
    // The entropy is a logarithm, of which a difference is what a quotient is of others.
    let size = if least == 0.0 { target } else { 1.0 };
    let aims = SLACKS.map(|slack| target - slack * size);
    aims.into_iter().find(|&aim| is_proved(problem, multiplier, aim)).unwrap_or(least)
}

/// Whether the Lagrangian is proved to be at least `aim` everywhere.
fn is_proved(problem: &Problem<'_>, multiplier: f64, aim: f64) -> bool {
    let middle = problem.epsilon / problem.sensitivity;
    let Some(far) = far_end(problem, multiplier, aim, middle) else { return false };
    let mut pieces = vec![(0.0, far)];
    for _ in 0..PIECES {
        let Some((low, high)) = pieces.pop() else { return true };
        if least_over(problem, multiplier, low, high) >= aim {
            continue;
        }
        // In the logarithm where the piece spans more than a factor of two.
        let cut =
            if low > 0.0 && high > 2.0 * low { (low * high).sqrt() } else { 0.5 * (low + high) };
        let cut = if low == 0.0 { high.min(1e3 * middle) * 1e-3 } else { cut };
        if cut <= low || cut >= high || high < 1e-290 {
            return false;
        }
        pieces.extend([(low, cut), (cut, high)]);
    }
    false
}

/// A `t` at and beyond which `-lambda g` is above the aim.
fn far_end(problem: &Problem<'_>, multiplier: f64, aim: f64, middle: f64) -> Option<f64> {
    let mut t = 2.0 * middle;
    for _ in 0..2000 {
        let at = Bounds::exact(t);
        let weight = -(Bounds::exact(multiplier) * problem.gain(&at));
        // From the middle on it grows: its derivative is e^-epsilon - e^(-t D) + t D e^(-t D).
        let reached = if problem.loss.least() == 0.0 {
            weight.lower() >= aim
        } else {
            (problem.loss.at(&at) + weight).lower() >= aim && weight.lower() >= 1.0
        };
        if reached {
            return Some(t);
        }
        t *= 2.0;
        if !t.is_finite() {
            break;
        }
    }
    None
}

/// What the Lagrangian is at least, between two numbers.
fn least_over(problem: &Problem<'_>, multiplier: f64, low: f64, high: f64) -> f64 {
    let piece = Bounds::new(low, high);
    let falling =
        problem.loss.at(&Bounds::exact(high)) - Bounds::exact(multiplier) * problem.gain(&piece);
    let plain = falling.lower();
    if low == 0.0 {
        return plain;
    }
    let center = 0.5 * (low + high);
    let near = problem.lagrangian(multiplier, &Jet::variable(Wide::from(center), 1));
    let over = problem.lagrangian(multiplier, &Jet::variable(piece, 2));
    let half = Bounds::new(0.0, (high - center).max(center - low).next_up());
    let (value, slope, bend) =
        (near.coefficient(0).bounds(), near.coefficient(1).bounds().abs(), over.coefficient(2));
    let bent = Bounds::exact(bend.lower().min(0.0)) * half.square();
    let mut taylor = (value - slope * half + bent).lower();
    if bend.lower() > 0.0 {
        // The coefficient is half of the second derivative.
        let dip = slope.square() / (Bounds::exact(4.0) * Bounds::exact(bend.lower()));
        taylor = taylor.max((value - dip).lower());
    }
    if taylor.is_nan() { plain } else { plain.max(taylor) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::piecewise_loss::PiecewiseLoss;
    use crate::random_scale::conditional_loss::ConditionalLoss;

    #[test]
    fn what_is_proved_holds_on_a_fine_grid_and_no_more_is_proved() {
        let loss = ConditionalLoss::Real(PiecewiseLoss::absolute());
        let problem = Problem { loss: &loss, epsilon: 3.0, sensitivity: 1.0 };
        // Laplace's own multiplier at epsilon = 3: c'/g' = (-1/9)/(-3 e^-3).
        let multiplier = 3f64.exp() / 27.0;
        let floor = proved_floor(&problem, multiplier, 1.0 / 3.0);
        assert!((floor - 1.0 / 3.0).abs() < 1e-9, "{floor}");
        for i in 1..20_000 {
            let t = 1e-3 * f64::from(i);
            assert!(problem.lagrangian(multiplier, &Bounds::exact(t)).upper() >= floor, "{t}");
        }
        // A target that is not reached, a multiplier that proves nothing.
        assert_eq!(proved_floor(&problem, multiplier, 0.34), 0.0);
        assert_eq!(proved_floor(&problem, 0.9 * multiplier, 1.0 / 3.0), 0.0);
        assert_eq!(proved_floor(&problem, 0.0, 1.0 / 3.0), 0.0);
    }
}
