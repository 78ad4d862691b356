//! From the planner's expressions to our own: what is offered is made total, everything else is
//! refused by name.

use super::arithmetic::Arithmetic;
use super::calendar::{Part, part_names};
use super::compare::Comparison;
use super::computed::Computed;
use super::convert::{Narrowing, converts};
use super::functions::{Function, Kernel, Takes, advice};
use super::kind::Kind;
use super::node::{Named, Node, Operation, Set};
use super::pattern::Pattern;
use super::values::stored;
use crate::error::EngineError;
use crate::error::{planner, refused};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Column, DFSchema, ScalarValue};
use datafusion::logical_expr::expr::{
    AggregateFunction, Alias, Between, Case, InList, Like, ScalarFunction,
};
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, Operator, and};
use std::sync::Arc;

/// Reads expressions over the columns of a schema.
#[derive(Clone, Copy, Debug)]
pub struct Total<'a> {
    schema: &'a DFSchema,
}

/// An expression that is being read.
struct Reading<'a> {
    schema: &'a DFSchema,
    /// The columns that it is of, each once.
    columns: Vec<(Column, Kind)>,
}

impl<'a> Total<'a> {
    /// Over these columns.
    #[must_use]
    pub fn new(schema: &'a DFSchema) -> Self {
        Total { schema }
    }

    /// The same value wherever SQL gives one, NULL where it would stop, an error if it is not
    /// offered. Columns and literals stay what they are, and so does a name; everything else is one
    /// function.
    pub fn expression(&self, expression: &Expr) -> Result<Expr, EngineError> {
        if let Expr::Alias(alias) = expression {
            return Ok(Expr::Alias(Alias {
                expr: Box::new(self.expression(&alias.expr)?),
                ..alias.clone()
            }));
        }
        if matches!(expression, Expr::Column(_) | Expr::Literal(..)) {
            return Ok(expression.clone());
        }
        let declared = expression.get_type(self.schema).map_err(planner)?;
        let mut reading = Reading { schema: self.schema, columns: Vec::new() };
        let node = reading.node(expression)?;
        if let Operation::Literal(value) = &node.operation {
            let shown = value.cast_to(&declared).map_err(planner)?;
            return Ok(Expr::Literal(shown, None).alias(expression.schema_name().to_string()));
        }
        let columns = reading
            .columns
            .into_iter()
            .map(|(column, kind)| (Expr::Column(column), kind))
            .collect();
        Ok(Computed::call(node, columns, declared, expression))
    }

    /// A condition of a filter or a join. Its parts that must all hold stay apart, so that the
    /// engine can test each where its columns are.
    pub fn condition(&self, condition: &Expr) -> Result<Expr, EngineError> {
        let parts = split_conjunction(condition).into_iter().map(|part| self.expression(part));
        let parts = parts.collect::<Result<Vec<_>, _>>()?;
        match parts.into_iter().reduce(and) {
            Some(all) => Ok(all),
            None => self.expression(condition),
        }
    }

    /// An expression that may be an aggregate: what it is computed of is total.
    pub fn aggregate(&self, expression: &Expr) -> Result<Expr, EngineError> {
        Ok(match expression {
            Expr::Alias(alias) => {
                Expr::Alias(Alias { expr: Box::new(self.aggregate(&alias.expr)?), ..alias.clone() })
            }
            Expr::AggregateFunction(call) => {
                let mut params = call.params.clone();
                for argument in &mut params.args {
                    *argument = self.expression(argument)?;
                }
                for key in &mut params.order_by {
                    key.expr = self.expression(&key.expr)?;
                }
                let filter =
                    params.filter.as_deref().map(|filter| self.expression(filter)).transpose()?;
                params.filter = filter.map(Box::new);
                Expr::AggregateFunction(AggregateFunction { func: call.func.clone(), params })
            }
            other => self.expression(other)?,
        })
    }
}

