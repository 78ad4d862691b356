//! The options of a command judged together: what is missing, what contradicts, what is not used.

use crate::failure::Failure;
use crate::options::{Options, Shape};
use crate::registry::Entry;
use reticent_mechanisms::Mechanism;
use reticent_numerics::rounding::{add_up, mul_up, sqrt_up};

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
        let one = given.sensitivity.map(Sensitivity::OfOneNumber);
        let l1 = given.l1.map(Sensitivity::L1);
        let l2 = given.l2.map(Sensitivity::L2);
        let each = given.per_element.clone().map(Sensitivity::PerElement);
        one.or(l1).or(l2).or(each).ok_or_else(|| {
            let used = if self.purpose == Purpose::Calibrate { self.entry.calibrated_by } else { self.entry.made_of };
            let accepted: Vec<_> = SENSITIVITIES.into_iter().filter(|name| used.contains(name)).collect();
            let choice = if accepted.len() > 1 { format!("one of {}", list(&accepted)) } else { list(&accepted) };
            Failure::usage(format!("the {} mechanism needs to know the sensitivity: give {choice}", self.entry.name))
        })
    }
}

const SENSITIVITIES: [&str; 4] = ["sensitivity", "l1", "l2", "per-element"];

/// Option names as a sentence lists them.
fn list(names: &[&str]) -> String {
    names.iter().map(|name| format!("--{name}")).collect::<Vec<_>>().join(", ")
}

/// How far one privacy unit moves the answer, as it was said.
#[derive(Clone, Debug, PartialEq)]
pub enum Sensitivity {
    /// A number, or each of many numbers of which a unit is in one only.
    OfOneNumber(f64),
    /// A vector, as a sum of absolute differences.
    L1(f64),
    /// A vector, as a Euclidean distance.
    L2(f64),
    /// Each number of a vector, all at once.
    PerElement(Vec<f64>),
}

impl Sensitivity {
    /// An upper bound on the l1 sensitivity.
    ///
    /// # Errors
    /// If only the l2 sensitivity is known, which bounds the l1 sensitivity for one number only.
    pub fn l1(&self) -> Result<f64, Failure> {
        match self {
            Sensitivity::OfOneNumber(value) | Sensitivity::L1(value) => Ok(*value),
            Sensitivity::PerElement(values) => Ok(require_elements(values)?.iter().copied().fold(0.0, add_up)),
            Sensitivity::L2(_) => {
                Err(Failure::usage("the l2 sensitivity does not bound the l1 sensitivity: give --l1"))
            }
        }
    }

    /// An upper bound on the l2 sensitivity. The l1 sensitivity is one, but hardly ever a good one.
    ///
    /// # Errors
    /// If a per-element sensitivity is not a number of zero or more.
    pub fn l2(&self) -> Result<f64, Failure> {
        match self {
            Sensitivity::OfOneNumber(value) | Sensitivity::L1(value) | Sensitivity::L2(value) => Ok(*value),
            Sensitivity::PerElement(values) => {
                let values = require_elements(values)?;
                // Dividing by the largest first would round too; squares of 1e-100 to 1e100 neither overflow nor vanish.
                Ok(sqrt_up(values.iter().fold(0.0, |sum, value| add_up(sum, mul_up(*value, *value)))))
            }
        }
    }

    /// What a release under this sensitivity covers, as a sentence.
    pub fn coverage(&self, numbers: usize) -> String {
        let vector = |norm: &str, value: f64| {
            let value = crate::numbers::exact(value);
            let all = if numbers == 1 { "the number".into() } else { format!("all {numbers} numbers together") };
            format!("It covers {all}, if one privacy unit moves them by at most {value} in the {norm} norm.")
        };
        match self {
            Sensitivity::OfOneNumber(value) => {
                let value = crate::numbers::exact(*value);
                let one = format!("if one privacy unit moves it by at most {value}");
                if numbers == 1 {
                    format!("It covers the number, {one}.")
                } else {
                    format!(
                        "It covers each of the {numbers} numbers, {one}, and all of them together if every unit is in one \
                         of them only; a unit that is in several pays for each."
                    )
                }
            }
            Sensitivity::L1(value) => vector("l1", *value),
            Sensitivity::L2(value) => vector("l2", *value),
            Sensitivity::PerElement(_) => format!(
                "It covers all {numbers} numbers together, if one privacy unit moves each by at most its own sensitivity."
            ),
        }
    }
}

fn require_elements(values: &[f64]) -> Result<&[f64], Failure> {
    match values.iter().find(|value| !(0.0..=1e100).contains(*value)) {
        Some(bad) => Err(Failure::usage(format!("--per-element holds {bad:e}, but it takes numbers from 0 to 1e100"))),
        None => Ok(values),
    }
}
