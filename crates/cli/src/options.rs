//! What can be said on the command line about a mechanism, a budget and a sensitivity.
//!
//! A mechanism is written as a name with parameters, `gaussian method=analytic`, which the library
//! reads; a budget and a sensitivity have options of their own.

use crate::failure::Failure;
use crate::stated::{Known, Stated};
use clap::Args;
use reticent_mechanisms::{Budget, Clamped, Mechanism};
use std::fmt;
use std::str::FromStr;

/// A mechanism with its parameters.
#[derive(Args, Clone, Debug)]
pub struct Words {
    /// The mechanism with its parameters, such as gaussian method=liu (see `reticent mechanisms`)
    #[arg(required = true, num_args = 1.., value_name = "MECHANISM")]
    words: Vec<String>,
}

impl Words {
    /// As they were written, with single spaces.
    pub fn text(&self) -> String {
        self.words.join(" ")
    }

    /// What they say.
    ///
    /// # Errors
    /// If they are not understood; the message names the parameter and what is accepted.
    pub fn read<T: FromStr<Err: fmt::Display>>(&self) -> Result<T, Failure> {
        self.text().parse().map_err(|error: T::Err| Failure::usage(error.to_string()))
    }
}

/// The budget to keep.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "The budget")]
pub struct BudgetOptions {
    /// The privacy loss to keep, from 0 to 700; 0 only with a delta
    #[arg(long, value_name = "E", value_parser = number, allow_hyphen_values = true)]
    pub epsilon: Option<f64>,
    /// The small probability to keep, from 1e-300 to below 1; mechanisms of pure differential
    /// privacy take none
    #[arg(long, value_name = "D", value_parser = number, allow_hyphen_values = true)]
    pub delta: Option<f64>,
}

impl BudgetOptions {
    /// The budget.
    ///
    /// # Errors
    /// If there is no epsilon, or a number is not accepted.
    pub fn budget(&self) -> Result<Budget, Failure> {
        let epsilon = self.epsilon.ok_or_else(|| Failure::usage("a budget needs --epsilon"))?;
        Ok(Budget::new(epsilon, self.delta)?)
    }
}

/// How far one privacy unit moves the true answer. One of these is enough.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "The sensitivity (one of these, or two as they say)")]
#[group(skip)]
pub struct SensitivityOptions {
    /// The most by which one privacy unit moves a number; also for many numbers, if each unit is in
    /// one of them only
    #[arg(
        long,
        value_name = "S",
        value_parser = number,
        allow_hyphen_values = true,
        conflicts_with_all = ["disjoint", "per_element", "ranges", "l1", "l2", "lp"]
    )]
    pub sensitivity: Option<f64>,
    /// The most by which one privacy unit moves the whole vector of numbers, as a sum of absolute
    /// differences
    #[arg(
        long,
        value_name = "A",
        value_parser = number,
        allow_hyphen_values = true,
        conflicts_with_all = ["l2", "lp"]
    )]
    pub l1: Option<f64>,
    /// The most by which one privacy unit moves the whole vector of numbers, as a Euclidean
    /// distance
    #[arg(
        long,
        value_name = "B",
        value_parser = number,
        allow_hyphen_values = true,
        conflicts_with = "lp"
    )]
    pub l2: Option<f64>,
    /// The same in the l_p norm, (sum |d|^P)^(1/P), such as 3:1.5; P may be inf
    #[arg(long, value_name = "P:C", value_parser = pair, allow_hyphen_values = true)]
    pub lp: Option<(f64, f64)>,
    /// The most by which one privacy unit moves each number of a vector, all of them at once; with
    /// --l1, --l2 or --lp, and by no more than that together
    #[arg(
        long,
        value_name = "A,B,...",
        value_parser = number,
        value_delimiter = ',',
        allow_hyphen_values = true,
        conflicts_with_all = ["ranges", "disjoint"]
    )]
    pub per_element: Option<Vec<f64>>,
    /// The public range of each number of a vector, within which one privacy unit may move it
    /// anywhere; with --l1, --l2 or --lp, and by no more than that together
    #[arg(
        long,
        value_name = "LO:HI,...",
        value_parser = pair,
        value_delimiter = ',',
        allow_hyphen_values = true,
        conflicts_with = "disjoint"
    )]
    pub ranges: Option<Vec<(f64, f64)>>,
    /// Each privacy unit is in one of many numbers, with a contribution from 0 to this; 1 for the
    /// counts of a histogram
    #[arg(
        long,
        value_name = "C",
        value_parser = number,
        allow_hyphen_values = true,
        conflicts_with_all = ["l1", "l2", "lp"]
    )]
    pub disjoint: Option<f64>,
    /// Neighbours replace one unit by another, and the sensitivity is that of adding or removing
    /// one: twice as far, or two numbers with --disjoint, or just as far with --ranges
    #[arg(long)]
    pub replace: bool,
}

