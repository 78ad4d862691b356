//! Several numbers with public bounds of their own: truncated or clamped generalized Gaussian noise
//! under pure privacy.

mod closed_forms;
mod loss;
mod separable;

use crate::bounded_query::{BoundedQuery, OnLattice, guaranteed};
use crate::generalized_gaussian::{AddNoise, Order, lattice_for, most_for_pure};
use crate::inflated::ReleaseClamped;
use crate::named::named;
use crate::sensitivity::Moves;
use crate::truncated::{ReleaseWithin, TruncatedMethod, require_convex};
use crate::{
    Budget, Certificate, Distance, Epsilon, Errors, Guarantee, Mechanism, MechanismError,
    MechanismKind, Notion, Releaser, Scale, Sensitivity, inflated_error, truncated_error,
};
use loss::{InflatedLoss, TruncatedLoss};
use reticent_events::Event;
use reticent_noise::Lattice;
use reticent_numerics::root::{Range, least_at_most};
use reticent_numerics::{Bounds, require};
use std::sync::Arc;

named! {
    /// What happens at the bounds.
    pub enum Bounding {
        /// Noise given that the sum stays inside.
        Truncated => "truncated",
        /// The sum is clamped.
        Inflated => "inflated",
    }
}

/// The most numbers: each has a sampler of its own.
pub(crate) const MOST_NUMBERS: usize = 1000;

/// Releases each of several numbers between its own public bounds, with generalized Gaussian noise
/// of order `p >= 1` and one scale `b` for all of them.
///
/// # Distribution
/// Independent coordinates; coordinate `k` as [`crate::TruncatedGeneralizedGaussian`] (Definition
/// 5) or [`crate::InflatedGeneralizedGaussian`] (Definition 7) on its range of width `R_k`.
///
/// # Guarantee
/// Pure epsilon-differential privacy of the whole vector. The loss of a move `d` is
/// `sum_k E_k(|d_k|)`, where `E_k` is what the scalar mechanism loses at its worst answer and
/// output: `max_s psi_k(s + d) - psi_k(s)` for truncated noise, and
/// `ln Q((R_k - d)/b) - ln Q(R_k/b)` for clamped noise, the logarithm that Liu's Eqns 10 to 12
/// leave open (erratum L7). The least scale is that at which the largest sum over all moves is
/// epsilon:
///
/// | known | largest sum | |
/// |---|---|---|
/// | how far each number moves | `sum E_k(D_k)` | exact |
/// | a unit is in one number | `max E_k(D)` | exact |
/// | a unit in one number is replaced | the two largest `E_k(D)` | exact |
/// | a norm of the move, `q >= 1` | `max sum E_k(d_k)` over the ball | exact to about `1e-9` for clamped noise and for truncated noise of orders 1 and 2; otherwise a certified bracket, whose upper end counts |
///
/// Exact means: for all data sets that those sensitivities allow. [`TruncatedMethod::Paper`] is
/// Eqn 7 with the l_p sensitivity where it is known, and otherwise Eqn 8;
/// [`TruncatedMethod::Exponential`] is Eqn 16 with the exact utility sensitivity, and
/// [`TruncatedMethod::Lemma10`] with the bounds of Lemma 10.
///
/// # Profile
/// Between that of the worst number alone and that of any mechanism of the same pure epsilon.
/// Accountants are told more where numbers move by their own most ([`Mechanism::event`]): each as
/// an event of its own.
///
/// # Numerics
/// All numbers share a lattice; bounds and moves are those on it, as for one number.
///
/// # References
/// Liu, *Generalized Gaussian mechanism for differential privacy*, Definitions 5 and 7, Eqns 6 to
/// 12 and 16, Lemma 10.
///
/// # Example
/// ```
/// use reticent_mechanisms::{
///     BoundedVector, Bounding, Budget, Mechanism, Neighbours, Order, Sensitivity, TruncatedMethod,
/// };
/// let bounds = [(0.0, 1.0), (10.0, 14.0)];
/// let sensitivity = Sensitivity::per_element(&[0.5, 1.0], Neighbours::AddRemove)?;
/// let (order, budget) = (Order::new(2.0)?, Budget::new(1.0, None)?);
/// let truncated = Bounding::Truncated;
/// let calibrate =
///     |method| BoundedVector::calibrate(truncated, order, method, &bounds, &sensitivity, budget);
/// let (exact, paper) = (calibrate(TruncatedMethod::Exact)?, calibrate(TruncatedMethod::Paper)?);
/// // (2 (2 * 0.5 + 0.25 + 2 * 4 + 1))^(1/2), by Eqn 8.
/// assert!((paper.scale() - 20.5f64.sqrt()).abs() < 1e-9);
/// assert!(exact.scale() < 0.6 * paper.scale());
/// # Ok::<(), reticent_mechanisms::MechanismError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct BoundedVector {
    bounding: Bounding,
    order: Order,
    scale: f64,
    queries: Vec<BoundedQuery>,
    placed: Placed,
    method: &'static str,
    epsilon: f64,
    certified: Bounds,
}

