//! scratch
#![allow(clippy::unwrap_used)]
use reticent_accounting::*;
use reticent_events::Event;
use reticent_mechanisms::{Delta, Epsilon};
use std::time::Instant;
fn run(name: &str, events: &[Event], delta: f64) {
    let charges = Charges::new(events).unwrap();
    for p in [1e-4, 1e-6] {
        let start = Instant::now();
        let answer = LossDistribution::new(p).unwrap().epsilon(&charges, Delta::new(delta).unwrap());
        let t = start.elapsed().as_secs_f64();
        match answer {
            Ok(b) => println!(
                "{name} d={delta:e} p={p:e}: [{}, {}] rel {:.2e}  {:.1} ms",
                b.lower(),
                b.upper(),
                b.relative_width(),
                t * 1e3
            ),
            Err(e) => println!("{name} d={delta:e} p={p:e}: {e}  {:.1} ms", t * 1e3),
        }
    }
}
fn rep(e: Event, k: u64) -> Event {
    Event::Repetition { times: k, event: Box::new(e) }
}
fn sub(e: Event, r: f64) -> Event {
    Event::PoissonSubsampled { rate: r, event: Box::new(e) }
}
fn main() {
    let g = |sigma| Event::Gaussian { sigma, sensitivity: 1.0 };
    let l = |scale| Event::Laplace { scale, sensitivity: 1.0 };
    run("gauss mu=.1 (0.39685737764408359)", &[g(10.0)], 1e-6);
    run("laplace .1 x10 (0.99897808944721984)", &[rep(l(10.0), 10)], 1e-6);
    run("laplace .1 x50 (0.88525346784541806)", &[rep(l(10.0), 50)], 0.05);
    run("laplace .5 x10 (4.9989780894472198)", &[rep(l(2.0), 10)], 1e-6);
    let rr = |e| Event::RandomizedResponse { epsilon: e, categories: 2 };
    run("rr .1 x10 (0.99937090572175872)", &[rep(rr(0.1), 10)], 1e-6);
    run("rr .1 x50 (0.91270414396646364)", &[rep(rr(0.1), 50)], 0.05);
    run("sub gauss s=1 q=.01 k=1e4", &[rep(sub(g(1.0), 0.01), 10000)], 1e-5);
    run("sub gauss s=.3 q=.01 k=1e4", &[rep(sub(g(0.3), 0.01), 10000)], 1e-5);
    run("sub gauss s=1 q=1e-6 k=1e6", &[rep(sub(g(1.0), 1e-6), 1000000)], 1e-6);
    run("sub gauss s=1 q=1e-6 k=1e6", &[rep(sub(g(1.0), 1e-6), 1000000)], 1e-30);
    run("laplace b=1000 1e6", &[rep(l(1000.0), 1000000)], 1e-6);
    run("laplace b=1000 1e6", &[rep(l(1000.0), 1000000)], 1e-30);
    run("laplace 5x20 + gauss 1000x10", &[rep(l(20.0), 5), rep(g(10.0), 1000)], 1e-6);
    run("dlap", &[rep(Event::DiscreteLaplace { scale: 3.0, sensitivity: 2 }, 100)], 1e-6);
    run("dgauss", &[rep(Event::DiscreteGaussian { sigma: 3.0, sensitivity: 1 }, 100)], 1e-6);
    run("approx", &[rep(Event::Approximate { epsilon: 0.1, delta: 1e-9 }, 100)], 1e-6);
    let _ = Epsilon::new(1.0);
}
