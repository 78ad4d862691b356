//! `reticent denoise`: better answers from the same release.

use super::estimate;
use crate::AnswerFormat;
use crate::denoised::{self, Given};
use crate::failure::Failure;
use crate::options::{count, number};
use crate::output::Output;
use crate::public_graph;
use crate::value_plot;
use crate::words;
use clap::ValueEnum;
use reticent_choice::Expression;
use reticent_denoising::bayes::{
    Deconvolution, Diagnostics, MarkovChain, Posterior, SeparableBayes,
};
use reticent_denoising::consistency::{
    Direction, Integers, LinearConstraints, Monotone, NoisyTotal, NonNegativeConstraints, Total,
    Within,
};
use reticent_denoising::graph::{Graph, GraphTrendFilter, GraphWavelets, Order};
use reticent_denoising::shrinkage::{
    Ball, JamesStein, MinimaxOnBall, Multiscale, ProjectionOnBall, SureThreshold, Target,
    Threshold, ThresholdKind, Thresholding,
};
use reticent_denoising::{
    Auto, CrossFitted, Denoised, Denoiser, DenoisingError, Release, Unchanged,
};
use reticent_events::Event;
use reticent_numerics::digits::rounded;
use std::io::{self, Write};
use std::path::PathBuf;

/// Spanning trees of `wavelet`: the mean over several smooths what one of them cuts.
const TREES: usize = 8;

/// Draws of each of the chains of `markov-chain`, if not said.
const DRAWS: u64 = 4000;

/// Coefficients in a block of `multiscale`.
const BLOCK: usize = 32;

/// The options of `denoise`.
#[derive(clap::Args, Debug)]
pub struct Denoise {
    /// How to denoise
    #[arg(long, value_enum, default_value_t = Method::Auto)]
    method: Method,
    /// The noise, such as "gaussian sigma=2" or "laplace scale=1,2,3", unless a release file says
    /// it
    #[arg(long, value_name = "WORDS")]
    noise: Option<String>,
    /// Read this file in place of standard input: a release file, the JSON answer of a query,
    /// numbers, or with --column a CSV table
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// The column that holds the released values: of the CSV file, whose others are passed on as
    /// they are, or of a query's answer
    #[arg(long, value_name = "NAME")]
    column: Option<String>,
    /// Draw the values before and after to this file, as SVG
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    facts: Facts,
}