/// What a guarantee is proved for: ranges and moves, ideal or on a lattice.
#[derive(Clone, Debug, PartialEq)]
struct Known {
    ranges: Vec<[f64; 2]>,
    sensitivity: Sensitivity,
    moves: Moves,
}

/// The numbers on the lattice of their noise.
#[derive(Clone, Debug, PartialEq)]
struct Placed {
    lattice: Lattice,
    numbers: Vec<OnLattice>,
    known: Known,
}

const NOISE: &str = "bounded noise for several numbers";

impl BoundedVector {
    /// The scale for a loss of at most `epsilon`.
    ///
    /// # Errors
    /// If the order is below 1, epsilon is zero, the sensitivity is that of another number of
    /// numbers, the method is not `exact` for clamped noise, or no scale could be certified.
    pub fn calibrate(
        bounding: Bounding,
        order: Order,
        method: TruncatedMethod,
        bounds: &[(f64, f64)],
        sensitivity: &Sensitivity,
        budget: impl Into<Budget>,
    ) -> Result<Self, MechanismError> {
        require_convex(order)?;
        let epsilon = budget.into().pure(kind_of(bounding))?;
        if bounding == Bounding::Inflated && method != TruncatedMethod::Exact {
            return Err(MechanismError::Refused(format!(
                "the method `{}` is for truncated noise: for clamped noise the paper has no scale",
                method.name()
            )));
        }
        let (queries, ideal) = ideal(bounds, sensitivity)?;
        let least = |known: &Known, guess: f64| match method {
            TruncatedMethod::Exact => least_scale(bounding, order, known, epsilon, guess),
            TruncatedMethod::Paper => closed_forms::paper_scale(
                order,
                &known.ranges,
                &known.moves,
                &known.sensitivity,
                epsilon,
            ),
            TruncatedMethod::Exponential => {
                Ok(closed_forms::exponential(order, &known.ranges, &known.moves, epsilon))
            }
            TruncatedMethod::Lemma10 => {
                closed_forms::lemma_10_scale(order, bounds, &known.moves, epsilon)
            }
        };
        let guess = closed_forms::exponential(order, &ideal.ranges, &ideal.moves, epsilon);
        let mut scale = Scale::new(least(&ideal, guess)?)?.get();
        // The lattice depends on the scale, and the scale, in its last digits, on the lattice.
        for attempt in 0..24 {
            let placed = Placed::new(&queries, &ideal, order, scale)?;
            scale = Scale::new(scale.max(least(&placed.known, scale)?))?.get();
            if Placed::new(&queries, &ideal, order, scale)? == placed {
                let certified = loss(bounding, order, scale, &placed.known, true);
                if certified.upper() <= epsilon {
                    let method = method.name();
                    return Ok(BoundedVector {
                        bounding,
                        order,
                        scale,
                        queries,
                        placed,
                        method,
                        epsilon,
                        certified,
                    });
                }
                scale *= 1.0 + 2f64.powi(attempt - 52);
            }
        }
        Err(MechanismError::NotCertified {
            what: NOISE,
            reason: "no scale agrees with its lattice and its proof".into(),
        })
    }

