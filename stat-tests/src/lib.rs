//! Statistical tools for checking exact noise and privacy claims, with stated error rates.
//!
//! What it is: tests whose false-alarm probability is known, an oracle for the distributions that
//! shares no code with the crate under test, and the known attacks on floating-point noise. What it
//! never does: take part in a release.
//!
//! The tests themselves are in `tests/`; every one states its false-alarm rate and shows its power,
//! because a check that nothing fails proves nothing.

pub mod audit;
pub mod battery;
pub mod binomial;
pub mod bins;
pub mod chi_square;
pub mod counting;
pub mod forced;
pub mod membership;
pub mod naive;
pub mod oracle;
pub mod precision;
