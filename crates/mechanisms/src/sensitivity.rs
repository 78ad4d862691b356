//! How far one privacy unit can move an answer, in which norm, and between which neighbours.

use crate::{Distance, MechanismError};
use reticent_noise::Lattice;
use reticent_numerics::rounding::{add_up, mul_up, sub_up};
use reticent_numerics::{Bounds, Enclosure, Wide};
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
/// The l_p sensitivity is `D_p = max ||s(x) - s(x')||_p` with `||v||_p = (sum |v_k|^p)^(1/p)`; it is no norm for `p < 1`, and `p = inf` stands for
/// the largest coordinate. What is known of an answer is kept as it is, and [`Sensitivity::order`] derives the `D_p` that a mechanism asks for:
///
/// | known | `D_q` |
/// |---|---|
/// | a scalar moves by `D` | `D` |
/// | `D_p` | `D_p` if `q >= p`; `r^(1/q - 1/p) D_p` if `q < p`, and only if the number `r` of coordinates is known |
/// | coordinate `k` moves by at most `d_k` | `(sum d_k^q)^(1/q)` |
/// | a unit counts in one of many cells, with at most `D` | `D` under add/remove, `2^(1/q) D` under replace |
///
/// The second line is Hölder's inequality and is attained; the third is Lemma 2 of Liu, for every `q > 0` because a sum of `|v_k|^q` increases in each
/// `|v_k|`. The last line corrects the erratum "Adjacency": Liu's text gives a histogram the l_p sensitivity 1, which holds only where a neighbour has
/// a unit more or less. A replaced unit leaves one cell and enters another.
///
/// # Direction
/// Every figure that is returned is an upper bound, within a few units in the last place of the expression above.
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
/// Liu, *Generalized Gaussian mechanism for differential privacy*, 2019, Definition 1, Lemma 2 and Claim 3.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensitivity {
    neighbours: Neighbours,
    reach: Reach,
    integers: bool,
}

/// What is known of the move.
#[derive(Clone, Debug, PartialEq)]
enum Reach {
    Scalar(f64),
    Norm { order: f64, bound: f64, coordinates: Option<u32> },
    PerElement(Vec<f64>),
    Disjoint { contribution: f64 },
}

impl Sensitivity {
    /// A number that moves by at most `distance`.
    ///
    /// # Errors
    /// If the distance is not from 1e-100 to 1e100.
    pub fn scalar(distance: f64, neighbours: Neighbours) -> Result<Self, MechanismError> {
        Ok(Self::of(Reach::Scalar(Distance::new(distance)?.get()), neighbours))
    }

