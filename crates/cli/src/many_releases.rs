//! One scale for many releases: calibration by an accountant.

use crate::failure::Failure;
use crate::options::Options;
use crate::registry::Entry;
use crate::request::{Purpose, Request};
use reticent_accounting::{LeastScale, least_scale};
use reticent_events::Event;
use reticent_mechanisms::{Certificate, Delta, Epsilon, Guarantee, Mechanism, Notion};
use reticent_numerics::Bounds;
use reticent_numerics::rounding::{div_down, mul_down, mul_up};
use std::ops::RangeInclusive;

/// How often, and on what part of the data.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// How many releases, at least one.
    pub releases: u64,
    /// The rate of Poisson sampling before each of them, if there is any.
    pub subsample: Option<f64>,
    /// How near the scale should be to the least one.
    pub precision: f64,
}

/// The mechanism of each release, and what all of them together provably keep.
#[derive(Debug)]
pub struct Calibrated {
    /// One release.
    pub mechanism: Box<dyn Mechanism>,
    /// The promise of all releases together.
    pub guarantee: Guarantee,
    /// Its proof.
    pub certificate: Certificate,
    /// All releases.
    pub event: Event,
    /// Whose proof it is.
    pub accountant: &'static str,
    /// The greatest scale that is proved not to do, if there is one.
    pub too_small: Option<f64>,
    /// What a reader must know besides.
    pub note: Option<String>,
}

/// As many as a double counts.
const MOST_RELEASES: u64 = 1 << 53;
/// Scales of noise that are looked at.
const SCALES: RangeInclusive<f64> = 1e-90..=1e90;
/// One over the losses that a mechanism is calibrated for: up to 700, and down to what no one tells from zero.
const INVERSE_LOSSES: RangeInclusive<f64> = 1.0 / 700.0 + 1e-18..=1e12;

impl Plan {
    /// Judges the numbers.
    ///
    /// # Errors
    /// If there are no releases, or the rate is not one.
    pub fn new(releases: u64, subsample: Option<f64>, precision: f64) -> Result<Self, Failure> {
        if !(1..=MOST_RELEASES).contains(&releases) {
            return Err(Failure::usage(format!("--releases is {releases}, but it must be from 1 to {MOST_RELEASES}")));
        }
        match subsample {
            Some(rate) if !(rate > 0.0 && rate <= 1.0) => {
                Err(Failure::usage(format!("--subsample is {rate:e}, but it must be a number above 0 and at most 1")))
            }
            _ => Ok(Plan { releases, subsample: subsample.filter(|rate| *rate < 1.0), precision }),
        }
    }

    /// Whether there is anything to plan.
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

    /// The least noise with which all releases keep the budget together.
    ///
    /// # Errors
    /// If an option is missing, not accepted or not used, or if no scale is proved to keep the budget.
    pub fn calibrate(&self, entry: &'static Entry, options: &Options) -> Result<Calibrated, Failure> {
        let name = entry.name;
        let Some(stretch) = entry.stretch else {
            return Err(Failure::usage(format!(
                "--releases and --subsample are not for the {name} mechanism, which has more than a scale to choose"
            )));
        };
        let budget = &options.budget;
        let Some(epsilon) = budget.epsilon else {
            return Err(Failure::usage(format!("the {name} mechanism needs --epsilon")));
        };
        let Some(delta) = budget.delta else { return self.pure(entry, options, epsilon) };
        let purpose = stretch(options, 1.0).0;
        if purpose == Purpose::Describe && (budget.method.is_some() || budget.notion.is_some()) {
            return Err(Failure::usage(format!(
                "--method and --notion cannot be given with --releases or --subsample: an accountant finds the scale of \
                 {name} noise, and the promise is approximate"
            )));
        }
        let request = |scale: f64| {
            let (purpose, options) = stretch(options, scale);
            Request::new(entry, purpose, options)
        };
        let at = |scale: f64| request(scale)?.mechanism();
        let (epsilon, delta) = (Epsilon::new(epsilon)?, Delta::new(delta)?);
        let range = if purpose == Purpose::Calibrate { INVERSE_LOSSES } else { SCALES };
        let events = |scale: f64| Ok::<_, Failure>(vec![self.all(at(scale)?.event())]);
        // What is wrong with a request is said before the search meets it.
        events(1.0)?;
        let LeastScale { scale, too_small, delta: certified, accountant, .. } =
            least_scale(events, epsilon, delta, range, self.precision)?;
        let mechanism = at(scale)?;
        // The scale that the staircase is known by does not change.
        let too_small = if too_small > 0.0 { Some(at(too_small)?.scale()) } else { None };
        let too_small = too_small.filter(|below| *below < mechanism.scale());
        Ok(Calibrated {
            guarantee: Guarantee { notion: Notion::Approximate, epsilon: epsilon.get(), delta: delta.get() },
            certificate: Certificate::Delta(certified),
            event: self.all(mechanism.event()),
            mechanism,
            accountant,
            too_small,
            note: request(scale)?.note(),
        })
    }

    /// Without a delta: pure losses add.
    fn pure(&self, entry: &'static Entry, options: &Options, epsilon: f64) -> Result<Calibrated, Failure> {
        if self.subsample.is_some() || !entry.notions.contains(&"pure") {
            let name = entry.name;
            return Err(Failure::usage(format!("the {name} mechanism needs --delta with --releases or --subsample")));
        }
        let times = self.releases as f64;
        let share = div_down(Epsilon::positive(epsilon)?.get(), times);
        let mut options = options.clone();
        options.budget.epsilon = Some(share);
        let request = Request::new(entry, Purpose::Calibrate, options)?;
        let mechanism = request.mechanism()?;
        let Certificate::Epsilon(one) = mechanism.certificate() else {
            return Err(Failure::usage(format!("the {} mechanism needs --delta with --releases", entry.name)));
        };
        // Each loss is at most its share, so that the sum is at most epsilon, whatever its rounding says.
        let all = Bounds::new(mul_down(times, one.lower()), mul_up(times, one.upper()).min(epsilon));
        Ok(Calibrated {
            guarantee: Guarantee { notion: Notion::Pure, epsilon, delta: 0.0 },
            certificate: Certificate::Epsilon(all),
            event: self.all(mechanism.event()),
            mechanism,
            accountant: "basic",
            too_small: None,
            note: request.note(),
        })
    }
}
