//! The papers.

/// A paper whose results are recomputed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Paper {
    /// The generalized Gaussian mechanism.
    Liu,
    /// Laplace noise of random scale (R2DP).
    Mohammady,
    /// Closed forms for the Gaussian mechanism.
    Zhao,
    /// The analytic Gaussian mechanism and denoising.
    BalleWang,
    /// Lecture notes.
    Lecture,
}

impl Paper {
    /// All papers.
    pub const ALL: [Paper; 5] =
        [Paper::Liu, Paper::Mohammady, Paper::Zhao, Paper::BalleWang, Paper::Lecture];

    /// Author, title and year.
    pub fn citation(self) -> &'static str {
        match self {
            Paper::Liu => {
                "Fang Liu, Generalized Gaussian mechanism for differential privacy, IEEE TKDE 2019"
            }
            Paper::Mohammady => {
                "Meisam Mohammady, Randomized privacy budget differential privacy, 2018 (R2DP)"
            }
            Paper::Zhao => {
                "Jun Zhao et al., Reviewing and improving the Gaussian mechanism for differential \
                 privacy, 2019 (abstract)"
            }
            Paper::BalleWang => {
                "Borja Balle and Yu-Xiang Wang, Improving the Gaussian mechanism for differential \
                 privacy, ICML 2018"
            }
            Paper::Lecture => {
                "Privacy enhancing technologies, lecture 10: differentially private algorithms"
            }
        }
    }
}
