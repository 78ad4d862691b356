//! The options of a command judged together: what is missing, what contradicts, what is not used.

use crate::failure::Failure;
use crate::numbers::exact;
use crate::options::{Options, Shape};
use crate::registry::Entry;
use reticent_mechanisms::{Mechanism, Neighbours, Scale, Sensitivity as Known};
use std::fmt;

/// Whether the scale is looked for or given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Find the least scale that keeps a promise.
    Calibrate,
    /// Take the parameters of the noise as they are.
    Describe,
}

/// A mechanism with the options that it uses, and no others.
#[derive(Debug)]
pub struct Request {
    entry: &'static Entry,
    purpose: Purpose,
    options: Options,
}

impl Request {
    /// Judges the options.
    ///
    /// # Errors
    /// If one of them is not used by the mechanism for this purpose, or if the sensitivity is given twice.
    pub fn new(entry: &'static Entry, purpose: Purpose, options: Options) -> Result<Self, Failure> {
        let (used, other) = match purpose {
            Purpose::Calibrate => (entry.calibrated_by, entry.made_of),
            Purpose::Describe => (entry.made_of, entry.calibrated_by),
        };
        let given = options.given();
        if let Some(unused) = given.iter().find(|name| !used.contains(name)) {
            let name = entry.name;
            return Err(Failure::usage(if *unused == "delta" && !other.contains(unused) {
                format!("--delta is not used by the pure {name} mechanism, which has no exception to its promise")
            } else if other.contains(unused) && purpose == Purpose::Calibrate {
                format!("--{unused} cannot be given with --epsilon: it is what calibrating the {name} mechanism finds")
            } else if other.contains(unused) {
                format!("--{unused} is used to calibrate the {name} mechanism, which also needs --epsilon")
            } else {
                format!("--{unused} is not used by the {name} mechanism, which takes {}", list(used))
            }));
        }
        let sensitivities: Vec<_> = given.iter().filter(|name| SENSITIVITIES.contains(name)).copied().collect();
        if sensitivities.len() > 1 {
            let given = list(&sensitivities);
            return Err(Failure::usage(format!("{given} all say how far one privacy unit moves the answer: give one")));
        }
        Ok(Request { entry, purpose, options })
    }

    /// Makes the mechanism.
    ///
    /// # Errors
    /// If an option is missing or not accepted, or no scale can be certified.
    pub fn mechanism(&self) -> Result<Box<dyn Mechanism>, Failure> {
        match self.purpose {
            Purpose::Calibrate => (self.entry.calibrate)(self),
            Purpose::Describe => (self.entry.describe)(self),
        }
    }

