//! How far one privacy unit can move an answer, in which norm, and between which neighbours.

mod moves;
mod norms;
#[cfg(test)]
mod tests;

pub(crate) use moves::{Ball, Moves};
pub(crate) use norms::{norm_on, norm_up};

use crate::{Distance, MechanismError};
use norms::{root_ratio_up, valid_order};
use reticent_noise::Lattice;
use reticent_numerics::rounding::{mul_up, sub_up};
use reticent_numerics::{OutOfRange, require};
use serde::Serialize;
use std::fmt;

/// Which data sets are neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Neighbours {
    /// One holds a privacy unit more than the other.
    AddRemove,
    /// Of equal size, they differ in one privacy unit.
    Replace,
}

impl fmt::Display for Neighbours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Neighbours::AddRemove => "add/remove",
            Neighbours::Replace => "replace",
        })
    }
}

/// How far an answer `s`, a number or a vector, moves between neighbouring data sets `x` and `x'`.
///
/// The l_p sensitivity is `D_p = max ||s(x) - s(x')||_p` with `||v||_p = (sum |v_k|^p)^(1/p)`; it
/// is no norm for `p < 1`, and `p = inf` stands for the largest coordinate. What is known of an
/// answer is kept as it is, and [`Sensitivity::order`] derives the `D_p` that a mechanism asks for:
///
/// | known | `D_q` |
/// |---|---|
/// | a scalar moves by `D` | `D` |
/// | `D_p` | `D_p` if `q >= p`; `r^(1/q - 1/p) D_p` if `q < p`, and only if the number `r` of coordinates is known |
/// | coordinate `k` moves by at most `d_k` | `(sum d_k^q)^(1/q)` |
/// | that and `D_p` | the less of the two |
/// | a unit counts in one of many cells, with at most `D` | `D` under add/remove, `2^(1/q) D` under replace |
///
/// The second line is Hölder's inequality and is attained; the third is Lemma 2 of Liu, for every
/// `q > 0` because a sum of `|v_k|^q` increases in each `|v_k|`. The last line corrects the erratum
/// "Adjacency": Liu's text gives a histogram the l_p sensitivity 1, which holds only where a
/// neighbour has a unit more or less. A replaced unit leaves one cell and enters another.
///
/// # Direction
/// Every figure that is returned is an upper bound, within a few units in the last place of the
/// expression above.
///
/// # Example
/// ```
/// use reticent_mechanisms::{Neighbours, Sensitivity};
/// let counts = Sensitivity::histogram(Neighbours::Replace);
/// assert_eq!(counts.l1()?, 2.0);
/// assert!((counts.l2()? / 2f64.sqrt() - 1.0).abs() < 1e-15);
///
/// let sums = Sensitivity::per_element(&[3.0, 4.0], Neighbours::AddRemove)?;
/// assert_eq!((sums.l1()?, sums.l2()?), (7.0, 5.0));
///
/// // An l2 bound says nothing of the l1 norm of a vector of unknown length.
/// assert!(Sensitivity::l2_bound(5.0, Neighbours::AddRemove)?.l1().is_err());
/// # Ok::<(), reticent_mechanisms::MechanismError>(())
/// ```
///
/// # References
/// Liu, *Generalized Gaussian mechanism for differential privacy*, 2019, Definition 1, Lemma 2 and
/// Claim 3.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensitivity {
    neighbours: Neighbours,
    movement: Movement,
    integers: bool,
}

/// What is known of the move.
#[derive(Clone, Debug, PartialEq)]
enum Movement {
    Scalar(f64),
    Norm { order: f64, bound: f64, coordinates: Option<u32> },
    PerElement { distances: Vec<f64>, ball: Option<Ball> },
    Disjoint { contribution: f64 },
}

/// A number that moves by so much, whichever data sets are neighbours.
impl From<Distance> for Sensitivity {
    fn from(distance: Distance) -> Self {
        Self::of(Movement::Scalar(distance.get()), Neighbours::AddRemove)
    }
}

/// A vector whose coordinates move by so much each, possibly all of them at once.
impl From<&[Distance]> for Sensitivity {
    fn from(distances: &[Distance]) -> Self {
        let distances = distances.iter().map(|distance| distance.get()).collect();
        Self::of(Movement::PerElement { distances, ball: None }, Neighbours::AddRemove)
    }
}

