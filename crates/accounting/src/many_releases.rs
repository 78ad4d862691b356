//! One mechanism for many releases that share a budget.

use crate::{AccountingError, LeastScale, least_scale};
use reticent_events::Event;
use reticent_mechanisms::{
    Budget, Certificate, Epsilon, Guarantee, Mechanism, MechanismError, MechanismSpec, Notion,
    Sensitivity, Stretch,
};
use reticent_numerics::rounding::{div_down, mul_down, mul_up};
use reticent_numerics::{Bounds, require};

/// As many as a double counts.
const MOST_RELEASES: u64 = 1 << 53;

/// How many releases, about what part of the data, and how near to the least noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ManyReleases {
    releases: u64,
    subsample: Option<f64>,
    precision: f64,
}

/// The mechanism of each release, and what all of them together provably keep.
#[derive(Debug)]
pub struct CalibratedReleases {
    /// One release.
    pub mechanism: Box<dyn Mechanism>,
    /// The guarantee of all releases together.
    pub guarantee: Guarantee,
    /// Its proof.
    pub certificate: Certificate,
    /// All releases.
    pub event: Event,
    /// Whose proof it is.
    pub accountant: &'static str,
    /// The greatest scale that is proved not to do, if there is one.
    pub too_small: Option<f64>,
}

impl ManyReleases {
    /// So many releases, each about the whole data or about a Poisson sample of this rate, of which
    /// the scale is found to a share of `precision`.
    ///
    /// # Errors
    /// If there are no releases, or the rate is not a probability above 0.
    pub fn new(
        releases: u64,
        subsample: Option<f64>,
        precision: f64,
    ) -> Result<Self, AccountingError> {
        let countable = (1..=MOST_RELEASES).contains(&releases);
        require(countable, "releases", releases as f64, "a whole number from 1 to 2^53")?;
        if let Some(rate) = subsample {
            let accepted = "a number above 0 and at most 1";
            require(rate > 0.0 && rate <= 1.0, "subsample", rate, accepted)?;
        }
        let subsample = subsample.filter(|rate| *rate < 1.0);
        Ok(ManyReleases { releases, subsample, precision })
    }

    /// How many.
    pub fn releases(&self) -> u64 {
        self.releases
    }

    /// The rate of the sample, if there is one.
    pub fn subsample(&self) -> Option<f64> {
        self.subsample
    }

    /// Whether it is one release about the whole data, which needs no accountant.
    pub fn is_single(&self) -> bool {
        self.releases == 1 && self.subsample.is_none()
    }

    /// All releases of an event.
    fn all(&self, event: Event) -> Event {
        let event = match self.subsample {
            Some(rate) => Event::PoissonSubsampled { rate, event: Box::new(event) },
            None => event,
        };
        Event::Repetition { times: self.releases, event: Box::new(event) }
    }

    /// The least noise with which all releases keep the budget together. Mechanisms of pure
    /// differential privacy may be given a delta here: it is spent on their composition. How the
    /// scale of a single release is found does not matter.
    ///
    /// # Errors
    /// If a parameter is not accepted, the mechanism is not one that a single number stretches, or
    /// no scale is proved to keep the budget.
    pub fn calibrate(
        &self,
        spec: &MechanismSpec,
        sensitivity: &Sensitivity,
        budget: impl Into<Budget>,
    ) -> Result<CalibratedReleases, AccountingError> {
        let budget = budget.into();
        let Some(delta) = budget.delta() else {
            return self.pure(spec, sensitivity, budget.epsilon());
        };
        let range = match spec.stretch() {
            Some(Stretch::Scale) => 1e-90..=1e90,
            // Losses up to 700, and down to what no one tells from zero.
            Some(Stretch::InverseLoss) => 1.0 / 700.0 + 1e-18..=1e12,
            None => {
                return Err(MechanismError::Refused(format!(
                    "many releases are not for the {} mechanism, which has more than a scale to \
                     choose",
                    spec.name()
                ))
                .into());
            }
        };
        let at = |scale: f64| spec.stretched(sensitivity, scale);
        let events = |scale: f64| Ok::<_, AccountingError>(vec![self.all(at(scale)?.event())]);
        // What is wrong with a specification is said before the search meets it.
        events(1.0)?;
        let LeastScale { scale, too_small, delta: certified, accountant, .. } =
            least_scale(events, budget.epsilon(), delta, range, self.precision)?;
        let mechanism = at(scale)?;
        // The scale that the staircase is known by does not change.
        let too_small = if too_small > 0.0 { Some(at(too_small)?.scale()) } else { None };
        let too_small = too_small.filter(|below| *below < mechanism.scale());
        Ok(CalibratedReleases {
            guarantee: Guarantee {
                notion: Notion::Approximate,
                epsilon: budget.epsilon().get(),
                delta: delta.get(),
            },
            certificate: Certificate::Delta(certified),
            event: self.all(mechanism.event()),
            mechanism,
            accountant,
            too_small,
        })
    }

    /// Without a delta: pure losses add.
    fn pure(
        &self,
        spec: &MechanismSpec,
        sensitivity: &Sensitivity,
        epsilon: Epsilon,
    ) -> Result<CalibratedReleases, AccountingError> {
        let needs_delta = || {
            MechanismError::Refused(format!(
                "several releases by the {} mechanism, or releases about a sample, need a `delta`",
                spec.name()
            ))
        };
        if self.subsample.is_some() || !spec.kind().notions().contains(&Notion::Pure) {
            return Err(needs_delta().into());
        }
        let (times, epsilon) = (self.releases as f64, epsilon.get());
        let share = Epsilon::positive(div_down(epsilon, times))?;
        let mechanism = spec.calibrate(sensitivity, share)?;
        let Certificate::Epsilon(one) = mechanism.certificate() else {
            return Err(needs_delta().into());
        };
        // Each loss is at most its share, so that the sum is at most epsilon, whatever its rounding
        // says.
        let all =
            Bounds::new(mul_down(times, one.lower()), mul_up(times, one.upper()).min(epsilon));
        Ok(CalibratedReleases {
            guarantee: Guarantee { notion: Notion::Pure, epsilon, delta: 0.0 },
            certificate: Certificate::Epsilon(all),
            event: self.all(mechanism.event()),
            mechanism,
            accountant: "basic",
            too_small: None,
        })
    }
}
