//! Which of two denoised versions of one release is closer to the truth.

use crate::release::Release;

/// A denoised version `g(Y)` of a release with estimates of `E[Z_i g_i(Y)]`.
#[derive(Clone, Debug)]
pub(crate) struct Version {
    /// `g`.
    pub values: Vec<f64>,
    /// What is known of `E[Z_i g_i]`.
    pub noise_times: NoiseTimes,
}

/// Estimates of `E[Z_i g_i(Y)]` with the noise `Z_i` of value `i` ([`crate::unbiased`]).
#[derive(Clone, Debug)]
pub(crate) enum NoiseTimes {
    /// One for each value, each of which is denoised by a rule of its own.
    Each(Vec<f64>),
    /// Their sum, of a method that looks at several values together.
    Sum(f64),
}

impl NoiseTimes {
    fn sum(&self) -> f64 {
        match self {
            NoiseTimes::Each(each) => each.iter().sum(),
            NoiseTimes::Sum(sum) => *sum,
        }
    }
}

impl Version {
    /// The release as it is: `E[Z_i Y_i]` is the variance.
    pub fn unchanged(release: &Release) -> Self {
        let noise_times = NoiseTimes::Each(release.variances());
        Version { values: release.values().to_vec(), noise_times }
    }

    /// From a risk, which is `sum (g_i - y_i)^2 - v_i + 2 h_i`.
    pub fn of_risk(values: Vec<f64>, risk: f64, release: &Release) -> Self {
        let moved: f64 =
            values.iter().zip(release.values()).map(|(value, y)| (value - y).powi(2)).sum();
        let noise_times = NoiseTimes::Sum(0.5 * (risk - moved + release.risk()));
        Version { values, noise_times }
    }
}

/// By how much the squared error of one version exceeds that of another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Difference {
    /// An estimate of the difference of the two losses of this release, `||g - theta||^2 - ||g' -
    /// theta||^2`.
    pub estimate: f64,
    /// The standard deviation of its error.
    pub deviation: f64,
}

impl Difference {
    /// Between two versions of one release.
    ///
    /// # Formula
    /// With `D_i = g_i - g'_i` the difference of the losses is
    /// `sum (g_i - y_i)^2 - (g'_i - y_i)^2 + 2 Z_i D_i`. The last term has the estimate `2 h_i`,
    /// `h_i` the difference of the two `noise_times`, whose expectation is the same. So the
    /// estimate is about the squared errors of the release at hand, not only about their
    /// expectation, and its error is `2 sum (h_i - Z_i D_i)` with mean zero. The variance of that
    /// is
    ///
    /// ```text
    /// 4 sum v_i D_i^2 + (1 + k) h_i^2,    k the excess kurtosis of the noise,
    /// ```
    ///
    /// on average: for Gaussian noise by Stein's identity used twice (Bellec and Zhang 2021), and
    /// for affine `D_i` under any noise, by expanding `Var(Z (a + c Z))`. For other rules under
    /// other noise it is that of the affine rule with the same mean slope `h_i/v_i`. For a method
    /// that looks at several values together `sum h_i^2` stands for `tr((V J)^2)` with the Jacobian
    /// `J` of `D`; the part of `D` that is linear in the noise has `E sum v_i D_i^2 >= tr(V J V
    /// J')`, and that sum is put in its place.
    pub fn between(version: &Version, other: &Version, release: &Release) -> Self {
        let shape = release.noise().shape();
        let excess = shape.fourth_cumulant() / shape.variance().powi(2);
        let (mut moved, mut weighted) = (0.0, 0.0);
        for (index, (value, instead)) in version.values.iter().zip(&other.values).enumerate() {
            let apart = value - instead;
            let scale = release.noise().scale(index);
            moved += apart * (value + instead - 2.0 * release.values()[index]);
            weighted += shape.variance() * scale * scale * apart * apart;
        }
        let squares = match (&version.noise_times, &other.noise_times) {
            (NoiseTimes::Each(each), NoiseTimes::Each(others)) => {
                each.iter().zip(others).map(|(h, other)| (h - other).powi(2)).sum()
            }
            (NoiseTimes::Sum(_), _) | (_, NoiseTimes::Sum(_)) => weighted,
        };
        let noise_times = version.noise_times.sum() - other.noise_times.sum();
        Difference {
            estimate: moved + 2.0 * noise_times,
            deviation: 2.0 * (weighted + (1.0 + excess) * squares).sqrt(),
        }
    }

    /// Whether the first version is better though the estimate be off by so many deviations. What
    /// is not a number is not better.
    pub fn is_gain(&self, deviations: f64) -> bool {
        self.estimate + deviations * self.deviation < 0.0
    }
}
