//! Integrals of the transform `M(-x) = E[exp(-x T)]` over all `x >= 0`, with proved remainders.
//!
//! The transform is completely monotone: `(-1)^j` times its `j`-th derivative is
//! `E[T^j exp(-x T)]`, positive and decreasing. So on a piece `[a, b]` every Taylor coefficient
//! lies between its values at the two ends, which is all that a remainder needs: no derivative is
//! ever enclosed over an interval. With `c` between `a` and `b`,
//! `M(-x) = sum_{j<m} c_j (x-c)^j + r (x-c)^m` with `r` between the `m`-th coefficients at `a` and
//! `b`, and functions of `M` follow by the arithmetic of jets.
//!
//! Pieces have the length `1/(2 r)` or less, with `r` the rate at which the density changes where
//! the piece begins; it is slower everywhere after.

use super::decay::Decay;
use reticent_noise::random_scale::InverseScale;
use reticent_numerics::{Big, Bounds, Enclosure, Jet, Wide, sum_bounds};

/// What is integrated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Integral {
    /// `∫ M(-x) dx = E[1/T]`.
    Transform,
    /// `∫ x M(-x) dx = E[1/T^2]`.
    TransformTimesDistance,
    /// `-∫ p ln p dx` for the density `p(x) = M'(-x)` of the absolute value of the noise.
    Entropy,
}

/// The order of the Taylor expansions, an even number. With pieces of half the length over which
/// the density changes the remainder is at most about `4^-16` of it, and varies over the piece by a
/// fraction of that.
const ORDER: usize = 16;

/// More pieces than any family with parameters within a factor of `1e100` of each other takes.
const MOST_PIECES: usize = 20_000;

/// Bounds on the integral over `[0, ∞)`; the upper one is infinite where no bound on the tail is
/// known.
pub(super) fn integrate(inverse_scale: &InverseScale, integral: Integral) -> Bounds {
    let size = 1.0 / inverse_scale.tilted_mean(&Bounds::ZERO).estimate();
    let (mut x, mut total, mut pieces) = (0f64, 0f64, Vec::new());
    loop {
        // A power of two near x, so that moments of high order neither overflow nor underflow.
        // Multiplying by it is exact.
        let unit = 2f64.powi(x.max(size).log2().clamp(-900.0, 900.0) as i32);
        let step = inverse_scale
            .divided(1.0 / unit)
            .ok()
            .and_then(|family| step(&family, x / unit, integral, unit));
        let Some((piece, end)) = step else { return Bounds::WHOLE_LINE };
        x = end * unit;
        total += piece.estimate();
        pieces.push(piece);
        let tail = tail(inverse_scale, integral, x);
        if tail.upper() <= 1e-17 * total.abs() || x > 1e130 * size || pieces.len() > MOST_PIECES {
            pieces.push(tail);
            return sum_bounds(pieces);
        }
    }
}

/// The integral over a piece that begins at `x`, all in units of `unit`, and the piece's end.
fn step(family: &InverseScale, x: f64, integral: Integral, unit: f64) -> Option<(Bounds, f64)> {
    let left = moments_at(family, x);
    let end = x + integral.piece_length() / fastest_rate(&left);
    let centre = 0.5 * x + 0.5 * end;
    if !(x < centre && centre < end && end.is_finite()) {
        return None;
    }
    let (middle, right) = (moments_at(family, centre), moments_at(family, end));
    let between: Vec<Bounds> =
        left.iter().zip(&right).map(|(a, b)| Bounds::new(b.lower(), a.upper())).collect();
    let over = integral.jet(&between, Bounds::new(x, end))?;
    let at = integral.jet(&middle, Bounds::exact(centre))?;
    let right_length = Bounds::exact(end) - Bounds::exact(centre);
    let left_length = Bounds::exact(centre) - Bounds::exact(x);
    let (mut right_power, mut left_power) = (right_length, left_length);
    let mut sum = Bounds::ZERO;
    for j in 0..=ORDER {
        // The integral of (x - centre)^j; for the even j = ORDER the mean value theorem puts the
        // remainder in the same form.
        let power = if j % 2 == 0 { right_power + left_power } else { right_power - left_power };
        let coefficient = if j < ORDER { at.coefficient(j) } else { over.coefficient(j) };
        sum = sum + coefficient * power / Bounds::exact((j + 1) as f64);
        (right_power, left_power) = (right_power * right_length, left_power * left_length);
    }
    let unit = Bounds::exact(unit);
    let in_place = match integral {
        Integral::Transform => sum * unit,
        Integral::TransformTimesDistance => sum * unit * unit,
        // The density is p/unit, and -p ln(p/unit) integrates to this.
        Integral::Entropy => sum + unit.ln() * (left[0] - right[0]),
    };
    Some((in_place, end))
}

