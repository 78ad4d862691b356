//! The least quantile of the error at a budget.

use super::mesh::Mesh;
use super::{
    GroupGuarantee, LEAST_DELTA, LimitError, ScalarQuery, best_decreasing, limit_on, packing,
};
use crate::loss::Beyond;
use crate::staircase_limit::{least_exceedance, least_quantile};
use reticent_mechanisms::{Delta, Distance, Epsilon};
use reticent_numerics::Bounds;

/// The most programmes that are solved for one quantile: about three seconds' work.
const MOST_TRIES: usize = 8;

/// How near the last distance that is proved and the first that is not need come to each other.
const NEAR: f64 = 1.003;

/// A proved lower bound of the least `t` with `P[|X| > t] <= outside`, for every noise `X` that
/// keeps an `(epsilon, delta)` guarantee.
///
/// # Proof
/// Where every noise has `P[|X| > t] > outside`, no noise has its quantile at `t` or below. That
/// statement is proved for one `t` after the other by the dual of the programme for [`Beyond`]
/// (`certificate.rs`), and for small `t` by counting copies (`packing.rs`); only a `t` at which a
/// proof went through is ever returned. Integer noise exceeds an integer `n` where it is above `n`,
/// so that its quantile is then `n + 1` or more.
///
/// # How
/// Purely private noise reaches the quantile of the staircase, in closed form, so that the
/// limit is not above it. The search begins there and descends by how far the proved exceedance
/// falls short of the staircase's. Distances are taken in the middle between two points of a
/// lattice, where the programme loses nothing to rounding.
///
/// # Errors
/// As for [`crate::limit()`], where neither way proves anything.
pub fn quantile_limit(
    query: ScalarQuery,
    epsilon: Epsilon,
    delta: Delta,
    outside: Bounds,
) -> Result<f64, LimitError> {
    let (loss, delta) = (epsilon.get(), delta.get().max(LEAST_DELTA));
    // No noise at all has a delta of such a size.
    if outside.upper() >= 1.0 - delta {
        return Ok(0.0);
    }
    match query {
        ScalarQuery::Real { sensitivity } => {
            of_reals(GroupGuarantee { sensitivity, epsilon: loss, delta }, outside.upper())
        }
        ScalarQuery::Integer { sensitivity } => {
            if let Some(mesh) = Mesh::for_integers(sensitivity, loss, delta)? {
                return of_integers(mesh, loss, delta, outside);
            }
            // Spread evenly over one half to each side, integer noise is real noise that keeps the
            // same guarantee, and P[|N| > n] = P[|X| > n + 1/2].
            let sensitivity = Distance::new(sensitivity as f64)?;
            let real =
                of_reals(GroupGuarantee { sensitivity, epsilon: loss, delta }, outside.upper())?;
            Ok((real - 0.5).floor() + 1.0)
        }
    }
}

/// What of an interval of distances is left: at the lower end a proof went through, at the upper
/// none did.
struct Left {
    proved: f64,
    missed: f64,
}

impl Left {
    /// Where to try next, given the exceedance that was proved at the least distance that was
    /// missed: as far down as the staircase needs to make up for the difference.
    fn next(&self, guarantee: GroupGuarantee, proved_at_missed: f64, outside: f64) -> f64 {
        let GroupGuarantee { sensitivity, epsilon, .. } = guarantee;
        let middle = 0.5 * (self.proved + self.missed);
        let pure = least_exceedance(epsilon, sensitivity.get(), self.missed).least.lower();
        let asked = 1.0005 * outside * pure / proved_at_missed;
        if !(asked > 0.0 && asked < 1.0) {
            return middle;
        }
        let aim = least_quantile(epsilon, sensitivity.get(), Bounds::exact(asked)).least.upper();
        if aim > self.proved && aim < self.missed { aim } else { middle }
    }

    fn is_narrow(&self) -> bool {
        self.missed <= NEAR * self.proved
    }
}

fn of_reals(guarantee: GroupGuarantee, outside: f64) -> Result<f64, LimitError> {
    let guarantee = guarantee.of_groups()?;
    let GroupGuarantee { sensitivity, epsilon, delta } = guarantee;
    let packed = packing::exceeded_distance(sensitivity, epsilon, delta, outside);
    let meshes = match Mesh::family(sensitivity, epsilon, delta) {
        Ok(meshes) => meshes,
        Err(_) if packed > 0.0 => return Ok(packed),
        Err(error) => return Err(error),
    };
    let reached = least_quantile(epsilon, sensitivity.get(), Bounds::exact(outside)).least.upper();
    let mut left = Left { proved: packed, missed: reached };
    let mut aim = reached;
    for _ in 0..MOST_TRIES {
        let Some((t, mesh)) = point_below(&meshes, aim).filter(|point| point.0 > left.proved)
        else {
            break;
        };
        let exceedance = exceedance_on(mesh, epsilon, delta, t)?;
        if exceedance > outside {
            left.proved = t;
            aim = 0.5 * (t + left.missed);
        } else {
            left.missed = t;
            aim = left.next(guarantee, exceedance, outside);
        }
        if left.is_narrow() {
            break;
        }
    }
    Ok(left.proved)
}