/// How many numbers a vector has.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct DimensionOption {
    /// How many numbers the vector of --l1, --l2 or --lp has; `noise` counts them itself
    #[arg(long, value_name = "K", value_parser = count, allow_hyphen_values = true)]
    pub dimension: Option<u64>,
}

impl SensitivityOptions {
    /// What was said; `None` if nothing was.
    pub fn stated(&self) -> Option<Stated> {
        let norm = self.lp.or(self.l1.map(|l1| (1.0, l1))).or(self.l2.map(|l2| (2.0, l2)));
        let known = match (&self.per_element, &self.ranges) {
            (Some(elements), _) => Some(Known::PerElement(elements.clone(), norm)),
            (None, Some(ranges)) => Some(Known::Ranges(ranges.clone(), norm)),
            (None, None) => norm.map(|(order, bound)| Known::Norm { order, bound }),
        };
        let one = self.sensitivity.map(Known::OfOneNumber);
        let known = one.or(self.disjoint.map(Known::Disjoint)).or(known)?;
        Some(Stated { known, replace: self.replace })
    }
}

/// A public range that released numbers are clamped to.
#[derive(Args, Clone, Debug, Default)]
pub struct ClampOption {
    /// Clamp released numbers to this public range, which costs nothing
    #[arg(
        long,
        value_name = "LO,HI",
        value_parser = number,
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    pub clamp: Option<Vec<f64>>,
}

impl ClampOption {
    /// The range, if one was given.
    ///
    /// # Errors
    /// If it is not two numbers.
    pub fn range(&self) -> Result<Option<(f64, f64)>, Failure> {
        match self.clamp.as_deref() {
            None => Ok(None),
            Some(&[lower, upper]) => Ok(Some((lower, upper))),
            Some(_) => Err(Failure::usage("--clamp must be two finite numbers, the smaller first")),
        }
    }

    /// The mechanism, clamped if that was asked for.
    ///
    /// # Errors
    /// If the range is not two finite numbers in order, or the guarantee does not survive clamping.
    pub fn apply(&self, mechanism: Box<dyn Mechanism>) -> Result<Box<dyn Mechanism>, Failure> {
        match self.range()? {
            None => Ok(mechanism),
            Some((lower, upper)) => Ok(Box::new(Clamped::new(mechanism, lower, upper)?)),
        }
    }
}

/// Any number, also those that no parameter accepts: what is wrong with one is better said by what
/// it is for.
pub fn number(text: &str) -> Result<f64, String> {
    text.trim().parse().map_err(|_| "it is not a number".to_string())
}

/// Two numbers with a colon between them.
pub fn pair(text: &str) -> Result<(f64, f64), String> {
    let (first, second) =
        text.split_once(':').ok_or("it is not two numbers with a colon between them")?;
    Ok((number(first)?, number(second)?))
}

/// A whole number, also as `1e6`.
pub fn count(text: &str) -> Result<u64, String> {
    reticent_events::Word::read(text.trim())
        .map_err(|_| "it is not a whole number of zero or more".to_string())
}

/// A number that is counted with 32 bits.
pub fn whole(name: &str, value: u64) -> Result<u32, Failure> {
    u32::try_from(value).map_err(|_| {
        Failure::usage(format!("--{name} is {value}, but it must be at most {}", u32::MAX))
    })
}
