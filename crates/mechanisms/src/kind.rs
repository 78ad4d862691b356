//! The list of all mechanisms.

use crate::generalized_gaussian::Method;
use crate::guarantee::Notion::{self, Approximate, Probabilistic, Pure};
use crate::{GaussianMethod, TruncatedMethod, UtilityChange};

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident => $name:literal, $notions:expr, $purpose:literal;)*) => {
        /// Which mechanism a [`crate::Mechanism`] is. Whoever goes through all of them, as the test
        /// that every calculation of a cost agrees does, does not compile until it knows a new one.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum MechanismKind {
            $($(#[$doc])* $kind,)*
        }

        impl MechanismKind {
            /// Every mechanism.
            pub const ALL: &[MechanismKind] = &[$(MechanismKind::$kind,)*];

            /// Its name.
            pub fn name(self) -> &'static str {
                match self {
                    $(MechanismKind::$kind => $name,)*
                }
            }

            /// The notions of differential privacy that it can guarantee.
            pub fn notions(self) -> &'static [Notion] {
                match self {
                    $(MechanismKind::$kind => &$notions,)*
                }
            }

            /// What it is for, in a line.
            pub fn purpose(self) -> &'static str {
                match self {
                    $(MechanismKind::$kind => $purpose,)*
                }
            }
        }
    };
}

kinds! {
    /// [`crate::RandomizedResponse`].
    RandomizedResponse => "randomized-response", [Pure],
        "one of K answers, each person's own, for surveys without a trusted curator";
    /// [`crate::Laplace`].
    Laplace => "laplace", [Pure],
        "numbers and vectors under pure DP; the usual choice for a few of them";
    /// [`crate::DiscreteLaplace`].
    DiscreteLaplace => "discrete-laplace", [Pure],
        "integers, such as counts, under pure DP; the geometric mechanism";
    /// [`crate::Staircase`].
    Staircase => "staircase", [Pure],
        "one number under pure DP, with the least error of all such noise for an aim";
    /// [`crate::TruncatedLaplace`].
    TruncatedLaplace => "truncated-laplace", [Approximate],
        "one number with a small delta, and noise that never exceeds a known size";
    /// [`crate::Tabulated`].
    Tabulated => "optimal", [Approximate],
        "one number, by the best noise that a search finds for a measure of error";
    /// [`crate::GaussianMechanism`].
    Gaussian => "gaussian", [Approximate, Probabilistic],
        "numbers and long vectors, with a small delta";
    /// [`crate::DiscreteGaussianMechanism`].
    DiscreteGaussian => "discrete-gaussian", [Approximate],
        "integers, such as counts, with a small delta";
    /// [`crate::GeneralizedGaussian`].
    GeneralizedGaussian => "generalized-gaussian", [Pure, Approximate, Probabilistic],
        "numbers, with tails as thick or thin as the order says";
    /// [`crate::TruncatedGeneralizedGaussian`].
    TruncatedGeneralizedGaussian => "truncated-generalized-gaussian", [Pure],
        "a number between public bounds under pure DP; noise that never leaves them";
    /// [`crate::InflatedGeneralizedGaussian`].
    InflatedGeneralizedGaussian => "inflated-generalized-gaussian", [Pure],
        "the same; what falls beyond a bound is released as the bound";
    /// [`crate::ContinuousExponential`].
    ContinuousExponential => "exponential", [Pure],
        "a number between public bounds, chosen by its distance from the answer";
    /// [`crate::RandomScaleLaplace`].
    RandomScaleLaplace => "random-scale-laplace", [Pure],
        "numbers under pure DP, by Laplace noise whose inverse scale is drawn from a family";
    /// [`crate::RandomScaleGaussianMechanism`].
    RandomScaleGaussian => "random-scale-gaussian", [Approximate],
        "a number with a small delta, by Gaussian noise of a random standard deviation";
    /// [`crate::Exponential`].
    Exponential => "exponential", [Pure],
        "a choice among candidates by their utilities; one-way where they change together";
    /// [`crate::PermuteAndFlip`].
    PermuteAndFlip => "permute-and-flip", [Pure],
        "the same with a better choice on average at the same epsilon";
}

impl MechanismKind {
    /// What its calibration can be told to do differently, the usual one first; empty where there
    /// is one way only.
    pub fn methods(self) -> &'static [&'static str] {
        match self {
            MechanismKind::Gaussian => GaussianMethod::NAMES,
            MechanismKind::GeneralizedGaussian => Method::NAMES,
            MechanismKind::TruncatedGeneralizedGaussian => TruncatedMethod::NAMES,
            MechanismKind::Exponential | MechanismKind::PermuteAndFlip => UtilityChange::NAMES,
            MechanismKind::Staircase => &["l1", "l2", "entropy", "usefulness"],
            MechanismKind::RandomizedResponse
            | MechanismKind::Laplace
            | MechanismKind::DiscreteLaplace
            | MechanismKind::TruncatedLaplace
            | MechanismKind::Tabulated
            | MechanismKind::DiscreteGaussian
            | MechanismKind::InflatedGeneralizedGaussian
            | MechanismKind::ContinuousExponential
            | MechanismKind::RandomScaleLaplace
            | MechanismKind::RandomScaleGaussian => &[],
        }
    }
}