/// What is public besides the noise.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Public facts and parameters of the methods")]
struct Facts {
    /// auto, margins: no true value is negative; a release of counts, as `query` marks it, says so
    /// itself
    #[arg(long, conflicts_with = "within")]
    non_negative: bool,
    /// auto, within: every true value lies in this range
    #[arg(
        long,
        value_name = "LO,HI",
        value_parser = number,
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    within: Option<Vec<f64>>,
    /// james-stein: what values are shrunk towards
    #[arg(long, value_enum)]
    towards: Option<TowardsName>,
    /// james-stein: shrink consecutive blocks of so many values each by itself; multiscale: of so
    /// many coefficients, 32 if not given
    #[arg(long, value_name = "K", value_parser = count)]
    block: Option<u64>,
    /// soft-threshold, hard-threshold: the threshold in scales of the noise; what the noise seldom
    /// exceeds if not given
    #[arg(long, value_name = "T", value_parser = number, allow_hyphen_values = true)]
    threshold: Option<f64>,
    /// bayes: the prior of each true value, such as "gaussian mean=0 sd=3", "laplace mean=0
    /// scale=2", "uniform lower=0 upper=9", "sample values=1,2,5", "sample file=old.txt", or an
    /// expression of t without blanks, "density f=exp(-abs(t)) lower=-9 upper=9" or "log-density
    /// f=-abs(t) lower=-9 upper=9"
    #[arg(long, value_name = "WORDS")]
    prior: Option<String>,
    /// total, noisy-total, non-negative: the sum of the true values
    #[arg(long, value_name = "T", value_parser = number, allow_hyphen_values = true)]
    total: Option<f64>,
    /// noisy-total: the variance of the noise in --total
    #[arg(long, value_name = "V", value_parser = number, allow_hyphen_values = true)]
    total_variance: Option<f64>,
    /// margins: the public sums of the rows of the table, which is given row by row
    #[arg(
        long,
        value_name = "A,B,...",
        value_parser = number,
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    rows: Option<Vec<f64>>,
    /// margins: the public sums of its columns
    #[arg(
        long,
        value_name = "A,B,...",
        value_parser = number,
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    columns: Option<Vec<f64>>,
    /// wavelet, trend-filter, multiscale, auto: the graph on the values: line, grid:RxC, or a CSV
    /// file of edges u,v or u,v,weight
    #[arg(long, value_name = "GRAPH")]
    graph: Option<String>,
    /// What the first value is called in the file of --graph; 1 if not given, and the others count
    /// on from there
    #[arg(long, value_name = "N", value_parser = count)]
    first_node: Option<u64>,
    /// The column of the CSV input that holds the nodes' names in the file of --graph
    #[arg(long, value_name = "NAME", requires = "column", conflicts_with = "first_node")]
    node_column: Option<String>,
    /// trend-filter: 0 for values that jump, 1 for slopes that do, 2 for curvatures; 0 if not given
    #[arg(long, value_name = "K", value_parser = count)]
    order: Option<u64>,
    /// wavelet, wavelet-universal: over how many random spanning trees the result is averaged; 8
    /// and 1 if not given
    #[arg(long, value_name = "N", value_parser = count)]
    trees: Option<u64>,
    /// ball, ball-projection: the true values have an l_P norm of at most R, such as 1:500
    #[arg(long, value_name = "P:R")]
    ball: Option<String>,
    /// markov-chain: the logarithm of each true value's prior density, up to a constant, as an
    /// expression of t, such as "-abs(t)/5"
    #[arg(long, value_name = "EXPRESSION", allow_hyphen_values = true)]
    log_prior: Option<String>,
    /// markov-chain: the same for the difference t of each two consecutive values, added to it
    #[arg(long, value_name = "EXPRESSION", allow_hyphen_values = true)]
    log_prior_steps: Option<String>,
    /// markov-chain: the draws of each of four chains, after as many to warm up; 4000 if not given
    #[arg(long, value_name = "N", value_parser = count)]
    draws: Option<u64>,
    /// isotonic: the true values decrease; they increase if not given
    #[arg(long)]
    decreasing: bool,
    /// integer: keep the rounded sum of all values
    #[arg(long)]
    keep_total: bool,
}

/// The ways to denoise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Method {
    /// The method of least estimated risk, if one is better with confidence
    Auto,
    /// The release as it is
    None,
    /// Shrinkage by as much as the release suggests, as in Theorem 11 of Balle and Wang: a factor
    /// below 0 turns values round
    JamesStein,
    /// The same with a factor of at least 0, which is never worse
    JamesSteinPositive,
    /// Small values become 0, others move by the threshold
    SoftThreshold,
    /// The soft threshold of least estimated risk
    SureThreshold,
    /// Small values become 0, others stay
    HardThreshold,
    /// The posterior mean under --prior
    Bayes,
    /// The posterior mean under a prior learned from the release
    EmpiricalBayes,
    /// The posterior mean under --log-prior and --log-prior-steps, by Markov chains
    MarkovChain,
    /// The estimator of least proved risk over a --ball that holds the true values
    Ball,
    /// The nearest point of a --ball of order 1 or 2
    BallProjection,
    /// James-Stein scale by scale, on a --graph that is line or grid:RxC
    Multiscale,
    /// Wavelets of spanning trees of --graph, soft thresholds of least estimated risk (universal
    /// ones unless the noise is Gaussian)
    Wavelet,
    /// Wavelets of a spanning tree of --graph, universal soft threshold, as in Section 5.3 of Balle
    /// and Wang
    WaveletUniversal,
    /// Trend filtering on --graph
    TrendFilter,
    /// The nearest values that are not negative, with --total of that sum
    NonNegative,
    /// The nearest values in the range of --within
    Within,
    /// The nearest values that sum to --total
    Total,
    /// The combination with a released --total
    NoisyTotal,
    /// The nearest monotone values
    Isotonic,
    /// The nearest table with the margins --rows and --columns, and with --non-negative without
    /// negative values
    Margins,
    /// Rounded to integers
    Integer,
}

/// What James-Stein shrinks towards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TowardsName {
    /// Zero
    Zero,
    /// The mean of the values
    Mean,
}