    /// The entry of the mechanism in the registry.
    pub fn entry(&self) -> &'static Entry {
        self.entry
    }

    /// Whether the scale is looked for.
    pub fn calibrates(&self) -> bool {
        self.purpose == Purpose::Calibrate
    }

    /// The options, of which the mechanism uses all that are given.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The shape of the noise.
    pub fn shape(&self) -> &Shape {
        &self.options.shape
    }

    /// An option that the mechanism cannot do without.
    ///
    /// # Errors
    /// If it was not given.
    pub fn need<T: Clone>(&self, name: &str, option: &Option<T>) -> Result<T, Failure> {
        option.clone().ok_or_else(|| Failure::usage(format!("the {} mechanism needs --{name}", self.entry.name)))
    }

    /// The loss to keep.
    ///
    /// # Errors
    /// If it was not given.
    pub fn epsilon(&self) -> Result<f64, Failure> {
        self.need("epsilon", &self.options.budget.epsilon)
    }

    /// The exception to keep.
    ///
    /// # Errors
    /// If it was not given.
    pub fn delta(&self) -> Result<f64, Failure> {
        self.need("delta", &self.options.budget.delta)
    }

    /// The method by its name; the mechanism's first one if none was named.
    ///
    /// # Errors
    /// If the mechanism does not know it.
    pub fn method(&self) -> Result<&'static str, Failure> {
        let Entry { name, methods, .. } = self.entry;
        match &self.options.budget.method {
            None => Ok(methods.first().copied().unwrap_or("exact")),
            Some(wanted) => methods.iter().find(|method| *method == wanted).copied().ok_or_else(|| {
                let methods = methods.join(", ");
                Failure::usage(format!("--method is `{wanted}`, but the {name} mechanism knows {methods}"))
            }),
        }
    }

    /// How far one privacy unit moves the answer.
    ///
    /// # Errors
    /// If it was not given.
    pub fn sensitivity(&self) -> Result<Sensitivity, Failure> {
        let given = &self.options.sensitivities;
        let dimension = given.dimension;
        let one = given.sensitivity.map(Sensitivity::OfOneNumber);
        let l1 = given.l1.map(|bound| Sensitivity::Norm { order: 1, bound, dimension });
        let l2 = given.l2.map(|bound| Sensitivity::Norm { order: 2, bound, dimension });
        let each = given.per_element.clone().map(Sensitivity::PerElement);
        one.or(l1).or(l2).or(each).ok_or_else(|| {
            let used = if self.purpose == Purpose::Calibrate { self.entry.calibrated_by } else { self.entry.made_of };
            let accepted: Vec<_> = SENSITIVITIES.into_iter().filter(|name| used.contains(name)).collect();
            let choice = if accepted.len() > 1 { format!("one of {}", list(&accepted)) } else { list(&accepted) };
            Failure::usage(format!("the {} mechanism needs to know the sensitivity: give {choice}", self.entry.name))
        })
    }

    /// The l1 sensitivity of integers.
    ///
    /// # Errors
    /// If it was not given, or is not an integer.
    pub fn whole_sensitivity(&self) -> Result<u64, Failure> {
        Ok(self.sensitivity()?.known()?.whole_l1()?)
    }

    /// The loss that the mechanism was made for.
    ///
    /// # Errors
    /// If it was not given.
    pub fn loss(&self) -> Result<f64, Failure> {
        self.need("loss", &self.options.own.loss)
    }

    /// The scale of the noise.
    ///
    /// # Errors
    /// If it was not given, or is not accepted.
    pub fn scale(&self) -> Result<Scale, Failure> {
        Ok(Scale::new(self.need("scale", &self.options.own.scale)?)?)
    }

    /// The bounds of the true answer, if given.
    ///
    /// # Errors
    /// If they are not two finite numbers of which the second is larger.
    pub fn bounds(&self) -> Result<Option<(f64, f64)>, Failure> {
        range("bounds", self.options.shape.bounds.as_deref())
    }

    /// The range that released numbers are moved into, if given.
    ///
    /// # Errors
    /// If it is not two finite numbers of which the second is larger.
    pub fn clamp(&self) -> Result<Option<(f64, f64)>, Failure> {
        range("clamp", self.options.shape.clamp.as_deref())
    }

    /// What a reader of the answer must know: that a vector of unsaid length was taken for one number, where that matters.
    pub fn note(&self) -> Option<String> {
        let matters = self.entry.calibrated_by.contains(&"dimension");
        match self.sensitivity() {
            Ok(Sensitivity::Norm { dimension: None, .. }) if matters => Some(
                "certified for one number: with --dimension K it is for K numbers, each rounded to the lattice of the answers"
                    .into(),
            ),
            _ => None,
        }
    }

    /// The same request with the length of a vector taken to be 1 where it was not said: to see whether all else is right before there is a vector.
    pub fn for_a_try(&self) -> Self {
        let mut request = Request { entry: self.entry, purpose: self.purpose, options: self.options.clone() };
        if let Ok(Sensitivity::Norm { .. }) = self.sensitivity() {
            request.options.sensitivities.dimension.get_or_insert(1);
        }
        request
    }

    /// The same request for so many numbers, which a norm is of.
    ///
    /// # Errors
    /// If it was said that there are more or fewer.
    pub fn for_numbers(mut self, numbers: usize) -> Result<Self, Failure> {
        let said = match self.sensitivity() {
            Ok(Sensitivity::Norm { dimension, .. }) => {
                self.options.sensitivities.dimension = Some(numbers as u64);
                dimension.map(|said| (format!("--dimension is {said}"), said))
            }
            Ok(Sensitivity::PerElement(elements)) => {
                Some((format!("--per-element has {} sensitivities", elements.len()), elements.len() as u64))
            }
            _ => None,
        };
        match said {
            Some((option, said)) if said != numbers as u64 => {
                Err(Failure::usage(format!("{option}, but the input has {numbers} numbers")))
            }
            _ => Ok(self),
        }
    }
}

