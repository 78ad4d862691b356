//! `reticent ledger`: whether the record of what was spent is whole, and the anchor to keep elsewhere.

use crate::Format;
use crate::failure::Failure;
use crate::output::Output;
use reticent_ledger::{Anchor, verify};
use reticent_session::Session;
use serde_json::json;
use std::path::PathBuf;

/// The options of `ledger`.
#[derive(clap::Args, Debug)]
pub struct LedgerCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
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

/// Checks, or prints the anchor.
pub fn run(arguments: &LedgerCommand, format: Format, output: &mut Output) -> Result<(), Failure> {
    match &arguments.action {
        Action::Verify { policy, anchor } => {
            let session = Session::load(policy)?;
            let anchor = match anchor {
                None => None,
                Some(text) => Some(
                    text.parse::<Anchor>().map_err(|error| Failure::usage(format!("--anchor is {text}: {error}")))?,
                ),
            };
            let found = verify(session.policy().ledger(), anchor.as_ref())?;
            match format {
                Format::Json => output.json(&found),
                Format::Table => output.text(&format!("The ledger is whole. Newest entry: {}\n", found.anchor)),
            }
        }
        Action::Anchor { policy } => {
            let session = Session::load(policy)?;
            let anchor = session.statement()?.anchor;
            match format {
                Format::Json => output.json(&json!({ "anchor": anchor.to_string() })),
                Format::Table => output.text(&format!("{anchor}\n")),
            }
        }
    }
}
