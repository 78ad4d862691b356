//! `reticent estimate`: what randomized answers say of everybody together.

use crate::Format;
use crate::failure::Failure;
use crate::input::{column_texts, standard_input};
use crate::options::{count, number};
use crate::output::Output;
use crate::table::Table;
use reticent::ReleaseFile;
use reticent_denoising::shrinkage::nearest_shares;
use reticent_events::Event;
use reticent_mechanisms::{Epsilon, RandomizedResponse};
use reticent_numerics::digits::{exact, rounded, rounded_down, rounded_up};
use serde::Serialize;
use std::io::{self, Write};
use std::path::PathBuf;

/// The most categories of a table.
const MOST_CATEGORIES: u64 = 1_000_000;

/// The options of `estimate`.
#[derive(clap::Args, Debug)]
pub struct Estimate {
    #[command(subcommand)]
    of: Of,
}

/// What is estimated from.
#[derive(Debug, clap::Subcommand)]
enum Of {
    /// The share of each category, from answers by randomized response
    RandomizedResponse(Answers),
}

/// Randomized answers, and how they were randomized.
#[derive(clap::Args, Debug)]
struct Answers {
    /// The privacy loss of one answer, unless a release file says it
    #[arg(long, value_name = "E", value_parser = number, allow_hyphen_values = true)]
    epsilon: Option<f64>,
    /// How many categories there are, unless a release file or --labels says it
    #[arg(long, value_name = "K", value_parser = count)]
    categories: Option<u64>,
    /// The answers in words, in the order of the categories; they are the numbers from 0 if not
    /// given
    #[arg(long, value_name = "A,B,...", value_delimiter = ',')]
    labels: Option<Vec<String>>,
    /// Read this file in place of standard input: one answer on each line, a release file, or with
    /// --column a CSV table
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// The column of the CSV table that holds the randomized answers
    #[arg(long, value_name = "NAME", requires = "input")]
    column: Option<String>,
    /// How often an interval holds its share, at the least
    #[arg(long, value_name = "P", value_parser = number, default_value_t = 0.95)]
    confidence: f64,
    /// Also give the nearest shares that are not negative and add up to 1
    #[arg(long)]
    simplex: bool,
}

/// How answers were randomized, and what is asked of them.
#[derive(Debug)]
pub struct Survey {
    mechanism: RandomizedResponse,
    epsilon: f64,
    confidence: f64,
    simplex: bool,
}

/// What the answers say of one category.
#[derive(Debug, Serialize)]
struct Share {
    category: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    responses: u64,
    share: f64,
    half_width: f64,
    lower: f64,
    upper: f64,
    /// At most this, over the randomness of the answers.
    standard_error: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    nearest: Option<f64>,
}

/// The estimates of all categories.
#[derive(Debug, Serialize)]
pub struct Shares {
    mechanism: &'static str,
    epsilon: f64,
    categories: u64,
    responses: u64,
    confidence: f64,
    shares: Vec<Share>,
}

impl Survey {
    /// Randomized response among so many categories.
    ///
    /// # Errors
    /// If the parameters are not those of a mechanism, or there are too many categories to list.
    pub fn new(
        categories: u64,
        epsilon: f64,
        confidence: f64,
        simplex: bool,
    ) -> Result<Self, Failure> {
        if categories > MOST_CATEGORIES {
            return Err(Failure::usage(format!(
                "there are {categories} categories, but at most {MOST_CATEGORIES} are estimated"
            )));
        }
        let mechanism = RandomizedResponse::new(categories, Epsilon::new(epsilon)?)?;
        Ok(Survey { mechanism, epsilon, confidence, simplex })
    }

    /// From answers that are the numbers of categories.
    ///
    /// # Errors
    /// If one is not.
    pub fn of_numbers(&self, answers: &[f64]) -> Result<Shares, Failure> {
        let categories = self.mechanism.categories();
        let category = |(index, answer): (usize, &f64)| {
            let known = answer.fract() == 0.0 && (0.0..categories as f64).contains(answer);
            if known { Ok(*answer as u64) } else { Err(self.unknown(index)) }
        };
        let found: Result<Vec<u64>, Failure> = answers.iter().enumerate().map(category).collect();
        self.shares(found?.into_iter(), None)
    }

    /// From answers as they are written.
    fn of_texts(&self, answers: &[String], labels: Option<&[String]>) -> Result<Shares, Failure> {
        let category = |(index, answer): (usize, &String)| {
            let number = match labels {
                Some(labels) => labels.iter().position(|label| label == answer).map(|at| at as u64),
                None => answer.parse().ok().filter(|answer| *answer < self.mechanism.categories()),
            };
            number.ok_or_else(|| self.unknown(index))
        };
        let found: Result<Vec<u64>, Failure> = answers.iter().enumerate().map(category).collect();
        self.shares(found?.into_iter(), labels)
    }

    fn unknown(&self, index: usize) -> Failure {
        Failure::usage(format!(
            "answer {} is not a category: they are the numbers from 0 to {}, or the words of \
             --labels",
            index + 1,
            self.mechanism.categories() - 1
        ))
    }

