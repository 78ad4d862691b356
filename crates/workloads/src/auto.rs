//! One plan for whatever is asked: which strategy, why, and what comes out.
//!
//! ```text
//! Workload + WorkloadBudget + Contribution + Method
//!     -> WorkloadPlan: event, expected error, what is measured, why     (public facts alone)
//!     -> release(ExactTables): tables and answers with half-widths      (what was charged)
//! ```

use crate::{
    Attributes, CellWorkload, Contribution, ExactTables, ExpectedError, Finish, GaussianBudget,
    LaplaceMarginalPlan, LaplacePlan, MarginalPlan, MarginalWorkload, MatrixPlan, MwemPlan,
    ReleasedTable, Selection, WorkloadError,
};
use reticent_accounting::FilterBudget;
use reticent_events::Event;
use reticent_mechanisms::{Delta, Epsilon};
use reticent_noise::randomness::RandomBits;
use reticent_numerics::digits::{rounded, rounded_up};

/// What is asked for.
#[derive(Clone, Debug, PartialEq)]
pub enum Workload {
    /// Tables of counts.
    Marginals(MarginalWorkload),
    /// Any linear queries.
    Linear(CellWorkload),
}

/// What may be spent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WorkloadBudget {
    /// Pure differential privacy.
    Pure {
        /// The loss.
        epsilon: Epsilon,
    },
    /// Approximate differential privacy.
    Approximate {
        /// The loss.
        epsilon: Epsilon,
        /// How much may be beyond it.
        delta: Delta,
    },
    /// Zero-concentrated differential privacy.
    ZeroConcentrated {
        /// The parameter.
        rho: f64,
    },
}

/// How a workload is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Whichever of the fixed strategies has the least expected error.
    #[default]
    Auto,
    /// Gaussian noise on the strategy of least error.
    Gaussian,
    /// Laplace noise: pure differential privacy.
    Laplace,
    /// Multiplicative weights with queries chosen privately, in so many rounds; no error is stated.
    Mwem {
        /// The rounds.
        rounds: u32,
    },
}

/// What would be measured, and with how much noise, for people.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredPart {
    /// What.
    pub what: String,
    /// How many numbers.
    pub numbers: u64,
    /// The scale of the noise on each: `sigma` of Gaussian noise, `b` of Laplace noise.
    pub scale: f64,
}

/// A workload with its strategy.
#[derive(Clone, Debug)]
pub struct WorkloadPlan {
    strategy: Strategy,
    reason: String,
    contribution: Contribution,
}

#[derive(Clone, Debug)]
enum Strategy {
    Residuals(MarginalPlan),
    Tables(LaplaceMarginalPlan),
    Matrix { cells: CellWorkload, plan: Box<MatrixPlan> },
    Trees { cells: CellWorkload, plan: Box<LaplacePlan> },
    Mwem { cells: CellWorkload, plan: MwemPlan },
}

/// The answer of one linear query.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedAnswer {
    /// What was asked.
    pub query: String,
    /// The answer.
    pub value: f64,
    /// The exact answer lies within this of it with probability 95%; none where nothing is claimed.
    pub half_width: Option<f64>,
}

/// Everything that a plan released.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadRelease {
    /// The marginals, if such were asked for.
    pub tables: Vec<ReleasedTable>,
    /// The answers, if linear queries were asked.
    pub answers: Vec<NamedAnswer>,
}

