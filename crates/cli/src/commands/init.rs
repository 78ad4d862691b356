//! `reticent init`: a draft of a policy, from the names and types of columns alone.

use crate::failure::Failure;
use crate::output::Output;
use std::io::{self, Write};
use std::path::PathBuf;

/// The options of `init`.
#[derive(clap::Args, Debug)]
pub struct Init {
    /// A CSV, Parquet or Arrow file, or a folder of them. Names of columns (and types, where the
    /// format states them) are read; no row is
    #[arg(value_name = "DATA")]
    data: PathBuf,
    /// Write the draft here; the file must not exist. Without it the draft goes to standard output
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Drafts and writes.
pub fn run(arguments: &Init, output: &mut Output) -> Result<(), Failure> {
    let draft = reticent::query::draft(&arguments.data)?;
    let Some(path) = &arguments.output else { return output.text(&draft) };
    let write = || {
        let mut file = std::fs::File::create_new(path)?;
        file.write_all(draft.as_bytes())?;
        file.sync_all()
    };
    write().map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            Failure::usage(format!("{} exists already: choose another name", path.display()))
        }
        _ => Failure::while_doing(&format!("writing {}", path.display()), &error),
    })?;
    let path = path.display();
    let _ = writeln!(
        io::stderr(),
        "{path}: fill in what is marked, from public knowledge only; then make its ledger with \
         `reticent ledger create --policy {path}`"
    );
    Ok(())
}
