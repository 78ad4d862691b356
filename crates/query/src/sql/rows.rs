//! The part of a query below its aggregates: rows that each belong to one privacy unit.
//!
//! Every operator offered here has the property that removing all rows of one unit from the tables
//! removes rows of that unit from its output and changes no other row. Then bounding what one unit
//! contributes to the aggregates bounds the influence of that unit, whatever the operators did to
//! its rows. Operators without the property (LIMIT, window functions, aggregates that mix units,
//! joins of different units) are refused by name.
//!
//! If each row is a unit, an operator must moreover make at most one row of each row: then joins
//! need a public table whose join columns identify a row.
//!
//! Why the property holds for each operator, and which settings of the engine it needs, is in
//! docs/proofs/units_apart.md.

use super::facts::{Domain, Facts};
use super::range::{Range, range_of};
use crate::error::QueryError;
use datafusion::common::{Column, DFSchema, NullEquality};
use datafusion::logical_expr::expr::Alias;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{Expr, Join, JoinType, LogicalPlan, Operator, Projection};
use std::sync::Arc;

/// Whose a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Each row is a unit.
    EachRow,
    /// That of the value in the column with this index.
    Column(usize),
}

/// How much of one unit counts, unless the query says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    pub(crate) max_groups: u32,
    pub(crate) max_rows: u32,
}

/// The most rows that a join with public tables may make of one row, all joins of a query together.
///
/// Time and memory tell of rows (GUARANTEES.md, section 10): what one row can add to them is
/// multiplied by this. A thousand leaves room for a calendar of three years, and one row then costs
/// less than a millisecond.
const MOST_COPIES: u64 = 1_000;

/// The most private tables whose rows a join multiplies with each other.
const MOST_MULTIPLIED: u32 = 4;

/// How many rows a unit can have here, from public facts alone: with at most `n` rows in each of
/// its tables, at most `copies * n^degree`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Growth {
    pub(crate) copies: u64,
    pub(crate) degree: u32,
}

impl Growth {
    /// The rows of a table.
    pub(crate) const TABLE: Growth = Growth { copies: 1, degree: 1 };
    /// One row a unit.
    pub(crate) const UNIT: Growth = Growth { copies: 1, degree: 0 };

    fn times(self, other: Growth) -> Result<Growth, QueryError> {
        let (copies, degree) =
            (self.copies.saturating_mul(other.copies), self.degree + other.degree);
        Growth { copies, degree }.bounded()
    }

    /// Of rows of both.
    pub(crate) fn plus(self, other: Growth) -> Result<Growth, QueryError> {
        let (copies, degree) =
            (self.copies.saturating_add(other.copies), self.degree.max(other.degree));
        Growth { copies, degree }.bounded()
    }

    fn bounded(self) -> Result<Growth, QueryError> {
        if self.copies > MOST_COPIES {
            return refused(format!(
                "the joins and unions of the query can make {} rows of one row, and at most \
                 {MOST_COPIES} are offered: \
                 join on columns in which fewer rows of the public table agree, or aggregate the \
                 public table first",
                self.copies
            ));
        }
        if self.degree > MOST_MULTIPLIED {
            return refused(format!(
                "the joins of private tables can make n^{} rows of a unit with n rows, and at most \
                 n^{MOST_MULTIPLIED} are \
                 offered: aggregate by the privacy unit in a sub-query first",
                self.degree
            ));
        }
        Ok(self)
    }
}

/// Rows of private tables.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    pub(crate) plan: LogicalPlan,
    pub(crate) unit: Unit,
    /// Whether the column of the unit was added here and is not one that the query sees.
    pub(crate) hidden: bool,
    /// What is known of each column of the plan.
    pub(crate) facts: Vec<Facts>,
    pub(crate) limits: Limits,
    pub(crate) growth: Growth,
}

/// The column that carries the unit where a query did not select it.
const HIDDEN_UNIT: &str = "__unit";

pub(crate) fn refused<T>(message: impl Into<String>) -> Result<T, QueryError> {
    Err(QueryError::Refused(message.into()))
}

/// A message of the planner, which sees the query and the policy and no data.
pub(crate) fn planner(error: datafusion::common::DataFusionError) -> QueryError {
    reticent_engine::planner(error).into()
}

/// The column that an expression is, if it is one under another name.
pub(crate) fn plain_column(expression: &Expr) -> Option<&Column> {
    match expression {
        Expr::Column(column) => Some(column),
        Expr::Alias(alias) => plain_column(&alias.expr),
        _ => None,
    }
}

impl Rows {
    pub(crate) fn index_of(&self, column: &Column) -> Option<usize> {
        self.plan.schema().index_of_column(column).ok()
    }

    pub(crate) fn fact(&self, column: &Column) -> Facts {
        self.index_of(column).map_or_else(Facts::unknown, |index| self.facts[index].clone())
    }

    /// The column that carries the unit.
    pub(crate) fn unit_column(&self) -> Option<Column> {
        match self.unit {
            Unit::EachRow => None,
            Unit::Column(index) => Some(Column::from(self.plan.schema().qualified_field(index))),
        }
    }

