//! What may not differ between tables and tables with one unit less, or with the same rows
//! elsewhere.

use super::cell::Cell;
use super::layout::Layout;
use super::outcome::{Contribution, Outcome, Stored, outcome};
use super::world::World;
use crate::Prepared;
use crate::tests::influence::{Seen, check};
use reticent_engine::SecretKey;

/// What is done to tables.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Change {
    /// All rows of a person, and the record of this number, are taken away.
    Removed { person: Cell, record: usize },
    /// The rows are shuffled, unless they are not, and lie in other files.
    Rearranged { seed: Option<u64>, layout: Layout },
}

impl Change {
    /// The tables after it.
    pub(super) fn applied(&self, world: &World, layout: Layout) -> Stored {
        match self {
            Change::Removed { person, record } => Stored::without(world, person, *record, layout),
            Change::Rearranged { seed, layout } => Stored::new(
                seed.map_or_else(|| world.clone(), |seed| world.shuffled(seed)),
                *layout,
            ),
        }
    }
}

/// What was found to differ.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Violation {
    /// A query that was accepted failed, or there was a panic.
    Fails(String),
    /// Rows of others changed.
    Rows(String),
    /// One unit moved a total by more than the plan claims, or the order of rows moved one.
    Totals(String),
    /// The answer has other columns, or other rows though all its groups are public.
    Shape(String),
}

impl Violation {
    /// Whether two are of one kind, so that a smaller case shows the same.
    pub(super) fn is_like(&self, other: &Violation) -> bool {
        match (self, other) {
            // Messages may quote a value.
            (Violation::Fails(one), Violation::Fails(other)) => one
                .chars()
                .filter(|c| !c.is_ascii_digit())
                .take(60)
                .eq(other.chars().filter(|c| !c.is_ascii_digit()).take(60)),
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

/// A query over tables, and over what a change makes of them.
pub(super) struct Comparison<'a> {
    pub(super) prepared: &'a Prepared,
    pub(super) key: SecretKey,
    /// Whether totals and answers are compared too.
    pub(super) whole: bool,
    /// Whether an answer has a row for each public group.
    pub(super) shows_all: bool,
}

impl Comparison<'_> {
    pub(super) async fn of(&self, stored: &Stored) -> Result<Outcome, Violation> {
        outcome(self.prepared, stored, self.key, self.whole).await.map_err(Violation::Fails)
    }

    /// Compares what came of tables with what comes of them after a change.
    pub(super) async fn compared(
        &self,
        base: &Stored,
        one: &Outcome,
        change: &Change,
        other: &Stored,
        seen: &mut Seen,
    ) -> Result<(), Violation> {
        let after = self.of(other).await?;
        let has_unit = self.prepared.aggregation.has_unit;
        match change {
            Change::Removed { person, .. } if has_unit => {
                let gone = base.layout.unit_of(person, base.world.unit);
                if after.rows.iter().any(|(unit, _)| unit.is_some() && *unit == gone) {
                    return Err(Violation::Rows(format!("there are rows of {gone:?} without it")));
                }
                let others = |rows: &[Contribution]| -> Vec<Contribution> {
                    rows.iter()
                        .filter(|(unit, _)| unit.is_some() && *unit != gone)
                        .cloned()
                        .collect()
                };
                same(&others(&one.rows), &others(&after.rows))?;
            }
            Change::Removed { .. } => {
                let (_, more) = apart(&one.rows, &after.rows);
                if let Some(row) = more.first() {
                    return Err(Violation::Rows(format!("without a row there is {row:?}")));
                }
                if one.rows.len() > after.rows.len() + 1 {
                    let times = one.rows.len() - after.rows.len();
                    return Err(Violation::Rows(format!("one row counts {times} times")));
                }
            }
            Change::Rearranged { .. } => {
                let known = |rows: &[Contribution]| -> Vec<Contribution> {
                    rows.iter().filter(|(unit, _)| unit.is_some() || !has_unit).cloned().collect()
                };
                same(&known(&one.rows), &known(&after.rows))?;
            }
        }
        if let (Some(one), Some(other)) = (&one.totals, &after.totals) {
            match change {
                Change::Removed { .. } => {
                    check(self.prepared, one, other, seen).map_err(Violation::Totals)?
                }
                Change::Rearranged { .. } if one != other => {
                    return Err(Violation::Totals("the order of rows moves totals".to_owned()));
                }
                Change::Rearranged { .. } => {}
            }
        }
        if let (Some((columns, rows)), Some((other_columns, other_rows))) =
            (&one.answer, &after.answer)
        {
            let public = self.prepared.aggregation.public_groups().is_some() && self.shows_all;
            if columns != other_columns || public && rows != other_rows {
                let text =
                    format!("{columns:?}, {rows} rows; {other_columns:?}, {other_rows} rows");
                return Err(Violation::Shape(text));
            }
        }
        Ok(())
    }
}

fn same(one: &[Contribution], other: &[Contribution]) -> Result<(), Violation> {
    if one == other {
        return Ok(());
    }
    let (less, more) = apart(one, other);
    Err(Violation::Rows(format!(
        "{:?} becomes {:?}, of {} rows",
        less.first(),
        more.first(),
        one.len()
    )))
}

/// What the one list has and the other lacks, and the other way round. Both are in ascending order.
fn apart<'a>(
    one: &'a [Contribution],
    other: &'a [Contribution],
) -> (Vec<&'a Contribution>, Vec<&'a Contribution>) {
    let (mut less, mut more) = (Vec::new(), Vec::new());
    let (mut a, mut b) = (one.iter().peekable(), other.iter().peekable());
    loop {
        match (a.peek(), b.peek()) {
            (None, None) => return (less, more),
            (Some(x), Some(y)) if x == y => {
                a.next();
                b.next();
            }
            (Some(x), Some(y)) if x > y => more.extend(b.next()),
            (None, Some(_)) => more.extend(b.next()),
            (Some(_), _) => less.extend(a.next()),
        }
    }
}
