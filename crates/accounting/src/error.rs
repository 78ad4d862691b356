//! What is said when a cost cannot be given.

use reticent_mechanisms::MechanismError;

/// Why no cost is given.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
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
    #[error("the parameter `{name}` is {value:e}, but it must be {accepted}")]
    Parameter {
        /// The parameter, as the user knows it.
        name: &'static str,
        /// What was given.
        value: f64,
        /// What would be accepted.
        accepted: &'static str,
    },
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
    /// A mechanism refused.
    #[error(transparent)]
    Mechanism(#[from] MechanismError),
}
