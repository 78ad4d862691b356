//! The exact accountant: distributions of the privacy loss, composed between bounds.

mod composer;
mod contraction;
mod convolution;
mod curve;
mod effort;
mod frame;
mod grid;
mod grid_plan;
mod one_large;
mod pair;
mod pairs;
mod saturation;
mod singly;
mod sketch;
mod stochastic_rounding;

use crate::{Accountant, AccountingError, Composition};
use composer::Composer;
use pairs::pairs_of;
use realfft::RealFftPlanner;
use reticent_mechanisms::{Delta, Epsilon};
use reticent_numerics::{Bounds, OutOfRange};

/// Composes the distributions of the privacy loss.
///
/// # Method
/// An event is known through a pair of distributions that dominates it, and mostly is attained
/// ([`crate::Composition`] says what ran). Its loss is put on a grid twice: so that `delta` is
/// nowhere too small, connecting exact values by straight lines; and so that it is nowhere too
/// large, merging outcomes or splitting them. Both are off by the square of the step. The sums of
/// many losses come from a Fourier transform of the tilted distributions, whose error is bounded,
/// so that the answer is proved on both sides however small `delta` is. If the two are too far
/// apart, the step is made smaller.
///
/// Neighbours may differ in either direction; what ran on a sample is not the same in both, and the
/// answer is the larger one.
///
/// # Not for adaptive budgets
/// The number is about events that were fixed beforehand, or at least their pairs were. To stop a
/// sequence of adaptively chosen releases when a number is reached, use a filter.
///
/// # References
/// Koskela, Jälkö, Honkela, *Computing tight differential privacy guarantees using FFT*, 2020;
/// Gopi, Lee, Wutschitz, *Numerical composition of differential privacy*, 2021; Doroshenko, Ghazi,
/// Kamath, Kumar, Manurangsi, *Connect the dots*, 2022; Zhu, Dong, Wang, *Optimal accounting of
/// differential privacy via characteristic function*, 2022.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossDistribution {
    precision: f64,
}

impl Default for LossDistribution {
    /// Answers to one part in ten thousand.
    fn default() -> Self {
        LossDistribution { precision: 1e-4 }
    }
}

/// What is asked.
#[derive(Clone, Copy, Debug)]
enum Question {
    Epsilon { at_delta: f64 },
    Delta { at_epsilon: f64 },
}

impl LossDistribution {
    /// Answers whose bounds are a relative `precision` apart, where that can be reached.
    ///
    /// # Errors
    /// If `precision` is not from 1e-9 to 0.1.
    pub fn new(precision: f64) -> Result<Self, AccountingError> {
        if (1e-9..=0.1).contains(&precision) {
            Ok(LossDistribution { precision })
        } else {
            let accepted = "a number from 1e-9 to 0.1";
            Err(OutOfRange::new("precision", precision, accepted).into())
        }
    }

    fn answer(
        &self,
        composition: &Composition,
        question: Question,
    ) -> Result<Bounds, AccountingError> {
        let mut answer = Bounds::ZERO;
        // It keeps the tables of each size.
        let mut planner = RealFftPlanner::new();
        for terms in pairs_of(composition)?.0 {
            let bounds = Composer::new(&terms, question, self.precision)
                .answer(answer.upper(), &mut planner)?;
            answer =
                Bounds::new(answer.lower().max(bounds.lower()), answer.upper().max(bounds.upper()));
        }
        Ok(answer)
    }
}

impl Accountant for LossDistribution {
    fn name(&self) -> &'static str {
        "loss-distribution"
    }

    fn epsilon(&self, composition: &Composition, delta: Delta) -> Result<Bounds, AccountingError> {
        self.answer(composition, Question::Epsilon { at_delta: delta.get() })
    }

    fn delta(
        &self,
        composition: &Composition,
        epsilon: Epsilon,
    ) -> Result<Bounds, AccountingError> {
        self.answer(composition, Question::Delta { at_epsilon: epsilon.get() })
    }
}
