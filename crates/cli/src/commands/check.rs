//! `reticent check`: whether noise of a published scale keeps the budget that it is said to keep.

use crate::Format;
use crate::commands::calibrate::{missing, stated_for};
use crate::failure::Failure;
use crate::options::{BudgetOptions, DimensionOption, SensitivityOptions, Words, number};
use crate::output::Output;
use crate::report::Interval;
use crate::table::Table;
use reticent_mechanisms::{Check as Checked, MechanismSpec, check};
use reticent_numerics::digits::{exact, rounded, rounded_down};
use serde::Serialize;

/// The options of `check`.
#[derive(clap::Args, Debug)]
#[command(group = clap::ArgGroup::new("size").required(true).args(["sigma", "scale"]))]
pub struct Check {
    #[command(flatten)]
    mechanism: Words,
    /// The standard deviation of the noise, for gaussian and discrete-gaussian
    #[arg(long, value_name = "S", value_parser = number, allow_hyphen_values = true)]
    sigma: Option<f64>,
    /// The scale of the noise, b for all others
    #[arg(long, value_name = "B", value_parser = number, allow_hyphen_values = true)]
    scale: Option<f64>,
    #[command(flatten)]
    budget: BudgetOptions,
    #[command(flatten)]
    sensitivity: SensitivityOptions,
    #[command(flatten)]
    dimension: DimensionOption,
}

#[derive(Debug, Serialize)]
struct Answer {
    mechanism: &'static str,
    scale: f64,
    epsilon: f64,
    delta: f64,
    /// Whether the claim is true; `null` where the bounds do not tell.
    private: Option<bool>,
    delta_at_epsilon: Interval,
    epsilon_at_delta: Interval,
    least_scale: f64,
}

/// Checks, and says what is true. The exit code is that of an answer, whichever it is.
pub fn run(arguments: Check, format: Format, output: &mut Output) -> Result<(), Failure> {
    let Check { mechanism, sigma, scale, budget, sensitivity, dimension } = arguments;
    let spec: MechanismSpec = mechanism.read()?;
    let budget = budget.budget()?;
    let stated = stated_for(&spec, &sensitivity)?.ok_or_else(|| missing(&spec))?;
    let scale = sigma.or(scale).ok_or_else(|| Failure::usage("give --sigma or --scale"))?;
    let checked = check(&spec, scale, &stated.sensitivity(dimension.dimension)?, budget)?;
    let Checked { delta, epsilon, least_scale, .. } = checked;
    let answer = Answer {
        mechanism: spec.kind().name(),
        scale,
        epsilon: budget.epsilon().get(),
        delta: budget.delta().map_or(0.0, |delta| delta.get()),
        private: checked.is_private(),
        delta_at_epsilon: delta.into(),
        epsilon_at_delta: epsilon.into(),
        least_scale,
    };
    match format {
        Format::Json => output.json(&answer),
        Format::Table => output.text(&render(&answer)),
    }
}

fn render(answer: &Answer) -> String {
    let Answer { epsilon, delta, scale, least_scale, .. } = answer;
    let claim = if *delta == 0.0 {
        format!("pure, epsilon = {}", exact(*epsilon))
    } else {
        format!("epsilon = {}, delta = {}", exact(*epsilon), exact(*delta))
    };
    let verdict = match answer.private {
        Some(true) => "private: the claim is true".to_string(),
        Some(false) if *delta > 0.0 => format!(
            "NOT private: delta is {} times what is claimed, at least",
            rounded_down(answer.delta_at_epsilon.lower / delta)
        ),
        Some(false) => "NOT private: epsilon is more than what is claimed".to_string(),
        None => "not decided: what is claimed lies between the bounds".to_string(),
    };
    let span = |interval: Interval| {
        if interval.upper.is_finite() {
            format!("from {} to {}", exact(interval.lower), exact(interval.upper))
        } else {
            format!("at least {}; none is proved up to 700", exact(interval.lower))
        }
    };
    let mut table = Table::of_pairs();
    table.row(["mechanism", answer.mechanism]);
    table.row(["scale".to_string(), exact(*scale)]);
    table.row(["claim".to_string(), claim]);
    table.row(["verdict".to_string(), verdict]);
    table.row(["true delta at this epsilon".to_string(), span(answer.delta_at_epsilon)]);
    table.row(["true epsilon at this delta".to_string(), span(answer.epsilon_at_delta)]);
    let ratio = rounded(least_scale / scale);
    table.row([
        "least scale for the claim".to_string(),
        format!("{}, {ratio} times this one", exact(*least_scale)),
    ]);
    table.render()
}
