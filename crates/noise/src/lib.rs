//! Exact noise: distributions that bound their own density and tails, and draws that follow them exactly.
//!
//! What it is: the random bits of a release, and the noise made from them. What it never does: draw
//! from a generator that can be predicted, repeated or copied by a fork without saying so.

pub mod randomness;
