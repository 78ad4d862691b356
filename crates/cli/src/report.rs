//! What is said about a mechanism: the same facts as a table for people and as JSON.

use crate::random_scale::{NecessaryCondition, OptimisationRecord};
use crate::table::Table;
use reticent_accounting::{CalibratedReleases, ManyReleases};
use reticent_events::Event;
use reticent_mechanisms::{Certificate, Errors, Guarantee, Mechanism};
use reticent_numerics::Bounds;
use reticent_numerics::digits::{exact, figure, rounded};
use serde::Serialize;
use std::collections::BTreeMap;

/// Certified bounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Never above the truth.
    pub lower: f64,
    /// Never below the truth.
    pub upper: f64,
}

impl From<Bounds> for Interval {
    fn from(bounds: Bounds) -> Self {
        Interval { lower: bounds.lower(), upper: bounds.upper() }
    }
}

/// What the scale provably gives.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
enum Certified {
    Epsilon(Interval),
    Delta(Interval),
}

/// The error to expect of one number; `null` is infinite.
#[derive(Clone, Copy, Debug, Serialize)]
struct ErrorFigures {
    l1: Option<f64>,
    l2: Option<f64>,
    entropy: Option<f64>,
    p95: Option<f64>,
}

impl From<Errors> for ErrorFigures {
    fn from(errors: Errors) -> Self {
        ErrorFigures {
            l1: figure(errors.mean_absolute),
            l2: figure(errors.root_mean_square),
            entropy: figure(errors.entropy),
            p95: figure(errors.quantile_95),
        }
    }
}

/// One value, or several of the same name, as the weights of a mixture have.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Parameter {
    /// One value.
    One(f64),
    /// Several values, in the order in which they were told.
    Several(Vec<f64>),
}

impl Parameter {
    /// All of them.
    pub fn values(&self) -> &[f64] {
        match self {
            Parameter::One(value) => std::slice::from_ref(value),
            Parameter::Several(values) => values,
        }
    }
}