    fn shares(
        &self,
        answers: impl Iterator<Item = u64>,
        labels: Option<&[String]>,
    ) -> Result<Shares, Failure> {
        let categories = self.mechanism.categories();
        let mut counts = vec![0u64; usize::try_from(categories).unwrap_or(usize::MAX)];
        for answer in answers {
            if let Some(count) = counts.get_mut(answer as usize) {
                *count += 1;
            }
        }
        let estimates = self.mechanism.frequencies(&counts)?;
        let intervals = self.mechanism.intervals(&counts, self.confidence)?;
        let plain: Vec<f64> = estimates.iter().map(|found| found.frequency.estimate()).collect();
        let nearest = self.simplex.then(|| nearest_shares(&plain));
        let share = |index: usize| {
            let (share, interval) = (plain[index], intervals[index]);
            let half_width = (interval.upper() - share).max(share - interval.lower()).next_up();
            Share {
                category: index as u64,
                label: labels.and_then(|labels| labels.get(index).cloned()),
                responses: counts[index],
                share,
                half_width,
                lower: interval.lower(),
                upper: interval.upper(),
                standard_error: estimates[index].standard_error.upper(),
                nearest: nearest.as_ref().map(|nearest| nearest[index]),
            }
        };
        Ok(Shares {
            mechanism: "randomized-response",
            epsilon: self.epsilon,
            categories,
            responses: counts.iter().sum(),
            confidence: self.confidence,
            shares: (0..counts.len()).map(share).collect(),
        })
    }
}

impl Shares {
    /// Says on standard error what the figures are, and writes them.
    ///
    /// # Errors
    /// If standard output cannot be written to.
    pub fn publish(self, format: Format, output: &mut Output) -> Result<(), Failure> {
        let percent = exact(100.0 * self.confidence);
        let statement = format!(
            "Shares among the {} who answered, estimated without bias; one can be below 0 or above \
             1.\nEach interval, from lower to upper, holds its share with probability {percent}% \
             or more, whatever the true answers are (Clopper and Pearson, certified); not all of \
             them at once.\nThat is the share among those who answered, and also that of a larger \
             population of which they are a random sample.\n",
            self.responses
        );
        // Standard error that cannot be written to must not keep the answer back.
        let _ = io::stderr().write_all(statement.as_bytes());
        match format {
            Format::Json => output.json(&self),
            Format::Table => {
                let mut heading = vec!["category", "responses", "share", "±", "lower", "upper"];
                if self.shares.iter().any(|share| share.nearest.is_some()) {
                    heading.push("nearest shares");
                }
                let mut table = Table::with_heading(&heading);
                for share in self.shares {
                    let label = share.label.unwrap_or_else(|| share.category.to_string());
                    let cells = [
                        crate::answer_table::on_one_line(&label),
                        share.responses.to_string(),
                        rounded(share.share),
                        rounded_up(share.half_width),
                        rounded_down(share.lower),
                        rounded_up(share.upper),
                    ];
                    table.cells(cells.into_iter().chain(share.nearest.map(rounded)));
                }
                output.text(&table.render())
            }
        }
    }
}

/// Reads all answers, and only then writes.
pub fn run(arguments: Estimate, format: Format, output: &mut Output) -> Result<(), Failure> {
    let Of::RandomizedResponse(options) = arguments.of;
    let Answers { epsilon, categories, labels, input, column, confidence, simplex } = options;
    if let Some(labels) = &labels {
        let mut sorted = labels.clone();
        sorted.sort_unstable();
        sorted.dedup();
        if sorted.len() < labels.len() || categories.is_some_and(|k| k != labels.len() as u64) {
            return Err(Failure::usage(
                "--labels must be different words, as many as there are --categories",
            ));
        }
    }
    let categories = categories.or(labels.as_ref().map(|labels| labels.len() as u64));
    if let (Some(path), Some(name)) = (&input, &column) {
        let survey = stated(categories, epsilon, confidence, simplex)?;
        let answers = column_texts(path, name)?;
        return survey.of_texts(&answers, labels.as_deref())?.publish(format, output);
    }
    let bytes = match &input {
        Some(path) => std::fs::read(path)
            .map_err(|error| Failure::while_doing("reading the file of --input", &error))?,
        None => standard_input()?,
    };
    let shares = if ReleaseFile::looks_like_one(&bytes) {
        let (file, _) = ReleaseFile::read(&bytes, None)?;
        let Event::RandomizedResponse { epsilon: loss, categories: known } = file.release.event
        else {
            return Err(Failure::usage("the release file is not one of randomized response"));
        };
        if epsilon.is_some_and(|epsilon| epsilon != loss)
            || categories.is_some_and(|categories| categories != known)
        {
            return Err(Failure::usage(
                "the release file says how answers were randomized, and otherwise than the options",
            ));
        }
        let mut shares = Survey::new(known, loss, confidence, simplex)?.of_numbers(&file.values)?;
        for (share, label) in shares.shares.iter_mut().zip(labels.into_iter().flatten()) {
            share.label = Some(label);
        }
        shares
    } else {
        let survey = stated(categories, epsilon, confidence, simplex)?;
        let text = std::str::from_utf8(&bytes)
            .map_err(|_| Failure::usage("the input is not UTF-8 text"))?;
        let answers: Vec<String> = text.lines().map(|line| line.trim().to_owned()).collect();
        survey.of_texts(&answers, labels.as_deref())?
    };
    shares.publish(format, output)
}

/// The survey that the options describe.
fn stated(
    categories: Option<u64>,
    epsilon: Option<f64>,
    confidence: f64,
    simplex: bool,
) -> Result<Survey, Failure> {
    let needed = "--epsilon and --categories (or --labels) are needed unless the input is a \
                  release file";
    let (categories, epsilon) = categories.zip(epsilon).ok_or(Failure::usage(needed))?;
    Survey::new(categories, epsilon, confidence, simplex)
}
