//! `reticent workload`: many counting queries in one release.

use super::query::{block_on, tell};
use crate::AnswerFormat;
use crate::commands::explain::made_by;
use crate::failure::Failure;
use crate::options::number;
use crate::output::Output;
use crate::scan_progress::ScanProgress;
use crate::table::Table;
use crate::workload_table::{csv, people};
use reticent::query::{Options, WorkloadQuestion};
use reticent::workloads::{Finish, Method};
use reticent::{LedgerAnswer, Session, WorkloadExplanation};
use reticent_numerics::digits::{rounded, rounded_down, rounded_up};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The options of `workload`.
#[derive(clap::Args, Debug)]
pub struct WorkloadCommand {
    /// The policy: what is private, what is public knowledge, and how much may be spent
    #[arg(long, value_name = "FILE", default_value = "policy.toml")]
    policy: PathBuf,
    /// The table; may be left out if the policy has one private table
    #[arg(long, value_name = "NAME")]
    table: Option<String>,
    /// All tables of exactly K attributes
    #[arg(long, value_name = "K")]
    marginals: Vec<u32>,
    /// All tables of at most K attributes, the total among them
    #[arg(long, value_name = "K")]
    up_to: Option<u32>,
    /// A statement, such as `marginal age, sex weight 2`, `prefixes of age`, `ranges of age`,
    /// `count where age >= 30 AND sex = 'f'`, `sum of income where sex = 'f'`, or `total`
    #[arg(long = "ask", value_name = "STATEMENT")]
    asked: Vec<String>,
    /// A file of such statements, one a line; `-` reads standard input
    #[arg(long, value_name = "FILE")]
    workload: Option<PathBuf>,
    /// The attributes, separated by commas: columns with public values, or expressions of such with
    /// a name, as in `FLOOR(age / 10) AS decade`; otherwise all such columns that are needed
    #[arg(long, value_name = "A,B,...")]
    over: Option<String>,
    /// Which rows count, as after WHERE in SQL
    #[arg(long = "where", value_name = "CONDITION")]
    filter: Option<String>,
    /// The privacy loss that it may cost; otherwise what the policy says of a query
    #[arg(long, value_name = "E", value_parser = number, allow_hyphen_values = true)]
    epsilon: Option<f64>,
    /// The delta that it may cost; 0 for pure differential privacy
    #[arg(long, value_name = "D", value_parser = number, allow_hyphen_values = true)]
    delta: Option<f64>,
    /// What it may cost in zero-concentrated differential privacy, in place of --epsilon
    #[arg(
        long,
        value_name = "R",
        value_parser = number,
        allow_hyphen_values = true,
        conflicts_with = "epsilon"
    )]
    rho: Option<f64>,
    /// The most joint values of the attributes with which one privacy unit counts
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..))]
    max_groups: Option<u32>,
    /// The most rows of one privacy unit that count with one of them
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u32).range(1..))]
    max_rows: Option<u32>,
    /// How it is measured: auto, gaussian, laplace, or mwem:ROUNDS
    #[arg(long, value_name = "METHOD", default_value = "auto", value_parser = method)]
    method: Method,
    /// Non-negative integers: `cells` one by one, which keeps the half-widths, or `totals` table by
    /// table, so that all tables have the same total
    #[arg(long, value_name = "HOW", value_parser = finish)]
    integers: Option<Finish>,
    /// Show what would be measured, the error to expect and the price; nothing is read or spent
    #[arg(long)]
    plan: bool,
    /// Pay for a new answer although this workload was answered before
    #[arg(long)]
    fresh: bool,
    /// Who asks: recorded in the ledger, and shown by `reticent budget`
    #[arg(long, value_name = "NAME")]
    asker: Option<String>,
}

fn method(text: &str) -> Result<Method, String> {
    let accepted = "accepted are auto, gaussian, laplace, and mwem:ROUNDS, as in mwem:20";
    match text.split_once(':') {
        None => match text {
            "auto" => Ok(Method::Auto),
            "gaussian" => Ok(Method::Gaussian),
            "laplace" => Ok(Method::Laplace),
            _ => Err(accepted.to_owned()),
        },
        Some(("mwem", rounds)) => {
            rounds.parse().map(|rounds| Method::Mwem { rounds }).map_err(|_| accepted.to_owned())
        }
        Some(_) => Err(accepted.to_owned()),
    }
}