impl WorkloadPlan {
    /// The plan of a workload within a budget, from public facts alone.
    ///
    /// # Errors
    /// If the method does not fit the budget or the workload, or no noise can be certified.
    pub fn new(
        workload: &Workload,
        budget: WorkloadBudget,
        contribution: Contribution,
        method: Method,
    ) -> Result<Self, WorkloadError> {
        let plan = |strategy, reason| Ok(WorkloadPlan { strategy, reason, contribution });
        let gaussian = || gaussian(workload, budget, contribution);
        let laplace = || laplace(workload, budget, contribution);
        match (method, budget) {
            (Method::Mwem { rounds }, _) => {
                let strategy = mwem(workload, budget, contribution, rounds)?;
                plan(strategy, "multiplicative weights were asked for; no error is stated".into())
            }
            (Method::Gaussian, _) => plan(gaussian()?, "Gaussian noise was asked for".into()),
            (Method::Laplace, _) => plan(laplace()?, "Laplace noise was asked for".into()),
            (Method::Auto, WorkloadBudget::Pure { .. }) => plan(
                laplace()?,
                "Laplace noise, because there is no delta to spend and Gaussian noise needs one"
                    .into(),
            ),
            (Method::Auto, WorkloadBudget::ZeroConcentrated { .. }) => plan(
                gaussian()?,
                "Gaussian noise, which has the least error of its cost in rho".into(),
            ),
            (Method::Auto, WorkloadBudget::Approximate { .. }) => {
                let (normal, pure) = (gaussian()?, laplace()?);
                let errors = [&normal, &pure].map(|strategy| {
                    strategy.expected_error().map_or(f64::INFINITY, |error| error.rmse.upper())
                });
                let [of_normal, of_pure] = errors.map(rounded);
                if errors[0] <= errors[1] {
                    let reason = format!(
                        "Gaussian noise: an expected error of {of_normal}, where Laplace noise of \
                         the same epsilon has {of_pure}"
                    );
                    plan(normal, reason)
                } else {
                    let reason = format!(
                        "Laplace noise, which needs no delta: an expected error of {of_pure}, \
                         where Gaussian noise has {of_normal}"
                    );
                    plan(pure, reason)
                }
            }
        }
    }

    /// What is charged for measuring once.
    pub fn event(&self) -> Event {
        match &self.strategy {
            Strategy::Residuals(plan) => plan.event(),
            Strategy::Tables(plan) => plan.event(),
            Strategy::Matrix { plan, .. } => plan.event(),
            Strategy::Trees { plan, .. } => plan.event(),
            Strategy::Mwem { plan, .. } => plan.event(),
        }
    }

    /// Whether the guarantee is pure: no delta is needed.
    pub fn is_pure(&self) -> bool {
        match self.strategy {
            Strategy::Residuals(_) | Strategy::Matrix { .. } => false,
            Strategy::Tables(_) | Strategy::Trees { .. } | Strategy::Mwem { .. } => true,
        }
    }

