//! `reticent budget`: what is spent, what is left, and what each query cost.

use super::explain::made_by;
use super::query::block_on;
use crate::Format;
use crate::answer_table::on_one_line;
use crate::failure::{Failure, command};
use crate::output::Output;
use crate::table::Table;
use reticent::ledger::{Amounts, Balance, ReleaseState, Statement};
use reticent::{Session, limits, protected};
use reticent_numerics::digits::{rounded_down, rounded_up};
use serde::Serialize;
use std::path::PathBuf;

/// The options of `budget`.
#[derive(clap::Args, Debug)]
pub struct Budget {
    /// The policy
    #[arg(long, value_name = "FILE", default_value = "policy.toml")]
    policy: PathBuf,
    /// Record the policy's budget as the new one: the decision of the owner of the data
    #[arg(long)]
    amend: bool,
    /// List all queries, not the newest alone, and check every entry for it
    #[arg(long)]
    all: bool,
}

/// The budget before anything was asked: no ledger exists yet.
#[derive(Debug, Serialize)]
struct Untouched {
    ledger: Option<()>,
    #[serde(flatten)]
    balance: Balance,
    releases: [(); 0],
}

/// Reports.
pub fn run(arguments: &Budget, format: Format, output: &mut Output) -> Result<(), Failure> {
    let session = block_on(Session::open(&arguments.policy))?;
    if arguments.amend {
        session.amend()?;
    }
    let statement =
        if arguments.all { session.statement()? } else { session.recent_statement()? };
    match (statement, format) {
        (Some(statement), Format::Json) => output.json(&statement),
        (Some(statement), Format::Table) => {
            output.text(&(table(&statement) + &disagreements(&statement, &session)?))
        }
        (None, Format::Json) => {
            let balance = Balance::untouched(limits(session.policy().budget())?);
            output.json(&Untouched { ledger: None, balance, releases: [] })
        }
        (None, Format::Table) => {
            let budget = session.policy().budget();
            output.text(&format!(
                "There is no ledger yet at {}, and nothing counts as spent: all of epsilon {} and \
                 delta {} is left; {}.\n\
                 If there was one, put it back: without it nobody knows what is spent.\n",
                session.policy().ledger().display(),
                rounded_down(budget.epsilon()),
                rounded_down(budget.delta()),
                made_by(budget.create_ledger(), session.path())
            ))
        }
    }
}

/// In what the ledger and the policy differ, and who can decide what.
fn disagreements(statement: &Statement, session: &Session) -> Result<String, Failure> {
    let mut text = String::new();
    let (stored, limits) = (statement.balance.limits, limits(session.policy().budget())?);
    if stored != limits {
        text.push_str(&format!(
            "\nThe policy now says {limits}, and the ledger still allows {stored}: no query is \
             answered until they agree.\n\
             If the owner of the data decides so, `reticent budget --amend` records the policy's \
             budget as the new one.\n"
        ));
    }
    let differences = statement.protects.differences(&protected(session.policy())?);
    if !differences.is_empty() {
        text.push_str(&format!(
            "\nThe ledger is not for the policy's private tables: {}. No query is answered until \
             they agree.\n\
             If the owner of the data decides so, {} lets it protect them from now on.\n",
            differences.join("; "),
            command("ledger adopt", session.path())
        ));
    }
    Ok(text)
}

fn table(statement: &Statement) -> String {
    let balance = &statement.balance;
    let (limits, unit) = (balance.limits, balance.limits.unit().name());
    let mut sums = Table::with_heading(&["", unit, "delta"]);
    let mut row = |what: &str, amounts: Amounts, rounded: fn(f64) -> String| {
        sums.row([what.to_owned(), rounded(amounts.cost), rounded(amounts.delta)]);
    };
    row("budget", Balance::untouched(limits).remaining, rounded_down);
    row("spent", balance.spent, rounded_up);
    row("left", balance.remaining, rounded_down);
    let mut text = sums.render();
    if let Some(converted) = &balance.converted {
        text.push_str(&format!(
            "\nAs epsilon at delta {}: {} of {} is spent. The delta in the table is for the \
             selection of groups.\n",
            rounded_up(converted.delta),
            rounded_up(converted.spent),
            rounded_up(converted.budget)
        ));
    }
    if !statement.releases.is_empty() {
        text.push('\n');
        let with_askers = statement.releases.iter().any(|release| release.asker.is_some());
        let asker = with_askers.then_some("asker");
        let headings = ["entry", "time (UTC)", unit, "delta", "answer"];
        let mut releases = Table::default();
        releases.heading(headings.into_iter().chain(asker).chain(["query"]).map(str::to_owned));
        for release in &statement.releases {
            let asker = || on_one_line(release.asker.as_deref().unwrap_or(""));
            let cells = [
                release.number.to_string(),
                release.time.clone(),
                rounded_up(release.charge.cost),
                rounded_up(release.charge.delta),
                match release.state {
                    ReleaseState::Answered => "stored",
                    ReleaseState::Open => "none yet",
                    ReleaseState::Abandoned => "failed",
                }
                .to_owned(),
            ];
            let query = release.query.split_whitespace().collect::<Vec<_>>().join(" ");
            releases.cells(cells.into_iter().chain(with_askers.then(asker)).chain([query]));
        }
        text.push_str(&releases.render());
    }
    if statement.since > 1 {
        let older = statement.since - 1;
        text.push_str(&format!("\nThe {older} older entries are listed with --all.\n"));
    }
    text
}
