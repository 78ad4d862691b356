//! How far apart the bounds of the default accountant are, and how long they take, at random points
//! of its whole range.
//!
//!     cargo run --release -p reticent-accounting --example widths -- [POINTS] [PRECISION] [SEED]
//!
//! Every number of a point is drawn log-uniformly: `epsilon` from 1e-3 to 500 (aimed at; other
//! points are left out), `delta` from 1e-30 to 0.1, the number of releases from 1 to a million, the
//! rate of a sample from 1e-6 to 1. Prints a line a point: the relative width of `epsilon` over the
//! precision, milliseconds of processor time, the point. A width above 1 misses what was asked for.
#![allow(clippy::disallowed_methods, reason = "draws random points; proves nothing")]

use reticent_accounting::{Accountant, Composition, LossDistribution};
use reticent_events::Event;
use reticent_mechanisms::Delta;

type Error = Box<dyn std::error::Error>;

/// Numbers that are the same in every run.
struct Draws(u64);

impl Draws {
    fn uniform(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        (low.ln() + self.uniform() * (high / low).ln()).exp()
    }

    /// A kind of release of which `times` together cost about as much as Gaussian noise of `mu`.
    fn release(&mut self, mu: f64, times: f64) -> Event {
        let each = mu / times.sqrt();
        match (self.uniform() * 6.0) as u32 {
            0 => Event::Laplace { scale: 1.0, sensitivity: each },
            1 => Event::RandomizedResponse {
                epsilon: each,
                categories: 2 + self.between(1.0, 100.0) as u64,
            },
            2 => Event::DiscreteLaplace { scale: self.between(1.0, 1e3), sensitivity: 1 },
            3 => {
                self.sampled(each, |strength| Event::Laplace { scale: 1.0, sensitivity: strength })
            }
            _ => {
                self.sampled(each, |strength| Event::Gaussian { sigma: 1.0, sensitivity: strength })
            }
        }
    }

    /// A release on a sample whose loss has a deviation of about `deviation`:
    /// `r sqrt(e^(mu^2) - 1)` for Gaussian noise.
    fn sampled(&mut self, deviation: f64, event: impl Fn(f64) -> Event) -> Event {
        let rate = self.between(1e-6, 1.0);
        let strength = (deviation / rate).powi(2).ln_1p().sqrt();
        Event::PoissonSubsampled { rate, event: Box::new(event(strength)) }
    }

    /// Some releases and a `delta`.
    fn point(&mut self) -> (Vec<Event>, f64) {
        let (epsilon, delta) = (self.between(1e-3, 500.0), self.between(1e-30, 0.1));
        let tail = (1.0 / delta).ln();
        // epsilon = mu^2/2 + mu sqrt(2 ln(1/delta)), about.
        let mu = std::f64::consts::SQRT_2 * ((tail + epsilon).sqrt() - tail.sqrt());
        let kinds = if self.uniform() < 0.7 { 1.0 } else { self.between(2.0, 12.0).floor() };
        let most = 1e6 / kinds;
        let mut one = || {
            let times = self.between(1.0, most).round();
            Event::Repetition {
                times: times as u64,
                event: Box::new(self.release(mu / kinds.sqrt(), times)),
            }
        };
        ((0..kinds as u64).map(|_| one()).collect(), delta)
    }
}

/// Of this thread, in milliseconds, to a few of them.
fn processor_time() -> Result<f64, Error> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(text.split_whitespace().next().ok_or("no processor time")?.parse::<f64>()? * 1e-6)
}

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, otherwise: f64| {
        arguments.get(i).map_or(Ok(otherwise), |text| text.parse::<f64>())
    };
    let (points, precision, seed) = (number(0, 100.0)?, number(1, 1e-4)?, number(2, 1.0)?);
    let accountant = LossDistribution::new(precision)?;
    let mut draws = Draws(seed as u64);
    let (mut inside, mut missed, mut worst, mut longest) = (0, 0, 0.0_f64, 0.0_f64);
    while f64::from(inside) < points {
        let (events, delta) = draws.point();
        let composition = Composition::new(&events)?;
        let start = processor_time()?;
        let found = accountant.epsilon(&composition, Delta::new(delta)?)?;
        let milliseconds = processor_time()? - start;
        if !(found.upper() >= 1e-3 && found.lower() <= 500.0) {
            continue;
        }
        let width = (found.upper() - found.lower()) / found.upper() / precision;
        println!(
            "{width:9.2e} {milliseconds:9.1} ms  {found:?} at {delta:.1e}  {}",
            described(&composition)
        );
        inside += 1;
        missed += i32::from(width > 1.0);
        (worst, longest) = (worst.max(width), longest.max(milliseconds));
    }
    println!("{missed} of {inside} missed, at worst {worst:.2} times; {longest:.0} ms at most");
    Ok(())
}

fn described(composition: &Composition) -> String {
    let one = |event: &Event| match event {
        Event::Laplace { sensitivity, .. } => format!("laplace {sensitivity:.3e}"),
        Event::Gaussian { sensitivity, .. } => format!("gaussian {sensitivity:.3e}"),
        other => format!("{other:?}"),
    };
    let kinds = composition.iter().map(|component| match &component.event {
        Event::PoissonSubsampled { rate, event } => {
            format!("{} x {} on {rate:.2e}", component.times, one(event))
        }
        event => format!("{} x {}", component.times, one(event)),
    });
    kinds.collect::<Vec<_>>().join(", ")
}