fn finish(text: &str) -> Result<Finish, String> {
    match text {
        "cells" => Ok(Finish::Cells),
        "totals" => Ok(Finish::Totals),
        _ => Err("accepted are cells and totals".to_owned()),
    }
}

/// The parts of a list that is separated by commas outside parentheses and quotation marks.
fn parts(list: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let (mut depth, mut quote) = (0usize, None);
    for character in list.chars() {
        match (quote, character) {
            (None, ',') if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            (None, '(') => depth += 1,
            (None, ')') => depth = depth.saturating_sub(1),
            (None, '\'' | '"') => quote = Some(character),
            (Some(open), _) if open == character => quote = None,
            (None | Some(_), _) => {}
        }
        if let Some(part) = parts.last_mut() {
            part.push(character);
        }
    }
    parts.iter().map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

impl WorkloadCommand {
    fn statements(&self) -> Result<String, Failure> {
        let mut statements: Vec<String> =
            self.marginals.iter().map(|order| format!("all {order}-way")).collect();
        statements.extend(self.up_to.map(|order| format!("all up to {order}-way")));
        statements.extend(self.asked.iter().cloned());
        if let Some(path) = &self.workload {
            let read = if path.as_os_str() == "-" {
                io::read_to_string(io::stdin().lock())
            } else {
                std::fs::read_to_string(path)
            };
            let doing = format!("reading the workload {}", path.display());
            statements.push(read.map_err(|error| Failure::while_doing(&doing, &error))?);
        }
        if statements.is_empty() {
            return Err(Failure::usage(
                "nothing is asked for: --marginals 2 asks for all tables of two attributes, --ask \
                 for a statement, --workload for a file of them",
            ));
        }
        Ok(statements.join("\n"))
    }

    fn table(&self, session: &Session) -> Result<String, Failure> {
        if let Some(table) = &self.table {
            return Ok(table.clone());
        }
        let mut private = session.policy().tables().iter().filter(|table| !table.is_public());
        match (private.next(), private.next()) {
            (Some(only), None) => Ok(only.name().to_owned()),
            _ => Err(Failure::usage(
                "--table is needed to say which table of the policy the workload is over",
            )),
        }
    }

    fn question(&self, session: &Session) -> Result<WorkloadQuestion, Failure> {
        Ok(WorkloadQuestion {
            table: self.table(session)?,
            over: self.over.as_deref().map(parts).unwrap_or_default(),
            filter: self.filter.clone(),
            statements: self.statements()?,
            options: Options {
                epsilon: self.epsilon,
                delta: self.delta,
                max_groups: self.max_groups,
                max_rows: self.max_rows,
                ..Options::default()
            },
            rho: self.rho,
            method: self.method,
            finish: self.integers,
        })
    }
}

/// Plans, or answers, and prints.
pub fn run(
    arguments: &WorkloadCommand,
    format: AnswerFormat,
    output: &mut Output,
) -> Result<(), Failure> {
    if format == AnswerFormat::Parquet || (arguments.plan && format == AnswerFormat::Csv) {
        return Err(Failure::usage(
            "a workload is printed as table, json or csv, and its plan as table or json",
        ));
    }
    // The words of a panic could be made of a row; that the query failed is said below.
    std::panic::set_hook(Box::new(|_| ()));
    let session = block_on(Session::open(&arguments.policy))?;
    let question = arguments.question(&session)?;
    if arguments.plan {
        let plan = block_on(session.workload(question).explain())?;
        return match format {
            AnswerFormat::Json => output.json(&plan),
            AnswerFormat::Table | AnswerFormat::Csv | AnswerFormat::Parquet => {
                output.text(&plan_table(&plan, &arguments.policy))
            }
        };
    }
    let scan = ScanProgress::new();
    let told = scan.clone();
    let mut ask = session.workload(question).progress(move |progress| tell(progress, &told));
    if arguments.fresh {
        ask = ask.fresh();
    }
    if let Some(asker) = &arguments.asker {
        ask = ask.asker(asker);
    }
    let answer = block_on(async { ask.await });
    scan.done();
    let answer = answer?;
    if answer.stored && format != AnswerFormat::Table {
        // Without standard error the answer still speaks.
        let _ = writeln!(
            io::stderr(),
            "answered before (entry {} of the ledger): nothing was spent",
            answer.record.entry
        );
    }
    match format {
        AnswerFormat::Json => output.write(|stream| {
            stream.write_all(&answer.bytes)?;
            stream.write_all(b"\n")
        }),
        AnswerFormat::Csv => output.text(&csv(&answer.record)?),
        AnswerFormat::Table | AnswerFormat::Parquet => output.text(&people(&answer)),
    }
}

fn plan_table(plan: &WorkloadExplanation, policy: &Path) -> String {
    let mut facts = Table::of_pairs();
    let delta = plan.cost.delta;
    let notion =
        if delta > 0.0 { format!(", delta {}", rounded_up(delta)) } else { " (pure)".to_owned() };
    let rho = plan.rho.map_or_else(String::new, |rho| format!("rho {}: ", rounded_up(rho)));
    facts.row(["cost", &format!("{rho}epsilon {}{notion}", rounded_up(plan.cost.epsilon))]);
    facts.row([
        "budget",
        &match &plan.ledger {
            LedgerAnswer::None { made_by_first_query } => {
                let advice = made_by(*made_by_first_query, policy);
                format!("there is no ledger yet, and nothing counts as spent; {advice}")
            }
            LedgerAnswer::Stored => {
                "the workload was answered before: asking again costs nothing".to_owned()
            }
            LedgerAnswer::Fits { remaining } => {
                let (cost, delta) = (rounded_down(remaining.cost), rounded_down(remaining.delta));
                format!("{} {cost}, delta {delta} would be left", plan.unit)
            }
            LedgerAnswer::Refused { reason } => format!("would be refused: {reason}"),
        },
    ]);
    facts.row(["answers", &plan.answers.to_string()]);
    facts.row(["strategy", &plan.strategy]);
    facts.row(["why", &plan.reason]);
    facts.row(["expected error", &plan.expected_error.map_or_else(
        || "none is stated".to_owned(),
        |error| {
            let rmse = format!("{} (root mean square)", rounded_up(error.rmse));
            match (error.limit, error.ratio) {
                (Some(limit), Some(ratio)) => format!(
                    "{rmse}; no Gaussian strategy of this cost is below {}, so it is at most {} \
                     times the least",
                    rounded_down(limit),
                    rounded_up(ratio)
                ),
                _ => format!("{rmse}; no limit is known for this noise"),
            }
        },
    )]);
    facts.row([
        "one unit",
        &if plan.has_unit {
            format!(
                "counts with at most {} joint values of the attributes, and at most {} of its rows \
                 with each",
                plan.max_groups, plan.max_rows
            )
        } else {
            "is one row".to_owned()
        },
    ]);
    facts.row(["rows", &plan.rows]);
    let mut text = facts.render();
    text.push('\n');
    let mut attributes = Table::with_heading(&["attribute", "values"]);
    for attribute in &plan.attributes {
        attributes.row([attribute.name.clone(), attribute.values.len().to_string()]);
    }
    text.push_str(&attributes.render());
    text.push('\n');
    let mut measured = Table::with_heading(&["measured", "numbers", "scale of the noise"]);
    for part in plan.measured.iter().take(MOST_LINES) {
        measured.row([part.what.clone(), part.numbers.to_string(), rounded(part.scale)]);
    }
    text.push_str(&measured.render());
    text.push_str(&more(plan.measured.len()));
    if !plan.half_widths.is_empty() {
        text.push('\n');
        let mut widths = Table::with_heading(&["table", "± (95%) of a cell"]);
        for (attributes, width) in plan.half_widths.iter().take(MOST_LINES) {
            let width = width.map_or_else(|| "-".to_owned(), rounded_up);
            let name = if attributes.is_empty() { "total".into() } else { attributes.join(", ") };
            widths.row([name, width]);
        }
        text.push_str(&widths.render());
        text.push_str(&more(plan.half_widths.len()));
    }
    text.push_str("\nNothing was read from private tables, and nothing was spent.\n");
    text
}

/// The most lines of one list.
const MOST_LINES: usize = 60;

fn more(lines: usize) -> String {
    match lines.checked_sub(MOST_LINES) {
        Some(more) if more > 0 => format!("... and {more} more: --format json has all of them\n"),
        Some(_) | None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_separated_outside_parentheses_and_quotation_marks() {
        assert_eq!(
            parts("age, COALESCE(a, b) AS c ,\"d,e\", "),
            ["age", "COALESCE(a, b) AS c", "\"d,e\""]
        );
    }

    #[test]
    fn methods_have_names() {
        assert_eq!(method("mwem:20"), Ok(Method::Mwem { rounds: 20 }));
        assert!(method("mwem").is_err() && method("mwem:x").is_err() && method("a:1").is_err());
    }
}
