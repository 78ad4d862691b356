//! `reticent errors`: what it costs to answer many counting queries, and what nobody can avoid.

use crate::Format;
use crate::failure::Failure;
use crate::options::{count, number};
use crate::output::Output;
use crate::report::Interval;
use crate::table::Table;
use reticent_mechanisms::{
    CountingErrors, Delta, Epsilon, approximate_counting_limit, gaussian_counting_errors,
    gaussian_overtakes_laplace, laplace_counting_errors, local_counting_limit, pure_counting_limit,
    randomized_response_counting_errors,
};
use reticent_numerics::digits::{exact, rounded, rounded_down};
use serde::Serialize;
use std::io::{self, Write};

/// The options of `errors`.
#[derive(clap::Args, Debug)]
pub struct ErrorsOfQueries {
    /// How many counting queries there are; one person's row may count in all of them
    #[arg(long, value_name = "K", value_parser = count)]
    queries: u64,
    /// The privacy loss of all answers together
    #[arg(long, value_name = "E", value_parser = number, allow_hyphen_values = true)]
    epsilon: f64,
    /// The delta of all answers together, for Gaussian noise
    #[arg(long, value_name = "D", value_parser = number, allow_hyphen_values = true)]
    delta: Option<f64>,
    /// How many people there are: for randomized response, and for the limits
    #[arg(long, value_name = "N", value_parser = count)]
    people: Option<u64>,
    /// The maximum is exceeded with this probability
    #[arg(long, value_name = "B", value_parser = number, default_value_t = 0.05)]
    beta: f64,
}

/// The errors of a mechanism, in counts.
#[derive(Debug, Serialize)]
struct Line {
    mechanism: &'static str,
    guarantee: &'static str,
    scale: Interval,
    mean_absolute: Interval,
    root_mean_square: Interval,
    /// What the largest of the errors exceeds with probability beta; for randomized response at
    /// most that.
    maximum: Interval,
    /// What the union bound of the lecture's Appendix A says of it; none for randomized response,
    /// whose maximum is that bound.
    union_bound: Option<f64>,
    /// What no mechanism of this guarantee stays below on all data.
    limit: Option<f64>,
    /// Of which of the errors it is a limit.
    limit_of: &'static str,
}

#[derive(Debug, Serialize)]
struct Answer {
    queries: u64,
    epsilon: f64,
    delta: Option<f64>,
    people: Option<u64>,
    beta: f64,
    mechanisms: Vec<Line>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gaussian_from: Option<u64>,
}

impl Line {
    fn new(
        names: (&'static str, &'static str),
        errors: CountingErrors,
        (limit, limit_of): (Option<f64>, &'static str),
    ) -> Self {
        Line {
            mechanism: names.0,
            guarantee: names.1,
            scale: errors.scale.into(),
            mean_absolute: errors.mean_absolute.into(),
            root_mean_square: errors.root_mean_square.into(),
            maximum: errors.maximum.into(),
            union_bound: errors.union_bound,
            limit,
            limit_of,
        }
    }
}

/// The largest number of people for a limit that does not depend on it.
const MANY: u64 = 1 << 50;

/// Computes every row.
pub fn run(arguments: ErrorsOfQueries, format: Format, output: &mut Output) -> Result<(), Failure> {
    let ErrorsOfQueries { queries, epsilon: loss, delta, people, beta } = arguments;
    let epsilon = Epsilon::new(loss)?;
    let mut mechanisms = Vec::new();
    if let Some(people) = people {
        let errors = randomized_response_counting_errors(queries, people, epsilon, beta)?;
        let limit = (Some(local_counting_limit(people, epsilon)?), "root mean square");
        mechanisms.push(Line::new(("randomized response", "local, pure"), errors, limit));
    }
    let known = people.unwrap_or(MANY);
    let errors = laplace_counting_errors(queries, epsilon, beta)?;
    let limit = (Some(pure_counting_limit(queries, known, epsilon, beta)?), "maximum");
    mechanisms.push(Line::new(("laplace", "pure"), errors, limit));
    let mut gaussian_from = None;
    if let Some(delta) = delta {
        let delta = Delta::new(delta)?;
        let errors = gaussian_counting_errors(queries, epsilon, delta, beta)?;
        let limit = approximate_counting_limit(known, epsilon, delta, beta)?;
        let limit = (Some(limit), "maximum (that of one query)");
        mechanisms.push(Line::new(("gaussian", "approximate"), errors, limit));
        gaussian_from = Some(gaussian_overtakes_laplace(epsilon, delta)?);
    }
    let answer = Answer {
        queries,
        epsilon: loss,
        delta: arguments.delta,
        people,
        beta,
        mechanisms,
        gaussian_from,
    };
    let mut statement = format!(
        "Errors in counts; divide by the number of people for proportions. The maximum is exceeded \
         with probability {}. A limit is what no mechanism of that guarantee stays below on all \
         data.\n",
        exact(beta)
    );
    if let Some(from) = gaussian_from {
        statement.push_str(&format!(
            "From {from} queries on Gaussian noise has no larger variance than Laplace noise.\n"
        ));
    }
    // Standard error that cannot be written to must not keep the answer back.
    let _ = io::stderr().write_all(statement.as_bytes());
    match format {
        Format::Json => output.json(&answer),
        Format::Table => output.text(&table(&answer.mechanisms)),
    }
}

fn table(lines: &[Line]) -> String {
    let mut table = Table::with_heading(&[
        "mechanism",
        "guarantee",
        "scale",
        "mean absolute",
        "root mean square",
        "maximum",
        "union bound",
        "limit",
        "of",
    ]);
    // Upper ends: for randomized response some of the figures are bounds.
    let upper = |interval: &Interval, is_bound: bool| {
        let figure = rounded(interval.upper);
        if is_bound { format!("<= {figure}") } else { figure }
    };
    for line in lines {
        let bound = line.union_bound.is_none();
        table.row([
            line.mechanism.to_owned(),
            line.guarantee.to_owned(),
            upper(&line.scale, false),
            upper(&line.mean_absolute, bound),
            upper(&line.root_mean_square, false),
            upper(&line.maximum, bound),
            line.union_bound.map_or_else(String::new, rounded),
            line.limit.map_or_else(String::new, |limit| format!(">= {}", rounded_down(limit))),
            line.limit_of.to_owned(),
        ]);
    }
    table.render()
}
