//! All moves of a vector of known length.

use super::norms::norm_up;
use super::{Movement, Neighbours, Sensitivity};
use crate::MechanismError;

/// `||d||_q <= bound`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ball {
    /// `q`; it may be infinite.
    pub(crate) order: f64,
    /// The most that the norm can be.
    pub(crate) bound: f64,
}

/// How the coordinates of a vector move between neighbours.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Moves {
    /// One of them, whichever it is, by at most so much.
    One(f64),
    /// Two of them, whichever they are, by at most so much each.
    Two(f64),
    /// All of them at once, each by at most its own, and together within the ball if there is one.
    All {
        /// The most by which each moves; 0 for one that does not.
        most: Vec<f64>,
        /// What is known of all of them together.
        ball: Option<Ball>,
    },
}

impl Moves {
    /// The most by which coordinate `k` moves.
    pub(crate) fn of_coordinate(&self, k: usize) -> f64 {
        match self {
            Moves::One(most) | Moves::Two(most) => *most,
            Moves::All { most, .. } => most[k],
        }
    }
}

impl Sensitivity {
    /// All moves of a vector of so many coordinates. A scalar's is that of whichever coordinate a
    /// privacy unit is in.
    ///
    /// # Errors
    /// If the number of coordinates is another one.
    pub(crate) fn moves(&self, coordinates: usize) -> Result<Moves, MechanismError> {
        let of_so_many = |known: usize| {
            if known == coordinates {
                return Ok(());
            }
            Err(MechanismError::Refused(format!(
                "the sensitivity is that of {known} numbers, but there are bounds for {coordinates}"
            )))
        };
        Ok(match &self.movement {
            Movement::Scalar(distance) => Moves::One(*distance),
            Movement::Disjoint { contribution } => match self.neighbours {
                Neighbours::Replace if coordinates > 1 => Moves::Two(*contribution),
                Neighbours::AddRemove | Neighbours::Replace => Moves::One(*contribution),
            },
            Movement::PerElement { distances, ball } => {
                of_so_many(distances.len())?;
                let most = distances.iter().map(|&d| ball.map_or(d, |ball| d.min(ball.bound)));
                let most: Vec<f64> = most.collect();
                // A ball that holds the whole box says nothing.
                let ball = ball.filter(|ball| norm_up(&most, ball.order) > ball.bound);
                Moves::All { most, ball }
            }
            Movement::Norm { order, bound, coordinates: known } => {
                known.map_or(Ok(()), |known| of_so_many(known as usize))?;
                let (most, ball) =
                    (vec![*bound; coordinates], Ball { order: *order, bound: *bound });
                let ball = (coordinates > 1 && order.is_finite()).then_some(ball);
                Moves::All { most, ball }
            }
        })
    }
}