impl Sensitivity {
    /// A number that moves by at most `distance`.
    ///
    /// # Errors
    /// If the distance is not from 1e-100 to 1e100.
    pub fn scalar(distance: f64, neighbours: Neighbours) -> Result<Self, MechanismError> {
        Ok(Self::of(Movement::Scalar(Distance::new(distance)?.get()), neighbours))
    }

    /// An integer that moves by at most `distance`. Whoever uses it refuses what is not from 1 to
    /// `2^53`.
    pub fn whole(distance: u64) -> Self {
        // Rounded up where an f64 is not exact.
        let nearest = distance as f64;
        let upper = if (nearest as u64) < distance { nearest.next_up() } else { nearest };
        Self::of(Movement::Scalar(upper), Neighbours::AddRemove).of_integers()
    }

    /// A vector of l_p sensitivity `distance` for `p = order`, which may be infinite.
    ///
    /// # Errors
    /// If the order is not at least 0.01 or the distance not from 1e-100 to 1e100.
    pub fn norm(order: f64, distance: f64, neighbours: Neighbours) -> Result<Self, MechanismError> {
        let (order, bound) = (valid_order(order)?, Distance::new(distance)?.get());
        Ok(Self::of(Movement::Norm { order, bound, coordinates: None }, neighbours))
    }

    /// A vector of l1 sensitivity `distance`.
    ///
    /// # Errors
    /// If the distance is not from 1e-100 to 1e100.
    pub fn l1_bound(distance: f64, neighbours: Neighbours) -> Result<Self, MechanismError> {
        Self::norm(1.0, distance, neighbours)
    }

    /// A vector of l2 sensitivity `distance`.
    ///
    /// # Errors
    /// If the distance is not from 1e-100 to 1e100.
    pub fn l2_bound(distance: f64, neighbours: Neighbours) -> Result<Self, MechanismError> {
        Self::norm(2.0, distance, neighbours)
    }

    /// A vector whose coordinate `k` moves by at most `distances[k]`, possibly all of them at once.
    /// A zero stands for a coordinate that does not move.
    ///
    /// # Errors
    /// If a distance is neither 0 nor from 1e-100 to 1e100, or all are 0.
    pub fn per_element(distances: &[f64], neighbours: Neighbours) -> Result<Self, MechanismError> {
        if !distances.iter().any(|&distance| distance > 0.0) {
            let message = "the per-element sensitivities need at least one number above 0";
            return Err(MechanismError::Refused(message.into()));
        }
        let checked: Result<Vec<f64>, _> =
            distances
                .iter()
                .map(|&distance| {
                    if distance == 0.0 {
                        Ok(0.0)
                    } else {
                        Distance::new(distance).map(Distance::get)
                    }
                })
                .collect();
        Ok(Self::of(Movement::PerElement { distances: checked?, ball: None }, neighbours))
    }

    /// The same, of which the l_p sensitivity for `p = order` is known too: it is often far below
    /// Lemma 2's bound, because no neighbour moves every coordinate as far as it can go.
    ///
    /// # Errors
    /// If the order is not at least 0.01, the distance not from 1e-100 to 1e100, or what is known
    /// is not how far each coordinate moves.
    pub fn with_norm(mut self, order: f64, distance: f64) -> Result<Self, MechanismError> {
        let known = Ball { order: valid_order(order)?, bound: Distance::new(distance)?.get() };
        match &mut self.movement {
            Movement::PerElement { ball, .. } => *ball = Some(known),
            Movement::Scalar(_) | Movement::Norm { .. } | Movement::Disjoint { .. } => {
                return Err(MechanismError::Refused(
                    "a norm can be added to what is known of each coordinate, and to nothing else"
                        .into(),
                ));
            }
        }
        Ok(self)
    }

    /// A vector whose coordinate `k` lies between the public bounds `ranges[k]`: it moves by at
    /// most the width (Claim 3 of Liu).
    ///
    /// # Errors
    /// If a range has no width, or one that is not from 1e-100 to 1e100.
    pub fn ranges(ranges: &[(f64, f64)], neighbours: Neighbours) -> Result<Self, MechanismError> {
        // A difference of f64 is exact or rounded up; a NaN or an inverted range is refused as a
        // distance.
        let widths: Result<Vec<f64>, _> = ranges
            .iter()
            .map(|&(low, high)| Distance::new(sub_up(high, low)).map(Distance::get))
            .collect();
        Self::per_element(&widths?, neighbours)
    }

