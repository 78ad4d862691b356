//! The machine: many cases from a seed, each query over several tables.

use super::case::Case;
use super::layout::Layout;
use super::outcome::Stored;
use super::query::Grammar;
use super::violation::{Change, Comparison, Violation};
use super::world::World;
use crate::Options;
use crate::tests::influence::Seen;
use crate::tests::noiseless::{Draw, wait};
use reticent_policy::ColumnType;
use std::collections::BTreeMap;
use std::time::Instant;

/// How many tables there are at a time, and how many queries are asked of them.
const TABLES: usize = 8;
const QUERIES: usize = 24;
/// Over how many of the tables each query runs.
const RUNS: usize = 2;

/// What a run saw.
#[derive(Debug, Default)]
pub(super) struct Report {
    /// Comparisons of a query over tables with what a change makes of them.
    pub(super) cases: usize,
    pub(super) accepted: usize,
    /// Why queries were refused, and how many.
    pub(super) refused: BTreeMap<String, usize>,
    pub(super) seen: Seen,
    /// Rows that were compared.
    pub(super) rows: usize,
    pub(super) found: Vec<(usize, Violation, Case)>,
    /// Queries that were accepted and then could not be planned, whatever the rows: nothing is read
    /// or paid by then.
    pub(super) faults: Vec<String>,
}

/// What to run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run<'a> {
    pub(super) seed: u64,
    pub(super) cases: usize,
    /// Violations after which it ends.
    pub(super) most: usize,
    /// Only queries with this in them are asked.
    pub(super) with: &'a str,
    /// Queries with one of these in them are left out.
    pub(super) without: &'a [String],
    /// Whether what is found is made small and printed at once.
    pub(super) shown: bool,
}

/// Tables, and what the two changes make of them.
struct Tables {
    base: Stored,
    changed: Vec<(Change, Stored)>,
}

impl Tables {
    fn random(unit: ColumnType, draw: &mut Draw) -> Tables {
        let size = World::size(draw);
        let world = World::random(unit, size, draw);
        let layout = Layout::random(size, draw);
        let mut changes = Vec::new();
        if let Some(person) = world.somebody(draw) {
            changes
                .push(Change::Removed { person, record: draw.below(world.records.len().max(1)) });
        }
        let seed = Some(draw.below(1 << 30) as u64);
        changes.push(Change::Rearranged { seed, layout: layout.another(size, draw) });
        let changed = changes
            .into_iter()
            .map(|change| (change.clone(), change.applied(&world, layout)))
            .collect();
        Tables { base: Stored::new(world, layout), changed }
    }
}

/// The kind of refusal: its first words.
fn reason(message: &str) -> String {
    message.split_whitespace().take(7).collect::<Vec<_>>().join(" ")
}

impl Run<'_> {
    pub(super) async fn report(self) -> Report {
        let mut draw = Draw::new(self.seed);
        let mut report = Report::default();
        while report.cases < self.cases {
            if self.shown {
                println!("{} cases, {} queries", report.cases, report.accepted);
            }
            let unit = draw.of(&[ColumnType::Integer, ColumnType::Text]);
            let tables: Vec<Tables> =
                (0..TABLES).map(|_| Tables::random(unit, &mut draw)).collect();
            for _ in 0..QUERIES {
                self.query(&tables, &mut draw, &mut report).await;
                if report.cases >= self.cases || report.found.len() >= self.most {
                    break;
                }
            }
            if report.found.len() >= self.most {
                break;
            }
        }
        report
    }

    /// One query over some of the tables.
    async fn query(&self, tables: &[Tables], draw: &mut Draw, report: &mut Report) {
        let mut query = Grammar::query(draw);
        while !query.sql().contains(self.with) {
            query = Grammar::query(draw);
        }
        let sql = query.sql();
        let mut options = Options::default();
        if !sql.contains("records") && draw.once_in(2) {
            options.max_groups = Some(draw.below(3) as u32 + 1);
            options.max_rows = Some(draw.below(3) as u32 + 1);
        }
        if self.without.iter().any(|word| sql.contains(word)) {
            return;
        }
        let prepared = match tables[0].base.prepared(&sql, options).await {
            Ok(prepared) => prepared,
            Err(error) => {
                *report.refused.entry(reason(&error.to_string())).or_default() += 1;
                return;
            }
        };
        report.accepted += 1;
        for _ in 0..RUNS {
            let Tables { base, changed } = &tables[draw.below(tables.len())];
            let key = draw.below(1 << 30) as u64;
            let whole = draw.once_in(3);
            let comparison = Comparison {
                prepared: &prepared,
                key: Draw::new(key).key(),
                whole,
                shows_all: query.shows_all(),
            };
            let case = |change: &Change| Case {
                query: query.clone(),
                options,
                world: base.world.clone(),
                layout: base.layout,
                change: change.clone(),
                key,
            };
            let found = match comparison.of(base).await {
                Ok(one) => {
                    report.rows += one.rows.len();
                    let mut found = None;
                    for (change, other) in changed {
                        report.cases += 1;
                        if let Err(violation) =
                            comparison.compared(base, &one, change, other, &mut report.seen).await
                        {
                            found = Some((violation, case(change)));
                            break;
                        }
                    }
                    found
                }
                Err(Violation::Fails(text)) if text.starts_with("opening: internal fault") => {
                    if self.shown {
                        println!("a fault: {}", query.shown());
                    }
                    return report.faults.push(sql);
                }
                Err(violation) => Some((violation, case(&changed[0].0))),
            };
            if let Some((violation, case)) = found {
                if self.shown {
                    println!(
                        "\nafter {} cases: {violation:?}\n{}",
                        report.cases,
                        case.query.shown()
                    );
                    let small = case.clone().shrunk(&violation).await;
                    println!("{:?}\n{}", small.violation().await, small.shown());
                }
                report.found.push((report.cases, violation, case));
                return;
            }
        }
    }
}

