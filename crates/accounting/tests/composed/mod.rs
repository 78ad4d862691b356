//! Releases that tests compose, and the values to compare with.

use reticent_events::Event;
use serde_json::Value;

/// Values that were computed elsewhere; `reference/` says how.
pub fn reference() -> Value {
    serde_json::from_str(include_str!("../../../../reference/composition.json")).unwrap()
}

pub fn number(row: &Value, key: &str) -> f64 {
    row[key].as_str().unwrap_or_else(|| panic!("{key} in {row}")).parse().unwrap()
}

pub fn repeated(times: u64, event: Event) -> Event {
    Event::Repetition { times, event: Box::new(event) }
}

pub fn response(epsilon: f64) -> Event {
    Event::RandomizedResponse { epsilon, categories: 2 }
}

pub fn laplace(epsilon: f64) -> Event {
    Event::Laplace { scale: 1.0, sensitivity: epsilon }
}

pub fn gaussian(mu: f64) -> Event {
    Event::Gaussian { sigma: 1.0, sensitivity: mu }
}