/// Parameters by their names.
pub fn by_name(parameters: Vec<(&'static str, f64)>) -> BTreeMap<&'static str, Parameter> {
    let mut named: BTreeMap<&'static str, Parameter> = BTreeMap::new();
    for (name, value) in parameters {
        let parameter = match named.remove(name) {
            None => Parameter::One(value),
            Some(before) => Parameter::Several([before.values(), &[value]].concat()),
        };
        named.insert(name, parameter);
    }
    named
}

/// What the guarantee is of, where it is of more than one release.
#[derive(Clone, Copy, Debug, Serialize)]
struct Together {
    releases: u64,
    subsample: Option<f64>,
    /// A scale that is proved not to be enough.
    too_small: Option<f64>,
}

impl Certified {
    fn by(certificate: Certificate) -> Self {
        match certificate {
            Certificate::Epsilon(bounds) => Certified::Epsilon(bounds.into()),
            Certificate::Delta(bounds) => Certified::Delta(bounds.into()),
        }
    }
}

/// A mechanism in full.
#[derive(Debug, Serialize)]
pub struct Report {
    mechanism: &'static str,
    #[serde(flatten)]
    together: Option<Together>,
    method: &'static str,
    scale: f64,
    guarantee: Guarantee,
    certified: Certified,
    error: Option<ErrorFigures>,
    parameters: BTreeMap<&'static str, Parameter>,
    event: Event,
    lattice: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    optimised: Option<OptimisationRecord>,
    /// Theorem 4.6 of R2DP, for the noise that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    necessary_condition: Option<NecessaryCondition>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl Report {
    /// What there is to say about a mechanism.
    pub fn of(mechanism: &dyn Mechanism) -> Self {
        let error = mechanism.errors().map(ErrorFigures::from);
        let mut notes = Vec::new();
        if let Some(ErrorFigures { l1, l2, entropy, p95 }) = error {
            let infinite: Vec<_> = [
                ("mean absolute error", l1),
                ("root mean square error", l2),
                ("entropy", entropy),
                ("95% quantile", p95),
            ]
            .into_iter()
            .filter_map(|(name, value)| value.is_none().then_some(name))
            .collect();
            if !infinite.is_empty() {
                notes.push(format!("not finite for this noise: {}", infinite.join(", ")));
            }
        }
        Report {
            mechanism: mechanism.name(),
            together: None,
            method: mechanism.method(),
            scale: mechanism.scale(),
            guarantee: mechanism.guarantee(),
            certified: Certified::by(mechanism.certificate()),
            error,
            parameters: by_name(mechanism.parameters()),
            event: mechanism.event(),
            lattice: mechanism.releaser().ok().map(|releaser| releaser.spacing()),
            optimised: None,
            necessary_condition: NecessaryCondition::of(&mechanism.event()),
            notes,
        }
    }

    /// What there is to say about many releases: the mechanism of each, and the guarantee of all
    /// together.
    pub fn of_many(calibrated: CalibratedReleases, many: ManyReleases) -> Self {
        let CalibratedReleases { mechanism, guarantee, certificate, event, accountant, too_small } =
            calibrated;
        let (releases, subsample) = (many.releases(), many.subsample());
        let together = Together { releases, subsample, too_small };
        Report {
            together: Some(together),
            method: accountant,
            guarantee,
            certified: Certified::by(certificate),
            event,
            ..Report::of(&*mechanism)
        }
    }

    /// The same, of noise that was optimised.
    pub fn with_optimisation(mut self, record: OptimisationRecord) -> Self {
        self.optimised = Some(record);
        self
    }

    /// The same, with more to know.
    pub fn with_notes(mut self, notes: Vec<String>) -> Self {
        self.notes.extend(notes);
        self
    }

    /// The table for people.
    pub fn render(&self) -> String {
        let mut table = Table::of_pairs();
        table.row(["mechanism", self.mechanism]);
        table.row(["method", self.method]);
        table.row(["scale".to_string(), exact(self.scale)]);
        for (name, value) in &self.parameters {
            let values: Vec<_> = value.values().iter().map(|value| exact(*value)).collect();
            table.row([(*name).to_string(), values.join(", ")]);
        }
        if let Some(Together { releases, subsample, too_small }) = self.together {
            let below = too_small.map(|scale| ("proved too small", exact(scale)));
            let sampled = subsample
                .map(|rate| ("subsample", format!("each unit with probability {}", exact(rate))));
            for (name, value) in below.into_iter().chain(sampled) {
                table.row([name.to_string(), value]);
            }
            table.row([
                "releases".to_string(),
                format!("{releases}, each with noise of this scale"),
            ]);
            table.row(["guarantee, all together".to_string(), self.guarantee.to_string()]);
        } else {
            table.row(["guarantee".to_string(), self.guarantee.to_string()]);
        }
        let (name, interval) = match self.certified {
            Certified::Epsilon(interval) => ("epsilon", interval),
            Certified::Delta(interval) => ("delta", interval),
        };
        table.row([
            "certified".to_string(),
            format!("{name} from {} to {}", exact(interval.lower), exact(interval.upper)),
        ]);
        if let Some(ErrorFigures { l1, l2, entropy, p95 }) = self.error {
            for (name, value) in [
                ("mean absolute error", l1),
                ("root mean square error", l2),
                ("95% of errors below", p95),
                ("entropy (nats)", entropy),
            ] {
                table.row([name.to_string(), value.map_or("not finite".to_string(), rounded)]);
            }
        }
        for (name, value) in self.optimised.iter().flat_map(OptimisationRecord::rows) {
            table.row([name, value]);
        }
        if let Some(condition) = &self.necessary_condition {
            table.row(["necessary condition".to_string(), condition.text()]);
        }
        if let Some(spacing) = self.lattice {
            table.row(["lattice spacing".to_string(), power_of_two(spacing)]);
        }
        for note in &self.notes {
            table.row(["note", note]);
        }
        table.render()
    }
}

/// A spacing as a power of two where it is one below 1.
pub fn power_of_two(spacing: f64) -> String {
    let is_power = spacing.is_normal() && spacing.to_bits() << 12 == 0;
    if is_power && spacing < 1.0 { format!("2^{}", spacing.log2()) } else { exact(spacing) }
}
