//! How far any mechanism could go: the least error at a budget, proved.

mod certificate;
mod group;
mod mesh;
mod packing;
mod programme;
mod pure;
mod quantile;

pub use pure::pure_limit;
pub use quantile::quantile_limit;

pub(crate) use mesh::Mesh;
pub(crate) use programme::{Programme, Rows, Shape, Solution, interior_point, multiplicity};

use crate::loss::Loss;
use certificate::{Claim, certified_bound};
use group::GroupGuarantee;
use reticent_mechanisms::{Delta, Distance, Epsilon, MechanismError};
use reticent_numerics::rounding::sub_down;

/// One number that is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ScalarQuery {
    /// A real number; noise is any real number.
    Real {
        /// The most by which one privacy unit moves it.
        sensitivity: Distance,
    },
    /// An integer; noise is an integer.
    Integer {
        /// The most by which one privacy unit moves it.
        sensitivity: u64,
    },
}

/// Why there is no limit.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LimitError {
    /// The noise is too wide for the programme.
    #[error(
        "noise of this budget reaches over {sensitivities:e} sensitivities, too many for the \
         linear programme of the limit; a larger epsilon or delta is needed"
    )]
    TooWide {
        /// How far it reaches.
        sensitivities: f64,
    },
    /// The solver found nothing.
    #[error("the linear programme of the limit was not solved: {0}")]
    NotSolved(String),
    /// A parameter is wrong.
    #[error(transparent)]
    Parameter(#[from] MechanismError),
}

/// Below this delta the limit is taken for this delta: a smaller delta does not make less error
/// possible, and noise without any is such noise.
const LEAST_DELTA: f64 = 1e-15;

/// The tests of shifts below the whole sensitivity that are made without a second thought, and the
/// most that are made.
const FEW_TESTS: usize = 4000;
const MOST_TESTS: usize = 10_000;

/// A proved lower bound of the expected loss of every noise that keeps a budget:
/// `(epsilon, delta)`-differential privacy, or the pure notion without `delta`.
///
/// Noise here is a random number, independent of the data, that is added to the answer, whatever
/// its law.
///
/// # How
/// Under pure differential privacy and for the losses of which the closed form is known, that
/// ([`pure_limit`]). Otherwise noise is put on a lattice (`mesh.rs`), the linear programme of the
/// least loss there is solved approximately (`programme.rs`), and the prices of its constraints are
/// made into a proof (`certificate.rs`); for a small `epsilon` many moves are taken together first
/// (`group.rs`). Integers up to 256 lose nothing to the lattice. On real numbers the mean absolute
/// and the mean square error lose about 0.2 percent, and so does [`crate::Beyond`], for which the
/// lattice is laid so that its jump falls between two cells. Other losses with jumps lose a
/// first-order term: mostly a percent or two.
///
/// # What is not assumed
/// That the best noise does not increase away from zero. Under pure differential privacy that may
/// be assumed (Geng and Viswanath), with a delta it may not: for `epsilon = 1/2`, `delta = 0.3` and
/// integers that move by 2, noise with teeth has a mean absolute error of 1.1645, and decreasing
/// noise at least 1.2166 (`reference/integer_limit.json`). At `delta = 1e-4` the difference is
/// below 0.01 percent in every case of that file.
///
/// # Example
/// ```
/// use reticent_choice::{AbsoluteError, ScalarQuery, limit};
/// use reticent_mechanisms::{Delta, Epsilon};
/// let count = ScalarQuery::Integer { sensitivity: 1 };
/// let least = limit(count, Epsilon::new(1.0)?, Some(Delta::new(1e-6)?), &AbsoluteError)?;
/// // Discrete Laplace noise, 1/sinh(1) = 0.85092, is all but the best.
/// assert!(least < 0.85092 && least > 0.8509);
/// # Ok::<(), reticent_choice::LimitError>(())
/// ```
///
/// # Errors
/// If `epsilon` is above 10, a sensitivity is zero or out of range, or the solver fails.
pub fn limit(
    query: ScalarQuery,
    epsilon: Epsilon,
    delta: Option<Delta>,
    loss: &dyn Loss,
) -> Result<f64, LimitError> {
    if let (None, ScalarQuery::Real { sensitivity }, Some(aim)) =
        (delta, query, loss.staircase_aim())
    {
        let epsilon = Epsilon::positive(epsilon.get())?;
        return Ok(pure_limit(aim, sensitivity, epsilon).lower());
    }
    let (epsilon, delta) = (epsilon.get(), delta.map_or(LEAST_DELTA, Delta::get).max(LEAST_DELTA));
    let sensitivity = match query {
        ScalarQuery::Real { sensitivity } => return real_limit(sensitivity, epsilon, delta, loss),
        ScalarQuery::Integer { sensitivity } => sensitivity,
    };
    if let Some(mesh) = Mesh::for_integers(sensitivity, epsilon, delta)? {
        return Ok(solve(mesh, epsilon, delta, loss)?.bound);
    }
    // Integer noise, spread evenly over one half to each side, is real noise that keeps the same
    // guarantee.
    let real = real_limit(Distance::new(sensitivity as f64)?, epsilon, delta, loss)?;
    Ok(sub_down(real, loss.greatest_gain_of_spreading()).max(0.0))
}

