//! `reticent ledger`: makes the record of what was spent, says whether it is whole, and prints the
//! anchor to keep elsewhere.

use super::query::block_on;
use crate::Format;
use crate::failure::Failure;
use crate::output::Output;
use reticent::ledger::Anchor;
use reticent::{NewLedger, Session};
use reticent_numerics::digits::rounded_down;
use serde_json::json;
use std::io::{self, Write};
use std::path::PathBuf;

/// The options of `ledger`.
#[derive(clap::Args, Debug)]
pub struct LedgerCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Make the ledger of a policy; nothing counts as spent in it. There must be none, and none may
    /// be noted for the same data
    Create {
        /// The policy whose ledger it is
        #[arg(long, value_name = "FILE", default_value = "policy.toml")]
        policy: PathBuf,
        /// Make it although another ledger protects some of the same data: what is spent under both
        /// adds up
        #[arg(long)]
        another_budget: bool,
    },
    /// Have the ledger protect the policy's private tables from now on: after a table was added, or
    /// data was moved. What is spent stays spent
    Adopt {
        /// The policy whose ledger it is
        #[arg(long, value_name = "FILE", default_value = "policy.toml")]
        policy: PathBuf,
        /// Do so although another ledger protects some of the same data: what is spent under both
        /// adds up
        #[arg(long)]
        another_budget: bool,
    },
    /// Check every byte of the ledger, and that it goes on from an anchor that was kept elsewhere
    Verify {
        /// The policy whose ledger it is
        #[arg(long, value_name = "FILE", default_value = "policy.toml")]
        policy: PathBuf,
        /// What `ledger anchor` printed earlier: a restored old file is noticed
        #[arg(long, value_name = "ANCHOR")]
        anchor: Option<String>,
    },
    /// Print the newest entry's number and hash, to be kept elsewhere
    Anchor {
        /// The policy whose ledger it is
        #[arg(long, value_name = "FILE", default_value = "policy.toml")]
        policy: PathBuf,
    },
}

/// What could not be noted beside the data, on standard error.
pub fn say_unnoted(ledger: &NewLedger) {
    for unnoted in &ledger.unnoted {
        // Without standard error there is nobody to tell.
        let _ = writeln!(
            io::stderr(),
            "no note of the ledger could be left in {} ({}): another ledger for the data there \
             will not be noticed",
            unnoted.folder.display(),
            unnoted.reason
        );
    }
}

/// Makes, binds, checks, or prints the anchor.
pub fn run(arguments: &LedgerCommand, format: Format, output: &mut Output) -> Result<(), Failure> {
    match &arguments.action {
        Action::Create { policy, another_budget } => {
            let session = block_on(Session::open(policy))?;
            let made = session.create_ledger(*another_budget)?;
            say_unnoted(&made);
            let budget = session.policy().budget();
            match format {
                Format::Json => output.json(&made),
                Format::Table => output.text(&format!(
                    "A new ledger was created: {}\nNothing counts as spent: all of epsilon {} and \
                     delta {} is left.\nIt protects {}.\n",
                    made.path.display(),
                    rounded_down(budget.epsilon()),
                    rounded_down(budget.delta()),
                    made.protects
                )),
            }
        }
        Action::Adopt { policy, another_budget } => {
            let adopted = block_on(Session::open(policy))?.adopt(*another_budget)?;
            say_unnoted(&adopted);
            match format {
                Format::Json => output.json(&adopted),
                Format::Table => output.text(&format!(
                    "The ledger {} protects {}. What was spent stays spent, and answers stay \
                     stored.\n",
                    adopted.path.display(),
                    adopted.protects
                )),
            }
        }
        Action::Verify { policy, anchor } => {
            let session = block_on(Session::open(policy))?;
            let anchor = match anchor {
                None => None,
                Some(text) => Some(
                    text.parse::<Anchor>()
                        .map_err(|error| Failure::usage(format!("--anchor is {text}: {error}")))?,
                ),
            };
            let found = session.verify(anchor.as_ref())?;
            match format {
                Format::Json => output.json(&found),
                Format::Table => output.text(&format!(
                    "The ledger is whole. Newest entry: {}\nIt protects {}.\n",
                    found.anchor, found.protects
                )),
            }
        }
        Action::Anchor { policy } => {
            let session = block_on(Session::open(policy))?;
            let anchor = session.anchor()?;
            match format {
                Format::Json => output.json(&json!({ "anchor": anchor.to_string() })),
                Format::Table => output.text(&format!("{anchor}\n")),
            }
        }
    }
}
