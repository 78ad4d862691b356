//! The noise with the least loss, as a mechanism.

mod repair;

use crate::limit::{
    LimitError, Mesh, ScalarQuery, Solution, Solved, best_decreasing, limit, multiplicity, solve,
};
use crate::loss::Loss;
use repair::tables;
use reticent_mechanisms::{Delta, Epsilon, MechanismError, Neighbours, Sensitivity, Tabulated};
use reticent_noise::Table;
use reticent_numerics::rounding::{div_up, mul_up};
use reticent_numerics::{Bounds, Enclosure, ExactSum, require};

/// Noise whose loss is next to the limit, and the limit.
#[derive(Clone, Debug)]
pub struct Optimum {
    /// A proved lower bound of the expected loss of any noise.
    pub limit: f64,
    /// An upper bound of the expected loss of this noise.
    pub loss: f64,
    /// The noise.
    pub mechanism: Tabulated,
}

/// The least `delta` that tables are made for.
const LEAST_DELTA: f64 = 1e-20;

/// The noise with the least expected loss among all that keep a budget and do not increase away
/// from zero, on a lattice; and the limit for any noise.
///
/// The solution of the linear programme is repaired until its exact table is certified
/// ([`Tabulated`]): what is released is what is proved. On real numbers its density is constant on
/// cells, of a sensitivity where `epsilon` is small and down to 1/256 of it where that is large.
///
/// # Example
/// ```
/// use reticent_choice::{AbsoluteError, ScalarQuery, optimum};
/// use reticent_mechanisms::{Delta, Distance, Epsilon, Mechanism};
/// let query = ScalarQuery::Real { sensitivity: Distance::new(1.0)? };
/// let best = optimum(query, Epsilon::new(4.0)?, Delta::new(1e-6)?, &AbsoluteError)?;
/// // Laplace noise has a mean absolute error of 0.25.
/// assert!(best.limit > 0.137 && best.loss < 0.138);
/// assert!(best.mechanism.delta(4.0)?.upper() <= 1e-6);
/// # Ok::<(), reticent_choice::LimitError>(())
/// ```
///
/// # Errors
/// As for [`crate::limit()`]; and if `delta` is below 1e-20, an integer's sensitivity is above 256,
/// or the noise of the budget reaches over more than 6000 steps: for real numbers where `epsilon`
/// is below 0.002 or so. Truncated Laplace noise is next to the limit there.
pub fn optimum(
    query: ScalarQuery,
    epsilon: Epsilon,
    delta: Delta,
    loss: &dyn Loss,
) -> Result<Optimum, LimitError> {
    let mesh = mesh(query, epsilon, delta)?;
    let Solved { mesh, noise, bound } = solve(mesh, epsilon.get(), delta.get(), loss)?;
    // Tables have lattices of their own; where a loss jumps another is better for the limit.
    let limit = if loss.jump().is_some() {
        bound.max(limit(query, epsilon, Some(delta), loss)?)
    } else {
        bound
    };
    let mechanism = first_certified(query, mesh, &noise, epsilon, delta)?;
    Ok(Optimum { limit, loss: expected_loss(mesh, loss, mechanism.table()), mechanism })
}

/// The noise alone, without the limit, if its table has no more than so many entries on one side.
///
/// # Errors
/// As for [`optimum`], or if the table is longer.
pub(crate) fn small_optimum(
    query: ScalarQuery,
    epsilon: Epsilon,
    delta: Delta,
    loss: &dyn Loss,
    longest: usize,
) -> Result<Tabulated, LimitError> {
    let mesh = mesh(query, epsilon, delta)?;
    if mesh.last > longest {
        let (last, time) = (mesh.last, "too many for the time in which a query is planned");
        return Err(LimitError::NotSolved(format!("the table has {last} entries, {time}")));
    }
    let noise = best_decreasing(mesh, epsilon.get(), delta.get(), loss)?;
    first_certified(query, mesh, &noise, epsilon, delta)
}

fn mesh(query: ScalarQuery, epsilon: Epsilon, delta: Delta) -> Result<Mesh, LimitError> {
    let (epsilon, delta) = (epsilon.get(), delta.get());
    let accepted = "at least 1e-20: below, the staircase is as good";
    require(delta >= LEAST_DELTA, "delta", delta, accepted).map_err(MechanismError::from)?;
    match query {
        ScalarQuery::Real { sensitivity } => Mesh::for_reals(sensitivity, epsilon, delta),
        ScalarQuery::Integer { sensitivity } => Mesh::for_integers(sensitivity, epsilon, delta)?
            .ok_or_else(|| {
                LimitError::NotSolved(
                    "the integers in the support are too many for a table; there is a limit only"
                        .into(),
                )
            }),
    }
}

/// The first table near a solution that is proved to keep the budget.
fn first_certified(
    query: ScalarQuery,
    mesh: Mesh,
    noise: &Solution,
    epsilon: Epsilon,
    delta: Delta,
) -> Result<Tabulated, LimitError> {
    let mut refusal = LimitError::NotSolved("no table could be made of the solution".into());
    for table in tables(noise, mesh.steps, epsilon.get(), delta.get()) {
        match certified(query, mesh, table, epsilon, delta) {
            Ok(mechanism) => return Ok(mechanism),
            Err(error) => refusal = error,
        }
    }
    Err(refusal)
}

fn certified(
    query: ScalarQuery,
    mesh: Mesh,
    table: Table,
    epsilon: Epsilon,
    delta: Delta,
) -> Result<Tabulated, LimitError> {
    Ok(match query {
        ScalarQuery::Integer { sensitivity } => {
            Tabulated::for_integers(sensitivity, table, epsilon, delta)?
        }
        ScalarQuery::Real { sensitivity } => {
            // A scalar is a scalar between whatever neighbours.
            let sensitivity = Sensitivity::scalar(sensitivity.get(), Neighbours::AddRemove)?;
            Tabulated::for_reals(&sensitivity, mesh.steps as u64, table, epsilon, delta)?
        }
    })
}

/// `sum of P[N = k] loss(k)`, rounded up.
fn expected_loss(mesh: Mesh, loss: &dyn Loss, table: &Table) -> f64 {
    let mut sum = ExactSum::new();
    for (k, &weight) in table.weights().iter().enumerate() {
        let weight = Bounds::ONE.integer(weight as i128).upper();
        sum.add(mul_up(multiplicity(k) * weight, mesh.greatest_loss(loss, k)));
    }
    div_up(sum.upper(), Bounds::ONE.integer(table.total() as i128).lower())
}
