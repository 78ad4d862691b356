//! `reticent explain`: what a query would do and cost, before anything is read or spent.

use super::query::Asked;
use crate::Format;
use crate::answer_table::size_of_group;
use crate::failure::{Failure, command};
use crate::output::Output;
use crate::table::Table;
use reticent::{Explanation, Groups, LedgerAnswer, NoiseComparison};
use reticent_numerics::digits::{rounded, rounded_down, rounded_up};
use std::path::Path;

/// The options of `explain`.
#[derive(clap::Args, Debug)]
pub struct Explain {
    #[command(flatten)]
    asked: Asked,
}

/// Plans and prints.
pub fn run(arguments: &Explain, format: Format, output: &mut Output) -> Result<(), Failure> {
    let explanation = arguments.asked.asked(async |ask| ask.explain().await)?;
    match format {
        Format::Json => output.json(&explanation),
        Format::Table => output.text(&table(&explanation, &arguments.asked.policy)),
    }
}

/// Who makes a ledger that there is not.
pub fn made_by(first_query: bool, policy: &Path) -> String {
    if first_query {
        "the first query makes it".to_owned()
    } else {
        format!("{} makes it", command("ledger create", policy))
    }
}

/// A number of things.
fn counted(number: u32, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}

/// What each noise would give, in a table, and why others give nothing.
fn comparison(explanation: &Explanation) -> String {
    let NoiseComparison { metric, alternatives, refusals } = &explanation.comparison;
    if alternatives.is_empty() {
        return String::new();
    }
    let what = match metric.split_once(':') {
        Some(("usefulness", distance)) => format!("how often its error is above {distance}"),
        Some(("quantile", q)) => format!("what its error is within with probability {q}"),
        _ if metric == "l1" => "its mean absolute error".to_owned(),
        _ if metric == "entropy" => "the entropy of its noise, in nats".to_owned(),
        _ => "its root mean square error".to_owned(),
    };
    let shown = explanation.statistics.iter().enumerate();
    let shown: Vec<(usize, &str)> = shown
        .filter(|(index, _)| alternatives.iter().all(|one| one.errors[*index].is_some()))
        .map(|(index, statistic)| (index, statistic.statistic.as_str()))
        .collect();
    let names = shown.iter().map(|(_, name)| *name);
    let heading: Vec<&str> = ["noise"].into_iter().chain(names).chain(["times"]).collect();
    let mut table = Table::with_heading(&heading);
    for one in alternatives {
        let errors =
            shown.iter().map(|(index, _)| one.errors[*index].map_or("-".into(), rounded_up));
        let times = one.times_least.map_or_else(|| "-".to_owned(), rounded);
        table.cells([one.mechanism.clone()].into_iter().chain(errors).chain([times]));
    }
    let mut text = format!(
        "\nWhat each noise would give at this cost ({metric}: {what}):\n{}",
        table.render()
    );
    for refused in refusals {
        text.push_str(&format!("{}: {}\n", refused.mechanism, refused.reason));
    }
    text
}

fn table(explanation: &Explanation, policy: &Path) -> String {
    let mut text = format!("{}\n\n", explanation.query);
    let mut facts = Table::of_pairs();
    let delta = explanation.cost.delta;
    let notion =
        if delta > 0.0 { format!(", delta {}", rounded_up(delta)) } else { " (pure)".to_owned() };
    facts.row(["cost", &format!("epsilon {}{notion}", rounded_up(explanation.cost.epsilon))]);
    facts.row([
        "budget",
        &match &explanation.ledger {
            LedgerAnswer::None { made_by_first_query } => {
                let advice = made_by(*made_by_first_query, policy);
                format!("there is no ledger yet, and nothing counts as spent; {advice}")
            }
            LedgerAnswer::Stored => {
                "the query was answered before: asking again costs nothing".to_owned()
            }
            LedgerAnswer::Fits { remaining } => {
                format!(
                    "{} {}, delta {} would be left",
                    explanation.unit,
                    rounded_down(remaining.cost),
                    rounded_down(remaining.delta)
                )
            }
            LedgerAnswer::Refused { reason } => format!("would be refused: {reason}"),
        },
    ]);
    facts.row([
        "groups",
        &match &explanation.groups {
            Groups::Public(1) => "one".to_owned(),
            Groups::Public(count) => format!("{count}, public: all are shown, also the empty ones"),
            Groups::Selected { rule, shown_from, rows_of_unit, delta } => format!(
                "those that are large enough ({rule} selection, delta {}): one with {} is shown as \
                 often as not",
                rounded_up(*delta),
                size_of_group(*shown_from, *rows_of_unit)
            ),
        },
    ]);
    facts.row([
        "one unit",
        &if explanation.has_unit {
            format!(
                "counts in at most {}, with the weight of at most {} in each",
                counted(explanation.max_groups, "group"),
                counted(explanation.max_rows, "row")
            )
        } else {
            "is one row".to_owned()
        },
    ]);
    facts.row(["noise", &explanation.reason]);
    text.push_str(&facts.render());
    text.push('\n');
    let mut statistics =
        Table::with_heading(&["released", "mechanism", "one unit moves it by", "scale", "± (95%)"]);
    let shown = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), rounded);
    for statistic in &explanation.statistics {
        let width = match &statistic.rank_errors {
            Some(ranks) => {
                let worst = ranks.iter().copied().fold(0.0, f64::max);
                format!("{} ranks", rounded(worst))
            }
            None => shown(statistic.half_width),
        };
        statistics.row([
            statistic.statistic.clone(),
            statistic.mechanism.clone(),
            rounded(statistic.per_group),
            shown(statistic.scale),
            width,
        ]);
    }
    text.push_str(&statistics.render());
    text.push_str(&comparison(explanation));
    text.push_str("\nThe rows that are counted (unit, keys, values):\n");
    for line in explanation.plan.lines() {
        text.push_str(&format!("  {line}\n"));
    }
    text.push_str("\nNothing was read from private tables, and nothing was spent.\n");
    text
}
