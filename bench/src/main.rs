//! Speed, measured in one run against what people use otherwise.
//!
//! `cargo run --release -p bench -- noise [--format json]`
//! `cargo run --release -p bench -- account [--format json]`

mod account;
mod noise;
mod timing;

use clap::{Parser, Subcommand, ValueEnum};

/// Measures Reticent against what people use otherwise, in one run on one machine.
#[derive(Parser)]
#[command(name = "bench")]
struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Nanoseconds per exact draw, next to the plain f64 samplers of `rand_distr` on the same generator.
    Noise {
        /// How the figures are printed.
        #[arg(long, value_enum, default_value_t = Format::Table)]
        format: Format,
    },
    /// Milliseconds per question to the default accountant, and the width of its brackets.
    Account {
        /// How the figures are printed.
        #[arg(long, value_enum, default_value_t = Format::Table)]
        format: Format,
    },
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// Aligned columns.
    Table,
    /// One JSON object.
    Json,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    match Arguments::parse().what {
        What::Noise { format } => print(&noise::measure()?, format),
        What::Account { format } => print(&account::measure()?, format),
    }
}

fn print(
    report: &(impl std::fmt::Display + serde::Serialize),
    format: Format,
) -> Result<(), Box<dyn std::error::Error>> {
    match format {
        Format::Table => print!("{report}"),
        Format::Json => println!("{}", serde_json::to_string_pretty(report)?),
    }
    Ok(())
}