    /// Noise of a given scale, with the least epsilon that can be proved for it as its guarantee.
    ///
    /// # Errors
    /// If the order is below 1, the sensitivity is that of another number of numbers, or no finite
    /// epsilon is proved.
    pub fn with_scale(
        bounding: Bounding,
        order: Order,
        bounds: &[(f64, f64)],
        sensitivity: &Sensitivity,
        scale: Scale,
    ) -> Result<Self, MechanismError> {
        require_convex(order)?;
        let (queries, ideal) = ideal(bounds, sensitivity)?;
        let scale = scale.get();
        let placed = Placed::new(&queries, &ideal, order, scale)?;
        let certified = loss(bounding, order, scale, &placed.known, true);
        let epsilon = guaranteed(certified)?;
        Ok(BoundedVector {
            bounding,
            order,
            scale,
            queries,
            placed,
            method: "given",
            epsilon,
            certified,
        })
    }

    /// What happens at the bounds.
    pub fn bounding(&self) -> Bounding {
        self.bounding
    }

    /// The bounds of each number.
    pub fn bounds(&self) -> Vec<(f64, f64)> {
        self.queries.iter().map(BoundedQuery::bounds).collect()
    }

    fn widest(&self) -> f64 {
        self.placed.numbers.iter().map(|number| number.interval.width()).fold(0.0, f64::max)
    }

    /// The mechanism of number `k` by itself, moved as far as it goes.
    fn event_of(&self, k: usize) -> Event {
        let (order, scale) = (self.order.get(), self.scale);
        let range = self.placed.numbers[k].interval.width();
        let sensitivity = self.placed.known.moves.of_coordinate(k);
        match self.bounding {
            Bounding::Truncated => {
                Event::TruncatedGeneralizedGaussian { order, scale, range, sensitivity }
            }
            Bounding::Inflated => {
                Event::InflatedGeneralizedGaussian { order, scale, range, sensitivity }
            }
        }
    }

    fn releaser_of(&self, k: usize) -> Result<Arc<dyn Releaser>, MechanismError> {
        let (query, on_lattice) = (self.queries[k], self.placed.numbers[k]);
        Ok(match self.bounding {
            Bounding::Truncated => {
                Arc::new(ReleaseWithin::new(self.order, self.scale, on_lattice, query)?)
            }
            Bounding::Inflated => {
                let noise = AddNoise::new(self.order, self.scale, on_lattice.lattice)?;
                let (lower, upper) = query.bounds();
                Arc::new(ReleaseClamped { noise, lower, upper })
            }
        })
    }
}

/// The exact utility sensitivity of `u(s, y) = -||y - s||_p^p` for numbers with public bounds, to
/// which Lemma 10 of Liu is an upper bound: the largest `sum R_k^p - (R_k - d_k)^p` of all moves.
///
/// # Errors
/// If the order is below 1, or the sensitivity is that of another number of numbers.
pub fn utility_sensitivity_of_vector(
    order: Order,
    bounds: &[(f64, f64)],
    sensitivity: &Sensitivity,
) -> Result<Bounds, MechanismError> {
    require_convex(order)?;
    let (_, ideal) = ideal(bounds, sensitivity)?;
    Ok(closed_forms::utility_sensitivity(order, &ideal.ranges, &ideal.moves))
}

fn kind_of(bounding: Bounding) -> MechanismKind {
    match bounding {
        Bounding::Truncated => MechanismKind::TruncatedGeneralizedGaussian,
        Bounding::Inflated => MechanismKind::InflatedGeneralizedGaussian,
    }
}

