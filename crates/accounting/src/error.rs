//! What is said when a cost cannot be given.

use reticent_mechanisms::MechanismError;
use reticent_numerics::OutOfRange;

/// Why no cost is given.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum AccountingError {
    /// An event says something that no mechanism can do.
    #[error("event {position} ({mechanism}): {problem}")]
    Event {
        /// Which one, counted from 1 in the order given.
        position: usize,
        /// Its mechanism.
        mechanism: &'static str,
        /// What is wrong, naming the parameter, its value and what would be accepted.
        problem: String,
    },
    /// There is nothing to account for.
    #[error("there are no events; at least one is needed")]
    NoEvents,
    /// A question is outside what is accepted.
    #[error(transparent)]
    Parameter(#[from] OutOfRange),
    /// This accountant cannot read one of the events.
    #[error("{accountant} accounting does not cover {mechanism} events: {reason}")]
    NotCovered {
        /// The accountant.
        accountant: &'static str,
        /// The event's mechanism.
        mechanism: &'static str,
        /// Why.
        reason: &'static str,
    },
    /// No bound could be proved.
    #[error("no bound could be proved: {0}")]
    NotProved(String),
    /// Two accountants contradict each other, which is a defect of this library.
    #[error(
        "the bounds {lower:e} and {upper:e} on {figure} contradict each other: this is a defect, \
         please report it"
    )]
    Contradiction {
        /// What was bounded.
        figure: &'static str,
        /// The greatest lower bound.
        lower: f64,
        /// The least upper bound, below it.
        upper: f64,
    },
    /// A mechanism refused.
    #[error(transparent)]
    Mechanism(#[from] MechanismError),
}