    /// The strategy by name.
    pub fn strategy(&self) -> &'static str {
        match self.strategy {
            Strategy::Residuals(_) => "residuals of marginals with Gaussian noise",
            Strategy::Tables(_) => "tables with discrete Laplace noise",
            Strategy::Matrix { .. } => "the Gaussian matrix mechanism",
            Strategy::Trees { .. } => "sums of cells with discrete Laplace noise",
            Strategy::Mwem { .. } => "multiplicative weights (MWEM)",
        }
    }

    /// Why this strategy.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// What one unit can do.
    pub fn contribution(&self) -> Contribution {
        self.contribution
    }

    /// The root mean squared error to expect over all answers, and the least that is possible; none
    /// where nothing is stated.
    pub fn expected_error(&self) -> Option<ExpectedError> {
        self.strategy.expected_error()
    }

    /// The sets whose exact tables have to be counted.
    pub fn tables_needed(&self) -> Vec<Attributes> {
        match &self.strategy {
            Strategy::Residuals(plan) => plan.tables_needed(),
            Strategy::Tables(plan) => plan.tables_needed(),
            Strategy::Matrix { cells, .. }
            | Strategy::Trees { cells, .. }
            | Strategy::Mwem { cells, .. } => vec![cells.attributes()],
        }
    }

    /// How many numbers come out.
    pub fn answers(&self) -> u64 {
        match &self.strategy {
            Strategy::Residuals(plan) => plan.workload().cells(),
            Strategy::Tables(plan) => plan.workload().cells(),
            Strategy::Matrix { cells, .. }
            | Strategy::Trees { cells, .. }
            | Strategy::Mwem { cells, .. } => cells.workload().queries() as u64,
        }
    }

    /// What would be measured.
    pub fn measured(&self) -> Vec<MeasuredPart> {
        match &self.strategy {
            Strategy::Residuals(plan) => {
                let domain = plan.workload().domain();
                let part = |(set, scale): (Attributes, f64)| {
                    let sizes = set.iter().filter_map(|i| domain.sizes().get(i));
                    let numbers = sizes.map(|size| size.saturating_sub(1)).product();
                    MeasuredPart {
                        what: format!("residual of {}", domain.show(set)),
                        numbers,
                        scale,
                    }
                };
                plan.residuals().map(part).collect()
            }
            Strategy::Tables(plan) => {
                let domain = plan.workload().domain();
                let part = |set: Attributes| MeasuredPart {
                    what: format!("table of {}", domain.show(set)),
                    numbers: domain.cells(set).unwrap_or(u64::MAX),
                    scale: plan.scale(),
                };
                plan.tables_needed().into_iter().map(part).collect()
            }
            Strategy::Matrix { cells, plan } => vec![MeasuredPart {
                what: format!(
                    "weighted sums of the {} cells that the queries tell apart",
                    cells.workload().cells()
                ),
                numbers: cells.workload().cells() as u64,
                scale: plan.sigma(),
            }],
            Strategy::Trees { cells, plan } => {
                let names: Vec<String> =
                    plan.strategies().iter().map(ToString::to_string).collect();
                vec![MeasuredPart {
                    what: format!(
                        "sums ({}) of the {} cells that the queries tell apart",
                        names.join(", "),
                        cells.workload().cells()
                    ),
                    numbers: plan.measurements() as u64,
                    scale: plan.scale(),
                }]
            }
            Strategy::Mwem { plan, .. } => vec![
                MeasuredPart { what: "total".into(), numbers: 1, scale: plan.scales().0 },
                MeasuredPart {
                    what: "queries that are answered worst, one a round, chosen privately".into(),
                    numbers: u64::from(plan.rounds()),
                    scale: plan.scales().1,
                },
            ],
        }
    }

    /// The half-width of each marginal that is asked for, before anything is read; empty where
    /// linear queries are asked.
    pub fn marginal_half_widths(&self) -> Vec<(Attributes, Option<f64>)> {
        match &self.strategy {
            Strategy::Residuals(plan) => {
                plan.workload().marginals().map(|(set, _)| (set, plan.half_width(set))).collect()
            }
            Strategy::Tables(plan) => plan
                .workload()
                .marginals()
                .map(|(set, _)| (set, Some(plan.half_width(set))))
                .collect(),
            Strategy::Matrix { .. } | Strategy::Trees { .. } | Strategy::Mwem { .. } => Vec::new(),
        }
    }

    /// Measures once and makes everything that was asked for. What is charged is
    /// [`WorkloadPlan::event`], before this runs.
    ///
    /// # Errors
    /// If the counts are not those of the plan, or random bits cannot be had. Whether it fails does
    /// not depend on a count.
    pub fn release<R: RandomBits + ?Sized>(
        &self,
        counts: &ExactTables,
        finish: Finish,
        random: &mut R,
    ) -> Result<WorkloadRelease, WorkloadError> {
        let of_tables = |tables| WorkloadRelease { tables, answers: Vec::new() };
        let (cells, values, half_widths) = match &self.strategy {
            Strategy::Residuals(plan) => {
                return Ok(of_tables(plan.measure(counts, random)?.finished(finish)));
            }
            Strategy::Tables(plan) => {
                return Ok(of_tables(plan.measure(counts, random)?.finished(finish)));
            }
            Strategy::Matrix { cells, plan } => {
                let answers = plan.measure(&cells.histogram(counts)?, random)?.answers();
                (cells, answers.answers, answers.half_widths)
            }
            Strategy::Trees { cells, plan } => {
                let answers = plan.measure(&cells.histogram(counts)?, random)?.answers();
                (cells, answers.answers, answers.half_widths)
            }
            Strategy::Mwem { cells, plan } => {
                let run = plan.run(&cells.histogram(counts)?, random)?;
                (cells, cells.workload().answers(&run.histogram), None)
            }
        };
        let width = |index: usize| half_widths.as_ref().and_then(|w| w.get(index)).copied();
        let answers = cells.names().iter().zip(values).enumerate().map(|(index, (name, value))| {
            let (value, half_width) = if cells.workload().is_counting(index) {
                finish.of_answer(value, width(index))
            } else {
                (value, width(index))
            };
            NamedAnswer { query: name.clone(), value, half_width }
        });
        Ok(WorkloadRelease { tables: Vec::new(), answers: answers.collect() })
    }
}