fn ideal(
    bounds: &[(f64, f64)],
    sensitivity: &Sensitivity,
) -> Result<(Vec<BoundedQuery>, Known), MechanismError> {
    let numbers = bounds.len();
    require(
        (1..=MOST_NUMBERS).contains(&numbers),
        "number of bounds",
        numbers as f64,
        "from 1 to 1000",
    )?;
    let moves = sensitivity.moves(numbers)?;
    let sensitivity = sensitivity.clone().with_coordinates(numbers as u32)?;
    let query = |(k, &(lower, upper)): (usize, &(f64, f64))| {
        // A number that does not move at all has noise like the others.
        let distance = moves.of_coordinate(k).max(1e-100);
        BoundedQuery::new(lower, upper, Distance::new(distance)?)
    };
    let queries: Vec<BoundedQuery> =
        bounds.iter().enumerate().map(query).collect::<Result<_, _>>()?;
    let ranges = queries.iter().map(|query| query.ideal().range).collect();
    Ok((queries, Known { ranges, sensitivity, moves }))
}

impl Placed {
    fn new(
        queries: &[BoundedQuery],
        ideal: &Known,
        order: Order,
        scale: f64,
    ) -> Result<Self, MechanismError> {
        let mut figures: Vec<f64> = (0..queries.len())
            .map(|k| ideal.moves.of_coordinate(k))
            .filter(|&distance| distance > 0.0)
            .collect();
        figures.dedup();
        let lattice = lattice_for(order, scale, &figures)?;
        let numbers: Vec<OnLattice> =
            queries.iter().map(|query| query.put_on(lattice, scale)).collect::<Result<_, _>>()?;
        let sensitivity = ideal.sensitivity.rounded_to(lattice)?;
        let moves = sensitivity.moves(queries.len())?;
        let ranges = numbers.iter().map(|number| number.interval.range).collect();
        Ok(Placed { lattice, numbers, known: Known { ranges, sensitivity, moves } })
    }
}

/// The largest loss of all moves.
fn loss(bounding: Bounding, order: Order, scale: f64, known: &Known, proved: bool) -> Bounds {
    match bounding {
        Bounding::Truncated => {
            let of = |&range: &[f64; 2]| TruncatedLoss { order, range, scale, proved };
            separable::worst(&known.ranges.iter().map(of).collect::<Vec<_>>(), &known.moves)
        }
        Bounding::Inflated => {
            let of = |&range: &[f64; 2]| InflatedLoss { order, range, scale };
            separable::worst(&known.ranges.iter().map(of).collect::<Vec<_>>(), &known.moves)
        }
    }
}

/// The least scale whose loss is proved. The worst answers are nearly always at the bounds: those
/// steer the search, and its result is proved with the maximum over all answers.
fn least_scale(
    bounding: Bounding,
    order: Order,
    known: &Known,
    epsilon: f64,
    guess: f64,
) -> Result<f64, MechanismError> {
    let search = |guess: f64, proved: bool| {
        let range = Range::between(1e-140, 1e140).bracket_from(guess).to_within(1e-13);
        least_at_most(|scale| loss(bounding, order, scale, known, proved), epsilon, range)
            .map_err(|error| MechanismError::not_certified(NOISE, &error))
    };
    let start = search(guess, false)?;
    if loss(bounding, order, start, known, true).upper() <= epsilon {
        return Ok(start);
    }
    search(start, true)
}

impl Mechanism for BoundedVector {
    fn kind(&self) -> MechanismKind {
        kind_of(self.bounding)
    }

