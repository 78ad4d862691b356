//! An expression as a tree of operations, each of which has a value or NULL in every row, computed
//! from that row alone.

use super::arithmetic::{Arithmetic, negated};
use super::calendar::Part;
use super::compare::{Comparison, select};
use super::convert::{Narrowing, convert};
use super::functions::Function;
use super::kind::Kind;
use super::pattern::Pattern;
use super::values::{Values, each};
use datafusion::arrow::array::{ArrayRef, BooleanArray, StringViewArray};
use datafusion::common::{Result, ScalarValue};
use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A part of an expression.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Node {
    pub(super) operation: Operation,
    pub(super) inputs: Vec<Node>,
    /// What its values are.
    pub(super) kind: Kind,
}

/// What is computed of the inputs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Operation {
    /// The column of this index.
    Column(usize),
    /// A value in the stored form of its kind.
    Literal(ScalarValue),
    Compare(Comparison),
    And,
    Or,
    Not,
    IsNull,
    /// Whether it is this truth value, and not NULL.
    Is(bool),
    /// Conditions and values in turns, and perhaps a value for all other rows.
    Case,
    /// Whether the first input equals one of the others.
    Among,
    /// Whether the input is in a set; NULL if it is not and the list had a NULL.
    In(Arc<Set>),
    Negate,
    Arithmetic(Arithmetic),
    Convert,
    Narrow(Narrowing),
    Matches(Pattern),
    DatePart(Part),
    DateTrunc(Part),
    Call(Named),
    /// Two texts one after the other; NULL if one is.
    Concatenate,
}

/// A function, which its name tells from all others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Named(pub(super) &'static Function);

impl PartialEq for Named {
    fn eq(&self, other: &Self) -> bool {
        self.0.name == other.0.name
    }
}

impl Eq for Named {}

impl Hash for Named {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.name.hash(state);
    }
}

/// The literals of an `IN` list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Set {
    has_null: bool,
    /// Whole numbers, days, microseconds, truth values, and the bits of reals.
    numbers: BTreeSet<i64>,
    texts: BTreeSet<String>,
}

impl Set {
    /// The set of these literals, which are in stored form.
    pub(super) fn of<'a>(literals: impl Iterator<Item = &'a ScalarValue>) -> Option<Set> {
        let mut set = Set::default();
        for literal in literals {
            match literal {
                value if value.is_null() => set.has_null = true,
                ScalarValue::Boolean(Some(truth)) => _ = set.numbers.insert(i64::from(*truth)),
                ScalarValue::Int64(Some(number))
                | ScalarValue::TimestampMicrosecond(Some(number), None) => {
                    _ = set.numbers.insert(*number);
                }
                ScalarValue::Date32(Some(day)) => _ = set.numbers.insert(i64::from(*day)),
                ScalarValue::Float64(Some(number)) => {
                    _ = set.numbers.insert(number.to_bits() as i64)
                }
                ScalarValue::Utf8View(Some(text)) => _ = set.texts.insert(text.clone()),
                _ => return None,
            }
        }
        Some(set)
    }

    fn holds(&self, kind: Kind, values: &Values, rows: usize) -> ArrayRef {
        let answer =
            |found: bool| if found { Some(true) } else { (!self.has_null).then_some(false) };
        macro_rules! among {
            ($cells:ident, $key:expr) => {{
                let cells = values.$cells();
                each::<BooleanArray, _>(rows, |row| {
                    answer(self.numbers.contains(&$key(cells.get(row)?)))
                })
            }};
        }
        match kind {
            Kind::Boolean => among!(booleans, i64::from),
            Kind::Integer => among!(integers, |number: i64| number),
            Kind::Real => among!(reals, |number: f64| number.to_bits() as i64),
            Kind::Date => among!(dates, i64::from),
            Kind::Moment => among!(moments, |moment: i64| moment),
            Kind::Text => {
                let cells = values.texts();
                each::<BooleanArray, _>(rows, |row| answer(self.texts.contains(cells.get(row)?)))
            }
        }
    }
}

impl Node {
    pub(super) fn new(operation: Operation, inputs: Vec<Node>, kind: Kind) -> Node {
        Node { operation, inputs, kind }
    }

    /// The value, if it is written in the query.
    pub(super) fn literal(&self) -> Option<&ScalarValue> {
        match &self.operation {
            Operation::Literal(value) => Some(value),
            _ => None,
        }
    }

