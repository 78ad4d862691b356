//! How far one privacy unit moves an answer, as it was said on the command line.

use crate::failure::Failure;
use crate::options::whole;
use reticent_mechanisms::{Neighbours, Sensitivity};
use reticent_numerics::digits::exact;

/// How far one privacy unit moves the answer, as it was stated.
#[derive(Clone, Debug, PartialEq)]
pub struct Stated {
    /// What is known of the move.
    pub known: Known,
    /// Whether neighbours replace a unit, where what is known is about adding or removing one.
    pub replace: bool,
}

/// What is known of a move.
#[derive(Clone, Debug, PartialEq)]
pub enum Known {
    /// A number, or each of many numbers of which a unit is in one only.
    OfOneNumber(f64),
    /// A vector.
    Norm {
        /// `p` of the norm.
        order: f64,
        /// The most that the norm can be.
        bound: f64,
    },
    /// Each number of a vector, all at once; and their norm, as its order and its most.
    PerElement(Vec<f64>, Option<(f64, f64)>),
    /// The range of each number of a vector; and the norm of a move.
    Ranges(Vec<(f64, f64)>, Option<(f64, f64)>),
    /// Each unit is in one of many numbers, with a contribution of one sign.
    Disjoint(f64),
}

/// Adding or removing one unit moves it so far.
impl From<Known> for Stated {
    fn from(known: Known) -> Self {
        Stated { known, replace: false }
    }
}

impl Stated {
    /// The sensitivity as mechanisms take it, for a vector of so many numbers if that is known.
    ///
    /// # Errors
    /// If a number is not accepted.
    pub fn sensitivity(&self, dimension: Option<u64>) -> Result<Sensitivity, Failure> {
        // A move that was stated is the move itself, whichever data sets are neighbours, until it
        // is doubled. A range holds every move, and two cells of many are known to move at most.
        let plain = Neighbours::AddRemove;
        let of_all = if self.replace { Neighbours::Replace } else { plain };
        let within = |sensitivity: Sensitivity, norm: &Option<(f64, f64)>| match norm {
            Some((order, bound)) => sensitivity.with_norm(*order, *bound),
            None => Ok(sensitivity),
        };
        let stated = match &self.known {
            Known::OfOneNumber(distance) => Sensitivity::scalar(*distance, plain)?,
            Known::Norm { order, bound } => {
                let norm = Sensitivity::norm(*order, *bound, plain)?;
                match dimension {
                    Some(numbers) => norm.with_coordinates(whole("dimension", numbers)?)?,
                    None => norm,
                }
            }
            Known::PerElement(distances, norm) => {
                within(Sensitivity::per_element(distances, plain)?, norm)?
            }
            Known::Ranges(ranges, None) => Sensitivity::ranges(ranges, of_all)?,
            Known::Ranges(ranges, Some((order, bound))) => {
                // The norm is doubled, and the ranges stay.
                let doubled = Sensitivity::norm(*order, *bound, plain)?;
                let doubled = if self.replace { doubled.under_replace()? } else { doubled };
                Sensitivity::ranges(ranges, of_all)?.with_norm(*order, doubled.order(*order)?)?
            }
            Known::Disjoint(contribution) => Sensitivity::disjoint(*contribution, of_all)?,
        };
        Ok(if self.replace { stated.under_replace()? } else { stated })
    }

    /// Of how many coordinates one privacy unit moves several at once, for so many numbers.
    ///
    /// # Errors
    /// If there are more than a vector has.
    pub fn coordinates(&self, numbers: usize) -> Result<u32, Failure> {
        match &self.known {
            Known::OfOneNumber(_) => Ok(1),
            Known::Disjoint(_) => Ok(if self.replace { 2 } else { 1 }),
            Known::Norm { .. } | Known::PerElement(..) | Known::Ranges(..) => {
                whole("dimension", numbers as u64)
            }
        }
    }

    /// Refuses so many numbers if something else was said.
    ///
    /// # Errors
    /// If it was said that there are more or fewer.
    pub fn of_numbers(&self, numbers: usize, dimension: Option<u64>) -> Result<(), Failure> {
        let said = match &self.known {
            Known::OfOneNumber(_) if self.replace && numbers > 1 => {
                return Err(Failure::usage(
                    "--sensitivity with --replace is for one number: a replaced unit moves two of \
                     many; give --disjoint, or how far all move together",
                ));
            }
            Known::OfOneNumber(_) | Known::Disjoint(_) => None,
            Known::Norm { .. } => dimension.map(|said| (format!("--dimension is {said}"), said)),
            Known::PerElement(elements, _) => {
                let count = elements.len();
                Some((format!("--per-element has {count} sensitivities"), count as u64))
            }
            Known::Ranges(ranges, _) => {
                Some((format!("--ranges has {} ranges", ranges.len()), ranges.len() as u64))
            }
        };
        match said {
            Some((option, said)) if said != numbers as u64 => {
                Err(Failure::usage(format!("{option}, but the input has {numbers} numbers")))
            }
            _ => Ok(()),
        }
    }

    /// What a release under this sensitivity covers, as a sentence.
    pub fn coverage(&self, numbers: usize) -> String {
        let covered = self.covered(numbers);
        if self.replace {
            format!("{covered} Neighbouring data sets differ in one unit that is replaced.")
        } else {
            covered
        }
    }

    fn covered(&self, numbers: usize) -> String {
        let all = if numbers == 1 {
            "the number".to_string()
        } else {
            format!("all {numbers} numbers together")
        };
        // What was stated is about adding or removing a unit, also where one is replaced.
        let unit = if self.replace { "adding or removing one unit" } else { "one privacy unit" };
        let together = |norm: &Option<(f64, f64)>| {
            norm.map_or(String::new(), |(order, bound)| {
                format!(", and all by at most {} in the l{order} norm", exact(bound))
            })
        };
        match &self.known {
            Known::OfOneNumber(distance) => {
                let one = format!("if {unit} moves it by at most {}", exact(*distance));
                if numbers == 1 {
                    format!("It covers the number, {one}.")
                } else {
                    format!(
                        "It covers each of the {numbers} numbers, {one}, and all of them together \
                         if neighbouring data sets differ in one of them only; a unit that is in \
                         several pays for each."
                    )
                }
            }
            Known::Norm { order, bound } => format!(
                "It covers {all}, if {unit} moves them by at most {} in the l{order} norm.",
                exact(*bound)
            ),
            Known::PerElement(_, norm) => format!(
                "It covers {all}, if {unit} moves each by at most its own sensitivity{}.",
                together(norm)
            ),
            Known::Ranges(_, norm) => format!(
                "It covers {all}, if each lies in its own range{}, whatever one privacy unit does.",
                together(norm)
            ),
            Known::Disjoint(contribution) => format!(
                "It covers {all}, if each privacy unit is in one of them only, with a contribution \
                 from 0 to {}.",
                exact(*contribution)
            ),
        }
    }
}