    fn method(&self) -> &'static str {
        self.method
    }

    fn scale(&self) -> f64 {
        self.scale
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        let mut parameters = vec![("order", self.order.get())];
        parameters.extend(self.queries.iter().map(|query| ("lower", query.lower())));
        parameters.extend(self.queries.iter().map(|query| ("upper", query.upper())));
        parameters
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee { notion: Notion::Pure, epsilon: self.epsilon, delta: 0.0 }
    }

    fn certificate(&self) -> Certificate {
        Certificate::Epsilon(self.certified)
    }

    /// Between the profile of the number that loses most by itself, and the largest that any
    /// mechanism of this pure epsilon has.
    fn delta(&self, epsilon: f64) -> Result<Bounds, MechanismError> {
        let epsilon = Epsilon::new(epsilon)?.get();
        if self.certified.upper() <= epsilon {
            return Ok(Bounds::ZERO);
        }
        let mut alone = 0.0f64;
        for k in 0..self.queries.len() {
            let repeated = (0..k).any(|j| self.event_of(j) == self.event_of(k));
            if !repeated && self.placed.known.moves.of_coordinate(k) > 0.0 {
                alone = alone.max(crate::described(&self.event_of(k))?.delta(epsilon)?.lower());
            }
        }
        let most = most_for_pure(self.certified.upper(), epsilon);
        Ok(Bounds::new(alone.min(most), most))
    }

    /// Where each number moves by at most its own, all at once, an event for each. Where one does,
    /// and all have ranges of one width, the event of that one. Otherwise the proved epsilon, which
    /// is all that is known.
    fn event(&self) -> Event {
        let same = (1..self.queries.len()).all(|k| self.event_of(k) == self.event_of(0));
        match &self.placed.known.moves {
            Moves::All { most, ball: None } => {
                let moving = (0..most.len()).filter(|&k| most[k] > 0.0);
                let mut events: Vec<Event> = moving.map(|k| self.event_of(k)).collect();
                match (events.pop(), events.is_empty()) {
                    (Some(only), true) => only,
                    (last, _) => {
                        Event::Composition { events: events.into_iter().chain(last).collect() }
                    }
                }
            }
            Moves::One(_) if same => self.event_of(0),
            Moves::One(_) | Moves::Two(_) | Moves::All { ball: Some(_), .. } => {
                Event::Approximate { epsilon: self.certified.upper(), delta: 0.0 }
            }
        }
    }

    /// The worst over all answers, of the number with the widest range: a wider range allows larger
    /// errors.
    fn errors(&self) -> Option<Errors> {
        Some(match self.bounding {
            Bounding::Truncated => truncated_error::errors(self.order, self.scale, self.widest()),
            Bounding::Inflated => inflated_error::errors(self.order, self.scale, self.widest()),
        })
    }

    fn usefulness(&self, t: f64) -> Option<Bounds> {
        let widest = self.widest();
        Some(match self.bounding {
            Bounding::Truncated => truncated_error::usefulness(self.order, self.scale, widest, t),
            Bounding::Inflated => inflated_error::usefulness(self.order, self.scale, widest, t),
        })
    }

    /// # Errors
    /// Always: [`Mechanism::releasers`] has one for each number.
    fn releaser(&self) -> Result<Box<dyn Releaser>, MechanismError> {
        Err(MechanismError::Refused(
            "numbers with bounds of their own are released one by one, each by its own releaser"
                .into(),
        ))
    }

    fn releasers(
        &self,
        numbers: usize,
        _moving: u32,
    ) -> Result<Vec<Arc<dyn Releaser>>, MechanismError> {
        // Whichever number of disjoint ones it is that moves, it has the same bounds.
        let disjoint = match &self.placed.known.moves {
            Moves::One(_) | Moves::Two(_) => true,
            Moves::All { .. } => false,
        };
        if disjoint && self.queries.iter().all(|query| query == &self.queries[0]) {
            return Ok(vec![self.releaser_of(0)?]);
        }
        if numbers != self.queries.len() {
            return Err(MechanismError::Refused(format!(
                "there are bounds for {} numbers, but {numbers} are to be released",
                self.queries.len()
            )));
        }
        let mut releasers: Vec<Arc<dyn Releaser>> = Vec::with_capacity(self.queries.len());
        for k in 0..self.queries.len() {
            let same = (0..k).find(|&j| self.queries[j].bounds() == self.queries[k].bounds());
            releasers.push(match same {
                Some(j) => Arc::clone(&releasers[j]),
                None => self.releaser_of(k)?,
            });
        }
        Ok(releasers)
    }
}