    /// Sums over disjoint cells: a privacy unit counts in one cell, with a contribution from 0 to
    /// `contribution`.
    ///
    /// A replaced unit moves two cells by at most the contribution each, or one cell by at most the
    /// same: contributions have one sign, so that what enters makes up for what leaves.
    ///
    /// # Errors
    /// If the contribution is not from 1e-100 to 1e100.
    pub fn disjoint(contribution: f64, neighbours: Neighbours) -> Result<Self, MechanismError> {
        Ok(Self::of(
            Movement::Disjoint { contribution: Distance::new(contribution)?.get() },
            neighbours,
        ))
    }

    /// Counts over disjoint cells.
    pub fn histogram(neighbours: Neighbours) -> Self {
        Sensitivity {
            integers: true,
            ..Self::of(Movement::Disjoint { contribution: 1.0 }, neighbours)
        }
    }

    fn of(movement: Movement, neighbours: Neighbours) -> Self {
        Sensitivity { neighbours, movement, integers: false }
    }

    /// The same, for a vector of `coordinates` numbers. It matters to bounds in a norm alone: the
    /// other kinds know their number or do not need it.
    ///
    /// # Errors
    /// If it is zero.
    pub fn with_coordinates(mut self, coordinates: u32) -> Result<Self, MechanismError> {
        require(coordinates > 0, "coordinates", 0.0, "at least 1")?;
        if let Movement::Norm { coordinates: known, .. } = &mut self.movement {
            *known = Some(coordinates);
        }
        Ok(self)
    }

    /// The same, for answers that are known to be integers: rounding to a lattice that holds the
    /// integers does not touch them.
    pub fn of_integers(self) -> Self {
        Sensitivity { integers: true, ..self }
    }

    /// How many numbers the answer has, where that is known.
    pub fn coordinates(&self) -> Option<usize> {
        match &self.movement {
            Movement::PerElement { distances, .. } => Some(distances.len()),
            Movement::Norm { coordinates, .. } => coordinates.map(|known| known as usize),
            Movement::Scalar(_) | Movement::Disjoint { .. } => None,
        }
    }

    /// Which data sets are neighbours.
    pub fn neighbours(&self) -> Neighbours {
        self.neighbours
    }

    /// The most by which each coordinate moves, all of them at once: for a scalar and for
    /// per-element sensitivities.
    pub fn elements(&self) -> Option<&[f64]> {
        match &self.movement {
            Movement::Scalar(distance) => Some(std::slice::from_ref(distance)),
            Movement::PerElement { distances, .. } => Some(distances),
            Movement::Norm { .. } | Movement::Disjoint { .. } => None,
        }
    }

    /// How far the answer moves, where no more than one coordinate of it ever moves at once. All
    /// l_p sensitivities are then the same.
    pub fn one_coordinate(&self) -> Option<f64> {
        match &self.movement {
            Movement::Scalar(distance)
            | Movement::Norm { bound: distance, coordinates: Some(1), .. } => Some(*distance),
            Movement::Disjoint { contribution } => {
                (self.neighbours == Neighbours::AddRemove).then_some(*contribution)
            }
            Movement::PerElement { distances, ball } => {
                let mut moving = distances.iter().copied().filter(|&distance| distance > 0.0);
                let first = moving.next().filter(|_| moving.next().is_none());
                first.map(|first| ball.map_or(first, |ball| first.min(ball.bound)))
            }
            Movement::Norm { .. } => None,
        }
    }

    /// How far the answer moves, for noise or a choice that protects one number.
    ///
    /// # Errors
    /// If more than one coordinate of it can move at once.
    pub fn of_one_number(&self, what: &str) -> Result<f64, MechanismError> {
        self.one_coordinate().ok_or_else(|| {
            MechanismError::Refused(format!(
                "{what} protects one number: this answer has more coordinates that can move at \
                 once, or an unknown number of them"
            ))
        })
    }