fn real_limit(
    sensitivity: Distance,
    epsilon: f64,
    delta: f64,
    loss: &dyn Loss,
) -> Result<f64, LimitError> {
    let GroupGuarantee { sensitivity, epsilon, delta } =
        GroupGuarantee { sensitivity, epsilon, delta }.of_groups()?;
    if let Some(t) = loss.jump() {
        return exceedance_limit(sensitivity, epsilon, delta, t);
    }
    Ok(solve(Mesh::for_reals(sensitivity, epsilon, delta)?, epsilon, delta, loss)?.bound)
}

/// The limit for a loss that is one beyond `t`: by the mesh that has `t` in the middle between two
/// steps, as nearly as can be, or by counting copies.
fn exceedance_limit(
    sensitivity: Distance,
    epsilon: f64,
    delta: f64,
    t: f64,
) -> Result<f64, LimitError> {
    let packed = packing::least_exceedance(sensitivity, epsilon, delta, t);
    let meshes = match Mesh::family(sensitivity, epsilon, delta) {
        Ok(meshes) => meshes,
        Err(_) if packed > 0.0 => return Ok(packed),
        Err(error) => return Err(error),
    };
    let points = || meshes.iter().map(|mesh| (mesh.middle_beyond(t), *mesh));
    let nearest = points().map(|point| point.0).fold(f64::INFINITY, f64::min);
    // A coarser mesh that is hardly farther will do.
    let Some((t, mesh)) = points().find(|point| point.0 <= nearest * (1.0 + 5e-4)) else {
        return Ok(packed);
    };
    Ok(quantile::exceedance_on(mesh, epsilon, delta, t)?.max(packed))
}

/// The best noise on a mesh, approximately, and a limit for all noise.
#[derive(Debug)]
pub(crate) struct Solved {
    pub mesh: Mesh,
    pub noise: Solution,
    pub bound: f64,
}

/// Both programmes, on finer meshes while limit and noise are more than a hundredth apart; three at
/// most, of which the best is taken.
///
/// What is gained by a finer mesh is the first order of a loss with jumps. Where the best noise
/// increases somewhere, nothing is.
pub(crate) fn solve(
    mesh: Mesh,
    epsilon: f64,
    delta: f64,
    loss: &dyn Loss,
) -> Result<Solved, LimitError> {
    let on = |mesh: Mesh| {
        let noise = best_decreasing(mesh, epsilon, delta, loss)?;
        let bound = limit_on(mesh, epsilon, delta, loss, &noise)?;
        Ok::<_, LimitError>(Solved { mesh, noise, bound })
    };
    let mut best = on(mesh)?;
    for _ in 0..2 {
        let near = best.noise.value <= 1.01 * best.bound;
        let Some(finer) = best.mesh.refined().filter(|_| !near) else { break };
        let next = on(finer)?;
        let gain = next.noise.value * best.bound < best.noise.value * next.bound * 0.998;
        best = Solved { bound: next.bound.max(best.bound), ..next };
        if !gain {
            break;
        }
    }
    Ok(best)
}

/// The best noise that does not increase away from zero, approximately.
pub(crate) fn best_decreasing(
    mesh: Mesh,
    epsilon: f64,
    delta: f64,
    loss: &dyn Loss,
) -> Result<Solution, LimitError> {
    let losses: Vec<f64> = (0..=mesh.last).map(|k| mesh.greatest_loss(loss, k)).collect();
    if losses.iter().any(|loss| !loss.is_finite()) {
        return Err(LimitError::NotSolved(
            "the loss is not finite where noise has to reach".into(),
        ));
    }
    Programme { steps: mesh.steps, epsilon, delta, losses, beyond: 0.0 }.solve(Shape::Decreasing)
}

/// The limit on a mesh, given noise from which the width of the flat top is read.
fn limit_on(
    mesh: Mesh,
    epsilon: f64,
    delta: f64,
    loss: &dyn Loss,
    decreasing: &Solution,
) -> Result<f64, LimitError> {
    let mut losses: Vec<f64> = (0..=mesh.last + 1).map(|k| mesh.least_loss(loss, k)).collect();
    let finite = losses.iter().all(|loss| loss.is_finite());
    let Some(beyond) = losses.pop().filter(|_| finite) else {
        return Err(LimitError::NotSolved(
            "the loss is not finite where noise has to reach".into(),
        ));
    };
    let edge = decreasing.probabilities[0] * (-0.5 * epsilon).exp();
    let top = decreasing.probabilities.iter().position(|&p| p < edge).unwrap_or(mesh.last);
    let window =
        (top + 1).max(FEW_TESTS / (2 * mesh.steps)).min(mesh.last.saturating_sub(mesh.steps));
    let stride = (mesh.steps * (2 * window + 1)).div_ceil(MOST_TESTS);
    let programme = Programme { steps: mesh.steps, epsilon, delta, losses, beyond };
    let solution = programme.solve(Shape::Any { window, stride })?;
    let claim = Claim { steps: mesh.steps, epsilon, delta, losses: &programme.losses, beyond };
    let bound = certified_bound(&claim, &solution);
    // A loss is never below its least.
    let least = loss.least_on(0.0, f64::MAX);
    Ok(if bound >= least { bound } else { least.max(0.0) })
}
