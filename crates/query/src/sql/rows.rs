//! The part of a query below its aggregates: rows that each belong to one privacy unit.
//!
//! Every operator offered here has the property that removing all rows of one unit from the tables removes rows of that unit from its output and changes no other row. Then bounding what
//! one unit contributes to the aggregates bounds the influence of that unit, whatever the operators did to its rows. Operators without the property (LIMIT, window functions, aggregates that mix
//! units, joins of different units) are refused by name.
//!
//! If each row is a unit, an operator must moreover make at most one row of each row: then joins need a public table whose join columns identify a row.

use super::facts::{Domain, Facts};
use super::range::{Range, range_of};
use crate::error::QueryError;
use datafusion::common::{Column, DFSchema};
use datafusion::logical_expr::expr::Alias;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{Expr, Join, JoinType, LogicalPlan, Operator};

/// Whose a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Each row is a unit.
    EachRow,
    /// That of the value in the column at this place.
    Column(usize),
}

/// How much of one unit counts, unless the query says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    pub(crate) max_groups: u32,
    pub(crate) max_rows: u32,
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
}

/// The column that carries the unit where a query did not select it.
const HIDDEN_UNIT: &str = "__unit";

pub(crate) fn refused<T>(message: impl Into<String>) -> Result<T, QueryError> {
    Err(QueryError::Refused(message.into()))
}

/// A message of the planner, which sees the query and the policy and no data.
pub(crate) fn planner(error: datafusion::common::DataFusionError) -> QueryError {
    QueryError::Refused(in_plain_words(&error.strip_backtrace()))
}

