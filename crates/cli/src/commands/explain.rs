//! `reticent explain`: what a query would do and cost, before anything is read or spent.

use super::query::{Asked, runtime};
use crate::Format;
use crate::failure::Failure;
use crate::numbers::rounded;
use crate::output::Output;
use crate::table::Table;
use reticent_session::{Ask, Question, Session, StatisticRecord};
use serde::Serialize;

/// The options of `explain`.
#[derive(clap::Args, Debug)]
pub struct Explain {
    #[command(flatten)]
    asked: Asked,
}

/// What is known beforehand.
#[derive(Debug, Serialize)]
struct Explanation<'a> {
    query: &'a str,
    cost: Cost,
    groups: Groups,
    max_groups: u32,
    max_rows: u32,
    statistics: &'a [StatisticRecord],
    reason: &'a str,
    plan: String,
}

#[derive(Debug, Serialize)]
struct Cost {
    epsilon: f64,
    delta: f64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Groups {
    Public(u64),
    Selected { rule: &'static str, shown_from: u64, delta: f64 },
}

/// Plans and prints.
pub fn run(arguments: &Explain, format: Format, output: &mut Output) -> Result<(), Failure> {
    let session = Session::load(&arguments.asked.policy)?;
    let sql = arguments.asked.sql()?;
    let ask = Ask { sql: &sql, options: arguments.asked.options(), fresh: false };
    let question = runtime()?.block_on(session.question(&ask))?;
    let explanation = explain(&question);
    match format {
        Format::Json => output.json(&explanation),
        Format::Table => output.text(&table(&explanation, question.prepared.aggregation.has_unit)),
    }
}

fn explain(question: &Question) -> Explanation<'_> {
    let prepared = &question.prepared;
    let guarantee = prepared.plan.guarantee();
    let groups = match (prepared.plan.selection(), prepared.aggregation.public_groups()) {
        (Some(selection), _) => {
            Groups::Selected { rule: selection.rule, shown_from: selection.shown_at_half, delta: selection.delta }
        }
        (None, count) => Groups::Public(count.unwrap_or(1)),
    };
    Explanation {
        query: &prepared.sql,
        cost: Cost { epsilon: guarantee.epsilon, delta: guarantee.delta },
        groups,
        max_groups: prepared.aggregation.max_groups,
        max_rows: prepared.aggregation.max_rows,
        statistics: &question.statistics,
        reason: prepared.plan.reason(),
        plan: prepared.aggregation.rows.display_indent().to_string(),
    }
}

fn table(explanation: &Explanation<'_>, has_unit: bool) -> String {
    let mut text = format!("{}\n\n", explanation.query);
    let mut facts = Table::of_pairs();
    let delta = explanation.cost.delta;
    let promise = if delta > 0.0 { format!(", delta {}", rounded(delta)) } else { " (pure)".to_owned() };
    facts.row(["cost", &format!("epsilon {}{promise}", rounded(explanation.cost.epsilon))]);
    facts.row([
        "groups",
        &match &explanation.groups {
            Groups::Public(1) => "one".to_owned(),
            Groups::Public(count) => format!("{count}, public: all are shown, also the empty ones"),
            Groups::Selected { rule, shown_from, delta } => format!(
                "those with enough people ({rule} selection, delta {}): one of {shown_from} is shown as often as not",
                rounded(*delta)
            ),
        },
    ]);
    facts.row([
        "one unit",
        &if has_unit {
            format!(
                "counts in at most {} groups, with as much as {} rows in each",
                explanation.max_groups, explanation.max_rows
            )
        } else {
            "is one row".to_owned()
        },
    ]);
    facts.row(["noise", explanation.reason]);
    text.push_str(&facts.render());
    text.push('\n');
    let mut statistics = Table::with_heading(&["released", "mechanism", "one unit moves it by", "scale", "± (95%)"]);
    let shown = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), rounded);
    for statistic in explanation.statistics {
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
    text.push_str("\nThe rows that are counted (unit, keys, values):\n");
    for line in explanation.plan.lines() {
        text.push_str(&format!("  {line}\n"));
    }
    text.push_str("\nNothing was read from private tables, and nothing was spent.\n");
    text
}