impl Reading<'_> {
    fn type_of(&self, expression: &Expr) -> Result<DataType, EngineError> {
        expression.get_type(self.schema).map_err(planner)
    }

    fn kind_of(&self, expression: &Expr) -> Result<Kind, EngineError> {
        let declared = self.type_of(expression)?;
        match Kind::of(&declared) {
            Some(kind) => Ok(kind),
            None => refused(format!(
                "{expression} has the type {declared}: truth values, numbers, texts, dates and \
                 timestamps are offered"
            )),
        }
    }

    /// The expression in the type that the planner declares for it.
    fn node(&mut self, expression: &Expr) -> Result<Node, EngineError> {
        let kind = self.kind_of(expression)?;
        let declared = self.type_of(expression)?;
        let node = self.bare(expression)?;
        let node = converted(node, kind)?;
        match Narrowing::of(&declared) {
            Some(narrowing) if !matches!(node.operation, Operation::Column(_)) => {
                made(Operation::Narrow(narrowing), vec![node], kind)
            }
            _ => Ok(node),
        }
    }

    /// The expression in a kind of its own, before it is narrowed to a type.
    fn bare(&mut self, expression: &Expr) -> Result<Node, EngineError> {
        match expression {
            Expr::Column(column) => self.column(column),
            Expr::Literal(value, _) => literal(value),
            Expr::Alias(alias) => self.node(&alias.expr),
            Expr::BinaryExpr(binary) => self.binary(binary),
            Expr::Like(like) => self.like(like),
            Expr::Not(inner) => self.truth(inner, Operation::Not),
            Expr::IsNull(inner) => self.truth(inner, Operation::IsNull),
            Expr::IsNotNull(inner) => negation(self.truth(inner, Operation::IsNull)?),
            Expr::IsTrue(inner) => self.truth(inner, Operation::Is(true)),
            Expr::IsFalse(inner) => self.truth(inner, Operation::Is(false)),
            Expr::IsUnknown(inner) => self.truth(inner, Operation::IsNull),
            Expr::IsNotTrue(inner) => negation(self.truth(inner, Operation::Is(true))?),
            Expr::IsNotFalse(inner) => negation(self.truth(inner, Operation::Is(false))?),
            Expr::IsNotUnknown(inner) => negation(self.truth(inner, Operation::IsNull)?),
            Expr::Negative(inner) => {
                let value = self.node(inner)?;
                if !matches!(value.kind, Kind::Integer | Kind::Real) {
                    return refused(format!(
                        "- of {} is not offered: arithmetic is over numbers",
                        value.kind.name()
                    ));
                }
                let kind = value.kind;
                made(Operation::Negate, vec![value], kind)
            }
            Expr::Between(between) => self.between(between),
            Expr::Case(case) => self.case(case),
            Expr::Cast(cast) => self.cast(&cast.expr, cast.field.data_type()),
            Expr::TryCast(cast) => self.cast(&cast.expr, cast.field.data_type()),
            Expr::InList(list) => self.in_list(list),
            Expr::ScalarFunction(call) => self.function(call),
            Expr::InSubquery(_)
            | Expr::ScalarSubquery(_)
            | Expr::Exists(_)
            | Expr::SetComparison(_) => refused(
                "a sub-query inside an aggregate, a group key or a figure is not offered; write a \
                 join",
            ),
            Expr::WindowFunction(_) => {
                refused("window functions (OVER) are not offered; group in a sub-query instead")
            }
            Expr::AggregateFunction(call) => refused(format!(
                "the aggregate {} stands where a row's value is expected",
                call.func.name()
            )),
            Expr::SimilarTo(_) => refused("SIMILAR TO is not offered; use LIKE or REGEXP_LIKE"),
            Expr::Placeholder(_) => {
                refused("placeholders ($1, ?) are not offered; write the value")
            }
            Expr::Unnest(_) => refused("UNNEST is not offered"),
            other => refused(format!("the expression {other} is not offered")),
        }
    }

    fn column(&mut self, column: &Column) -> Result<Node, EngineError> {
        let kind = self.kind_of(&Expr::Column(column.clone()))?;
        let known = self.columns.iter().position(|(known, _)| known == column);
        let index = known.unwrap_or_else(|| {
            self.columns.push((column.clone(), kind));
            self.columns.len() - 1
        });
        Ok(Node::new(Operation::Column(index), vec![], kind))
    }

    /// An operation on one value whose result is a truth value.
    fn truth(&mut self, inner: &Expr, operation: Operation) -> Result<Node, EngineError> {
        let value = self.node(inner)?;
        if operation != Operation::IsNull && value.kind != Kind::Boolean {
            return refused(format!(
                "{inner} is {}, where a truth value is expected",
                value.kind.name()
            ));
        }
        made(operation, vec![value], Kind::Boolean)
    }

    fn binary(&mut self, binary: &BinaryExpr) -> Result<Node, EngineError> {
        let comparison = match binary.op {
            Operator::Eq => Some(Comparison::Equal),
            Operator::NotEq => Some(Comparison::NotEqual),
            Operator::Lt => Some(Comparison::Less),
            Operator::LtEq => Some(Comparison::LessOrEqual),
            Operator::Gt => Some(Comparison::Greater),
            Operator::GtEq => Some(Comparison::GreaterOrEqual),
            _ => None,
        };
        let arithmetic = match binary.op {
            Operator::Plus => Some(Arithmetic::Add),
            Operator::Minus => Some(Arithmetic::Subtract),
            Operator::Multiply => Some(Arithmetic::Multiply),
            Operator::Divide => Some(Arithmetic::Divide),
            Operator::Modulo => Some(Arithmetic::Remainder),
            _ => None,
        };
        let pattern = match binary.op {
            Operator::RegexMatch => Some(("", false)),
            Operator::RegexIMatch => Some(("i", false)),
            Operator::RegexNotMatch => Some(("", true)),
            Operator::RegexNotIMatch => Some(("i", true)),
            _ => None,
        };
        if let Some((flags, negated)) = pattern {
            return self.matching(&binary.left, &binary.right, negated, |text| {
                Pattern::regex(text, flags)
            });
        }
        if let Some(operator) = arithmetic {
            let of = self.type_of(&Expr::BinaryExpr(binary.clone()))?;
            let kind = match Kind::of(&of) {
                Some(kind @ (Kind::Integer | Kind::Real)) => kind,
                _ => {
                    return refused(format!(
                        "{} of {} and {} is not offered: arithmetic is over numbers; for dates use \
                         DATE_PART, \
                         DATE_TRUNC and comparisons",
                        binary.op,
                        self.type_of(&binary.left)?,
                        self.type_of(&binary.right)?
                    ));
                }
            };
            let sides = vec![
                converted(self.node(&binary.left)?, kind)?,
                converted(self.node(&binary.right)?, kind)?,
            ];
            return made(Operation::Arithmetic(operator), sides, kind);
        }
        let (left, right) = (self.node(&binary.left)?, self.node(&binary.right)?);
        if let Some(comparison) = comparison {
            return compared(comparison, left, right);
        }
        match binary.op {
            Operator::And | Operator::Or => {
                let operation =
                    if binary.op == Operator::And { Operation::And } else { Operation::Or };
                for side in [&left, &right] {
                    if side.kind != Kind::Boolean {
                        return refused(format!(
                            "{} is between truth values, not {}",
                            binary.op,
                            side.kind.name()
                        ));
                    }
                }
                made(operation, vec![left, right], Kind::Boolean)
            }
            Operator::IsDistinctFrom => negation(same(left, right)?),
            Operator::IsNotDistinctFrom => same(left, right),
            Operator::StringConcat => {
                let sides = vec![converted(left, Kind::Text)?, converted(right, Kind::Text)?];
                made(Operation::Concatenate, sides, Kind::Text)
            }
            other => refused(format!("the operator {other} is not offered over rows")),
        }
    }

    fn like(&mut self, like: &Like) -> Result<Node, EngineError> {
        self.matching(&like.expr, &like.pattern, like.negated, |text| {
            Pattern::like(text, like.escape_char, like.case_insensitive)
        })
    }

    fn matching(
        &mut self,
        text: &Expr,
        pattern: &Expr,
        negated: bool,
        made_ready: impl Fn(&str) -> Result<Pattern, EngineError>,
    ) -> Result<Node, EngineError> {
        let text = converted(self.node(text)?, Kind::Text)?;
        let found = match self.node(pattern)?.literal() {
            Some(ScalarValue::Utf8View(Some(pattern))) => {
                made(Operation::Matches(made_ready(pattern)?), vec![text], Kind::Boolean)?
            }
            Some(value) if value.is_null() => Node::new(NULL, vec![], Kind::Boolean),
            _ => return refused(format!("the pattern {pattern} must be written as a literal")),
        };
        if negated { negation(found) } else { Ok(found) }
    }

    fn between(&mut self, between: &Between) -> Result<Node, EngineError> {
        let value = self.node(&between.expr)?;
        let low = compared(Comparison::GreaterOrEqual, value.clone(), self.node(&between.low)?)?;
        let high = compared(Comparison::LessOrEqual, value, self.node(&between.high)?)?;
        let within = made(Operation::And, vec![low, high], Kind::Boolean)?;
        if between.negated { negation(within) } else { Ok(within) }
    }

    fn case(&mut self, case: &Case) -> Result<Node, EngineError> {
        let kind = self.kind_of(&Expr::Case(case.clone()))?;
        let of = case.expr.as_deref().map(|of| self.node(of)).transpose()?;
        let mut inputs = Vec::new();
        for (when, then) in &case.when_then_expr {
            let condition = self.node(when)?;
            inputs.push(match &of {
                Some(value) => compared(Comparison::Equal, value.clone(), condition)?,
                None => converted(condition, Kind::Boolean)?,
            });
            inputs.push(converted(self.node(then)?, kind)?);
        }
        if let Some(otherwise) = &case.else_expr {
            inputs.push(converted(self.node(otherwise)?, kind)?);
        }
        made(Operation::Case, inputs, kind)
    }

    fn cast(&mut self, inner: &Expr, to: &DataType) -> Result<Node, EngineError> {
        let Some(kind) = Kind::of(to) else {
            return refused(format!(
                "a cast to {to} is not offered: INTEGER, DOUBLE, TEXT, BOOLEAN, DATE and TIMESTAMP \
                 are"
            ));
        };
        let from = self.type_of(inner)?;
        let value = self.node(inner)?;
        let written = value.literal().is_some_and(|value| !value.is_null());
        let Ok(cast) = converted(value, kind) else {
            return refused(format!(
                "a cast from {from} to {to} is not offered; for dates use DATE_PART"
            ));
        };
        let cast = match Narrowing::of(to) {
            Some(narrowing) => made(Operation::Narrow(narrowing), vec![cast], kind)?,
            None => cast,
        };
        if written && cast.literal().is_some_and(ScalarValue::is_null) {
            return refused(format!(
                "{inner} is compared with, or cast to, {to}, which it is not a value of"
            ));
        }
        Ok(cast)
    }

    fn in_list(&mut self, list: &InList) -> Result<Node, EngineError> {
        let value = self.node(&list.expr)?;
        let kind = value.kind;
        let mut others = Vec::with_capacity(list.list.len());
        for other in &list.list {
            let other = self.node(other)?;
            if other.kind != kind && !other.literal().is_some_and(ScalarValue::is_null) {
                return refused(format!(
                    "an IN list for {} holds {}",
                    kind.name(),
                    other.kind.name()
                ));
            }
            others.push(converted(other, kind)?);
        }
        let written: Option<Vec<&ScalarValue>> = others.iter().map(Node::literal).collect();
        let found = match written.and_then(|written| Set::of(written.into_iter())) {
            Some(set) => made(Operation::In(Arc::new(set)), vec![value], Kind::Boolean)?,
            None => made(
                Operation::Among,
                std::iter::once(value).chain(others).collect(),
                Kind::Boolean,
            )?,
        };
        if list.negated { negation(found) } else { Ok(found) }
    }

    fn function(&mut self, call: &ScalarFunction) -> Result<Node, EngineError> {
        let name = call.func.name();
        let Some(function) = Function::named(name) else {
            return refused(format!("the function {name} is not offered: {}", advice(name)));
        };
        let most = if function.repeats { usize::MAX } else { function.takes.len() };
        if call.args.len() > most || call.args.len() + function.optional < function.takes.len() {
            return refused(format!("{name} does not take {} arguments", call.args.len()));
        }
        let declared = Kind::of(&self.type_of(&Expr::ScalarFunction(call.clone()))?);
        let mut inputs = Vec::new();
        for (index, argument) in call.args.iter().enumerate() {
            let value = self.node(argument)?;
            let takes = function.takes[index.min(function.takes.len() - 1)];
            let kind = match (takes, value.kind) {
                (Takes::Real, Kind::Integer | Kind::Real) => Kind::Real,
                (Takes::Number, kind @ (Kind::Integer | Kind::Real)) => kind,
                (Takes::Text | Takes::LiteralText, _) => Kind::Text,
                (Takes::Calendar, kind @ (Kind::Date | Kind::Moment)) => kind,
                (Takes::LiteralInteger, Kind::Integer) => Kind::Integer,
                (Takes::Any, kind) => declared.unwrap_or(kind),
                (_, kind) => {
                    return refused(format!(
                        "argument {} of {name} cannot be {}",
                        index + 1,
                        kind.name()
                    ));
                }
            };
            let value = converted(value, kind)?;
            let must_be_literal = matches!(takes, Takes::LiteralInteger | Takes::LiteralText);
            if must_be_literal && value.literal().is_none() {
                return refused(format!(
                    "argument {} of {name} must be written as a literal",
                    index + 1
                ));
            }
            inputs.push(value);
        }
        self.ready(function, inputs)
    }

    /// A call whose arguments are of the right kinds.
    fn ready(&self, function: &'static Function, inputs: Vec<Node>) -> Result<Node, EngineError> {
        let name = function.name;
        let text = |node: &Node| match node.literal() {
            Some(ScalarValue::Utf8View(text)) => text.clone(),
            _ => None,
        };
        let integer = |node: Option<&Node>| match node.and_then(Node::literal) {
            Some(ScalarValue::Int64(number)) => *number,
            _ => None,
        };
        match function.kernel {
            Kernel::DatePart | Kernel::DateTrunc => {
                let [part, moment] = <[Node; 2]>::try_from(inputs)
                    .map_err(|_| EngineError::Refused(format!("{name} takes a part and a date")))?;
                let cutting = matches!(function.kernel, Kernel::DateTrunc);
                let written = text(&part).unwrap_or_default();
                match Part::named(&written) {
                    Some(part) if cutting && part.cuts() => {
                        made(Operation::DateTrunc(part), vec![moment], Kind::Moment)
                    }
                    Some(part) if !cutting => {
                        let kind = if part == Part::Epoch { Kind::Real } else { Kind::Integer };
                        made(Operation::DatePart(part), vec![moment], kind)
                    }
                    _ => refused(format!(
                        "{name} does not know the part '{written}': {} are",
                        part_names(cutting)
                    )),
                }
            }
            Kernel::RegexpLike => {
                let flags = inputs.get(2).map_or(Some(String::new()), text);
                let (Some(pattern), Some(flags)) = (text(&inputs[1]), flags) else {
                    return Ok(Node::new(NULL, vec![], Kind::Boolean));
                };
                let pattern = Pattern::regex(&pattern, &flags)?;
                made(Operation::Matches(pattern), vec![inputs[0].clone()], Kind::Boolean)
            }
            Kernel::SplitPart if integer(inputs.get(2)) == Some(0) => refused(
                "argument 3 of split_part is 0: pieces are counted from 1, or from -1 at the end",
            ),
            Kernel::Slice(_) if integer(inputs.get(2)).is_some_and(|length| length < 0) => refused(
                format!("argument 3 of {name} is negative: a length of 0 or more is accepted"),
            ),
            _ => {
                let kinds: Vec<Kind> = inputs.iter().map(|input| input.kind).collect();
                made(Operation::Call(Named(function)), inputs, function.makes(&kinds))
            }
        }
    }
}