/// The planner's message without its own names for kinds of errors, and without guesses, which differ from run to run.
fn in_plain_words(message: &str) -> String {
    let kinds = ["type_coercion\ncaused by\n", "Error during planning: ", "Schema error: ", "Internal error: "];
    let mut words = message;
    while let Some(rest) = kinds.iter().find_map(|kind| words.strip_prefix(kind)) {
        words = rest;
    }
    if let Some(what) = words.strip_prefix("This feature is not implemented: ") {
        return format!("this is not offered: {what}; see docs/sql.md for what is");
    }
    if let Some((call, _)) = words.split_once(" failed to match any signature") {
        return format!("{call} does not take arguments of these types; see docs/sql.md for what is offered");
    }
    if words.starts_with("Schema contains duplicate") {
        return format!("{words}: casts are not part of a name; compute one of the two in a sub-query");
    }
    let words = words.split("\nDid you mean").next().unwrap_or(words);
    // It tells of settings that nobody can change here.
    let lines: Vec<&str> = words.lines().filter(|line| !line.starts_with("Column names are case sensitive.")).collect();
    lines.join("\n").replace("datafusion.public.", "").replace("datafusion.", "")
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
    pub(crate) fn place(&self, column: &Column) -> Option<usize> {
        self.plan.schema().index_of_column(column).ok()
    }

    pub(crate) fn fact(&self, column: &Column) -> Facts {
        self.place(column).map_or_else(Facts::unknown, |place| self.facts[place].clone())
    }

    /// The column that carries the unit.
    pub(crate) fn unit_column(&self) -> Option<Column> {
        match self.unit {
            Unit::EachRow => None,
            Unit::Column(place) => Some(Column::from(self.plan.schema().qualified_field(place))),
        }
    }

    pub(crate) fn is_unit(&self, expression: &Expr) -> bool {
        match self.unit {
            Unit::EachRow => false,
            Unit::Column(place) => {
                let found = plain_column(expression).and_then(|column| self.place(column));
                found.is_some_and(|found| found == place || self.facts[found].is_unit)
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

    /// The same rows in other words: `expressions` are total and named, `written` are the same as the
    /// query has them, and the unit is carried on.
    pub(crate) fn projected(&self, mut expressions: Vec<Expr>, written: &[Expr]) -> Result<Rows, QueryError> {
        let mut facts: Vec<Facts> = written.iter().map(|expression| self.facts_of(expression)).collect();
        let mut hidden = false;
        let unit = match self.unit_column() {
            None => Unit::EachRow,
            Some(column) => match expressions.iter().position(|expression| self.is_unit(expression)) {
                Some(place) => Unit::Column(place),
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
            },
        };
        let input = std::sync::Arc::new(self.plan.clone());
        let projection = datafusion::logical_expr::Projection::try_new(expressions, input).map_err(planner)?;
        Ok(Rows { plan: LogicalPlan::Projection(projection), unit, hidden, facts, limits: self.limits })
    }
}

/// The equalities that a join demands, left side first, and its other conditions.
pub(crate) fn equalities(join: &Join) -> (Vec<(Expr, Expr)>, Vec<Expr>) {
    let (left, right) = (join.left.schema(), join.right.schema());
    // An equality of two columns of one side (`p.id = p.id`) says nothing about the other.
    let of = |side: &DFSchema, part: &Expr| {
        let columns = part.column_refs();
        !columns.is_empty() && columns.into_iter().all(|column| side.has_column(column))
    };
    let (mut pairs, mut others) = (join.on.clone(), Vec::new());
    for condition in join.filter.iter().flat_map(split_conjunction) {
        if let Expr::BinaryExpr(binary) = condition
            && binary.op == Operator::Eq
        {
            let (a, b) = (binary.left.as_ref(), binary.right.as_ref());
            if of(left, a) && of(right, b) {
                pairs.push((a.clone(), b.clone()));
                continue;
            } else if of(left, b) && of(right, a) {
                pairs.push((b.clone(), a.clone()));
                continue;
            }
        }
        others.push(condition.clone());
    }
    (pairs, others)
}

/// Which rows a side of a join can lose to NULL.
fn widened(facts: &[Facts], nullable: bool) -> Vec<Facts> {
    let widen = |fact: &Facts| match fact.domain.clone() {
        Domain::Public { plan, column, lost } => Facts {
            nullable: fact.nullable || nullable,
            domain: Domain::Public { plan, column, lost: lost || nullable },
            ..fact.clone()
        },
        _ => Facts { nullable: fact.nullable || nullable, ..fact.clone() },
    };
    // NULL where there is no match is nobody, and not the unit of the row.
    facts.iter().map(|fact| Facts { is_unit: fact.is_unit && !nullable, ..widen(fact) }).collect()
}

/// A join of private rows (on the left if `private_is_left`) with public ones, of which `public` is known. `identifies` says whether the public columns of the join identify a row.
pub(crate) fn with_public(
    join: Join,
    private: &Rows,
    public: &[Facts],
    private_is_left: bool,
    identifies: bool,
) -> Result<Rows, QueryError> {
    use JoinType::{Inner, Left, LeftAnti, LeftSemi, Right, RightAnti, RightSemi};
    let kept = match (private_is_left, join.join_type) {
        (_, Inner) => true,
        (true, Left | LeftSemi | LeftAnti) | (false, Right | RightSemi | RightAnti) => true,
        // Rows of the public table without a match have no unit, and are dropped like every row without one.
        (true, Right) | (false, Left) => private.unit != Unit::EachRow,
        _ => false,
    };
    if !kept {
        return refused(format!(
            "a {} join here would keep rows of the public table that say who is absent; write an inner join, or a left \
             join from the private table",
            join.join_type
        ));
    }
    let one_sided = matches!(join.join_type, LeftSemi | LeftAnti | RightSemi | RightAnti);
    if private.unit == Unit::EachRow && !one_sided && !identifies {
        return refused(
            "each row is a privacy unit, and this join could make several rows of one: join on columns that the policy \
             declares `unique` in the public table, or name a unit column in the policy",
        );
    }
    let public_side = widened(public, matches!((private_is_left, join.join_type), (true, Left) | (false, Right)));
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
        Unit::Column(place) => Unit::Column(place + offset),
    };
    Ok(Rows { plan: LogicalPlan::Join(join), unit, hidden: private.hidden, facts, limits: private.limits })
}

/// A join of private rows with private rows, which must be of the same unit.
pub(crate) fn of_one_unit(
    join: Join,
    equal: &[(Expr, Expr)],
    left: &Rows,
    right: &Rows,
) -> Result<Rows, QueryError> {
    use JoinType::{Inner, Left, LeftAnti, LeftSemi, Right, RightAnti, RightSemi};
    let same_unit = equal.iter().any(|(a, b)| left.is_unit(a) && right.is_unit(b));
    if !same_unit {
        return refused(
            "two private tables are joined, but not on the privacy unit: a row would then belong to two people. Write \
             JOIN ... ON a.unit = b.unit with the unit columns of both",
        );
    }
    let (Unit::Column(left_place), Unit::Column(right_place)) = (left.unit, right.unit) else {
        return refused("a join of tables in which each row is a privacy unit is not offered");
    };
    let width = left.facts.len();
    let (facts, place, hidden) = match join.join_type {
        Inner | Left => {
            let mut right_facts = right.facts.clone();
            // A unit is an integer or a text, of which equal ones are the same.
            right_facts[right_place].is_unit = true;
            let right_side = widened(&right_facts, join.join_type == Left);
            ([left.facts.clone(), right_side].concat(), left_place, left.hidden)
        }
        Right => ([widened(&left.facts, true), right.facts.clone()].concat(), width + right_place, right.hidden),
        LeftSemi | LeftAnti => (left.facts.clone(), left_place, left.hidden),
        RightSemi | RightAnti => (right.facts.clone(), right_place, right.hidden),
        other => {
            return refused(format!("a {other} join of private tables is not offered; write an inner or left join"));
        }
    };
    let limits = Limits {
        max_groups: left.limits.max_groups.min(right.limits.max_groups),
        max_rows: left.limits.max_rows.min(right.limits.max_rows),
    };
    Ok(Rows { plan: LogicalPlan::Join(join), unit: Unit::Column(place), hidden, facts, limits })
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