impl Strategy {
    fn expected_error(&self) -> Option<ExpectedError> {
        let of_laplace = |rmse: f64| ExpectedError {
            rmse: reticent_numerics::Bounds::new(0.0, rmse),
            limit: None,
        };
        match self {
            Strategy::Residuals(plan) => Some(plan.expected_error()),
            Strategy::Tables(plan) => Some(of_laplace(plan.rmse())),
            Strategy::Matrix { plan, .. } => Some(plan.expected_error()),
            Strategy::Trees { plan, .. } => Some(of_laplace(plan.rmse())),
            Strategy::Mwem { .. } => None,
        }
    }
}

fn gaussian(
    workload: &Workload,
    budget: WorkloadBudget,
    contribution: Contribution,
) -> Result<Strategy, WorkloadError> {
    let budget = match budget {
        WorkloadBudget::Pure { epsilon } => {
            return Err(WorkloadError::Workload(format!(
                "Gaussian noise needs a delta, or a budget in rho, but the budget is epsilon {} \
                 alone: add a delta, or ask for Laplace noise",
                rounded_up(epsilon.get())
            )));
        }
        WorkloadBudget::Approximate { epsilon, delta } => {
            GaussianBudget::approximate(epsilon, delta)?
        }
        WorkloadBudget::ZeroConcentrated { rho } => GaussianBudget::zero_concentrated(rho)?,
    };
    Ok(match workload {
        Workload::Marginals(marginals) => {
            Strategy::Residuals(MarginalPlan::new(marginals, budget, contribution)?)
        }
        Workload::Linear(cells) => {
            let plan = Box::new(MatrixPlan::new(cells.workload(), budget, contribution)?);
            Strategy::Matrix { cells: cells.clone(), plan }
        }
    })
}

fn laplace(
    workload: &Workload,
    budget: WorkloadBudget,
    contribution: Contribution,
) -> Result<Strategy, WorkloadError> {
    let epsilon = match budget {
        WorkloadBudget::Pure { epsilon } | WorkloadBudget::Approximate { epsilon, .. } => epsilon,
        WorkloadBudget::ZeroConcentrated { .. } => {
            return Err(WorkloadError::Workload(
                "Laplace noise is calibrated to an epsilon, and the budget is in rho: give an \
                 epsilon, or ask for Gaussian noise"
                    .into(),
            ));
        }
    };
    Ok(match workload {
        Workload::Marginals(marginals) => {
            Strategy::Tables(LaplaceMarginalPlan::new(marginals, epsilon, contribution)?)
        }
        Workload::Linear(cells) => {
            let shape = [cells.workload().cells()];
            let plan = LaplacePlan::new(cells.workload(), &shape, epsilon, contribution)?;
            Strategy::Trees { cells: cells.clone(), plan: Box::new(plan) }
        }
    })
}

fn mwem(
    workload: &Workload,
    budget: WorkloadBudget,
    contribution: Contribution,
    rounds: u32,
) -> Result<Strategy, WorkloadError> {
    let Workload::Linear(cells) = workload else {
        return Err(WorkloadError::Workload(
            "multiplicative weights answer counting queries one by one: ask for `prefixes of`, \
             `ranges of` or `count where`; marginals have a better plan"
                .into(),
        ));
    };
    let (selection, filter) = match budget {
        WorkloadBudget::Pure { epsilon } => {
            (Selection::PermuteAndFlip, FilterBudget::Pure { epsilon: epsilon.get() })
        }
        WorkloadBudget::ZeroConcentrated { rho } => {
            (Selection::Exponential, FilterBudget::ZeroConcentrated { rho })
        }
        WorkloadBudget::Approximate { .. } => {
            return Err(WorkloadError::Workload(
                "multiplicative weights are charged as pure losses or in rho: set delta to 0, or \
                 give a rho"
                    .into(),
            ));
        }
    };
    let queries = cells.workload().as_queries()?;
    let count = cells.workload().cells();
    let plan = MwemPlan::new(count, queries, rounds, selection, filter, contribution)?;
    Ok(Strategy::Mwem { cells: cells.clone(), plan })
}

#[cfg(test)]
#[path = "auto_tests.rs"]
mod tests;