const SENSITIVITIES: [&str; 4] = ["sensitivity", "l1", "l2", "per-element"];

/// The two ends of a range.
fn range(name: &str, ends: Option<&[f64]>) -> Result<Option<(f64, f64)>, Failure> {
    match ends {
        None => Ok(None),
        Some(&[lower, upper]) if lower < upper && lower.is_finite() && upper.is_finite() => Ok(Some((lower, upper))),
        Some(other) => {
            let given = other.iter().map(|end| exact(*end)).collect::<Vec<_>>().join(",");
            Err(Failure::usage(format!("--{name} is {given}, but it must be two finite numbers, the smaller first")))
        }
    }
}

/// Option names as a sentence lists them.
fn list(names: &[&str]) -> String {
    names.iter().map(|name| format!("--{name}")).collect::<Vec<_>>().join(", ")
}

/// How far one privacy unit moves the answer, as it was said.
#[derive(Clone, Debug, PartialEq)]
pub enum Sensitivity {
    /// A number, or each of many numbers of which a unit is in one only.
    OfOneNumber(f64),
    /// A vector.
    Norm {
        /// 1 for a sum of absolute differences, 2 for a Euclidean distance.
        order: u8,
        /// The most that the norm can be.
        bound: f64,
        /// How many numbers the vector has, if that was said.
        dimension: Option<u64>,
    },
    /// Each number of a vector, all at once.
    PerElement(Vec<f64>),
}

impl fmt::Display for Sensitivity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sensitivity::OfOneNumber(distance) => write!(f, "sensitivity {}", exact(*distance)),
            Sensitivity::Norm { order, bound, .. } => write!(f, "l{order} sensitivity {}", exact(*bound)),
            Sensitivity::PerElement(elements) => {
                let elements: Vec<_> = elements.iter().map(|element| exact(*element)).collect();
                write!(f, "sensitivities {}", elements.join(", "))
            }
        }
    }
}

impl Sensitivity {
    /// The sensitivity as mechanisms take it. A vector of unsaid length is taken for one number, as [`Request::note`] tells.
    ///
    /// # Errors
    /// If a number is not accepted.
    pub fn known(&self) -> Result<Known, Failure> {
        // What was said is the move itself, so that which data sets are neighbours does not change it.
        let neighbours = Neighbours::AddRemove;
        Ok(match self {
            Sensitivity::OfOneNumber(distance) => Known::scalar(*distance, neighbours)?,
            Sensitivity::Norm { order, bound, dimension } => {
                let coordinates = u32::try_from(dimension.unwrap_or(1)).map_err(|_| {
                    Failure::usage(format!(
                        "--dimension must be from 1 to {}, which is a vector's most numbers",
                        u32::MAX
                    ))
                })?;
                Known::norm(f64::from(*order), *bound, neighbours)?.with_coordinates(coordinates)?
            }
            Sensitivity::PerElement(distances) => Known::per_element(distances, neighbours)?,
        })
    }

    /// Of how many coordinates one privacy unit moves several at once, for so many numbers.
    pub fn coordinates(&self, numbers: usize) -> Result<u32, Failure> {
        match self {
            Sensitivity::OfOneNumber(_) => Ok(1),
            _ => {
                u32::try_from(numbers).map_err(|_| Failure::usage(format!("a vector has at most {} numbers", u32::MAX)))
            }
        }
    }

    /// What a release under this sensitivity covers, as a sentence.
    pub fn coverage(&self, numbers: usize) -> String {
        match self {
            Sensitivity::OfOneNumber(distance) => {
                let one = format!("if one privacy unit moves it by at most {}", exact(*distance));
                if numbers == 1 {
                    format!("It covers the number, {one}.")
                } else {
                    format!(
                        "It covers each of the {numbers} numbers, {one}, and all of them together if neighbouring data sets differ in \
                         one of them only; a unit that is in several pays for each."
                    )
                }
            }
            Sensitivity::Norm { order, bound, .. } => {
                let bound = exact(*bound);
                let all = if numbers == 1 { "the number".into() } else { format!("all {numbers} numbers together") };
                format!("It covers {all}, if one privacy unit moves them by at most {bound} in the l{order} norm.")
            }
            Sensitivity::PerElement(_) => format!(
                "It covers all {numbers} numbers together, if one privacy unit moves each by at most its own sensitivity."
            ),
        }
    }
}