/// The seed of the cases that are part of the tests.
pub(super) const SEED: u64 = 5;

/// How many cases the tests have time for.
pub(super) const CASES: usize = 1_500;

#[test]
fn neighbours_agree() {
    let report = wait(
        Run { seed: SEED, cases: CASES, most: 1, with: "", without: &[], shown: true }.report(),
    );
    assert!(report.found.is_empty(), "{:?}", report.found[0].1);
    // What is accepted can be planned.
    assert!(report.faults.is_empty(), "{:?}", report.faults);
    // Most queries are offered, rows are there, and totals move, as far as they may: or this shows
    // nothing.
    let refused: usize = report.refused.values().sum();
    assert!(
        report.accepted > refused,
        "{} accepted, refused {:?}",
        report.accepted,
        report.refused
    );
    assert!(report.rows > 20 * report.cases, "{} rows in {} cases", report.rows, report.cases);
    let seen = &report.seen;
    assert!(seen.compared * 8 > report.cases && seen.moved > seen.compared, "{seen:?}");
    assert!(
        seen.to_the_limit * 10 > seen.compared && seen.in_all_groups * 50 > seen.compared,
        "{seen:?}"
    );
}

/// `RETICENT_NEIGHBOURS=1000000`: that many cases; `RETICENT_NEIGHBOURS_SEED`, `_MOST` violations,
/// `_WITH=ILIKE`, `_WITHOUT=SUM(;AVG(`.
#[test]
fn neighbours_at_length() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let Some(cases) = number("RETICENT_NEIGHBOURS") else { return };
    let with = std::env::var("RETICENT_NEIGHBOURS_WITH").unwrap_or_default();
    let without = std::env::var("RETICENT_NEIGHBOURS_WITHOUT").unwrap_or_default();
    let without: Vec<String> =
        without.split(';').filter(|word| !word.is_empty()).map(str::to_owned).collect();
    let run = Run {
        seed: number("RETICENT_NEIGHBOURS_SEED").unwrap_or(1),
        cases: cases as usize,
        most: number("RETICENT_NEIGHBOURS_MOST").unwrap_or(5) as usize,
        with: &with,
        without: &without,
        shown: true,
    };
    let start = Instant::now();
    let report = wait(run.report());
    println!(
        "{} cases in {:?}, {} queries accepted, {} rows, {:?}",
        report.cases,
        start.elapsed(),
        report.accepted,
        report.rows,
        report.seen
    );
    let mut reasons: Vec<_> = report.refused.iter().collect();
    reasons.sort_by_key(|(_, times)| std::cmp::Reverse(**times));
    println!(
        "refused {}: {:#?}",
        reasons.iter().map(|(_, times)| **times).sum::<usize>(),
        &reasons[..reasons.len().min(40)]
    );
    assert!(report.found.is_empty(), "{} violations in {} cases", report.found.len(), report.cases);
}
