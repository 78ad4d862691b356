//! `reticent budget`: what is spent, what is left, and what each query cost.

use crate::Format;
use crate::failure::Failure;
use crate::numbers::{rounded_down, rounded_up};
use crate::output::Output;
use crate::table::Table;
use reticent_accounting::Budget as Currency;
use reticent_ledger::{Amounts, Limits, ReleaseState, Statement};
use reticent_session::{Session, limits, protected};
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
}

/// The budget before anything was asked: no ledger exists yet.
#[derive(Debug, Serialize)]
struct Untouched {
    ledger: Option<()>,
    limits: Limits,
    spent: Amounts,
    remaining: Amounts,
    releases: [(); 0],
}

/// Reports.
pub fn run(arguments: &Budget, format: Format, output: &mut Output) -> Result<(), Failure> {
    let session = Session::load(&arguments.policy)?;
    if arguments.amend {
        session.amend()?;
    }
    let limits = limits(session.policy().budget())?;
    let Some(statement) = session.statement()? else { return untouched(&session, limits, format, output) };
    match format {
        Format::Json => output.json(&statement),
        Format::Table => {
            let mut text = table(&statement);
            if statement.limits != limits {
                text.push_str(&format!(
                    "\nThe policy now says {limits}, and the ledger still allows {}: no query is answered until they agree.\n\
                     If the owner of the data decides so, `reticent budget --amend` records the policy's budget as the new one.\n",
                    statement.limits
                ));
            }
            let differences = statement.protects.differences(&protected(session.policy())?);
            if !differences.is_empty() {
                text.push_str(&format!(
                    "\nThe ledger is not for the policy's private tables: {}. No query is answered until they agree.\n\
                     If the owner of the data decides so, {} lets it protect them from now on.\n",
                    differences.join("; "),
                    session.command("ledger adopt")
                ));
            }
            output.text(&text)
        }
    }
}

fn untouched(session: &Session, limits: Limits, format: Format, output: &mut Output) -> Result<(), Failure> {
    let budget = session.policy().budget();
    match format {
        Format::Json => output.json(&Untouched {
            ledger: None,
            limits,
            spent: Amounts { cost: 0.0, delta: 0.0 },
            remaining: whole(&limits),
            releases: [],
        }),
        Format::Table => output.text(&format!(
            "There is no ledger yet at {}, and nothing counts as spent: all of epsilon {} and delta {} is left. {}.\n\
             If there was one, put it back: without it nobody knows what is spent.\n",
            session.policy().ledger().display(),
            rounded_down(budget.epsilon()),
            rounded_down(budget.delta()),
            if budget.create_ledger() {
                "The first query makes it".to_owned()
            } else {
                format!("{} makes it", session.command("ledger create"))
            }
        )),
    }
}

/// All that may be spent.
fn whole(limits: &Limits) -> Amounts {
    let cost = match limits.budget() {
        Currency::Pure { epsilon } => epsilon,
        Currency::ZeroConcentrated { rho } => rho,
        // Limits in another currency cannot be constructed; of such a budget nothing could be spent.
        _ => 0.0,
    };
    Amounts { cost, delta: limits.selection_delta() }
}

fn table(statement: &Statement) -> String {
    let unit = statement.limits.unit();
    let mut sums = Table::with_heading(&["", unit, "delta"]);
    let whole = whole(&statement.limits);
    sums.row(["budget".to_owned(), rounded_down(whole.cost), rounded_down(whole.delta)]);
    sums.row(["spent".to_owned(), rounded_up(statement.spent.cost), rounded_up(statement.spent.delta)]);
    sums.row(["left".to_owned(), rounded_down(statement.remaining.cost), rounded_down(statement.remaining.delta)]);
    let mut text = sums.render();
    if let Some(converted) = &statement.converted {
        text.push_str(&format!(
            "\nAs epsilon at delta {}: {} of {} is spent. The delta in the table is for the selection of groups.\n",
            rounded_up(converted.delta),
            rounded_up(converted.spent),
            rounded_up(converted.budget)
        ));
    }
    if !statement.releases.is_empty() {
        text.push('\n');
        let mut releases = Table::with_heading(&["entry", "time (UTC)", unit, "delta", "answer", "query"]);
        for release in &statement.releases {
            releases.row([
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
                release.query.split_whitespace().collect::<Vec<_>>().join(" "),
            ]);
        }
        text.push_str(&releases.render());
    }
    text
}