const NULL: Operation = Operation::Literal(ScalarValue::Boolean(None));

/// A node, or its value if all of its inputs are written in the query.
fn made(operation: Operation, inputs: Vec<Node>, kind: Kind) -> Result<Node, EngineError> {
    let node = Node::new(operation, inputs, kind);
    if node.inputs.iter().any(|input| input.literal().is_none()) {
        return Ok(node);
    }
    let value =
        node.evaluate(&[], 1).and_then(|values| ScalarValue::try_from_array(values.array(), 0));
    Ok(Node::new(Operation::Literal(value.map_err(planner)?), vec![], kind))
}

/// A literal of a query in the stored form of its kind.
fn literal(value: &ScalarValue) -> Result<Node, EngineError> {
    let declared = value.data_type();
    let Some(kind) = Kind::of(&declared) else {
        return refused(format!("{value} has the type {declared}, which is not offered"));
    };
    let kept = value.to_array().and_then(|array| stored(&array, kind));
    let kept = kept.and_then(|array| ScalarValue::try_from_array(&array, 0)).map_err(planner)?;
    if kept.is_null() && !value.is_null() {
        return refused(format!(
            "{value} is beyond the numbers that are offered: integers have 64 bits"
        ));
    }
    Ok(Node::new(Operation::Literal(kept), vec![], kind))
}

