//! The ways to find the standard deviation.

use crate::guarantee::Notion;

/// How the standard deviation of Gaussian noise is found from a budget.
///
/// Whatever the method, the result is certified against the exact profile before it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GaussianMethod {
    /// The least standard deviation that is `(epsilon, delta)`-differentially private (Balle and Wang 2018): the
    /// default.
    Analytic,
    /// `sqrt(2 ln(2/delta)) D/epsilon` (Dwork et al. 2006), where that is enough.
    Classical2006,
    /// `sqrt(2 ln(1.25/delta)) D/epsilon` (Dwork and Roth 2014), where that is enough.
    Classical2014,
    /// The first closed form of Zhao et al. 2019, which needs the inverse of the error function.
    ClosedForm1,
    /// The second closed form of Zhao et al. 2019, elementary.
    ClosedForm2,
    /// Vinterbo's closed form (2020), elementary and sharper than the second of Zhao et al.
    Vinterbo,
    /// Eqn 17 of Liu 2019, sufficient for probabilistic differential privacy.
    Liu,
    /// The least standard deviation with `P[|L| > epsilon] <= delta`.
    Probabilistic,
    /// The least standard deviation with `P[L > epsilon] <= delta`.
    ProbabilisticOneSided,
}

impl GaussianMethod {
    /// All of them, the default first.
    pub const ALL: [GaussianMethod; 9] = [
        GaussianMethod::Analytic,
        GaussianMethod::Classical2006,
        GaussianMethod::Classical2014,
        GaussianMethod::ClosedForm1,
        GaussianMethod::ClosedForm2,
        GaussianMethod::Vinterbo,
        GaussianMethod::Liu,
        GaussianMethod::Probabilistic,
        GaussianMethod::ProbabilisticOneSided,
    ];

    /// The name by which the command line knows it.
    pub fn name(self) -> &'static str {
        match self {
            GaussianMethod::Analytic => "analytic",
            GaussianMethod::Classical2006 => "classical-2006",
            GaussianMethod::Classical2014 => "classical-2014",
            GaussianMethod::ClosedForm1 => "closed-form-1",
            GaussianMethod::ClosedForm2 => "closed-form-2",
            GaussianMethod::Vinterbo => "vinterbo",
            GaussianMethod::Liu => "liu",
            GaussianMethod::Probabilistic => "probabilistic",
            GaussianMethod::ProbabilisticOneSided => "probabilistic-one-sided",
        }
    }

    /// The method of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        GaussianMethod::ALL.into_iter().find(|method| method.name() == name)
    }

    /// What it promises.
    pub fn notion(self) -> Notion {
        match self {
            GaussianMethod::Liu | GaussianMethod::Probabilistic | GaussianMethod::ProbabilisticOneSided => {
                Notion::Probabilistic
            }
            _ => Notion::Approximate,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_methods() {
        for method in GaussianMethod::ALL {
            assert_eq!(GaussianMethod::from_name(method.name()), Some(method));
        }
        assert_eq!(GaussianMethod::from_name("classical"), None);
    }
}
