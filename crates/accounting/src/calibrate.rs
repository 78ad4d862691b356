//! The inverse question: the least noise with which several releases keep a budget together.
#![allow(
    clippy::disallowed_methods,
    reason = "estimates that steer a search; its result is proved anew"
)]

use crate::conversion::{delta_of_zero_concentrated, loss_of_zero_concentrated};
use crate::{
    Accountant, AccountingError, Composition, GaussianDp, LossDistribution, zero_concentration,
};
use reticent_events::Event;
use reticent_mechanisms::{Delta, Epsilon};
use reticent_numerics::Bounds;
use std::ops::RangeInclusive;

/// A scale with which all releases together keep a budget, and how far it is from the least one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeastScale {
    /// The scale. The budget is proved at this very number.
    pub scale: f64,
    /// The greatest scale that was proved to exceed the budget; 0 if that was proved of none.
    pub too_small: f64,
    /// Bounds on the `epsilon` of all releases at the budget's `delta`; the upper one is within the
    /// budget.
    pub epsilon: Bounds,
    /// Bounds on the `delta` of all releases at the budget's `epsilon`; the upper one is within the
    /// budget.
    pub delta: Bounds,
    /// The accountant whose proof it is.
    pub accountant: &'static str,
}

/// The least scale in `range` at which the events of `events_at` keep `(epsilon, delta)` together.
///
/// # Contract
/// `events_at` says what is released at a scale; more scale must mean no less privacy, or the
/// result need not be near the least one. It is a proof in any case: an accountant has bounded the
/// releases at the scale that is returned.
///
/// # Method
/// The logarithm of `epsilon(delta)` is nearly linear in that of the scale, with a slope near -1
/// (`epsilon` goes with `1/sigma` for many small losses, with `1/sigma^2` for few large ones),
/// where that of `delta(epsilon)` falls over hundreds of orders of magnitude. So the search is a
/// secant method on logarithms of `epsilon`, inside a bracket; for a budget of `epsilon = 0`, on
/// those of `delta`. It begins where zero-concentration says, which needs no accountant, goes on
/// with a rough accountant and ends with one of the `precision` that was asked for. A last run or
/// two, below, look for a scale at which the lower bound exceeds the budget.
///
/// Gaussian noise without sampling is done by [`GaussianDp`], which is exact; everything else by
/// [`LossDistribution`].
///
/// # Errors
/// Those of `events_at` and of the accountants; [`AccountingError::NotProved`] if no scale in the
/// range is proved to keep the budget.
pub fn least_scale<E: From<AccountingError>>(
    events_at: impl Fn(f64) -> Result<Vec<Event>, E>,
    epsilon: Epsilon,
    delta: Delta,
    range: RangeInclusive<f64>,
    precision: f64,
) -> Result<LeastScale, E> {
    /// How narrow the brackets of the rough accountant are.
    const ROUGH: f64 = 1e-2;
    /// How well the exact accountant is solved: to the width of its own brackets.
    const EXACT: f64 = 1e-12;
    let question = Question { events_at, epsilon, delta, range };
    let fine = LossDistribution::new(precision)?;
    let guess = question.guess()?;
    let is_gaussian =
        question.ask(&GaussianDp, guess).is_ok_and(|probe| probe.figure.lower() > 0.0);
    if is_gaussian {
        return question.answer(&GaussianDp, guess, EXACT);
    }
    let start = if precision < ROUGH {
        let rough = LossDistribution::new(ROUGH)?;
        question.search(guess, 2.0 * ROUGH, |scale| question.ask(&rough, scale))?.proved.scale
    } else {
        guess
    };
    question.answer(&fine, start, precision)
}

/// What an accountant says at a scale.
#[derive(Clone, Copy, Debug)]
struct Probe {
    scale: f64,
    /// Bounds on `epsilon`, or on `delta` where the budget has no `epsilon`.
    figure: Bounds,
}

/// Where a search ended.
#[derive(Debug)]
struct Found {
    /// The least scale that is proved to keep the budget.
    proved: Probe,
    /// How the logarithm of the figure falls with that of the scale; negative.
    slope: f64,
    /// The greatest scale that is proved to exceed the budget.
    too_small: f64,
}

struct Question<F> {
    events_at: F,
    epsilon: Epsilon,
    delta: Delta,
    range: RangeInclusive<f64>,
}

/// The most runs of a search: with a bracket they halve it at least every third time.
const MOST_RUNS: usize = 80;

/// Logarithms of figures are cut to this range, so that zero and infinity steer too.
const STEEPEST: f64 = 30.0;