    pub(crate) fn is_unit(&self, expression: &Expr) -> bool {
        match self.unit {
            Unit::EachRow => false,
            Unit::Column(index) => {
                let found = plain_column(expression).and_then(|column| self.index_of(column));
                found.is_some_and(|found| found == index || self.facts[found].is_unit)
            }
        }
    }

    /// What is known of an expression over these rows.
    pub(crate) fn facts_of(&self, expression: &Expr) -> Facts {
        if let Some(column) = plain_column(expression) {
            return self.fact(column);
        }
        Facts { range: range_of(expression, &|column| self.fact(column).range), ..Facts::unknown() }
    }

    /// The same rows in other words: `expressions` are total and named, `written` are the same as
    /// the query has them, and the unit is carried on.
    pub(crate) fn projected(
        &self,
        mut expressions: Vec<Expr>,
        written: &[Expr],
    ) -> Result<Rows, QueryError> {
        let mut facts: Vec<Facts> =
            written.iter().map(|expression| self.facts_of(expression)).collect();
        let mut hidden = false;
        let unit = match self.unit_column() {
            None => Unit::EachRow,
            Some(column) => {
                match expressions.iter().position(|expression| self.is_unit(expression)) {
                    Some(index) => Unit::Column(index),
                    None => {
                        hidden = true;
                        expressions.push(Expr::Alias(Alias::new(
                            Expr::Column(column),
                            None::<&str>,
                            format!("{HIDDEN_UNIT}{}", expressions.len()),
                        )));
                        facts.push(Facts::unknown());
                        Unit::Column(expressions.len() - 1)
                    }
                }
            }
        };
        let projection =
            Projection::try_new(expressions, Arc::new(self.plan.clone())).map_err(planner)?;
        Ok(Rows { plan: LogicalPlan::Projection(projection), unit, hidden, facts, ..self.clone() })
    }
}

/// The condition of a join: the equalities that it demands, left side first, and the rest of it.
///
/// Equalities are what the engine finds matches by, and what tells that two rows are of one unit.
pub(crate) fn condition(join: &Join) -> (Vec<(Expr, Expr)>, Vec<Expr>) {
    let (left, right) = (join.left.schema(), join.right.schema());
    // An equality of two columns of one side (`p.id = p.id`) says nothing about the other.
    let of = |side: &DFSchema, part: &Expr| {
        let columns = part.column_refs();
        !columns.is_empty() && columns.into_iter().all(|column| side.has_column(column))
    };
    let mut pairs = join.on.clone();
    let mut rest = Vec::new();
    for condition in join.filter.iter().flat_map(split_conjunction) {
        let pair = match condition {
            // Where NULL equals NULL in the keys, `=` means something else.
            Expr::BinaryExpr(binary)
                if binary.op == Operator::Eq
                    && join.null_equality == NullEquality::NullEqualsNothing =>
            {
                let (a, b) = (binary.left.as_ref(), binary.right.as_ref());
                if of(left, a) && of(right, b) {
                    Some((a.clone(), b.clone()))
                } else if of(left, b) && of(right, a) {
                    Some((b.clone(), a.clone()))
                } else {
                    None
                }
            }
            _ => None,
        };
        match pair {
            Some(pair) => pairs.push(pair),
            None => rest.push(condition.clone()),
        }
    }
    (pairs, rest)
}

/// The same join with its sides exchanged, and its columns where they were. The left side is the
/// one that the engine holds in memory.
fn exchanged(join: Join) -> Result<LogicalPlan, QueryError> {
    let (left, right, kind) = (join.left.clone(), join.right.clone(), join.join_type);
    let columns = join.schema.columns();
    let on = join.on.into_iter().map(|(a, b)| (b, a)).collect();
    let again = Join::try_new(
        right,
        left,
        on,
        join.filter,
        kind.swap(),
        join.join_constraint,
        join.null_equality,
        join.null_aware,
    );
    let again = LogicalPlan::Join(again.map_err(planner)?);
    let in_order = columns.into_iter().map(Expr::Column).collect();
    Ok(LogicalPlan::Projection(Projection::try_new(in_order, Arc::new(again)).map_err(planner)?))
}

/// Which rows a side of a join can lose to NULL.
fn widened(facts: &[Facts], nullable: bool) -> Vec<Facts> {
    let widen = |fact: &Facts| match fact.domain.clone() {
        Domain::Public { plan, column, lost } => Facts {
            nullable: fact.nullable || nullable,
            domain: Domain::Public { plan, column, lost: lost || nullable },
            ..fact.clone()
        },
        Domain::Unknown | Domain::Values(_) => {
            Facts { nullable: fact.nullable || nullable, ..fact.clone() }
        }
    };
    // NULL where there is no match is nobody, and not the unit of the row.
    facts.iter().map(|fact| Facts { is_unit: fact.is_unit && !nullable, ..widen(fact) }).collect()
}