    /// How many coordinates move at once, at most; `what` is the noise that asks.
    ///
    /// # Errors
    /// If that is not known.
    pub fn moving_coordinates(&self, what: &str) -> Result<u32, MechanismError> {
        match &self.movement {
            Movement::Scalar(_) => Ok(1),
            Movement::Norm { coordinates: Some(coordinates), .. } => Ok(*coordinates),
            Movement::PerElement { distances, .. } => Ok(moving(distances)),
            Movement::Disjoint { .. } => match self.neighbours {
                Neighbours::AddRemove => Ok(1),
                Neighbours::Replace => Ok(2),
            },
            Movement::Norm { coordinates: None, .. } => Err(MechanismError::Refused(format!(
                "{what} needs the number of `coordinates` of a vector: its loss depends on it"
            ))),
        }
    }

    /// The most by which each coordinate that moves does so, all of them at once; none if only a
    /// norm of several is known.
    pub(crate) fn moving_elements(&self) -> Option<Vec<f64>> {
        match (self.one_coordinate(), &self.movement) {
            (Some(distance), _) => Some(vec![distance]),
            (None, Movement::PerElement { distances, .. }) => {
                Some(distances.iter().copied().filter(|&distance| distance > 0.0).collect())
            }
            // Two cells, of a unit that is replaced.
            (None, Movement::Disjoint { contribution }) => Some(vec![*contribution; 2]),
            (None, Movement::Scalar(_) | Movement::Norm { .. }) => None,
        }
    }

    /// Whether the norm of a move is known, besides how far each coordinate can go by itself.
    pub(crate) fn knows_a_norm(&self) -> bool {
        match &self.movement {
            Movement::Norm { .. } => true,
            Movement::PerElement { ball, .. } => ball.is_some(),
            Movement::Scalar(_) | Movement::Disjoint { .. } => false,
        }
    }

    /// The l1 sensitivity `D_1`.
    ///
    /// # Errors
    /// As [`Sensitivity::order`].
    pub fn l1(&self) -> Result<f64, MechanismError> {
        self.order(1.0)
    }

    /// The l1 sensitivity of integer answers, for discrete noise.
    ///
    /// # Errors
    /// As [`Sensitivity::order`], and if it is not an integer from 1 to `2^53`. (The integer below
    /// would do for answers that are integers, but not for those that are rounded to be.)
    pub fn whole_l1(&self) -> Result<u64, MechanismError> {
        let value = self.l1()?;
        if value.fract() == 0.0 && value <= 9_007_199_254_740_992.0 {
            Ok(value as u64)
        } else {
            let accepted = "an integer from 1 to 2^53, because the answers are integers";
            Err(OutOfRange::new("sensitivity", value, accepted).into())
        }
    }

    /// The l2 sensitivity `D_2`.
    ///
    /// # Errors
    /// As [`Sensitivity::order`].
    pub fn l2(&self) -> Result<f64, MechanismError> {
        self.order(2.0)
    }

    /// An upper bound on the l_q sensitivity `D_q`.
    ///
    /// # Errors
    /// If `q` is not at least 0.01, if the bound that is known is in a norm of higher order and the
    /// number of coordinates is not known, or if the result leaves the range of distances.
    pub fn order(&self, q: f64) -> Result<f64, MechanismError> {
        let q = valid_order(q)?;
        let upper = match &self.movement {
            Movement::Scalar(distance) => *distance,
            Movement::PerElement { distances, ball } => {
                let corner = norm_up(distances, q);
                ball.map_or(corner, |ball| corner.min(ball.order(q, moving(distances))))
            }
            Movement::Disjoint { contribution } => match self.neighbours {
                Neighbours::AddRemove => *contribution,
                Neighbours::Replace => norm_up(&[*contribution, *contribution], q),
            },
            Movement::Norm { order, bound, .. } if q >= *order => *bound,
            Movement::Norm { order, bound, coordinates: Some(r) } => {
                Ball { order: *order, bound: *bound }.order(q, *r)
            }
            Movement::Norm { order, .. } => {
                return Err(MechanismError::Refused(format!(
                    "a sensitivity in the l{order} norm bounds the l{q} norm only of a vector \
                     whose number of coordinates is known"
                )));
            }
        };
        Distance::new(upper).map(Distance::get)
    }