/// `E[T^j exp(-x T)] / j!` for `j = 0 ..= ORDER + 1`.
fn moments_at(family: &InverseScale, x: f64) -> Vec<Bounds> {
    let order = ORDER + 1;
    let mut moments: Vec<Bounds> =
        family.tilted_moments(order, &Wide::exact(x)).iter().map(Wide::bounds).collect();
    for precision in [256, 1024] {
        if moments.iter().all(|moment| moment.relative_width() < 1e-14) {
            break;
        }
        moments = family
            .tilted_moments(order, &Big::exact(x, precision))
            .iter()
            .map(Big::bounds)
            .collect();
    }
    moments
}

/// The largest `(p_j/p)^(1/j)` of the density's Taylor coefficients: how fast it can change. All of
/// these quotients decrease with `x`.
fn fastest_rate(moments: &[Bounds]) -> f64 {
    let coefficient = |j: usize| (j + 1) as f64 * moments[j + 1].estimate();
    (1..=ORDER).map(|j| (coefficient(j) / coefficient(0)).powf(1.0 / j as f64)).fold(0.0, f64::max)
}

/// The integral from `x` on.
fn tail(inverse_scale: &InverseScale, integral: Integral, x: f64) -> Bounds {
    let x = Bounds::exact(x);
    let least = Bounds::exact(inverse_scale.least());
    let (transform, density) = (inverse_scale.transform(&x), inverse_scale.tilted_mean(&x));
    // M and p decay at least like exp(-least x) from here on; the integrals of that bound are
    // elementary.
    let exponential = match integral {
        Integral::Transform => transform / least,
        Integral::TransformTimesDistance => transform * (x / least + Bounds::ONE / (least * least)),
        Integral::Entropy => entropy_tail(density, (Bounds::ONE - density.ln()) / least),
    };
    let power = match integral {
        Integral::Transform => Decay::of(inverse_scale, x).tail_integral(x, 0.0),
        Integral::TransformTimesDistance => Decay::of(inverse_scale, x).tail_integral(x, 1.0),
        Integral::Entropy => {
            // p(x) = E[T exp(-xT/2) exp(-xT/2)] <= 2/(e x) M(-x/2), and so p(y) <= bound
            // (x/y)^(order + 1) for y >= x.
            let decay = Decay::of(inverse_scale, x.times_power_of_two(-1));
            let order = Bounds::exact(decay.order);
            let bound = Bounds::exact(2.0) / (Bounds::ONE.exp() * x) * decay.bound;
            entropy_tail(bound, x * ((order + Bounds::ONE) / (order * order) - bound.ln() / order))
        }
    };
    // A divisor of zero has given the whole line: nothing is known on that side.
    Bounds::new(0.0, exponential.upper().min(power.upper()))
}

/// `bound * factor`, the integral of `-q ln q` over a tail for a bound `q` on the density that
/// starts at `bound`. It is a bound for `-p ln p` as long as `-q ln q` increases with `q`, which it
/// does up to `1/e`.
fn entropy_tail(bound: Bounds, factor: Bounds) -> Bounds {
    if bound.upper() <= 0.36 { bound * factor } else { Bounds::WHOLE_LINE }
}

impl Integral {
    /// The length of a piece, times the rate of change. The logarithm in the entropy takes
    /// quotients of coefficients that vary over the piece, which widens its remainder: shorter
    /// pieces make up for it.
    fn piece_length(self) -> f64 {
        if self == Integral::Entropy { 0.125 } else { 0.5 }
    }

    /// The integrand's jet, from the moments `E[T^j exp(-x T)] / j!` and the point or interval `x`.
    fn jet(self, moments: &[Bounds], x: Bounds) -> Option<Jet<Bounds>> {
        let signed = |j: usize, value: Bounds| if j.is_multiple_of(2) { value } else { -value };
        let transform =
            || Jet::from_coefficients((0..=ORDER).map(|j| signed(j, moments[j])).collect());
        match self {
            Integral::Transform => transform(),
            Integral::TransformTimesDistance => Some(transform()? * Jet::variable(x, ORDER)),
            Integral::Entropy => {
                // p is minus the derivative of M(-x) in x.
                let density = Jet::from_coefficients(
                    (0..=ORDER)
                        .map(|j| signed(j, Bounds::exact((j + 1) as f64) * moments[j + 1]))
                        .collect(),
                )?;
                Some(-(density.clone() * density.ln()))
            }
        }
    }
}