impl Facts {
    /// The facts that were given, by name.
    fn given(&self) -> Vec<&'static str> {
        [
            ("non-negative", self.non_negative),
            ("within", self.within.is_some()),
            ("towards", self.towards.is_some()),
            ("block", self.block.is_some()),
            ("threshold", self.threshold.is_some()),
            ("prior", self.prior.is_some()),
            ("total", self.total.is_some()),
            ("total-variance", self.total_variance.is_some()),
            ("rows", self.rows.is_some()),
            ("columns", self.columns.is_some()),
            ("graph", self.graph.is_some()),
            ("first-node", self.first_node.is_some()),
            ("node-column", self.node_column.is_some()),
            ("order", self.order.is_some()),
            ("trees", self.trees.is_some()),
            ("ball", self.ball.is_some()),
            ("log-prior", self.log_prior.is_some()),
            ("log-prior-steps", self.log_prior_steps.is_some()),
            ("draws", self.draws.is_some()),
            ("decreasing", self.decreasing),
            ("keep-total", self.keep_total),
        ]
        .into_iter()
        .filter_map(|(name, given)| given.then_some(name))
        .collect()
    }

    fn ball(&self, method: Method) -> Result<Ball, Failure> {
        let text = need(method, "ball", &self.ball)?;
        let parts = text.split_once(':');
        let (order, radius) = parts.and_then(|(p, r)| p.parse().ok().zip(r.parse().ok())).ok_or(
            Failure::usage("--ball must be an order and a radius, such as 1:500 or 0.5:20"),
        )?;
        Ok(Ball::new(order, radius)?)
    }

    fn range(&self) -> Result<Option<(f64, f64)>, Failure> {
        match self.within.as_deref() {
            None => Ok(self.non_negative.then_some((0.0, f64::INFINITY))),
            Some(&[lower, upper]) if lower < upper => Ok(Some((lower, upper))),
            Some(_) => Err(Failure::usage("--within must be two numbers, the smaller first")),
        }
    }
}

/// An option that a method cannot do without.
fn need<T: Clone>(method: Method, name: &str, option: &Option<T>) -> Result<T, Failure> {
    option
        .clone()
        .ok_or_else(|| Failure::usage(format!("the method {} needs --{name}", method.name())))
}

impl Method {
    fn name(self) -> String {
        self.to_possible_value().map_or(String::new(), |value| value.get_name().to_string())
    }

