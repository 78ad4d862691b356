//! Events, checked and made flat.

use crate::AccountingError;
use reticent_events::Event;
use reticent_noise::Table;
use reticent_numerics::rounding::mul_up;
use reticent_numerics::{OutOfRange, require};
use std::collections::HashMap;

/// The most releases in all that are accounted for together.
const MOST_RELEASES: u64 = 1 << 53;

/// One kind of release and how often it was made.
#[derive(Clone, Debug, PartialEq)]
pub struct Component {
    /// What ran: never a [`Event::Composition`] or [`Event::Repetition`], except inside a sample
    /// that was shared.
    pub event: Event,
    /// How often, at least once.
    pub times: u64,
}

/// Releases about the same units, checked: nested compositions and repetitions are opened, and
/// equal events counted together.
///
/// The cost of a composition depends neither on the order nor on the nesting, so nothing is lost.
/// What ran on one shared sample stays together, because those runs are not independent. A sample
/// of a sample is a sample with the product of the rates, and a rate of 1 is no sampling.
#[derive(Clone, Debug, PartialEq)]
pub struct Composition(Vec<Component>);

impl Composition {
    /// Reads events.
    ///
    /// # Errors
    /// If there are none, or one of them has a parameter that no mechanism can have. The error
    /// names the event by its position in `events` and by its mechanism.
    pub fn new(events: &[Event]) -> Result<Self, AccountingError> {
        let mut flat = Flat::default();
        for (index, event) in events.iter().enumerate() {
            flat.add(event, 1, 0).map_err(|(mechanism, problem)| AccountingError::Event {
                position: index + 1,
                mechanism,
                problem,
            })?;
        }
        if flat.components.is_empty() {
            Err(AccountingError::NoEvents)
        } else {
            Ok(Composition(flat.components))
        }
    }

    /// Each kind of release with its count.
    pub fn iter(&self) -> impl Iterator<Item = &Component> {
        self.0.iter()
    }

    /// How many releases there are in all.
    pub fn releases(&self) -> u64 {
        self.0.iter().map(|component| component.times).sum()
    }
}

/// How deep events may be nested.
const DEEPEST: u32 = 64;