/// The value in another kind.
fn converted(node: Node, kind: Kind) -> Result<Node, EngineError> {
    if node.kind == kind {
        return Ok(node);
    }
    // A NULL that nobody gave a type is one of every kind.
    if node.literal().is_some_and(ScalarValue::is_null) {
        let null = ScalarValue::try_from(&kind.stored()).map_err(planner)?;
        return Ok(Node::new(Operation::Literal(null), vec![], kind));
    }
    if !converts(node.kind, kind) {
        return refused(format!("{} is not made of {} here", kind.name(), node.kind.name()));
    }
    made(Operation::Convert, vec![node], kind)
}

fn negation(node: Node) -> Result<Node, EngineError> {
    made(Operation::Not, vec![node], Kind::Boolean)
}

fn compared(comparison: Comparison, left: Node, right: Node) -> Result<Node, EngineError> {
    let (left, right) = of_one_kind(left, right)?;
    made(Operation::Compare(comparison), vec![left, right], Kind::Boolean)
}

/// Whether two values are equal or both NULL; never NULL itself.
fn same(left: Node, right: Node) -> Result<Node, EngineError> {
    let (left, right) = of_one_kind(left, right)?;
    let missing = |node: &Node| made(Operation::IsNull, vec![node.clone()], Kind::Boolean);
    let neither = made(Operation::And, vec![missing(&left)?, missing(&right)?], Kind::Boolean)?;
    let equal = compared(Comparison::Equal, left, right)?;
    let equal = made(Operation::Is(true), vec![equal], Kind::Boolean)?;
    made(Operation::Or, vec![neither, equal], Kind::Boolean)
}