    /// The facts that the method uses.
    fn uses(self) -> &'static [&'static str] {
        match self {
            Method::Auto => &["non-negative", "within", "graph", "first-node", "node-column"],
            Method::Multiscale => &["graph", "block"],
            Method::Wavelet | Method::WaveletUniversal => {
                &["graph", "first-node", "node-column", "trees"]
            }
            Method::Ball | Method::BallProjection => &["ball"],
            Method::MarkovChain => &["log-prior", "log-prior-steps", "draws"],
            Method::TrendFilter => &["graph", "first-node", "node-column", "order"],
            Method::JamesStein | Method::JamesSteinPositive => &["towards", "block"],
            Method::SoftThreshold | Method::HardThreshold => &["threshold"],
            Method::Bayes => &["prior"],
            Method::NonNegative | Method::Total => &["total"],
            Method::Within => &["within"],
            Method::NoisyTotal => &["total", "total-variance"],
            Method::Isotonic => &["decreasing"],
            Method::Margins => &["rows", "columns", "non-negative"],
            Method::Integer => &["keep-total"],
            Method::None | Method::SureThreshold | Method::EmpiricalBayes => &[],
        }
    }

    /// Refuses facts that the method does not use.
    fn accepts(self, facts: &Facts) -> Result<(), Failure> {
        if let Some(unused) = facts.given().into_iter().find(|name| !self.uses().contains(name)) {
            return Err(Failure::usage(format!(
                "--{unused} is not used by the method {}",
                self.name()
            )));
        }
        Ok(())
    }

    /// The denoiser of what was read.
    fn denoiser(self, facts: &Facts, given: &Given) -> Result<Box<dyn Denoiser>, Failure> {
        let graph = || -> Result<Graph, Failure> {
            let labels = facts.node_column.as_deref().zip(given.table.as_ref());
            let labels = labels.map(|(name, table)| table.texts(name)).transpose()?;
            let text = need(self, "graph", &facts.graph)?;
            public_graph::read(&text, given.values.len(), facts.first_node.unwrap_or(1), labels)
        };
        let trees = |unless_given: usize| match facts.trees {
            None => Ok(unless_given),
            Some(trees @ 1..=1000) => Ok(trees as usize),
            Some(_) => Err(Failure::usage("--trees must be from 1 to 1000")),
        };
        let thresholding = |kind| {
            let threshold = facts.threshold.map_or(Threshold::Universal, Threshold::Scales);
            Thresholding::new(kind, threshold)
        };
        Ok(match self {
            Method::Auto => {
                let mut auto = Auto::new();
                if let Some((lower, upper)) = facts.range()? {
                    auto = auto.within(lower, upper);
                }
                if let Some(text) = &facts.graph {
                    if let Some((rows, columns)) = public_graph::grid_size(text, given.values.len())
                    {
                        for block in [Some(BLOCK), None] {
                            auto = auto.with(Box::new(Multiscale::grid(rows, columns, block)?));
                        }
                    }
                    let graph = graph()?;
                    auto = auto.with(Box::new(GraphWavelets::new(&graph, TREES, 0)?));
                    auto = auto.with(Box::new(GraphTrendFilter::new(graph, Order::Constant)));
                }
                Box::new(auto)
            }
            Method::None => Box::new(Unchanged),
            Method::JamesStein | Method::JamesSteinPositive => {
                let target = if facts.towards == Some(TowardsName::Mean) {
                    Target::Mean
                } else {
                    Target::Zero
                };
                let block = facts.block.map(|block| usize::try_from(block).unwrap_or(usize::MAX));
                let positive_part = self == Method::JamesSteinPositive;
                Box::new(JamesStein { target, positive_part, block })
            }
            Method::SoftThreshold => Box::new(thresholding(ThresholdKind::Soft)?),
            Method::HardThreshold => Box::new(thresholding(ThresholdKind::Hard)?),
            Method::SureThreshold => Box::new(SureThreshold { kind: ThresholdKind::Soft }),
            Method::Bayes => {
                let prior = words::prior(&need(self, "prior", &facts.prior)?)?;
                Box::new(SeparableBayes { prior })
            }
            Method::EmpiricalBayes => Box::new(CrossFitted::new(Deconvolution, 4)?),
            Method::Multiscale => {
                let text = need(self, "graph", &facts.graph)?;
                let (rows, columns) = public_graph::grid_size(&text, given.values.len())
                    .ok_or_else(|| {
                        Failure::usage(
                            "the method multiscale needs a --graph that is line or grid:RxC",
                        )
                    })?;
                let block =
                    facts.block.map_or(BLOCK, |block| usize::try_from(block).unwrap_or(usize::MAX));
                Box::new(Multiscale::grid(rows, columns, Some(block))?)
            }
            Method::Wavelet => Box::new(GraphWavelets::new(&graph()?, trees(TREES)?, 0)?),
            Method::WaveletUniversal => {
                let wavelets = GraphWavelets::new(&graph()?, trees(1)?, 0)?;
                Box::new(wavelets.with_universal_threshold())
            }
            Method::Ball => Box::new(MinimaxOnBall { ball: facts.ball(self)? }),
            Method::BallProjection => Box::new(ProjectionOnBall::new(facts.ball(self)?)?),
            Method::MarkovChain => Box::new(Chain {
                of_value: Expression::parse(&need(self, "log-prior", &facts.log_prior)?)?,
                of_step: facts.log_prior_steps.as_deref().map(Expression::parse).transpose()?,
                draws: usize::try_from(facts.draws.unwrap_or(DRAWS)).unwrap_or(usize::MAX),
                seed: 0,
            }),
            Method::TrendFilter => {
                let order = match facts.order.unwrap_or(0) {
                    0 => Order::Constant,
                    1 => Order::Linear,
                    2 => Order::Quadratic,
                    other => {
                        return Err(Failure::usage(format!(
                            "--order is {other}, but it must be 0, 1 or 2"
                        )));
                    }
                };
                Box::new(GraphTrendFilter::new(graph()?, order))
            }
            Method::NonNegative => match facts.total {
                Some(total) => Box::new(Total::new(total, true)?),
                None => Box::new(Within::non_negative()),
            },
            Method::Within => {
                need(self, "within", &facts.within)?;
                let (lower, upper) = facts.range()?.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
                Box::new(Within::new(lower, upper)?)
            }
            Method::Total => Box::new(Total::new(need(self, "total", &facts.total)?, false)?),
            Method::NoisyTotal => {
                let variance = need(self, "total-variance", &facts.total_variance)?;
                Box::new(NoisyTotal::new(need(self, "total", &facts.total)?, variance)?)
            }
            Method::Isotonic => {
                let direction =
                    if facts.decreasing { Direction::Decreasing } else { Direction::Increasing };
                Box::new(Monotone { direction })
            }
            Method::Margins => {
                let (rows, columns) =
                    (need(self, "rows", &facts.rows)?, need(self, "columns", &facts.columns)?);
                let margins = LinearConstraints::margins(&rows, &columns)?;
                if facts.non_negative {
                    Box::new(NonNegativeConstraints::new(margins))
                } else {
                    Box::new(margins)
                }
            }
            Method::Integer => Box::new(Integers { keep_total: facts.keep_total }),
        })
    }
}