    /// What is known under replacement of one privacy unit, from what is known under adding or
    /// removing one.
    ///
    /// A replacement is a removal and an addition, so the move is a sum of two: at most twice as
    /// far in a norm, and `2^(1/p)` times for `p < 1`, where
    /// `||v + w||_p^p <= ||v||_p^p + ||w||_p^p`. For disjoint cells the contributions stay as they
    /// are. The converse does not hold at all: a statistic of data sets of a fixed size may do
    /// anything when the size changes.
    ///
    /// # Errors
    /// If the result leaves the range of distances.
    pub fn under_replace(&self) -> Result<Self, MechanismError> {
        if self.neighbours == Neighbours::Replace {
            return Ok(self.clone());
        }
        let twice = |distance: f64| Distance::new(2.0 * distance).map(Distance::get);
        let movement = match &self.movement {
            Movement::Scalar(distance) => Movement::Scalar(twice(*distance)?),
            Movement::PerElement { distances, ball } => Movement::PerElement {
                distances: distances
                    .iter()
                    .map(|&d| if d == 0.0 { Ok(0.0) } else { twice(d) })
                    .collect::<Result<_, _>>()?,
                ball: ball.map(Ball::twice).transpose()?,
            },
            Movement::Norm { order, bound, coordinates } => {
                let Ball { order, bound } = Ball { order: *order, bound: *bound }.twice()?;
                Movement::Norm { order, bound, coordinates: *coordinates }
            }
            disjoint @ Movement::Disjoint { .. } => disjoint.clone(),
        };
        Ok(Sensitivity { neighbours: Neighbours::Replace, movement, integers: self.integers })
    }

    /// What is known of the answer after each coordinate has been rounded to a lattice.
    ///
    /// A coordinate that moves by `d` then moves by at most `d` rounded up to a multiple of the
    /// spacing `h` ([`Lattice::sensitivity_in_steps`]), so less than `h` further. For `r`
    /// coordinates of which the l1 norm is known,
    /// `ceil(v_1) + ... + ceil(v_r) < v_1 + ... + v_r + r` in steps, and the left side is an
    /// integer: at most `ceil(D_1) + r - 1`. In other norms `D_p + h r^(1/p)` by Minkowski, and for
    /// `p < 1` `(D_p^p + r h^p)^(1/p)`.
    ///
    /// # Errors
    /// If the number of coordinates matters and is not known, or the result leaves the range of
    /// distances.
    pub fn rounded_to(&self, lattice: Lattice) -> Result<Self, MechanismError> {
        if self.integers && lattice.exponent() <= 0 {
            return Ok(self.clone());
        }
        let movement = match &self.movement {
            Movement::Scalar(distance) => Movement::Scalar(lattice.sensitivity(*distance)?),
            Movement::PerElement { distances, ball } => {
                let onto = |ball: &Ball| {
                    let bound = norm_on(lattice, ball.order, ball.bound, moving(distances))?;
                    Ok::<_, MechanismError>(Ball { bound, ..*ball })
                };
                Movement::PerElement {
                    distances: distances
                        .iter()
                        .map(|&d| lattice.sensitivity(d))
                        .collect::<Result<_, _>>()?,
                    ball: ball.as_ref().map(onto).transpose()?,
                }
            }
            Movement::Disjoint { contribution } => {
                Movement::Disjoint { contribution: lattice.sensitivity(*contribution)? }
            }
            Movement::Norm { order, bound, coordinates: Some(r) } => Movement::Norm {
                order: *order,
                bound: norm_on(lattice, *order, *bound, *r)?,
                coordinates: Some(*r),
            },
            Movement::Norm { .. } => {
                return Err(MechanismError::Refused(
                    "the number of coordinates must be known to bound what rounding them to a \
                     lattice adds to a sensitivity in a norm"
                        .into(),
                ));
            }
        };
        Ok(Sensitivity { movement, ..self.clone() })
    }
}

/// How many coordinates move.
fn moving(distances: &[f64]) -> u32 {
    let moving = distances.iter().filter(|&&distance| distance > 0.0).count();
    u32::try_from(moving).unwrap_or(u32::MAX)
}

impl Ball {
    /// The l_q sensitivity of `r` coordinates, rounded up.
    fn order(self, q: f64, r: u32) -> f64 {
        if q >= self.order {
            self.bound
        } else {
            mul_up(self.bound, root_ratio_up(r, q, self.order))
        }
    }

    /// What holds the sum of two moves.
    fn twice(self) -> Result<Self, MechanismError> {
        let bound = norm_up(&[self.bound, self.bound], self.order.min(1.0));
        Ok(Ball { bound: Distance::new(bound)?.get(), ..self })
    }
}