    /// The values for the rows of a batch, of whose columns `columns` are in stored form.
    pub(super) fn evaluate(&self, columns: &[Values], rows: usize) -> Result<Values> {
        match &self.operation {
            Operation::Column(index) => return Ok(columns[*index].clone()),
            Operation::Literal(value) => return Values::literal(value),
            _ => {}
        }
        let inputs = self
            .inputs
            .iter()
            .map(|input| input.evaluate(columns, rows))
            .collect::<Result<Vec<_>>>()?;
        let shared = inputs.iter().all(Values::is_shared);
        Ok(Values::new(self.apply(&inputs, if shared { 1 } else { rows })?, shared))
    }

    fn apply(&self, inputs: &[Values], rows: usize) -> Result<ArrayRef> {
        // The kind of the first input.
        let of = self.inputs[0].kind;
        let truths = |index: usize| inputs[index].booleans();
        Ok(match &self.operation {
            Operation::Column(_) | Operation::Literal(_) => {
                self.evaluate(inputs, rows)?.array().clone()
            }
            Operation::Compare(comparison) => comparison.apply(of, &inputs[0], &inputs[1], rows),
            Operation::And => {
                let (a, b) = (truths(0), truths(1));
                each::<BooleanArray, _>(rows, |row| match (a.get(row), b.get(row)) {
                    (Some(false), _) | (_, Some(false)) => Some(false),
                    (Some(true), Some(true)) => Some(true),
                    _ => None,
                })
            }
            Operation::Or => {
                let (a, b) = (truths(0), truths(1));
                each::<BooleanArray, _>(rows, |row| match (a.get(row), b.get(row)) {
                    (Some(true), _) | (_, Some(true)) => Some(true),
                    (Some(false), Some(false)) => Some(false),
                    _ => None,
                })
            }
            Operation::Not => {
                let a = truths(0);
                each::<BooleanArray, _>(rows, |row| a.get(row).map(|truth| !truth))
            }
            Operation::IsNull => each::<BooleanArray, _>(rows, |row| Some(inputs[0].is_null(row))),
            Operation::Is(wanted) => {
                let a = truths(0);
                each::<BooleanArray, _>(rows, |row| Some(a.get(row) == Some(*wanted)))
            }
            Operation::Case => {
                let branches = inputs.len() / 2;
                let conditions: Vec<_> = (0..branches).map(|branch| truths(2 * branch)).collect();
                let mut choices: Vec<&Values> =
                    (0..branches).map(|branch| &inputs[2 * branch + 1]).collect();
                let otherwise = (inputs.len() % 2 == 1).then_some(branches);
                choices.extend(otherwise.map(|_| &inputs[inputs.len() - 1]));
                let held = |row: usize| {
                    conditions.iter().position(|condition| condition.get(row) == Some(true))
                };
                select(&choices, self.kind, rows, |row| held(row).or(otherwise))?
            }
            Operation::Among => {
                let equal = |other: &Values| Comparison::Equal.apply(of, &inputs[0], other, rows);
                let equal: Vec<Values> =
                    inputs[1..].iter().map(|other| Values::new(equal(other), false)).collect();
                let equal: Vec<_> = equal.iter().map(Values::booleans).collect();
                each::<BooleanArray, _>(rows, |row| {
                    let mut unknown = false;
                    for answer in equal.iter().map(|equal| equal.get(row)) {
                        if answer == Some(true) {
                            return Some(true);
                        }
                        unknown |= answer.is_none();
                    }
                    (!unknown).then_some(false)
                })
            }
            Operation::In(set) => set.holds(of, &inputs[0], rows),
            Operation::Negate => negated(of, &inputs[0], rows),
            Operation::Arithmetic(operator) => operator.apply(of, &inputs[0], &inputs[1], rows),
            Operation::Convert => convert(&inputs[0], of, self.kind, rows),
            Operation::Narrow(narrowing) => narrowing.apply(&inputs[0], rows),
            Operation::Matches(pattern) => {
                let texts = inputs[0].texts();
                #[cfg(any(test, feature = "mutation"))]
                if let Some(found) = pattern.by_arrow(texts.array(), rows) {
                    return Ok(Arc::new(found?));
                }
                each::<BooleanArray, _>(rows, |row| Some(pattern.matches(texts.get(row)?)))
            }
            Operation::DatePart(part) => part.extract(of, &inputs[0], rows),
            Operation::DateTrunc(part) => part.truncate(of, &inputs[0], rows),
            Operation::Call(Named(function)) => {
                let kinds: Vec<Kind> = self.inputs.iter().map(|input| input.kind).collect();
                function.apply(inputs, &kinds, rows)?
            }
            Operation::Concatenate => {
                let (a, b) = (inputs[0].texts(), inputs[1].texts());
                each::<StringViewArray, _>(rows, |row| {
                    Some(super::text::joined("", [a.get(row)?, b.get(row)?].into_iter()))
                })
            }
        })
    }
}