/// A prior that is a log density over all values together, sampled by Markov chains.
#[derive(Debug)]
struct Chain {
    of_value: Expression,
    of_step: Option<Expression>,
    draws: usize,
    seed: u64,
}

impl Denoiser for Chain {
    fn denoise(&self, release: &Release) -> Result<Denoised, DenoisingError> {
        let ln_prior = |values: &[f64]| {
            let each: f64 = values.iter().map(|value| self.of_value.at(*value)).sum();
            let steps = values.windows(2).map(|pair| pair[1] - pair[0]);
            each + self.of_step.as_ref().map_or(0.0, |of| steps.map(|step| of.at(step)).sum())
        };
        let chain = MarkovChain::new(ln_prior, self.draws, self.seed)?;
        let Posterior { mut denoised, diagnostics } = chain.denoise(release)?;
        let worst = |of: fn(&Diagnostics) -> f64| diagnostics.iter().map(of).fold(0.0, f64::max);
        let fewest =
            diagnostics.iter().map(|found| found.effective_draws).fold(f64::INFINITY, f64::min);
        denoised.method = format!(
            "{}: R-hat at most {:.3}, at least {fewest:.0} effective draws, Monte Carlo error at \
             most {}",
            denoised.method,
            worst(|found| found.r_hat),
            rounded(worst(Diagnostics::monte_carlo_error))
        );
        Ok(denoised)
    }
}

/// Reads everything, denoises, states the risk, and only then writes.
pub fn run(arguments: Denoise, format: AnswerFormat, output: &mut Output) -> Result<(), Failure> {
    let Denoise { method, noise, input, column, plot, mut facts } = arguments;
    // What is wrong without the values is said before they are waited for.
    method.accepts(&facts)?;
    let given_noise = noise.as_deref().map(words::noise).transpose()?;
    let given = denoised::read(input.as_deref(), column.as_deref())?;
    if facts.node_column.is_some() && given.table.is_none() {
        return Err(Failure::usage(
            "--node-column names a column of CSV input, and the input is not CSV",
        ));
    }
    if let Some(Event::RandomizedResponse { epsilon, categories }) =
        given.record.as_ref().map(|record| &record.event)
        && method == Method::Auto
    {
        let survey = estimate::Survey::new(*categories, *epsilon, 0.95, true)?;
        return survey.of_numbers(&given.values)?.publish(format.of_report()?, output);
    }
    let noise = match (&given.record, given_noise) {
        (Some(_), Some(_)) => {
            return Err(Failure::usage(
                "the release file says what the noise is: --noise cannot be given as well",
            ));
        }
        (Some(record), None) => denoised::noise_of(record)?,
        (None, Some(noise)) => noise,
        (None, None) => {
            return Err(Failure::usage("--noise is needed unless the input is a release file"));
        }
    };
    // What the release says of itself need not be said again.
    if method == Method::Auto && given.record.as_ref().is_some_and(|record| record.count) {
        facts.non_negative |= facts.within.is_none();
    }
    let denoiser = method.denoiser(&facts, &given)?;
    let release = Release::new(given.values.clone(), noise)?;
    let mut denoised = denoiser.denoise(&release)?;
    // Values at the ends of the range can overflow an estimate, which is then none.
    denoised.risk_after = denoised
        .risk_after
        .filter(|risk| risk.value.is_finite() && risk.standard_error.is_finite());
    if let Some(path) = plot {
        let picture = value_plot::svg(&denoised.method, release.values(), &denoised.values);
        std::fs::write(path, picture)
            .map_err(|error| Failure::while_doing("writing the file of --plot", &error))?;
    }
    // Standard error that cannot be written to must not keep the answer back.
    let _ = io::stderr().write_all(denoised::statement(&denoised).as_bytes());
    denoised::write(&denoised, given, format, output)
}
