//! `reticent explain`: what a query would do and cost, before anything is read or spent.

use super::query::{Asked, runtime};
use crate::Format;
use crate::answer_table::size_of_group;
use crate::failure::Failure;
use crate::numbers::{rounded, rounded_down, rounded_up};
use crate::output::Output;
use crate::table::Table;
use reticent_ledger::Amounts;
use reticent_session::{Ask, Question, Session, StatisticRecord, limits};
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
    ledger: Ledger,
    plan: String,
}

/// What the ledger says to the query, as it stands.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
enum Ledger {
    /// There is none yet: this says how there will be one.
    None { advice: String },
    /// The query was answered before, and is free.
    Stored,
    /// It would be paid for, and this would be left.
    Fits { remaining: Amounts },
    /// It would be refused.
    Refused { reason: String },
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
    Selected { rule: &'static str, shown_from: u64, rows_of_unit: u32, delta: f64 },
}

/// Plans and prints.
pub fn run(arguments: &Explain, format: Format, output: &mut Output) -> Result<(), Failure> {
    let session = Session::load(&arguments.asked.policy)?;
    let sql = arguments.asked.sql()?;
    let ask = Ask { sql: &sql, options: arguments.asked.options(), fresh: false };
    let question = runtime()?.block_on(session.question(&ask))?;
    let ledger = match session.quote(&question) {
        Ok(None) if session.policy().budget().create_ledger() => {
            Ledger::None { advice: "the first query makes it".to_owned() }
        }
        Ok(None) => Ledger::None { advice: format!("{} makes it", session.command("ledger create")) },
        Ok(Some(quote)) if quote.charge.is_none() => Ledger::Stored,
        Ok(Some(quote)) => Ledger::Fits { remaining: quote.remaining },
        Err(refused) => Ledger::Refused { reason: Failure::from(refused).to_string() },
    };
    let unit = limits(session.policy().budget())?.unit();
    let explanation = explain(&question, ledger);
    match format {
        Format::Json => output.json(&explanation),
        Format::Table => output.text(&table(&explanation, question.prepared.aggregation.has_unit, unit)),
    }
}

fn explain(question: &Question, ledger: Ledger) -> Explanation<'_> {
    let prepared = &question.prepared;
    let guarantee = prepared.plan.guarantee();
    let groups = match (prepared.plan.selection(), prepared.aggregation.public_groups()) {
        (Some(selection), _) => Groups::Selected {
            rule: selection.rule,
            shown_from: selection.shown_at_half,
            rows_of_unit: selection.rows_of_unit,
            delta: selection.delta,
        },
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
        ledger,
        plan: prepared.aggregation.rows_as_written(),
    }
}

/// A number of things.
fn counted(number: u32, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}

fn table(explanation: &Explanation<'_>, has_unit: bool, unit: &str) -> String {
    let mut text = format!("{}\n\n", explanation.query);
    let mut facts = Table::of_pairs();
    let delta = explanation.cost.delta;
    let promise = if delta > 0.0 { format!(", delta {}", rounded_up(delta)) } else { " (pure)".to_owned() };
    facts.row(["cost", &format!("epsilon {}{promise}", rounded_up(explanation.cost.epsilon))]);
    facts.row([
        "budget",
        &match &explanation.ledger {
            Ledger::None { advice } => format!("there is no ledger yet, and nothing counts as spent; {advice}"),
            Ledger::Stored => "the query was answered before: asking again costs nothing".to_owned(),
            Ledger::Fits { remaining } => {
                format!(
                    "{unit} {}, delta {} would be left",
                    rounded_down(remaining.cost),
                    rounded_down(remaining.delta)
                )
            }
            Ledger::Refused { reason } => format!("would be refused: {reason}"),
        },
    ]);
    facts.row([
        "groups",
        &match &explanation.groups {
            Groups::Public(1) => "one".to_owned(),
            Groups::Public(count) => format!("{count}, public: all are shown, also the empty ones"),
            Groups::Selected { rule, shown_from, rows_of_unit, delta } => format!(
                "those that are large enough ({rule} selection, delta {}): one with {} is shown as often as not",
                rounded_up(*delta),
                size_of_group(*shown_from, *rows_of_unit)
            ),
        },
    ]);
    facts.row([
        "one unit",
        &if has_unit {
            format!(
                "counts in at most {}, with the weight of at most {} in each",
                counted(explanation.max_groups, "group"),
                counted(explanation.max_rows, "row")
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
