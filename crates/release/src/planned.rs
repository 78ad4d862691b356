//! One statistic of a plan.

use crate::added_noise::AddedNoise;
use crate::quantiles::{QuantileSearch, levels};
use crate::split::Rounds;
use crate::{Statistic, UnitInfluence};
use reticent_events::Event;
use reticent_numerics::rounding::{mul_up, sqrt_up};

/// A statistic, how far one unit moves it, and what is done to it.
#[derive(Clone, Debug)]
pub struct PlannedStatistic {
    pub(crate) statistic: Statistic,
    pub(crate) influence: UnitInfluence,
    pub(crate) treatment: Treatment,
}

/// What is done to a statistic.
#[derive(Clone, Debug)]
pub(crate) enum Treatment {
    /// No unit moves it: it is what it is, at no cost.
    Constant,
    Number(AddedNoise),
    Quantiles(QuantileSearch),
}

impl PlannedStatistic {
    /// What it is.
    pub fn statistic(&self) -> &Statistic {
        &self.statistic
    }

    /// How far one unit moves it.
    pub fn influence(&self) -> UnitInfluence {
        self.influence
    }

    /// What one step is, in units of the answer.
    pub fn step(&self) -> f64 {
        self.statistic.step()
    }

    /// The mechanism by name.
    pub fn mechanism(&self) -> &'static str {
        match &self.treatment {
            Treatment::Constant => "constant",
            Treatment::Number(noise) => noise.name(),
            Treatment::Quantiles(_) => "exponential",
        }
    }

    /// What runs for a number, in steps; `None` for quantiles and constants.
    pub fn event(&self) -> Option<Event> {
        self.noise().map(AddedNoise::event)
    }

    /// The scale of the noise in units of the answer (`b`, `sigma`, or the width of a stair);
    /// `None` for quantiles, and for noise that a table describes.
    pub fn scale(&self) -> Option<f64> {
        self.in_units(AddedNoise::scale)
    }

    /// With probability 0.95 at least, the statistic is within this of its exact value, in units of
    /// the answer; `None` for quantiles.
    pub fn half_width(&self) -> Option<f64> {
        self.in_units(|noise| Some(noise.quantile_95()))
    }

    /// The standard deviation of the noise in units of the answer, rounded up; `None` for
    /// quantiles.
    pub fn standard_deviation(&self) -> Option<f64> {
        self.in_units(|noise| Some(sqrt_up(noise.mean_square().upper())))
    }

    fn in_units(&self, figure: impl Fn(&AddedNoise) -> Option<f64>) -> Option<f64> {
        match &self.treatment {
            Treatment::Constant => Some(0.0),
            Treatment::Number(noise) => Some(mul_up(figure(noise)?, self.step())),
            Treatment::Quantiles(_) => None,
        }
    }

    /// How many ranks off each quantile is at most, with probability 0.95: public, and true of all
    /// data (with more than one quantile, up to a 512th of the values at a point where the search
    /// has cut). How far off its value is depends on the data, so that there is no half-width.
    /// `None` for other statistics.
    pub fn rank_errors(&self) -> Option<Vec<f64>> {
        match &self.treatment {
            Treatment::Quantiles(search) => Some(search.rank_errors_95()),
            Treatment::Constant | Treatment::Number(_) => None,
        }
    }

    /// The noise that is added, if any is.
    pub(crate) fn noise(&self) -> Option<&AddedNoise> {
        match &self.treatment {
            Treatment::Number(noise) => Some(noise),
            Treatment::Constant | Treatment::Quantiles(_) => None,
        }
    }

    /// The choices that quantiles take, in all groups that one unit moves.
    pub(crate) fn choices(&self) -> Vec<Event> {
        match &self.treatment {
            Treatment::Quantiles(search) => {
                let (groups, rounds) =
                    (u64::from(self.influence.groups), u64::from(levels(&search.points)));
                let drawn =
                    Rounds { points: groups * rounds, shares: groups * rounds.saturating_sub(1) };
                drawn.events(search.epsilon)
            }
            Treatment::Constant | Treatment::Number(_) => Vec::new(),
        }
    }
}
