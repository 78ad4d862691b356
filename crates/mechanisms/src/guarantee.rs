//! What a mechanism guarantees, and the proof that it keeps it.

use reticent_numerics::Bounds;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Which guarantee.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Notion {
    /// Pure differential privacy: no event's probability changes by more than a factor `e^epsilon`.
    Pure,
    /// `(epsilon, delta)`-differential privacy: the same up to an additive `delta`.
    Approximate,
    /// Probabilistic differential privacy: outside a set of outputs of probability `delta` the loss
    /// is at most `epsilon`. It implies the approximate notion, but unlike that one it does not
    /// survive post-processing (erratum L4).
    Probabilistic,
}

impl fmt::Display for Notion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Notion::Pure => "pure",
            Notion::Approximate => "approximate",
            Notion::Probabilistic => "probabilistic",
        })
    }
}

/// The guarantee a mechanism was calibrated to keep.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Guarantee {
    /// Which guarantee.
    pub notion: Notion,
    /// The loss.
    pub epsilon: f64,
    /// A small probability `delta`; zero for pure DP.
    pub delta: f64,
}

impl fmt::Display for Guarantee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.notion {
            Notion::Pure => write!(f, "pure differential privacy, epsilon = {}", self.epsilon),
            Notion::Approximate => {
                write!(
                    f,
                    "(epsilon, delta)-differential privacy, epsilon = {}, delta = {:e}",
                    self.epsilon, self.delta
                )
            }
            Notion::Probabilistic => {
                write!(
                    f,
                    "probabilistic differential privacy, epsilon = {}, delta = {:e}",
                    self.epsilon, self.delta
                )
            }
        }
    }
}

/// What the scale in use provably gives: computed anew from the scale, not from what was asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Certificate {
    /// The least epsilon of pure differential privacy.
    Epsilon(Bounds),
    /// The least delta at the guaranteed epsilon, in the guaranteed notion.
    Delta(Bounds),
}
