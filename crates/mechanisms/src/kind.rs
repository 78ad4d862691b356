//! The list of all mechanisms.

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident => $name:literal,)*) => {
        /// Which mechanism a [`crate::Mechanism`] is. A new one needs a variant, and whoever goes
        /// through all of them, as the test that every way to its cost tells the same does, no
        /// longer compiles until it knows the new one.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum MechanismKind {
            $($(#[$doc])* $kind,)*
        }

        impl MechanismKind {
            /// Every mechanism.
            pub const ALL: &[MechanismKind] = &[$(MechanismKind::$kind,)*];

            /// The name by which the command line knows it; mechanisms that differ in their options
            /// may share one.
            pub fn name(self) -> &'static str {
                match self {
                    $(MechanismKind::$kind => $name,)*
                }
            }
        }
    };
}

kinds! {
    /// [`crate::RandomizedResponse`].
    RandomizedResponse => "randomized-response",
    /// [`crate::Laplace`].
    Laplace => "laplace",
    /// [`crate::DiscreteLaplace`].
    DiscreteLaplace => "discrete-laplace",
    /// [`crate::Staircase`].
    Staircase => "staircase",
    /// [`crate::TruncatedLaplace`].
    TruncatedLaplace => "truncated-laplace",
    /// [`crate::Tabulated`].
    Tabulated => "optimal",
    /// [`crate::GaussianMechanism`].
    Gaussian => "gaussian",
    /// [`crate::DiscreteGaussianMechanism`].
    DiscreteGaussian => "discrete-gaussian",
    /// [`crate::GeneralizedGaussian`].
    GeneralizedGaussian => "generalized-gaussian",
    /// [`crate::TruncatedGeneralizedGaussian`].
    TruncatedGeneralizedGaussian => "generalized-gaussian",
    /// [`crate::InflatedGeneralizedGaussian`].
    InflatedGeneralizedGaussian => "generalized-gaussian",
    /// [`crate::ContinuousExponential`].
    ContinuousExponential => "exponential",
    /// [`crate::RandomScaleLaplace`].
    RandomScaleLaplace => "random-scale-laplace",
    /// [`crate::RandomScaleGaussianMechanism`].
    RandomScaleGaussian => "random-scale-gaussian",
    /// [`crate::Exponential`].
    Exponential => "exponential",
    /// [`crate::PermuteAndFlip`].
    PermuteAndFlip => "permute-and-flip",
}
