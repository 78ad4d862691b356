//! A case: a query, tables and a change; made smaller as long as it shows the same violation, and
//! printed as a test.

use super::layout::Layout;
use super::outcome::Stored;
use super::query::Query;
use super::violation::{Change, Comparison, Violation};
use super::world::{Row, World};
use crate::Options;
use crate::tests::influence::Seen;
use crate::tests::noiseless::Draw;
use std::fmt::Write;
use std::time::{Duration, Instant};

/// What one comparison is of.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) query: Query,
    pub(super) options: Options,
    pub(super) world: World,
    pub(super) layout: Layout,
    pub(super) change: Change,
    /// The seed of the secret key.
    pub(super) key: u64,
}

/// The violation that a query shows; none if it is refused.
pub(super) async fn violation(
    sql: &str,
    shows_all: bool,
    options: Options,
    tables: (&World, Layout, &Change),
    key: u64,
) -> Result<Option<Violation>, String> {
    let (world, layout, change) = tables;
    let base = Stored::new(world.clone(), layout);
    let prepared = base.prepared(sql, options).await.map_err(|error| error.to_string())?;
    let comparison =
        Comparison { prepared: &prepared, key: Draw::new(key).key(), whole: true, shows_all };
    let one = match comparison.of(&base).await {
        Err(violation) => return Ok(Some(violation)),
        Ok(one) => one,
    };
    let other = change.applied(world, layout);
    Ok(comparison.compared(&base, &one, change, &other, &mut Seen::default()).await.err())
}

impl Case {
    pub(super) async fn violation(&self) -> Option<Violation> {
        let tables = (&self.world, self.layout, &self.change);
        violation(&self.query.sql(), self.query.shows_all(), self.options, tables, self.key)
            .await
            .unwrap_or(None)
    }

    /// A smallest case that shows a violation like this one, as far as a minute leads.
    pub(super) async fn shrunk(mut self, wanted: &Violation) -> Case {
        let end = Instant::now() + Duration::from_secs(60);
        let mut more = true;
        while more && Instant::now() < end {
            more = self.fewer_rows(wanted, end).await;
            more |= self.plainer_layout(wanted, end).await;
            more |= self.smaller_query(wanted, end).await;
            more |= self.simpler_cells(wanted, end).await;
        }
        self
    }

    async fn shows(&self, wanted: &Violation) -> bool {
        self.violation().await.is_some_and(|found| found.is_like(wanted))
    }

    async fn plainer_layout(&mut self, wanted: &Violation, end: Instant) -> bool {
        let mut any = false;
        'again: loop {
            for candidate in self.plainer() {
                if Instant::now() > end {
                    return any;
                }
                if candidate.shows(wanted).await {
                    *self = candidate;
                    any = true;
                    continue 'again;
                }
            }
            return any;
        }
    }

    async fn smaller_query(&mut self, wanted: &Violation, end: Instant) -> bool {
        let mut any = false;
        'again: loop {
            for smaller in self.query.smaller() {
                if Instant::now() > end {
                    return any;
                }
                let larger = std::mem::replace(&mut self.query, smaller);
                if self.shows(wanted).await {
                    any = true;
                    continue 'again;
                }
                self.query = larger;
            }
            return any;
        }
    }

    fn plainer(&self) -> Vec<Case> {
        let mut list = Vec::new();
        if self.options != Options::default() {
            list.push(Case { options: Options::default(), ..self.clone() });
        }
        list.extend(
            self.layout.simpler().into_iter().map(|layout| Case { layout, ..self.clone() }),
        );
        if let Change::Rearranged { seed, layout } = &self.change {
            let of =
                |seed, layout| Case { change: Change::Rearranged { seed, layout }, ..self.clone() };
            if seed.is_some() {
                list.push(of(None, *layout));
            }
            if *layout != self.layout {
                list.push(of(*seed, self.layout));
            }
            let plain = Change::Rearranged { seed: *seed, layout: Layout::PLAIN };
            if *layout != Layout::PLAIN && self.layout != Layout::PLAIN {
                list.push(Case { layout: Layout::PLAIN, change: plain, ..self.clone() });
            }
            list.extend(layout.simpler().into_iter().map(|layout| of(*seed, layout)));
            let both = |case: &Case| match &case.change {
                Change::Rearranged { layout, .. } => case.layout.reads_like(*layout),
                Change::Removed { .. } => true,
            };
            list.retain(both);
        }
        list
    }

    /// Leaves out halves, quarters, ... and single rows.
    async fn fewer_rows(&mut self, wanted: &Violation, end: Instant) -> bool {
        let mut any = false;
        for table in 0..3 {
            let mut size = self.world.tables()[table].len();
            while size > 0 {
                let mut start = 0;
                while start < self.world.tables()[table].len() {
                    if Instant::now() > end {
                        return any;
                    }
                    let mut candidate = self.clone();
                    let rows: &mut Vec<Row> = candidate.world.tables_mut()[table];
                    let stop = (start + size).min(rows.len());
                    rows.drain(start..stop);
                    // The record that is removed keeps its number only if those before it stay.
                    if let Change::Removed { record, .. } = &mut candidate.change
                        && table == 2
                        && *record >= stop
                    {
                        *record -= stop - start;
                    }
                    if candidate.shows(wanted).await {
                        *self = candidate;
                        any = true;
                    } else {
                        start += size;
                    }
                }
                size /= 2;
            }
        }
        any
    }

    async fn simpler_cells(&mut self, wanted: &Violation, end: Instant) -> bool {
        let mut any = false;
        for table in 0..3 {
            for row in 0..self.world.tables()[table].len() {
                for index in 0..self.world.tables()[table][row].len() {
                    let cell = self.world.tables_mut()[table][row][index].clone();
                    for simpler in cell.simpler() {
                        if Instant::now() > end {
                            return any;
                        }
                        let mut candidate = self.clone();
                        candidate.world.tables_mut()[table][row][index] = simpler;
                        if candidate.shows(wanted).await {
                            *self = candidate;
                            any = true;
                            break;
                        }
                    }
                }
            }
        }
        any
    }

    /// The case as a test, to be put into `found.rs`.
    pub(super) fn shown(&self) -> String {
        let mut text = String::from("holds(Found {\n");
        let mut line = |name: &str, value: String| {
            writeln!(text, "    {name}: {value},").expect("written");
        };
        line("sql", format!("r#\"{}\"#", self.query.shown()));
        line("options", format!("({:?}, {:?})", self.options.max_groups, self.options.max_rows));
        line("unit", format!("ColumnType::{:?}", self.world.unit));
        for (name, rows) in [
            ("people", &self.world.people),
            ("visits", &self.world.visits),
            ("records", &self.world.records),
        ] {
            let rows: Vec<String> = rows.iter().map(|row| format!("vec!{row:?}")).collect();
            line(name, format!("vec![{}]", rows.join(", ")));
        }
        line("layout", layout(&self.layout));
        let change = match &self.change {
            Change::Removed { person, record } => {
                format!("Change::Removed {{ person: {person:?}, record: {record} }}")
            }
            Change::Rearranged { seed, layout: other } => {
                format!("Change::Rearranged {{ seed: {seed:?}, layout: {} }}", layout(other))
            }
        };
        line("change", change);
        line("key", self.key.to_string());
        text + "});"
    }
}

fn layout(layout: &Layout) -> String {
    format!("{layout:?}").replace("format: ", "format: Format::")
}