/// Both sides in one kind. The planner has seen to that but for a NULL without a type.
fn of_one_kind(left: Node, right: Node) -> Result<(Node, Node), EngineError> {
    let null = |node: &Node| node.literal().is_some_and(ScalarValue::is_null);
    match (left.kind, right.kind) {
        (a, b) if a == b => Ok((left, right)),
        (kind, _) if null(&right) => Ok((left, converted(right, kind)?)),
        (_, kind) if null(&left) => Ok((converted(left, kind)?, right)),
        (Kind::Integer, Kind::Real) | (Kind::Date, Kind::Moment) => {
            let kind = right.kind;
            Ok((converted(left, kind)?, right))
        }
        (Kind::Real, Kind::Integer) | (Kind::Moment, Kind::Date) => {
            let kind = left.kind;
            Ok((left, converted(right, kind)?))
        }
        (a, b) => refused(format!("{} is compared with {}: cast one of them", a.name(), b.name())),
    }
}

/// The value of an expression that is a literal, perhaps cast or negated by the parser.
pub fn constant(expression: &Expr) -> Option<ScalarValue> {
    match expression {
        Expr::Literal(value, _) => Some(value.clone()),
        Expr::Alias(alias) => constant(&alias.expr),
        Expr::Cast(cast) => constant(&cast.expr)?.cast_to(cast.field.data_type()).ok(),
        Expr::TryCast(cast) => constant(&cast.expr)?.cast_to(cast.field.data_type()).ok(),
        Expr::Negative(inner) => constant(inner)?.arithmetic_negate().ok(),
        _ => None,
    }
}