/// The mechanism at fault and what is wrong with it.
type Problem = (&'static str, String);

#[derive(Default)]
struct Flat {
    components: Vec<Component>,
    /// The index of an event in `components`, by its text, which shows every digit of its
    /// parameters.
    indices: HashMap<String, usize>,
    releases: u64,
}

impl Flat {
    fn add(&mut self, event: &Event, times: u64, depth: u32) -> Result<(), Problem> {
        let name = event.mechanism();
        if depth > DEEPEST {
            return Err((name, format!("events are nested more than {DEEPEST} deep")));
        }
        match event {
            Event::Composition { events } if events.is_empty() => {
                Err((name, "it holds no events".into()))
            }
            Event::Composition { events } => {
                events.iter().try_for_each(|event| self.add(event, times, depth + 1))
            }
            Event::Repetition { times: 0, .. } => {
                Err((name, OutOfRange::new("times", 0.0, "at least 1").to_string()))
            }
            Event::Repetition { times: more, event } => {
                let times = times.checked_mul(*more).ok_or((name, too_many()))?;
                self.add(event, times, depth + 1)
            }
            Event::PoissonSubsampled { rate, event } => match sampled(*rate, event, depth)? {
                Event::PoissonSubsampled { rate, event } => {
                    Flat::default().add(&event, 1, depth + 1)?;
                    self.count(Event::PoissonSubsampled { rate, event }, times)
                }
                whole => self.add(&whole, times, depth + 1),
            },
            single => {
                check(single).map_err(|refused| (name, refused.to_string()))?;
                self.count(single.clone(), times)
            }
        }
    }

    fn count(&mut self, event: Event, times: u64) -> Result<(), Problem> {
        let releases =
            self.releases.checked_add(times).filter(|&releases| releases <= MOST_RELEASES);
        self.releases = releases.ok_or((event.mechanism(), too_many()))?;
        let index = *self.indices.entry(format!("{event:?}")).or_insert(self.components.len());
        match self.components.get_mut(index) {
            Some(component) => component.times += times,
            None => self.components.push(Component { event, times }),
        }
        Ok(())
    }
}

fn too_many() -> String {
    format!("there are more than {MOST_RELEASES} releases in all")
}

/// A sample of `event`, with samples of samples and rates of 1 resolved. The product of two rates
/// is rounded up, an ulp each time, which those who bound from below must allow for.
fn sampled(rate: f64, event: &Event, depth: u32) -> Result<Event, Problem> {
    if depth > DEEPEST {
        return Err(("poisson-subsampled", format!("events are nested more than {DEEPEST} deep")));
    }
    check_rate(rate)?;
    match event {
        _ if rate == 1.0 => Ok(event.clone()),
        Event::PoissonSubsampled { rate: inner, event } => {
            check_rate(*inner)?;
            sampled(mul_up(rate, *inner).min(1.0), event, depth + 1)
        }
        other => Ok(Event::PoissonSubsampled { rate, event: Box::new(other.clone()) }),
    }
}

fn check_rate(rate: f64) -> Result<f64, Problem> {
    require(rate > 0.0 && rate <= 1.0, "rate", rate, RATE)
        .map_err(|refused| ("poisson-subsampled", refused.to_string()))
}

const RATE: &str = "a number above 0 and at most 1";

fn is_positive(value: f64) -> bool {
    (1e-140..=1e140).contains(&value)
}

/// Whether the parameters of a single event are those of a mechanism.
fn check(event: &Event) -> Result<(), OutOfRange> {
    let positive = |name, value| {
        require(is_positive(value), name, value, "a number from 1e-140 to 1e140").map(drop)
    };
    let loss = |epsilon| {
        let accepted = "a number above 0 and at most 700";
        require(epsilon > 0.0 && epsilon <= 700.0, "epsilon", epsilon, accepted)
    };
    let at_least_one =
        |name, value: u64| require(value >= 1, name, value as f64, "at least 1").map(drop);
    let empty =
        |name| OutOfRange { name, value: "empty".into(), accepted: "a list of at least one" };
    match event {
        Event::Laplace { scale, sensitivity } => {
            positive("scale", *scale)?;
            positive("sensitivity", *sensitivity)
        }
        Event::TruncatedLaplace { scale, support_in_scales: support, sensitivity } => {
            positive("scale", *scale)?;
            let accepted = "a number from 1e-12 to 1e6";
            require((1e-12..=1e6).contains(support), "support_in_scales", *support, accepted)?;
            positive("sensitivity", *sensitivity)
        }
        Event::Tabulated { weights, sensitivity_steps: steps, spacing } => {
            at_least_one("sensitivity_steps", *steps)?;
            positive("spacing", *spacing)?;
            require(*steps <= 1 << 24, "sensitivity_steps", *steps as f64, "at most 2^24")?;
            Table::from_parts(weights).map(drop)
        }
        Event::DiscreteLaplace { scale, sensitivity } => {
            positive("scale", *scale)?;
            at_least_one("sensitivity", *sensitivity)
        }
        Event::Staircase { epsilon, gamma, sensitivity } => {
            loss(*epsilon)?;
            require((0.0..=1.0).contains(gamma), "gamma", *gamma, "a number from 0 to 1")?;
            positive("sensitivity", *sensitivity)
        }
        Event::Gaussian { sigma, sensitivity } => {
            positive("sigma", *sigma)?;
            positive("sensitivity", *sensitivity)
        }
        Event::DiscreteGaussian { sigma, sensitivity } => {
            positive("sigma", *sigma)?;
            at_least_one("sensitivity", *sensitivity)
        }
        Event::GeneralizedGaussian { order, scale, sensitivities } => {
            positive("order", *order)?;
            positive("scale", *scale)?;
            if sensitivities.is_empty() {
                return Err(empty("sensitivities"));
            }
            sensitivities.iter().try_for_each(|&sensitivity| positive("sensitivities", sensitivity))
        }
        Event::TruncatedGeneralizedGaussian { order, scale, range, sensitivity }
        | Event::InflatedGeneralizedGaussian { order, scale, range, sensitivity } => {
            positive("order", *order)?;
            positive("scale", *scale)?;
            positive("range", *range)?;
            positive("sensitivity", *sensitivity)?;
            require(sensitivity <= range, "sensitivity", *sensitivity, "at most the range")
                .map(drop)
        }
        Event::RandomizedResponse { epsilon, categories } => {
            loss(*epsilon)?;
            require(*categories >= 2, "categories", *categories as f64, "at least 2").map(drop)
        }
        Event::RandomScaleLaplace { sensitivity, .. } => positive("sensitivity", *sensitivity),
        Event::RandomScaleLaplaceVector { coordinates, sensitivity, .. } => {
            at_least_one("coordinates", *coordinates)?;
            positive("sensitivity", *sensitivity)
        }
        Event::RandomScaleGaussian { sigmas, sensitivity } => {
            positive("sensitivity", *sensitivity)?;
            if sigmas.is_empty() {
                return Err(empty("sigmas"));
            }
            sigmas.iter().try_for_each(|&(sigma, weight)| {
                positive("sigmas", sigma)?;
                require(weight > 0.0 && weight <= 1.0, "weight", weight, RATE).map(drop)
            })
        }
        Event::Exponential { epsilon } | Event::PermuteAndFlip { epsilon } => {
            loss(*epsilon).map(drop)
        }
        Event::Approximate { epsilon, delta } => {
            let accepted = "a number from 0 to 700";
            require((0.0..=700.0).contains(epsilon), "epsilon", *epsilon, accepted)?;
            let accepted = "a number from 0 to 1, not 1 itself";
            require((0.0..1.0).contains(delta), "delta", *delta, accepted).map(drop)
        }
        Event::ZeroConcentrated { rho } => positive("rho", *rho),
        // Opened before they come here.
        Event::PoissonSubsampled { .. } | Event::Composition { .. } | Event::Repetition { .. } => {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gaussian(sigma: f64) -> Event {
        Event::Gaussian { sigma, sensitivity: 1.0 }
    }

    #[test]
    fn nesting_is_opened_and_equal_events_are_counted_together() {
        let nested = Event::Composition {
            events: vec![
                Event::Repetition { times: 3, event: Box::new(gaussian(1.0)) },
                Event::Repetition {
                    times: 2,
                    event: Box::new(Event::Composition {
                        events: vec![gaussian(2.0), gaussian(1.0)],
                    }),
                },
            ],
        };
        let composition = Composition::new(&[nested, gaussian(2.0)]).expect("valid");
        let counted: Vec<_> = composition
            .iter()
            .map(|component| (component.event.clone(), component.times))
            .collect();
        assert_eq!(counted, [(gaussian(1.0), 5), (gaussian(2.0), 3)]);
        assert_eq!(composition.releases(), 8);
    }

    #[test]
    fn samples_of_samples_multiply_and_the_whole_is_no_sample() {
        let sample = |rate, event| Event::PoissonSubsampled { rate, event: Box::new(event) };
        let composition = Composition::new(&[
            sample(0.5, sample(0.25, gaussian(1.0))),
            sample(1.0, gaussian(2.0)),
        ])
        .expect("valid");
        let events: Vec<_> = composition.iter().map(|component| component.event.clone()).collect();
        assert_eq!(events, [sample(0.125, gaussian(1.0)), gaussian(2.0)]);
    }

    #[test]
    fn what_no_mechanism_can_do_is_refused_by_name() {
        let repeated = |times| Event::Repetition { times, event: Box::new(gaussian(1.0)) };
        let sample = |rate| Event::PoissonSubsampled { rate, event: Box::new(gaussian(1.0)) };
        let hostile = [
            (gaussian(f64::NAN), "event 2 (gaussian): `sigma` is NaN"),
            (gaussian(-1.0), "event 2 (gaussian): `sigma` is -1,"),
            (repeated(0), "event 2 (repetition): `times` is 0"),
            (repeated(u64::MAX), "more than"),
            (sample(1.5), "event 2 (poisson-subsampled): `rate` is 1.5,"),
            (sample(0.0), "above 0"),
            (sample(f64::NAN), "above 0"),
            (Event::Approximate { epsilon: 1.0, delta: 1.0 }, "not 1 itself"),
            (Event::Composition { events: vec![] }, "no events"),
            (Event::RandomizedResponse { epsilon: 1.0, categories: 1 }, "at least 2"),
        ];
        for (event, expected) in hostile {
            let message =
                Composition::new(&[gaussian(1.0), event]).expect_err("hostile").to_string();
            assert!(message.contains(expected), "{message}");
        }
        assert_eq!(Composition::new(&[]), Err(AccountingError::NoEvents));
        let mut deep = gaussian(1.0);
        for _ in 0..1000 {
            deep = Event::Composition { events: vec![deep] };
        }
        assert!(Composition::new(&[deep]).is_err());
    }
}