/// How far up the search goes where nothing was proved, as a logarithm.
const UNKNOWN: f64 = 1.4;

impl<F, E> Question<F>
where
    F: Fn(f64) -> Result<Vec<Event>, E>,
    E: From<AccountingError>,
{
    /// What the figure must not exceed.
    fn limit(&self) -> f64 {
        if self.epsilon.get() > 0.0 { self.epsilon.get() } else { self.delta.get() }
    }

    /// How far a figure is above the limit, as a logarithm.
    fn height(&self, figure: f64) -> f64 {
        (figure / self.limit()).ln().clamp(-STEEPEST, STEEPEST)
    }

    fn composition(&self, scale: f64) -> Result<Composition, E> {
        Ok(Composition::new(&(self.events_at)(scale)?)?)
    }

    /// What an accountant says; where it proves nothing, that nothing is known.
    fn ask(&self, accountant: &dyn Accountant, scale: f64) -> Result<Probe, E> {
        let composition = self.composition(scale)?;
        let figure = if self.epsilon.get() > 0.0 {
            accountant.epsilon(&composition, self.delta)
        } else {
            accountant.delta(&composition, self.epsilon)
        };
        match figure {
            Ok(figure) => Ok(Probe { scale, figure }),
            Err(AccountingError::NotProved(_)) => {
                Ok(Probe { scale, figure: Bounds::new(0.0, f64::INFINITY) })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Where to begin, by zero-concentration.
    ///
    /// A sample has no `rho` in general. Its divergence of order 2 is `ln(1 + q^2 (e^(2 rho) - 1))`
    /// for Gaussian noise, which is taken for all orders here: nothing is proved from it.
    fn guess(&self) -> Result<f64, E> {
        let rho_of = |event: &Event| match event {
            Event::PoissonSubsampled { rate, event } => {
                let whole = zero_concentration(event)?;
                Ok((rate * rate * (2.0 * whole).exp_m1() / 2.0).min(whole))
            }
            Event::Approximate { .. } => Ok(0.0),
            event => zero_concentration(event),
        };
        let rough = |scale: f64| {
            let composition = self.composition(scale)?;
            let rhos: Result<Vec<f64>, AccountingError> = composition
                .iter()
                .map(|component| Ok(component.times as f64 * rho_of(&component.event)?))
                .collect();
            let rho: f64 = rhos?.iter().sum();
            let figure = if self.epsilon.get() > 0.0 {
                loss_of_zero_concentrated(rho, self.delta.get())
            } else {
                delta_of_zero_concentrated(rho, 0.0)
            };
            Ok(Probe { scale, figure: Bounds::new(0.0, figure) })
        };
        let (lowest, highest) = (*self.range.start(), *self.range.end());
        let middle = if lowest <= highest { 1f64.clamp(lowest, highest) } else { lowest };
        // An event of which zero-concentration knows nothing has no guess.
        Ok(self.search(middle, 0.1, rough).map_or(middle, |found: Found| found.proved.scale))
    }

    /// The least scale, within `tolerance`, at which the figure is proved to be within the limit.
    fn search(
        &self,
        start: f64,
        tolerance: f64,
        ask: impl Fn(f64) -> Result<Probe, E>,
    ) -> Result<Found, E> {
        let (lowest, highest) = (self.range.start().ln(), self.range.end().ln());
        let mut exceeds: Option<(f64, f64)> = None;
        let mut keeps: Option<(f64, f64, Probe)> = None;
        let (mut log_scale, mut slope, mut too_small) = (start.ln(), -1.0_f64, 0.0_f64);
        let mut last: Option<(f64, f64)> = None;
        for run in 1..=MOST_RUNS {
            let probe = ask(if log_scale <= lowest {
                *self.range.start()
            } else {
                log_scale.exp().min(*self.range.end())
            })?;
            let height = self.height(probe.figure.upper());
            if probe.figure.lower() > self.limit() {
                too_small = too_small.max(probe.scale);
            }
            if probe.figure.upper() <= self.limit() {
                keeps = Some((log_scale, height, probe));
            } else {
                exceeds = Some((log_scale, height));
            }
            if let Some((before, was)) = last
                && height.abs().max(was.abs()) < STEEPEST
            {
                let measured = (height - was) / (log_scale - before);
                slope = if measured.is_finite() { measured.clamp(-8.0, -0.5) } else { slope };
            }
            last = Some((log_scale, height));
            if let Some((at, height, proved)) = keeps
                && (height >= -tolerance
                    || at <= lowest
                    || exceeds.is_some_and(|(below, _)| at - below <= tolerance))
            {
                return Ok(Found { proved, slope, too_small });
            }
            if keeps.is_none() && log_scale >= highest {
                break;
            }
            // Aims at the middle of what is accepted. Where nothing was proved the height says
            // nothing of the distance.
            let aim = if probe.figure.upper() < f64::INFINITY {
                height + 0.4 * tolerance
            } else {
                UNKNOWN
            };
            let next = log_scale - aim / slope;
            log_scale = match (exceeds, keeps) {
                (Some((below, _)), Some((above, ..))) => {
                    let inside = next > below && next < above && run % 3 != 0;
                    if inside { next } else { (below + above) / 2.0 }
                }
                _ => next.clamp(lowest, highest),
            };
        }
        let Question { epsilon, delta, .. } = self;
        Err(AccountingError::NotProved(format!(
            "no scale up to {:e} keeps epsilon = {:e} and delta = {:e} for all releases together",
            self.range.end(),
            epsilon.get(),
            delta.get()
        ))
        .into())
    }

    /// The least scale by one accountant, with its proof and with what is known below.
    fn answer(
        &self,
        accountant: &dyn Accountant,
        start: f64,
        tolerance: f64,
    ) -> Result<LeastScale, E> {
        let Found { mut proved, slope, mut too_small } =
            self.search(start, tolerance, |scale| self.ask(accountant, scale))?;
        let mut below = proved;
        // Down by what the lower bound lacks, and more each time.
        for extra in [0.25, 1.0, 4.0] {
            if too_small >= proved.scale * (1.0 - 2.0 * tolerance)
                || below.scale <= *self.range.start()
            {
                break;
            }
            let lacking =
                (-self.height(below.figure.lower())).min(8.0 * tolerance) + extra * tolerance;
            let scale = (below.scale * (lacking / slope).exp()).max(*self.range.start());
            below = self.ask(accountant, scale)?;
            if below.figure.lower() > self.limit() {
                too_small = too_small.max(below.scale);
            } else if below.figure.upper() <= self.limit() && below.scale < proved.scale {
                proved = below;
            }
        }
        let (budget_epsilon, budget_delta) = (self.epsilon.get(), self.delta.get());
        let (epsilon, delta) = if budget_epsilon > 0.0 {
            // epsilon(delta) within the budget means that delta(epsilon) is.
            let delta = match accountant.delta(&self.composition(proved.scale)?, self.epsilon) {
                Ok(delta) => {
                    Bounds::new(delta.lower().min(budget_delta), delta.upper().min(budget_delta))
                }
                Err(AccountingError::NotProved(_)) => Bounds::new(0.0, budget_delta),
                Err(error) => return Err(error.into()),
            };
            (proved.figure, delta)
        } else {
            (Bounds::exact(0.0), proved.figure)
        };
        Ok(LeastScale {
            scale: proved.scale,
            too_small,
            epsilon,
            delta,
            accountant: accountant.name(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn budget(epsilon: f64, delta: f64) -> (Epsilon, Delta) {
        (Epsilon::new(epsilon).expect("valid"), Delta::new(delta).expect("valid"))
    }

    fn repeated(times: u64, event: Event) -> Result<Vec<Event>, AccountingError> {
        Ok(vec![Event::Repetition { times, event: Box::new(event) }])
    }

    /// k Gaussians of scale `sigma sqrt k` cost what one of scale `sigma` does.
    #[test]
    fn gaussian_noise_grows_with_the_root_of_the_number_of_releases() {
        let (epsilon, delta) = budget(2.0, 1e-6);
        let at = |times| {
            let events = move |sigma| repeated(times, Event::Gaussian { sigma, sensitivity: 1.0 });
            least_scale(events, epsilon, delta, 1e-9..=1e9, 1e-4).expect("a scale")
        };
        let (one, many) = (at(1), at(10_000));
        assert!((many.scale / (100.0 * one.scale) - 1.0).abs() < 1e-11, "{one:?} {many:?}");
        for found in [one, many] {
            assert!(
                found.too_small < found.scale && found.too_small > found.scale * (1.0 - 1e-11),
                "{found:?}"
            );
            assert!(
                found.delta.upper() <= 1e-6
                    && found.epsilon.upper() <= 2.0
                    && found.accountant == "gaussian-dp"
            );
        }
        // reference/gaussian_sigma.json: epsilon 1, delta 1e-5.
        let (epsilon, delta) = budget(1.0, 1e-5);
        let events = |sigma| repeated(4, Event::Gaussian { sigma, sensitivity: 1.0 });
        let found = least_scale(events, epsilon, delta, 1e-9..=1e9, 1e-4).expect("a scale");
        assert!((found.scale / (2.0 * 3.730_631_634_815_942) - 1.0).abs() < 1e-11, "{found:?}");
    }

    /// Ten Laplace releases of loss 0.1 have epsilon 0.99897808944721984 at delta 1e-6
    /// (reference/composition.json).
    #[test]
    fn laplace_noise_is_bracketed_with_few_runs() {
        let (epsilon, delta) = budget(0.998_978_089_447_219_8, 1e-6);
        let runs = Cell::new(0);
        let events = |scale| {
            runs.set(runs.get() + 1);
            repeated(10, Event::Laplace { scale, sensitivity: 1.0 })
        };
        let found = least_scale(events, epsilon, delta, 1e-9..=1e9, 1e-4).expect("a scale");
        assert!(
            found.too_small < 10.0 * (1.0 + 1e-12) && found.scale > 10.0 * (1.0 - 1e-12),
            "{found:?}"
        );
        assert!(found.scale - found.too_small < 6e-4 * found.scale, "{found:?}");
        assert!(
            found.delta.upper() <= delta.get() && found.epsilon.upper() <= epsilon.get(),
            "{found:?}"
        );
        // Those of the guess are counted too, and cost next to nothing.
        assert!(runs.get() <= 25, "{}", runs.get());
    }

    /// Samples, weights and a budget without epsilon: the proof is checked anew, and that the scale
    /// below it fails.
    #[test]
    fn what_is_returned_is_proved_at_the_scale_that_is_returned() {
        let sampled = |sigma: f64| {
            let event = Box::new(Event::Gaussian { sigma, sensitivity: 1.0 });
            repeated(300, Event::PoissonSubsampled { rate: 0.02, event })
        };
        let weighted = |scale: f64| {
            let discrete = Event::DiscreteLaplace { scale: 3.0 * scale, sensitivity: 2 };
            Ok(vec![Event::Laplace { scale, sensitivity: 1.0 }, discrete])
        };
        type Events<'a> = &'a dyn Fn(f64) -> Result<Vec<Event>, AccountingError>;
        let cases: [(Events, f64, f64); 3] =
            [(&sampled, 1.0, 1e-5), (&weighted, 0.5, 1e-3), (&weighted, 0.0, 0.1)];
        for (events, epsilon, delta) in cases {
            let (epsilon, delta) = budget(epsilon, delta);
            let found = least_scale(events, epsilon, delta, 1e-6..=1e6, 1e-3).expect("a scale");
            let accountant = LossDistribution::new(1e-3).expect("valid");
            let figure = |scale: f64| {
                let composition = Composition::new(&events(scale).expect("events")).expect("valid");
                let by_epsilon = epsilon.get() > 0.0;
                let figure = if by_epsilon {
                    accountant.epsilon(&composition, delta)
                } else {
                    accountant.delta(&composition, epsilon)
                };
                (figure.expect("a bracket"), if by_epsilon { epsilon.get() } else { delta.get() })
            };
            let (at, limit) = figure(found.scale);
            assert!(at.upper() <= limit, "{found:?}");
            let (below, limit) = figure(found.too_small);
            assert!(below.lower() > limit, "{found:?}");
            assert!(found.scale - found.too_small < 6e-3 * found.scale, "{found:?}");
            assert!(
                found.delta.upper() <= delta.get() && found.delta.lower() > 0.9 * delta.get(),
                "{found:?}"
            );
        }
    }

    #[test]
    fn what_cannot_be_kept_is_an_error() {
        let (epsilon, delta) = budget(1.0, 1e-6);
        let gaussian = |sigma| repeated(1, Event::Gaussian { sigma, sensitivity: 1.0 });
        assert!(least_scale(gaussian, epsilon, delta, 1e-9..=1e9, 0.0).is_err());
        let narrow =
            least_scale(gaussian, epsilon, delta, 1e-3..=1.0, 1e-4).expect_err("too little noise");
        assert!(narrow.to_string().contains("no scale up to 1e0 keeps"), "{narrow}");
        let with_delta = |scale| {
            Ok(vec![
                Event::Laplace { scale, sensitivity: 1.0 },
                Event::Approximate { epsilon: 0.1, delta: 1e-3 },
            ])
        };
        assert!(matches!(
            least_scale(with_delta, epsilon, delta, 1e-3..=1e3, 1e-2),
            Err(AccountingError::NotProved(_))
        ));
        let wrong = |_| repeated(0, Event::Gaussian { sigma: 1.0, sensitivity: 1.0 });
        assert!(matches!(
            least_scale(wrong, epsilon, delta, 1e-3..=1e3, 1e-2),
            Err(AccountingError::Event { position: 1, .. })
        ));
    }
}
