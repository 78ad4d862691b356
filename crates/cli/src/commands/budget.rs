//! `reticent budget`: what is spent, what is left, and what each query cost.

use crate::Format;
use crate::failure::Failure;
use crate::numbers::rounded;
use crate::output::Output;
use crate::table::Table;
use reticent_ledger::{LedgerError, ReleaseState, Statement};
use reticent_session::{Session, SessionError};
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

/// Reports.
pub fn run(arguments: &Budget, format: Format, output: &mut Output) -> Result<(), Failure> {
    let session = Session::load(&arguments.policy)?;
    if arguments.amend {
        session.amend()?;
    }
    let statement = match session.statement() {
        Err(SessionError::Ledger(LedgerError::Missing { .. })) => {
            let budget = session.policy().budget();
            return match format {
                Format::Json => output.json(&serde_json::json!({
                    "budget": {"epsilon": budget.epsilon(), "delta": budget.delta()}, "releases": [],
                })),
                Format::Table => output.text(&format!(
                    "Nothing has been asked yet: all of epsilon {} and delta {} is left.\n",
                    rounded(budget.epsilon()),
                    rounded(budget.delta())
                )),
            };
        }
        other => other?,
    };
    match format {
        Format::Json => output.json(&statement),
        Format::Table => output.text(&table(&statement)),
    }
}

fn table(statement: &Statement) -> String {
    let unit = statement.limits.unit();
    let mut text = String::new();
    let mut sums = Table::with_heading(&["", unit, "delta for exceptions"]);
    let amounts = |name: &str, cost: f64, delta: f64| [name.to_owned(), rounded(cost), rounded(delta)];
    sums.row(amounts("spent", statement.spent.cost, statement.spent.delta));
    sums.row(amounts("left", statement.remaining.cost, statement.remaining.delta));
    text.push_str(&sums.render());
    if let Some(converted) = &statement.converted {
        text.push_str(&format!(
            "As epsilon at delta {}: {} of {} is spent.\n",
            rounded(converted.delta),
            rounded(converted.spent),
            rounded(converted.budget)
        ));
    }
    if !statement.releases.is_empty() {
        text.push('\n');
        let mut releases = Table::with_heading(&["entry", "time (UTC)", unit, "delta", "answer", "query"]);
        for release in &statement.releases {
            releases.row([
                release.number.to_string(),
                release.time.clone(),
                rounded(release.charge.cost),
                rounded(release.charge.delta),
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
