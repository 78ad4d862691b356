//! The ways to find the standard deviation.

use crate::guarantee::Notion;
use crate::named::named;

named! {
    /// How the standard deviation of Gaussian noise is found from a budget.
    ///
    /// Whatever the method, the result is certified against the exact profile before it is used.
    pub enum GaussianMethod {
        /// The least standard deviation that is `(epsilon, delta)`-differentially private (Balle
        /// and Wang 2018): the default.
        Analytic => "analytic",
        /// `sqrt(2 ln(2/delta)) D/epsilon` (Dwork et al. 2006), where that is enough.
        Classical2006 => "classical-2006",
        /// `sqrt(2 ln(1.25/delta)) D/epsilon` (Dwork and Roth 2014), where that is enough.
        Classical2014 => "classical-2014",
        /// The first closed form of Zhao et al. 2019, which needs the inverse of the error
        /// function.
        ClosedForm1 => "closed-form-1",
        /// The second closed form of Zhao et al. 2019, elementary.
        ClosedForm2 => "closed-form-2",
        /// Vinterbo's closed form (2020), elementary and sharper than the second of Zhao et al.
        Vinterbo => "vinterbo",
        /// Eqn 17 of Liu 2019, sufficient for probabilistic differential privacy.
        Liu => "liu",
        /// The least standard deviation with `P[|L| > epsilon] <= delta`.
        Probabilistic => "probabilistic",
        /// The least standard deviation with `P[L > epsilon] <= delta`.
        ProbabilisticOneSided => "probabilistic-one-sided",
    }
}

impl GaussianMethod {
    /// Which notion it guarantees.
    pub fn notion(self) -> Notion {
        match self {
            GaussianMethod::Liu
            | GaussianMethod::Probabilistic
            | GaussianMethod::ProbabilisticOneSided => Notion::Probabilistic,
            GaussianMethod::Analytic
            | GaussianMethod::Classical2006
            | GaussianMethod::Classical2014
            | GaussianMethod::ClosedForm1
            | GaussianMethod::ClosedForm2
            | GaussianMethod::Vinterbo => Notion::Approximate,
        }
    }
}