/// A join of private rows (on the left if `private_is_left`) with public ones, of which `public` is
/// known. At most `matches` of these belong to one row.
pub(crate) fn with_public(
    join: Join,
    private: &Rows,
    public: &[Facts],
    private_is_left: bool,
    matches: u64,
) -> Result<Rows, QueryError> {
    use JoinType::{Inner, Left, LeftAnti, LeftSemi, Right, RightAnti, RightSemi};
    let kept = match (private_is_left, join.join_type) {
        (_, Inner) => true,
        (true, Left | LeftSemi | LeftAnti) | (false, Right | RightSemi | RightAnti) => true,
        // Rows of the public table without a match have no unit, and are dropped like every row
        // without one.
        (true, Right) | (false, Left) => private.unit != Unit::EachRow,
        _ => false,
    };
    if !kept {
        return refused(format!(
            "a {} join here would keep rows of the public table that say who is absent; write an \
             inner join, or a left \
             join from the private table",
            join.join_type
        ));
    }
    let one_sided = matches!(join.join_type, LeftSemi | LeftAnti | RightSemi | RightAnti);
    // Where there is no match, an outer join makes one row.
    let copies = if one_sided { 1 } else { matches.max(1) };
    if private.unit == Unit::EachRow && copies > 1 {
        return refused(format!(
            "each row is a privacy unit, and this join can make {copies} rows of one: join on \
             columns that are unique in \
             the public table, or name a unit column in the policy"
        ));
    }
    let growth = private.growth.times(Growth { copies, degree: 0 })?;
    let public_side =
        widened(public, matches!((private_is_left, join.join_type), (true, Left) | (false, Right)));
    let (facts, offset) = match (private_is_left, one_sided) {
        (_, true) => (private.facts.clone(), 0),
        (true, false) => ([private.facts.clone(), public_side].concat(), 0),
        (false, false) => {
            let offset = public_side.len();
            ([public_side, private.facts.clone()].concat(), offset)
        }
    };
    let unit = match private.unit {
        Unit::EachRow => Unit::EachRow,
        Unit::Column(index) => Unit::Column(index + offset),
    };
    // The public side is held in memory, and private rows stream past it.
    let plan = if private_is_left { exchanged(join)? } else { LogicalPlan::Join(join) };
    Ok(Rows { plan, unit, facts, growth, ..private.clone() })
}

/// A join of private rows with private rows, which must be of the same unit.
pub(crate) fn of_one_unit(join: Join, left: &Rows, right: &Rows) -> Result<Rows, QueryError> {
    use JoinType::{Inner, Left, LeftAnti, LeftSemi, Right, RightAnti, RightSemi};
    let same_unit = join.on.iter().any(|(a, b)| left.is_unit(a) && right.is_unit(b));
    if !same_unit {
        return refused(
            "two private tables are joined, but not on the privacy unit: a row would then belong \
             to two people. Write \
             JOIN ... ON a.unit = b.unit with the unit columns of both",
        );
    }
    let (Unit::Column(left_index), Unit::Column(right_index)) = (left.unit, right.unit) else {
        return refused("a join of tables in which each row is a privacy unit is not offered");
    };
    let width = left.facts.len();
    let (facts, index, hidden) = match join.join_type {
        Inner | Left => {
            let mut right_facts = right.facts.clone();
            // A unit is an integer or a text, of which equal ones are the same.
            right_facts[right_index].is_unit = true;
            let right_side = widened(&right_facts, join.join_type == Left);
            ([left.facts.clone(), right_side].concat(), left_index, left.hidden)
        }
        Right => (
            [widened(&left.facts, true), right.facts.clone()].concat(),
            width + right_index,
            right.hidden,
        ),
        LeftSemi | LeftAnti => (left.facts.clone(), left_index, left.hidden),
        RightSemi | RightAnti => (right.facts.clone(), right_index, right.hidden),
        other => {
            return refused(format!(
                "a {other} join of private tables is not offered; write an inner or left join"
            ));
        }
    };
    let limits = Limits {
        max_groups: left.limits.max_groups.min(right.limits.max_groups),
        max_rows: left.limits.max_rows.min(right.limits.max_rows),
    };
    let growth = match join.join_type {
        LeftSemi | LeftAnti => left.growth,
        RightSemi | RightAnti => right.growth,
        // A row without a match is one row, which the product covers: n is at least 1 where a unit
        // has rows.
        Inner | Left | Right | JoinType::Full | JoinType::LeftMark | JoinType::RightMark => {
            left.growth.times(right.growth)?
        }
    };
    Ok(Rows {
        plan: LogicalPlan::Join(join),
        unit: Unit::Column(index),
        hidden,
        facts,
        limits,
        growth,
    })
}

/// What is known of an aggregate over the rows of one unit.
pub(crate) fn facts_of_unit_aggregate(name: &str, argument: Option<&Facts>) -> Facts {
    let range = match (name, argument) {
        ("min" | "max" | "avg", Some(facts)) => facts.range,
        ("sum", Some(facts)) => facts.unit_range.unwrap_or(Range::UNKNOWN),
        ("count", _) => Range::new(0.0, f64::INFINITY),
        _ => Range::UNKNOWN,
    };
    Facts { range, ..Facts::unknown() }
}
