//! Functions of one variable `t` written as expressions, such as the loss `min(t, 3)^2` of
//! `t = |error|`.
//!
//! A parser of a page, and not a crate: `meval` and `fasteval` are no longer kept, `evalexpr` is
//! under the AGPL, and `exmex` brings a regular-expression engine and derivatives for six
//! functions.

use crate::error::ChoiceError;
use crate::piecewise_loss::PiecewiseLoss;
use reticent_numerics::require;

/// The longest expression, in bytes.
const LONGEST: usize = 1000;
/// The deepest nesting.
const DEEPEST: usize = 50;
/// The points of the table, over the decades on each side of the unit.
const POINTS: i32 = 600;
const DECADES: f64 = 3.0;

impl PiecewiseLoss {
    /// A loss from an expression of `t = |error|` with numbers, `+ - * / ^`, parentheses, and
    /// `sqrt`, `exp`, `ln`, `abs`, `min(a, b)`, `max(a, b)`.
    ///
    /// The loss is the table of the expression's values at zero and at 600 points from a thousandth
    /// to a thousand times `unit`, the scale on which errors are expected, with straight lines
    /// between them: for `t^p` within a relative `p |p - 1|/8 0.023^2` of the expression. All that
    /// is proved is proved for this table.
    ///
    /// # Errors
    /// If it cannot be read, or its values are not finite, negative, or fall as `t` grows.
    pub fn from_expression(text: &str, unit: f64) -> Result<Self, ChoiceError> {
        require(
            (1e-90..=1e90).contains(&unit),
            "unit of the loss",
            unit,
            "a number from 1e-90 to 1e90",
        )?;
        let expression = Expression::parse(text)?;
        let point = |i: i32| unit * 10f64.powf(DECADES * f64::from(i) / f64::from(POINTS / 2));
        let points = std::iter::once(0.0).chain((-POINTS / 2..=POINTS / 2).map(point));
        PiecewiseLoss::table(&points.map(|t| (t, expression.at(t) + 0.0)).collect::<Vec<_>>())
    }
}

/// A function of `t`: numbers, `+ - * / ^`, parentheses, and `sqrt`, `exp`, `ln`, `abs`,
/// `min(a, b)`, `max(a, b)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression(Node);

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Number(f64),
    Variable,
    Function(Function, Vec<Node>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
    Negate,
    Sqrt,
    Exp,
    Ln,
    Abs,
    Min,
    Max,
}

impl Function {
    /// The function of a name, and how many arguments it takes.
    fn named(name: &str) -> Option<(Self, usize)> {
        Some(match name {
            "sqrt" => (Function::Sqrt, 1),
            "exp" => (Function::Exp, 1),
            "ln" => (Function::Ln, 1),
            "abs" => (Function::Abs, 1),
            "min" => (Function::Min, 2),
            "max" => (Function::Max, 2),
            _ => return None,
        })
    }
}

impl Expression {
    /// Reads an expression.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn parse(text: &str) -> Result<Self, ChoiceError> {
        let refuse = |why: &str| {
            let accepted =
                "t, numbers, + - * / ^, parentheses, sqrt, exp, ln, abs, min(a, b) and max(a, b)";
            ChoiceError::Meaningless(format!(
                "the expression cannot be read: {why}; it may hold {accepted}"
            ))
        };
        if text.len() > LONGEST {
            return Err(refuse("it is longer than 1000 bytes"));
        }
        let mut reader = Reader { rest: text, depth: 0 };
        let parsed = reader.sum().map_err(|why| refuse(&why))?;
        if reader.peek().is_some() {
            return Err(refuse(&format!("something is left at `{}`", shortened(reader.rest))));
        }
        Ok(Expression(parsed))
    }

    /// Its value at `t`, which may be infinite or not a number.
    pub fn at(&self, t: f64) -> f64 {
        self.0.at(t)
    }
}

impl Node {
    fn at(&self, t: f64) -> f64 {
        let (function, arguments) = match self {
            Node::Number(value) => return *value,
            Node::Variable => return t,
            Node::Function(function, arguments) => (function, arguments),
        };
        let of = |index: usize| arguments.get(index).map_or(f64::NAN, |argument| argument.at(t));
        match function {
            Function::Add => of(0) + of(1),
            Function::Subtract => of(0) - of(1),
            Function::Multiply => of(0) * of(1),
            Function::Divide => of(0) / of(1),
            Function::Power => of(0).powf(of(1)),
            Function::Negate => -of(0),
            Function::Sqrt => of(0).sqrt(),
            Function::Exp => of(0).exp(),
            Function::Ln => of(0).ln(),
            Function::Abs => of(0).abs(),
            Function::Min => of(0).min(of(1)),
            Function::Max => of(0).max(of(1)),
        }
    }
}

fn shortened(text: &str) -> String {
    text.trim_start().chars().take(12).collect()
}

/// By recursive descent: a sum of products of powers of atoms.
struct Reader<'a> {
    rest: &'a str,
    depth: usize,
}

