//! How a vector moves under generalized Gaussian noise.

use super::several::MOST_COORDINATES;
use crate::sensitivity::norm_on;
use crate::{MechanismError, Sensitivity};
use reticent_noise::Lattice;
use reticent_numerics::OutOfRange;

/// What is known of a move, in the form that a guarantee is proved from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Moved {
    /// Each coordinate by at most so much, all at once; the largest first.
    Box(Vec<f64>),
    /// The same, with the l_p sensitivity of all of them at the order `p` of the noise: Proposition
    /// 8 as it is stated, where Lemma 2 would bound that sensitivity by the box.
    BoxWithin {
        /// The most of each, the largest first.
        elements: Vec<f64>,
        /// `D_p`.
        distance: f64,
    },
    /// So many coordinates, of which the l_p sensitivity is known.
    Norm {
        /// `r`.
        coordinates: u32,
        /// `D_p`.
        distance: f64,
        /// How far one coordinate can move by itself: a move that is possible.
        alone: f64,
    },
}

impl Moved {
    /// The box of a sensitivity, if it has one that is not too large.
    pub(super) fn by_box(sensitivity: &Sensitivity) -> Option<Result<Self, MechanismError>> {
        sensitivity.moving_elements().map(|elements| descending(elements).map(Moved::Box))
    }

    /// The box, with what is known of all coordinates together.
    pub(super) fn by_both(
        sensitivity: &Sensitivity,
        order: f64,
    ) -> Option<Result<Self, MechanismError>> {
        let elements = sensitivity.moving_elements().filter(|_| sensitivity.knows_a_norm())?;
        Some(descending(elements).and_then(|elements| {
            Ok(Moved::BoxWithin { elements, distance: sensitivity.order(order)? })
        }))
    }

    /// The l_p sensitivity of a sensitivity that knows a norm.
    pub(super) fn by_norm(
        sensitivity: &Sensitivity,
        order: f64,
    ) -> Option<Result<Self, MechanismError>> {
        sensitivity.knows_a_norm().then(|| {
            Ok(Moved::Norm {
                coordinates: sensitivity.moving_coordinates("generalized Gaussian noise")?,
                distance: sensitivity.order(order)?,
                alone: sensitivity.order(f64::INFINITY)?,
            })
        })
    }

    /// The lengths that a lattice should not change by much; the first is the largest.
    pub(super) fn figures(&self) -> Vec<f64> {
        match self {
            Moved::Box(elements) => elements.clone(),
            Moved::BoxWithin { elements, distance } => {
                let mut figures = vec![*distance];
                figures.extend(elements);
                figures
            }
            Moved::Norm { distance, .. } => vec![*distance],
        }
    }

    /// What is known after each coordinate was rounded to a lattice.
    pub(super) fn rounded_to(&self, lattice: Lattice, order: f64) -> Result<Self, MechanismError> {
        let each = |elements: &[f64]| -> Result<Vec<f64>, MechanismError> {
            Ok(elements.iter().map(|&d| lattice.sensitivity(d)).collect::<Result<_, _>>()?)
        };
        Ok(match self {
            Moved::Box(elements) => Moved::Box(each(elements)?),
            Moved::BoxWithin { elements, distance } => Moved::BoxWithin {
                elements: each(elements)?,
                distance: norm_on(lattice, order, *distance, elements.len() as u32)?,
            },
            Moved::Norm { coordinates, distance, alone } => Moved::Norm {
                coordinates: *coordinates,
                distance: norm_on(lattice, order, *distance, *coordinates)?,
                // Rounding can shorten a move, by a step.
                alone: (alone - lattice.spacing()).max(0.0),
            },
        })
    }
}

fn descending(mut sensitivities: Vec<f64>) -> Result<Vec<f64>, MechanismError> {
    if sensitivities.is_empty() || sensitivities.len() > MOST_COORDINATES {
        return Err(OutOfRange::new(
            "number of sensitivities",
            sensitivities.len() as f64,
            "from 1 to 12; disjoint queries need one for all of them, and a norm is for any number",
        )
        .into());
    }
    sensitivities.sort_by(|a, b| b.total_cmp(a));
    Ok(sensitivities)
}
