//! Speed, measured in one run against what people use otherwise.
//!
//! `cargo run --release -p bench -- noise [--format json]`
//! `cargo run --release -p bench -- account [--format json]`
//! `cargo run --release -p bench -- query [--rows N] [--python PYTHON] [--format json]`

mod account;
mod noise;
mod query;
mod timing;

use clap::{Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Measures Reticent against what people use otherwise, in one run on one machine.
#[derive(Parser)]
#[command(name = "bench")]
struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Nanoseconds per exact draw, next to the plain f64 samplers of `rand_distr` on the same
    /// generator.
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
    /// Seconds and memory of private answers by group, next to DataFusion without privacy and to
    /// bounding in SQL.
    Query {
        /// How many rows the table has.
        #[arg(long, default_value_t = 10_000_000)]
        rows: usize,
        /// How many people.
        #[arg(long, default_value_t = 100_000)]
        people: u64,
        /// How many groups.
        #[arg(long, default_value_t = 1_000)]
        groups: u64,
        /// Groups are named by text, and people by numbers of 64 bits, instead of small numbers.
        #[arg(long)]
        text: bool,
        /// A Python with the package duckdb, to measure DuckDB as well.
        #[arg(long)]
        python: Option<PathBuf>,
        /// How the figures are printed.
        #[arg(long, value_enum, default_value_t = Format::Table)]
        format: Format,
    },
    /// One measurement of `query`, in this process.
    #[command(hide = true)]
    QueryCase {
        #[arg(long, value_enum)]
        case: query::Case,
        #[arg(long)]
        file: PathBuf,
        #[arg(long)]
        text: bool,
        #[arg(long)]
        runs: usize,
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
        What::Query { rows, people, groups, text, python, format } => print(
            &query::measure(query::Shape { rows, people, groups, text }, python.as_deref())?,
            format,
        ),
        What::QueryCase { case, file, text, runs } => {
            println!("{}", serde_json::to_string(&query::run(case, &file, text, runs)?)?);
            Ok(())
        }
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
