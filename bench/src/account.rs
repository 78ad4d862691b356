//! Milliseconds of processor time per question to the default accountant, and how far apart its
//! bounds are.
//!
//! The workloads are those of `docs/benchmarks/account.py`, which puts the same questions to other
//! accountants and measures processor time too.

use reticent_accounting::{Accountant, Composition, LossDistribution};
use reticent_events::Event;
use reticent_mechanisms::Delta;
use reticent_numerics::Bounds;
use serde::Serialize;
use std::fmt;

/// Each question is asked this often, or once if it takes more than `SLOW` milliseconds; the least
/// time counts.
const ROUNDS: usize = 7;
const SLOW: f64 = 2000.0;
const DELTA: f64 = 1e-6;

/// What the run found.
#[derive(Serialize)]
pub struct Report {
    /// At which `delta` every question is asked.
    delta: f64,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    name: &'static str,
    releases: u64,
    milliseconds: f64,
    lower: f64,
    upper: f64,
    /// The distance of the bounds over the upper one.
    relative_width: f64,
}

type Error = Box<dyn std::error::Error>;

/// Named lists of events, each with its count.
fn workloads() -> Vec<(&'static str, Vec<(Event, u64)>)> {
    let laplace = |epsilon: f64| Event::Laplace { scale: 1.0 / epsilon, sensitivity: 1.0 };
    let gaussian = |sigma: f64| Event::Gaussian { sigma, sensitivity: 1.0 };
    let response = |epsilon: f64| Event::RandomizedResponse { epsilon, categories: 2 };
    let sampled =
        |sigma: f64, rate: f64| Event::PoissonSubsampled { rate, event: Box::new(gaussian(sigma)) };
    let ten_kinds = vec![
        laplace(0.02),
        laplace(0.03),
        laplace(0.04),
        laplace(0.05),
        gaussian(50.0),
        gaussian(80.0),
        sampled(1.0, 0.001),
        sampled(0.8, 0.002),
        response(0.02),
        response(0.04),
    ];
    let thousand =
        |event: &dyn Fn(f64) -> Event| (0..1000).map(|i| (event(f64::from(i)), 10)).collect();
    vec![
        ("ten kinds x 1000", ten_kinds.into_iter().map(|event| (event, 1000)).collect()),
        ("1000 Gaussian sigmas x 10", thousand(&|i| gaussian(50.0 + 0.05 * i))),
        ("1000 Laplace scales x 10", thousand(&|i| laplace(0.01 + 2e-5 * i))),
        ("sampled Gaussian sigma 1, rate 0.01, x 10000", vec![(sampled(1.0, 0.01), 10_000)]),
        ("sampled Gaussian sigma 0.3, rate 0.001, x 10000", vec![(sampled(0.3, 0.001), 10_000)]),
    ]
}

/// Runs everything.
pub fn measure() -> Result<Report, Error> {
    let delta = Delta::new(DELTA)?;
    let accountant = LossDistribution::default();
    let mut charged = Vec::new();
    for (name, events) in workloads() {
        let releases = events.iter().map(|(_, times)| times).sum();
        let events: Vec<Event> = events
            .into_iter()
            .map(|(event, times)| Event::Repetition { times, event: Box::new(event) })
            .collect();
        charged.push((name, releases, events));
    }
    let answer = |events: &[Event]| -> Result<Bounds, Error> {
        Ok(accountant.epsilon(&Composition::new(events)?, delta)?)
    };
    let mut rows = Vec::new();
    for (name, releases, events) in charged {
        let (mut bounds, mut milliseconds) = (Bounds::ZERO, f64::INFINITY);
        for _ in 0..ROUNDS {
            let start = processor_milliseconds()?;
            bounds = answer(&events)?;
            milliseconds = milliseconds.min(processor_milliseconds()? - start);
            if milliseconds > SLOW {
                break;
            }
        }
        rows.push(Row {
            name,
            releases,
            milliseconds,
            lower: bounds.lower(),
            upper: bounds.upper(),
            relative_width: bounds.width() / bounds.upper(),
        });
    }
    Ok(Report { delta: DELTA, rows })
}

/// What this thread has used so far; other programs on the machine do not count. The kernel brings
/// it up to date every few milliseconds.
fn processor_milliseconds() -> Result<f64, Error> {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(statistics.split_whitespace().next().ok_or("no number in schedstat")?.parse::<f64>()? * 1e-6)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "epsilon at delta = {:e}, processor time, best of {ROUNDS}", self.delta)?;
        for Row { name, milliseconds, lower, upper, relative_width, .. } in &self.rows {
            writeln!(
                f,
                "  {name:<50} {milliseconds:>9.2} ms   [{lower:.6}, {upper:.6}]   width \
                 {relative_width:.1e}"
            )?;
        }
        Ok(())
    }
}