    /// A vector of l_p sensitivity `distance` for `p = order`, which may be infinite.
    ///
    /// # Errors
    /// If the order is not at least 0.01 or the distance not from 1e-100 to 1e100.
    pub fn norm(order: f64, distance: f64, neighbours: Neighbours) -> Result<Self, MechanismError> {
        let (order, bound) = (valid_order(order)?, Distance::new(distance)?.get());
        Ok(Self::of(Reach::Norm { order, bound, coordinates: None }, neighbours))
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

    /// A vector whose coordinate `k` moves by at most `distances[k]`, possibly all of them at once. A zero stands for a coordinate that does not
    /// move.
    ///
    /// # Errors
    /// If a distance is neither 0 nor from 1e-100 to 1e100, or all are 0.
    pub fn per_element(distances: &[f64], neighbours: Neighbours) -> Result<Self, MechanismError> {
        if !distances.iter().any(|&distance| distance > 0.0) {
            let message = "the per-element sensitivities need at least one number above 0";
            return Err(MechanismError::Refused(message.into()));
        }
        let checked: Result<Vec<f64>, _> = distances
            .iter()
            .map(|&distance| if distance == 0.0 { Ok(0.0) } else { Distance::new(distance).map(Distance::get) })
            .collect();
        Ok(Self::of(Reach::PerElement(checked?), neighbours))
    }

    /// A vector whose coordinate `k` lies between the public bounds `ranges[k]`: it moves by at most the width (Claim 3 of Liu).
    ///
    /// # Errors
    /// If a range has no width, or one that is not from 1e-100 to 1e100.
    pub fn ranges(ranges: &[(f64, f64)], neighbours: Neighbours) -> Result<Self, MechanismError> {
        // A difference of f64 is exact or rounded up; a NaN or an inverted range is refused as a distance.
        let widths: Result<Vec<f64>, _> =
            ranges.iter().map(|&(low, high)| Distance::new(sub_up(high, low)).map(Distance::get)).collect();
        Self::per_element(&widths?, neighbours)
    }

    /// Sums over disjoint cells: a privacy unit counts in one cell, with a contribution from 0 to `contribution`.
    ///
    /// A replaced unit moves two cells by at most the contribution each, or one cell by at most the same: contributions have one sign, so that what
    /// enters makes up for what leaves.
    ///
    /// # Errors
    /// If the contribution is not from 1e-100 to 1e100.
    pub fn disjoint(contribution: f64, neighbours: Neighbours) -> Result<Self, MechanismError> {
        Ok(Self::of(Reach::Disjoint { contribution: Distance::new(contribution)?.get() }, neighbours))
    }

    /// Counts over disjoint cells.
    pub fn histogram(neighbours: Neighbours) -> Self {
        Sensitivity { integers: true, ..Self::of(Reach::Disjoint { contribution: 1.0 }, neighbours) }
    }

    fn of(reach: Reach, neighbours: Neighbours) -> Self {
        Sensitivity { neighbours, reach, integers: false }
    }

    /// The same, for a vector of `coordinates` numbers. It matters to bounds in a norm alone: the other kinds know their number or do not need it.
    ///
    /// # Errors
    /// If it is zero.
    pub fn with_coordinates(mut self, coordinates: u32) -> Result<Self, MechanismError> {
        if coordinates == 0 {
            return Err(MechanismError::Parameter { name: "coordinates", value: 0.0, accepted: "at least 1" });
        }
        if let Reach::Norm { coordinates: known, .. } = &mut self.reach {
            *known = Some(coordinates);
        }
        Ok(self)
    }

    /// The same, for answers that are known to be integers: rounding to a lattice that holds the integers does not touch them.
    pub fn of_integers(self) -> Self {
        Sensitivity { integers: true, ..self }
    }

    /// Which data sets are neighbours.
    pub fn neighbours(&self) -> Neighbours {
        self.neighbours
    }

    /// The most by which each coordinate moves, all of them at once: for a scalar and for per-element sensitivities.
    pub fn elements(&self) -> Option<&[f64]> {
        match &self.reach {
            Reach::Scalar(distance) => Some(std::slice::from_ref(distance)),
            Reach::PerElement(distances) => Some(distances),
            Reach::Norm { .. } | Reach::Disjoint { .. } => None,
        }
    }

    /// How far the answer moves, where no more than one coordinate of it ever moves at once. All l_p sensitivities are then the same.
    pub fn one_coordinate(&self) -> Option<f64> {
        match &self.reach {
            Reach::Scalar(distance) | Reach::Norm { bound: distance, coordinates: Some(1), .. } => Some(*distance),
            Reach::Disjoint { contribution } => (self.neighbours == Neighbours::AddRemove).then_some(*contribution),
            Reach::PerElement(distances) => {
                let mut moving = distances.iter().copied().filter(|&distance| distance > 0.0);
                moving.next().filter(|_| moving.next().is_none())
            }
            Reach::Norm { .. } => None,
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
    /// As [`Sensitivity::order`], and if it is not an integer from 1 to `2^53`. (The integer below would do for answers that are integers, but not for those
    /// that are rounded to be.)
    pub fn whole_l1(&self) -> Result<u64, MechanismError> {
        let value = self.l1()?;
        if value.fract() == 0.0 && value <= 9_007_199_254_740_992.0 {
            Ok(value as u64)
        } else {
            let accepted = "an integer from 1 to 2^53, because the answers are integers";
            Err(MechanismError::Parameter { name: "sensitivity", value, accepted })
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
    /// If `q` is not at least 0.01, if the bound that is known is in a norm of higher order and the number of coordinates is not known, or
    /// if the result leaves the range of distances.
    pub fn order(&self, q: f64) -> Result<f64, MechanismError> {
        let q = valid_order(q)?;
        let upper = match &self.reach {
            Reach::Scalar(distance) => *distance,
            Reach::PerElement(distances) => norm_up(distances, q),
            Reach::Disjoint { contribution } => match self.neighbours {
                Neighbours::AddRemove => *contribution,
                Neighbours::Replace => norm_up(&[*contribution, *contribution], q),
            },
            Reach::Norm { order, bound, .. } if q >= *order => *bound,
            Reach::Norm { order, bound, coordinates: Some(r) } => mul_up(*bound, root_ratio_up(*r, q, *order)),
            Reach::Norm { order, .. } => {
                return Err(MechanismError::Refused(format!(
                    "a sensitivity in the l{order} norm bounds the l{q} norm only of a vector whose number of coordinates is known"
                )));
            }
        };
        Distance::new(upper).map(Distance::get)
    }

    /// What is known under replacement of one privacy unit, from what is known under adding or removing one.
    ///
    /// A replacement is a removal and an addition, so the move is a sum of two: at most twice as far in a norm, and `2^(1/p)` times for `p < 1`, where
    /// `||v + w||_p^p <= ||v||_p^p + ||w||_p^p`. For disjoint cells the contributions stay as they are. The converse does not hold at all: a
    /// statistic of data sets of a fixed size may do anything when the size changes.
    ///
    /// # Errors
    /// If the result leaves the range of distances.
    pub fn under_replace(&self) -> Result<Self, MechanismError> {
        if self.neighbours == Neighbours::Replace {
            return Ok(self.clone());
        }
        let twice = |distance: f64| Distance::new(2.0 * distance).map(Distance::get);
        let reach = match &self.reach {
            Reach::Scalar(distance) => Reach::Scalar(twice(*distance)?),
            Reach::PerElement(distances) => Reach::PerElement(
                distances.iter().map(|&d| if d == 0.0 { Ok(0.0) } else { twice(d) }).collect::<Result<_, _>>()?,
            ),
            Reach::Norm { order, bound, coordinates } => {
                let bound = norm_up(&[*bound, *bound], order.min(1.0));
                Reach::Norm { order: *order, bound: Distance::new(bound)?.get(), coordinates: *coordinates }
            }
            disjoint @ Reach::Disjoint { .. } => disjoint.clone(),
        };
        Ok(Sensitivity { neighbours: Neighbours::Replace, reach, integers: self.integers })
    }

    /// What is known of the answer after each coordinate has been rounded to a lattice.
    ///
    /// A coordinate that moves by `d` then moves by at most `d` rounded up to a multiple of the spacing `h`
    /// ([`Lattice::sensitivity_in_steps`]), so less than `h` further. For `r` coordinates of which the l1 norm is known, `ceil(v_1) + ... + ceil(v_r) <
    /// v_1 + ... + v_r + r` in steps, and the left side is an integer: at most `ceil(D_1) + r - 1`. In other norms `D_p + h r^(1/p)`
    /// by Minkowski, and for `p < 1` `(D_p^p + r h^p)^(1/p)`.
    ///
    /// # Errors
    /// If the number of coordinates matters and is not known, or the result leaves the range of distances.
    pub fn rounded_to(&self, lattice: Lattice) -> Result<Self, MechanismError> {
        if self.integers && lattice.exponent() <= 0 {
            return Ok(self.clone());
        }
        let reach = match &self.reach {
            Reach::Scalar(distance) => Reach::Scalar(lattice.sensitivity(*distance)?),
            Reach::PerElement(distances) => {
                Reach::PerElement(distances.iter().map(|&d| lattice.sensitivity(d)).collect::<Result<_, _>>()?)
            }
            Reach::Disjoint { contribution } => Reach::Disjoint { contribution: lattice.sensitivity(*contribution)? },
            Reach::Norm { order, bound, coordinates: Some(r) } => {
                Reach::Norm { order: *order, bound: norm_on(lattice, *order, *bound, *r)?, coordinates: Some(*r) }
            }
            Reach::Norm { .. } => {
                return Err(MechanismError::Refused(
                    "the number of coordinates must be known to bound what rounding them to a lattice adds to a sensitivity in a norm"
                        .into(),
                ));
            }
        };
        Ok(Sensitivity { reach, ..self.clone() })
    }
}

fn valid_order(order: f64) -> Result<f64, MechanismError> {
    // Below 0.01 even two coordinates of 1 have an l_p "norm" above the largest distance.
    if order >= 0.01 {
        Ok(order)
    } else {
        Err(MechanismError::Parameter {
            name: "order",
            value: order,
            accepted: "a number of at least 0.01, or infinity",
        })
    }
}

/// `(sum v_k^q)^(1/q)`, rounded up.
///
/// For `q = 2` two enclosures are made and the better bound is taken: that of the wide one is next to the exact value, that of plain intervals is the
/// exact value where every step is.
fn norm_up(values: &[f64], q: f64) -> f64 {
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

/// `v_max (1 + sum (v_k / v_max)^q)^(1/q)` with the sum over all `k` but that of the largest: no power overflows.
fn general_norm(values: &[f64], largest: f64, q: f64) -> Bounds {
    let (top, order) = (Wide::from(largest), Wide::from(q));
    let shares = values.iter().filter(|&&value| value != 0.0).map(|&value| (Wide::from(value) / top).pow(q));
    // The sum over all holds the largest as exactly 1.
    let others = shares.fold(Wide::from(-1.0), |sum, share| sum + share);
    (top * (others.ln_1p() / order).exp()).bounds()
}

/// `r^(1/q - 1/p)` for `q < p`, rounded up.
fn root_ratio_up(r: u32, q: f64, p: f64) -> f64 {
    let like = Wide::from(1.0);
    let exponent = like / like.exactly(q) - if p.is_infinite() { like.exactly(0.0) } else { like / like.exactly(p) };
    (like.integer(i128::from(r)).ln() * exponent).exp().bounds().upper()
}

/// The l_p sensitivity, for `p = order`, of `r` coordinates rounded to a lattice.
fn norm_on(lattice: Lattice, order: f64, bound: f64, r: u32) -> Result<f64, MechanismError> {
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

#[cfg(test)]
mod tests {
    use super::Neighbours::{AddRemove, Replace};
    use super::*;

    #[test]
    fn erratum_adjacency_a_replaced_unit_moves_two_cells_of_a_histogram() {
        for order in [0.5, 1.0, 1.5, 2.0, 3.0, 10.0] {
            let printed = Sensitivity::histogram(AddRemove).order(order).expect("valid");
            assert_eq!(printed, 1.0);
            // A unit that leaves the first cell for the second.
            let moved = (1f64.powf(order) + 1f64.powf(order)).powf(1.0 / order);
            assert!(moved > printed, "order {order}: the printed 1 would hold");
            let corrected = Sensitivity::histogram(Replace).order(order).expect("valid");
            assert!(
                corrected >= moved * (1.0 - 1e-15) && corrected <= moved * (1.0 + 1e-14),
                "order {order}: {corrected}"
            );
        }
        assert_eq!(Sensitivity::histogram(Replace).order(f64::INFINITY), Ok(1.0));
        let converted = Sensitivity::histogram(AddRemove).under_replace().expect("valid");
        assert_eq!(converted, Sensitivity::histogram(Replace));
    }

    #[test]
    fn lemma_2_and_claim_3_bound_every_vector_in_the_box_and_are_attained() {
        let widths = [1.0, 0.1, 0.05];
        let lemma = Sensitivity::per_element(&widths, AddRemove).expect("valid");
        let claim = Sensitivity::ranges(&[(-0.5, 0.5), (0.0, 0.1), (1.0, 1.05)], AddRemove).expect("valid");
        for order in [0.3, 0.5, 1.0, 1.7, 2.0, 3.0, 40.0, 2000.0] {
            let corner =
                widths.iter().map(|d| rug::Float::with_val(200, *d)).fold(rug::Float::with_val(200, 0), |sum, d| {
                    sum + rug::ops::Pow::pow(d, rug::Float::with_val(200, order))
                });
            let corner = rug::ops::Pow::pow(corner, rug::Float::with_val(200, 1) / order);
            let bound = lemma.order(order).expect("valid");
            assert!(bound >= corner, "order {order}: {bound} is below {corner}");
            assert!(bound <= corner.to_f64() * (1.0 + 1e-15), "order {order}: {bound} is far above {corner}");
            // 1.05 - 1.0 is 0.05 and a little more in f64.
            let claimed = claim.order(order).expect("valid");
            assert!(claimed >= bound && claimed <= bound * (1.0 + 1e-14));
        }
        assert_eq!(lemma.order(f64::INFINITY), Ok(1.0));
        assert_eq!(Sensitivity::per_element(&[0.0, 7.0, 0.0], AddRemove).and_then(|s| s.order(3.3)), Ok(7.0));
    }

    #[test]
    fn norms_convert_downwards_only_with_the_number_of_coordinates() {
        let l2 = Sensitivity::l2_bound(3.0, AddRemove).expect("valid");
        assert_eq!(l2.order(2.0), Ok(3.0));
        assert_eq!(l2.order(7.0), Ok(3.0));
        assert_eq!(l2.order(f64::INFINITY), Ok(3.0));
        let refused = l2.l1().expect_err("the length is not known").to_string();
        assert!(refused.contains("l2") && refused.contains("number of coordinates"), "{refused}");
        // (1, 1, ..., 1) attains sqrt(r).
        let known = l2.with_coordinates(16).expect("valid");
        assert!((12.0..12.000_000_000_001).contains(&known.l1().expect("known")), "{known:?}");
        let cube = Sensitivity::norm(f64::INFINITY, 1.0, Replace).and_then(|s| s.with_coordinates(9)).expect("valid");
        assert!((9.0..9.000_000_000_001).contains(&cube.l1().expect("known")));
        assert!((3.0..3.000_000_000_001).contains(&cube.l2().expect("known")));
    }

    #[test]
    fn replacement_is_a_removal_and_an_addition() {
        let scalar = Sensitivity::scalar(0.7, AddRemove).expect("valid");
        assert_eq!(scalar.under_replace(), Sensitivity::scalar(1.4, Replace));
        let l2 = Sensitivity::l2_bound(3.0, AddRemove).and_then(|s| s.under_replace()).expect("valid");
        assert_eq!((l2.l2(), l2.neighbours()), (Ok(6.0), Replace));
        // Not a norm: (1, 0) and (0, 1) have l_1/2 "length" 1 each, and their sum has 4.
        let half = Sensitivity::norm(0.5, 1.0, AddRemove).and_then(|s| s.under_replace()).expect("valid");
        assert!((4.0..4.000_000_000_001).contains(&half.order(0.5).expect("valid")));
        assert_eq!(scalar.one_coordinate(), Some(0.7));
        assert_eq!(l2.one_coordinate(), None);
        assert_eq!(l2.with_coordinates(1).map(|s| s.one_coordinate()), Ok(Some(6.0)));
        assert_eq!(Sensitivity::histogram(AddRemove).one_coordinate(), Some(1.0));
        assert_eq!(Sensitivity::histogram(Replace).one_coordinate(), None);
        let elements = Sensitivity::per_element(&[0.0, 1.0], AddRemove).and_then(|s| s.under_replace()).expect("valid");
        assert_eq!((elements.elements(), elements.one_coordinate()), (Some(&[0.0, 2.0][..]), Some(2.0)));
        assert_eq!(Sensitivity::per_element(&[1.0, 1.0], AddRemove).map(|s| s.one_coordinate()), Ok(None));
    }

    #[test]
    fn rounding_to_a_lattice_is_paid_for_by_every_coordinate_that_can_move() {
        let quarters = Lattice::of_spacing_power(-2).expect("valid");
        let rounded = |sensitivity: Result<Sensitivity, MechanismError>| {
            sensitivity.and_then(|s| s.rounded_to(quarters)).expect("valid")
        };
        assert_eq!(rounded(Sensitivity::scalar(1.1, AddRemove)).l1(), Ok(1.25));
        assert_eq!(rounded(Sensitivity::per_element(&[1.1, 0.25], AddRemove)).l1(), Ok(1.5));
        assert_eq!(rounded(Sensitivity::disjoint(1.1, Replace)).l1(), Ok(2.5));
        let l1 = Sensitivity::l1_bound(1.0, AddRemove).expect("valid");
        assert!(l1.rounded_to(quarters).is_err(), "the number of coordinates is not known");
        assert_eq!(l1.clone().of_integers().rounded_to(quarters).and_then(|s| s.l1()), Ok(1.0));
        assert_eq!(rounded(l1.clone().with_coordinates(1)).l1(), Ok(1.0));
        // Four coordinates that move by 1/4 each can stay exact, but 0.05, 0.05 and 0.9 become 0.25, 0.25 and 1.
        assert_eq!(rounded(l1.with_coordinates(3)).l1(), Ok(1.5));
        let moved: f64 = [0.05f64, 0.05, 0.9].iter().map(|d| (d / 0.25).ceil() * 0.25).sum();
        assert_eq!(moved, 1.5);
        let l2 = rounded(Sensitivity::l2_bound(1.0, AddRemove).and_then(|s| s.with_coordinates(4)));
        assert!((1.5..1.500_000_000_001).contains(&l2.l2().expect("valid")));
    }

    #[test]
    fn discrete_noise_asks_for_whole_sensitivities() {
        assert_eq!(Sensitivity::histogram(Replace).whole_l1(), Ok(2));
        assert_eq!(Sensitivity::per_element(&[3.0, 4.0], AddRemove).and_then(|s| s.whole_l1()), Ok(7));
        for fractional in [0.5, 1.5, 1e17] {
            assert!(Sensitivity::scalar(fractional, AddRemove).and_then(|s| s.whole_l1()).is_err(), "{fractional}");
        }
    }

    #[test]
    fn what_cannot_be_a_sensitivity_is_refused() {
        for bad in [f64::NAN, f64::INFINITY, -1.0, 0.0, 1e308, 1e-320] {
            assert!(Sensitivity::scalar(bad, AddRemove).is_err(), "{bad}");
            assert!(Sensitivity::norm(2.0, bad, AddRemove).is_err() && Sensitivity::disjoint(bad, Replace).is_err());
            assert!(bad == 0.0 || Sensitivity::per_element(&[1.0, bad], AddRemove).is_err(), "{bad}");
            assert!(Sensitivity::ranges(&[(0.0, bad)], AddRemove).is_err(), "{bad}");
        }
        for bad in [f64::NAN, 0.0, -2.0, f64::NEG_INFINITY, 1e-3] {
            assert!(
                Sensitivity::norm(bad, 1.0, AddRemove).is_err()
                    && Sensitivity::histogram(AddRemove).order(bad).is_err()
            );
        }
        assert!(
            Sensitivity::per_element(&[], AddRemove).is_err() && Sensitivity::per_element(&[0.0], AddRemove).is_err()
        );
        assert!(Sensitivity::l1_bound(1.0, AddRemove).and_then(|s| s.with_coordinates(0)).is_err());
        assert!(
            Sensitivity::per_element(&[1e99; 3], AddRemove).and_then(|s| s.order(0.1)).is_err(),
            "beyond every distance"
        );
    }
}