impl Reader<'_> {
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.rest = &self.rest[wanted.len_utf8()..];
        }
        found
    }

    fn sum(&mut self) -> Result<Node, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("it is nested too deeply".into());
        }
        let mut left = self.product()?;
        loop {
            let function = if self.take('+') {
                Function::Add
            } else if self.take('-') {
                Function::Subtract
            } else {
                break;
            };
            left = Node::Function(function, vec![left, self.product()?]);
        }
        self.depth -= 1;
        Ok(left)
    }

    fn product(&mut self) -> Result<Node, String> {
        let mut left = self.signed()?;
        loop {
            let function = if self.take('*') {
                Function::Multiply
            } else if self.take('/') {
                Function::Divide
            } else {
                return Ok(left);
            };
            left = Node::Function(function, vec![left, self.signed()?]);
        }
    }

    /// A sign binds less than a power: `-t^2` is `-(t^2)`.
    fn signed(&mut self) -> Result<Node, String> {
        if !self.take('-') {
            return self.power();
        }
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("it is nested too deeply".into());
        }
        let inner = self.signed()?;
        self.depth -= 1;
        Ok(Node::Function(Function::Negate, vec![inner]))
    }

    fn power(&mut self) -> Result<Node, String> {
        let base = self.atom()?;
        if !self.take('^') {
            return Ok(base);
        }
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("it is nested too deeply".into());
        }
        let exponent = self.signed()?;
        self.depth -= 1;
        Ok(Node::Function(Function::Power, vec![base, exponent]))
    }

    fn atom(&mut self) -> Result<Node, String> {
        match self.peek() {
            None => Err("it ends too early".into()),
            Some('(') => {
                self.take('(');
                let inner = self.sum()?;
                if self.take(')') { Ok(inner) } else { Err("a parenthesis is not closed".into()) }
            }
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            Some(c) if c.is_ascii_alphabetic() => self.named(),
            Some(_) => Err(format!("`{}` is not expected", shortened(self.rest))),
        }
    }

    fn number(&mut self) -> Result<Node, String> {
        let bytes = self.rest.as_bytes();
        let mut end = 0;
        while end < bytes.len() {
            let sign_of_exponent = matches!(bytes[end], b'+' | b'-')
                && end > 0
                && matches!(bytes[end - 1], b'e' | b'E');
            if !(bytes[end].is_ascii_digit()
                || matches!(bytes[end], b'.' | b'e' | b'E')
                || sign_of_exponent)
            {
                break;
            }
            end += 1;
        }
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        text.parse().map(Node::Number).map_err(|_| format!("`{}` is no number", shortened(text)))
    }

    fn named(&mut self) -> Result<Node, String> {
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        if name == "t" {
            return Ok(Node::Variable);
        }
        let (function, count) =
            Function::named(name).ok_or_else(|| format!("`{}` is not known", shortened(name)))?;
        if !self.take('(') {
            return Err(format!("{name} needs its argument in parentheses"));
        }
        let mut arguments = vec![self.sum()?];
        while self.take(',') {
            arguments.push(self.sum()?);
        }
        if !self.take(')') || arguments.len() != count {
            return Err(format!("{name} takes {count} in parentheses"));
        }
        Ok(Node::Function(function, arguments))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_mean_what_they_look_like() {
        for (text, at_two) in [
            ("t", 2.0),
            ("2*t+1", 5.0),
            ("1 + 2 * t ^ 3", 17.0),
            ("2^t^2", 16.0),
            ("10 - t - 3", 5.0),
            ("-t^2 + 5", 1.0),
            ("t * -1 + 4", 2.0),
            ("min(t, 1.5) ^ 2", 2.25),
            ("max(0, t - 0.5) / 3e0", 0.5),
            ("sqrt(t*8) + ln(exp(1))", 5.0),
            ("abs(-t)", 2.0),
            ("1e-1*t", 0.2),
        ] {
            let parsed = Expression::parse(text).map(|expression| expression.at(2.0));
            assert!(
                parsed.as_ref().is_ok_and(|value| (value - at_two).abs() < 1e-14),
                "{text}: {parsed:?}"
            );
        }
    }

    #[test]
    fn what_cannot_be_read_is_refused_in_time_and_without_a_panic() {
        let deep = "(".repeat(900);
        let signs = "-".repeat(900);
        let powers = "t^".repeat(400);
        for text in [
            "", "t +", "x", "t t", "min(t)", "sqrt t", "(t", "1..2", "t)", "é", "2e", "ln(t",
            &deep, &signs, &powers,
        ] {
            let refused = Expression::parse(text).map_err(|error| error.to_string());
            assert!(
                refused.as_ref().is_err_and(|message| message.contains("cannot be read")),
                "{text}: {refused:?}"
            );
        }
        assert!(Expression::parse(&"t+".repeat(600)).is_err());
    }

    #[test]
    fn a_table_follows_its_expression_and_falling_ones_are_no_losses() {
        let loss = PiecewiseLoss::from_expression("t^1.5", 2.0).expect("a loss");
        for t in [0.01f64, 0.37, 2.0, 55.5, 1999.0] {
            assert!(
                (loss.at(t).estimate() / t.powf(1.5) - 1.0).abs() < 1e-4,
                "{t}: {:?}",
                loss.at(t)
            );
        }
        for (text, why) in [
            ("1/t", "1e100"),
            ("exp(0-t)", "cannot cost less"),
            ("5 - t", "loss"),
            ("t - 1", "loss"),
            ("ln(t)", "loss"),
            ("3", "equal"),
        ] {
            let refused =
                PiecewiseLoss::from_expression(text, 1.0).map_err(|error| error.to_string());
            assert!(
                refused.as_ref().is_err_and(|message| message.contains(why)),
                "{text}: {refused:?}"
            );
        }
        assert!(PiecewiseLoss::from_expression("t", f64::NAN).is_err());
    }
}
