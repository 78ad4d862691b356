//! Norms of known vectors, rounded up.

use crate::{Distance, MechanismError};
use reticent_noise::Lattice;
use reticent_numerics::rounding::{add_up, mul_up};
use reticent_numerics::{Bounds, Enclosure, OutOfRange, Wide};

pub(super) fn valid_order(order: f64) -> Result<f64, MechanismError> {
    // Below 0.01 even two coordinates of 1 have an l_p "norm" above the largest distance.
    if order >= 0.01 {
        Ok(order)
    } else {
        Err(OutOfRange::new("order", order, "a number of at least 0.01, or infinity").into())
    }
}

/// `(sum v_k^q)^(1/q)`, rounded up.
///
/// For `q = 2` two enclosures are made and the better bound is taken: that of the wide one is next
/// to the exact value, that of plain intervals is the exact value where every step is.
pub(crate) fn norm_up(values: &[f64], q: f64) -> f64 {
    let largest = values.iter().copied().fold(0.0, f64::max);
    if q.is_infinite() || values.iter().filter(|&&value| value != 0.0).count() <= 1 {
        largest
    } else if q == 1.0 {
        values.iter().copied().fold(0.0, add_up)
    } else if q == 2.0 {
        euclidean(values, &Bounds::ONE).intersect(euclidean(values, &Wide::from(1.0))).upper()
    } else {
        general_norm(values, largest, q).upper()
    }
}

fn euclidean<E: Enclosure>(values: &[f64], like: &E) -> Bounds {
    let square = |value: f64| like.exactly(value) * like.exactly(value);
    values.iter().fold(like.exactly(0.0), |sum, &value| sum + square(value)).sqrt().bounds()
}

/// `v_max (1 + sum (v_k / v_max)^q)^(1/q)` with the sum over all `k` but that of the largest: no
/// power overflows.
fn general_norm(values: &[f64], largest: f64, q: f64) -> Bounds {
    let (top, order) = (Wide::from(largest), Wide::from(q));
    let shares =
        values.iter().filter(|&&value| value != 0.0).map(|&value| (Wide::from(value) / top).pow(q));
    // The sum over all holds the largest as exactly 1.
    let others = shares.fold(Wide::from(-1.0), |sum, share| sum + share);
    (top * (others.ln_1p() / order).exp()).bounds()
}

/// `r^(1/q - 1/p)` for `q < p`, rounded up.
pub(super) fn root_ratio_up(r: u32, q: f64, p: f64) -> f64 {
    let like = Wide::from(1.0);
    let exponent = like / like.exactly(q)
        - if p.is_infinite() { like.exactly(0.0) } else { like / like.exactly(p) };
    (like.integer(i128::from(r)).ln() * exponent).exp().bounds().upper()
}

/// The l_p sensitivity, for `p = order`, of `r` coordinates rounded to a lattice.
pub(crate) fn norm_on(
    lattice: Lattice,
    order: f64,
    bound: f64,
    r: u32,
) -> Result<f64, MechanismError> {
    let step = lattice.spacing();
    let upper = if r == 1 || order.is_infinite() {
        lattice.sensitivity(bound)?
    } else if order == 1.0 {
        add_up(lattice.sensitivity(bound)?, mul_up(f64::from(r - 1), step))
    } else {
        let rounding = mul_up(step, root_ratio_up(r, order, f64::INFINITY));
        norm_up(&[bound, rounding], order.min(1.0))
    };
    Distance::new(upper).map(Distance::get)
}