/// The greatest middle between two steps up to `aim`, or one of a coarser mesh that is hardly less.
fn point_below(meshes: &[Mesh], aim: f64) -> Option<(f64, Mesh)> {
    let points = || meshes.iter().filter_map(|mesh| mesh.middle_below(aim).map(|t| (t, *mesh)));
    let greatest = points().map(|point| point.0).reduce(f64::max)?;
    points().find(|point| point.0 >= greatest * (1.0 - 5e-4))
}

fn of_integers(mesh: Mesh, epsilon: f64, delta: f64, outside: Bounds) -> Result<f64, LimitError> {
    let exceeded =
        |n: f64| Ok::<_, LimitError>(exceedance_on(mesh, epsilon, delta, n)? > outside.upper());
    let sensitivity = mesh.steps as f64;
    // Real purely private noise, rounded, reaches this; the last integer that it exceeds is the
    // first to be tried.
    let reached = least_quantile(epsilon, sensitivity, outside).least.upper();
    let mut high = (reached + 0.5).ceil();
    let (mut low, mut stride) = (high - 1.0, 1.0);
    while low >= 0.0 && !exceeded(low)? {
        (high, low, stride) = (low, low - stride, 2.0 * stride);
    }
    let mut low = low.max(-1.0);
    while high - low > 1.0 {
        let middle = (0.5 * (low + high)).floor();
        if exceeded(middle)? { low = middle } else { high = middle }
    }
    Ok(low + 1.0)
}

/// A lower bound of `P[|X| > t]` by the programme on a mesh.
pub(super) fn exceedance_on(
    mesh: Mesh,
    epsilon: f64,
    delta: f64,
    t: f64,
) -> Result<f64, LimitError> {
    let loss = Beyond { distance: t };
    let noise = best_decreasing(mesh, epsilon, delta, &loss)?;
    limit_on(mesh, epsilon, delta, &loss, &noise)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::integer_limit::least_integer_quantile;

    fn least(query: ScalarQuery, epsilon: f64, delta: f64, q: f64) -> f64 {
        let (epsilon, delta) =
            (Epsilon::new(epsilon).expect("valid"), Delta::new(delta).expect("valid"));
        quantile_limit(query, epsilon, delta, Bounds::ONE - Bounds::exact(q)).expect("solvable")
    }

    fn real(sensitivity: f64) -> ScalarQuery {
        ScalarQuery::Real { sensitivity: Distance::new(sensitivity).expect("valid") }
    }

    #[test]
    fn a_small_delta_makes_little_difference() {
        for (epsilon, delta, q) in [(1.0, 1e-9, 0.9), (4.0, 1e-6, 0.8), (12.0, 1e-9, 0.5)] {
            let outside = Bounds::ONE - Bounds::exact(q);
            let pure = least_quantile(epsilon, 3.0, outside).least;
            let found = least(real(3.0), epsilon, delta, q);
            assert!(
                found <= pure.upper() && found > 0.99 * pure.lower(),
                "{epsilon} {delta} {q}: {found} {pure:?}"
            );
        }
    }

    #[test]
    fn a_large_one_is_below_what_noise_with_a_spike_reaches() {
        // Zero with probability delta, Laplace noise otherwise: P[|X| > t] = (1 - delta)
        // e^(-epsilon t).
        for (epsilon, delta, q) in [(1.0f64, 0.3f64, 0.5f64), (0.5, 0.1, 0.6), (2.0, 0.02, 0.95)] {
            let reached = ((1.0 - delta) / (1.0 - q)).ln() / epsilon;
            let found = least(real(1.0), epsilon, delta, q);
            assert!(
                found <= reached && found > 0.5 * reached,
                "{epsilon} {delta} {q}: {found} {reached}"
            );
        }
        assert_eq!(least(real(1.0), 1.0, 0.3, 0.3), 0.0);
    }

    #[test]
    fn integers_have_integer_limits_with_and_without_a_table() {
        for (sensitivity, epsilon, q) in
            [(1, 1.0, 0.9), (1, 1.0, 0.4), (5, 0.7, 0.95), (400, 1.0, 0.9)]
        {
            let pure = least_integer_quantile(epsilon, sensitivity, Bounds::ONE - Bounds::exact(q))
                .expect("small")
                .least;
            let found = least(
                ScalarQuery::Integer { sensitivity: u64::from(sensitivity) },
                epsilon,
                1e-9,
                q,
            );
            let near = if sensitivity == 400 { 0.99 * pure.lower() } else { pure.lower() };
            assert!(
                found.fract() == 0.0 && found <= pure.upper() && found >= near,
                "{sensitivity}: {found} {pure:?}"
            );
        }
    }
}
