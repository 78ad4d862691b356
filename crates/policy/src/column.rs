//! What is publicly known of a column.

use std::cmp::Ordering;

use crate::error::{FieldPath, PolicyError};
use crate::file::ColumnFile;
use crate::value::{ColumnType, Value, quoted};

/// The most public values of one column.
const MOST_VALUES: usize = 100_000;

/// The least and the greatest of an interval, in order, of the column's type.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounds {
    /// The least value.
    pub lower: Value,
    /// The greatest value, greater than the least.
    pub upper: Value,
}

impl Bounds {
    /// As numbers, if they are numbers. Whole numbers beyond `2^53` are rounded to the nearest
    /// double.
    #[must_use]
    pub fn numbers(&self) -> Option<(f64, f64)> {
        match (&self.lower, &self.upper) {
            (Value::Integer(lower), Value::Integer(upper)) => Some((*lower as f64, *upper as f64)),
            (Value::Real(lower), Value::Real(upper)) => Some((*lower, *upper)),
            _ => None,
        }
    }

    fn read(
        kind: ColumnType,
        written: &toml::Value,
        field: &FieldPath,
    ) -> Result<Bounds, PolicyError> {
        let accepted = format!("a list of the least and the greatest value, both of type {kind}");
        let toml::Value::Array(items) = written else {
            return Err(field.invalid(written, accepted));
        };
        let [lower, upper] = items.as_slice() else { return Err(field.invalid(written, accepted)) };
        let lower = Value::read(kind, lower, &field.item(0))?;
        let upper = Value::read(kind, upper, &field.item(1))?;
        if lower.order(&upper) != Ordering::Less {
            return Err(field.invalid(written, "the first must be less than the second"));
        }
        let bounds = Bounds { lower, upper };
        if bounds.numbers().is_some_and(|(lower, upper)| !(upper - lower).is_finite()) {
            return Err(field.invalid(written, "the difference must be a finite number"));
        }
        Ok(bounds)
    }

    fn contains(&self, value: &Value) -> bool {
        self.lower.order(value) != Ordering::Greater
            && value.order(&self.upper) != Ordering::Greater
    }

    fn canonical(&self) -> String {
        format!("{} {}", self.lower.canonical(), self.upper.canonical())
    }
}

/// A column that SQL can name, with what is publicly known of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    name: String,
    kind: ColumnType,
    bounds: Option<Bounds>,
    values: Option<Vec<Value>>,
    unit_bounds: Option<Bounds>,
    nullable: bool,
}

impl Column {
    /// Its name, as the policy and the data spell it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The type of its values.
    #[must_use]
    pub fn kind(&self) -> ColumnType {
        self.kind
    }

    /// The least and the greatest value that count.
    #[must_use]
    pub fn bounds(&self) -> Option<&Bounds> {
        self.bounds.as_ref()
    }

    /// The values that are publicly known to be possible, in ascending order. Of a boolean column
    /// they are known without saying: `false` and `true`.
    #[must_use]
    pub fn values(&self) -> Option<&[Value]> {
        const TRUTHS: &[Value] = &[Value::Boolean(false), Value::Boolean(true)];
        match (&self.values, self.kind) {
            (Some(values), _) => Some(values),
            (None, ColumnType::Boolean) => Some(TRUTHS),
            (None, _) => None,
        }
    }

    /// The least and the greatest sum of one unit's values in a group: they contain 0.
    #[must_use]
    pub fn unit_bounds(&self) -> Option<&Bounds> {
        self.unit_bounds.as_ref()
    }

    /// Whether values may be missing: whether NULL is among the public values.
    #[must_use]
    pub fn nullable(&self) -> bool {
        self.nullable
    }

    pub(crate) fn read(
        name: &str,
        file: &ColumnFile,
        field: &FieldPath,
    ) -> Result<Column, PolicyError> {
        check_name(name, field)?;
        let kind = file.kind;
        let bounds = match &file.bounds {
            None => None,
            Some(written) if matches!(kind, ColumnType::Text | ColumnType::Boolean) => {
                return Err(field.at("bounds").invalid(
                    written,
                    format!(
                        "a column of type {kind} has no bounds; list its public values in `values`"
                    ),
                ));
            }
            Some(written) => Some(Bounds::read(kind, written, &field.at("bounds"))?),
        };
        let values = match &file.values {
            None => None,
            Some(written) => {
                Some(read_values(kind, written, bounds.as_ref(), &field.at("values"))?)
            }
        };
        let unit_bounds = match &file.unit_bounds {
            None => None,
            Some(written) => Some(read_unit_bounds(kind, written, &field.at("unit_bounds"))?),
        };
        Ok(Column {
            name: name.to_owned(),
            kind,
            bounds,
            values,
            unit_bounds,
            nullable: file.nullable.unwrap_or(true),
        })
    }

    /// One line for fingerprints.
    pub(crate) fn canonical(&self) -> String {
        let mut line = format!("column {} {}", quoted(&self.name), self.kind);
        if self.nullable {
            line.push_str(" nullable");
        }
        if let Some(bounds) = &self.bounds {
            line += &format!(" bounds {}", bounds.canonical());
        }
        if let Some(bounds) = &self.unit_bounds {
            line += &format!(" unit_bounds {}", bounds.canonical());
        }
        if let Some(values) = &self.values {
            line += " values";
            for value in values {
                line += &format!(" {}", value.canonical());
            }
        }
        line
    }
}

fn read_values(
    kind: ColumnType,
    written: &toml::Value,
    bounds: Option<&Bounds>,
    field: &FieldPath,
) -> Result<Vec<Value>, PolicyError> {
    let accepted = format!("a list of 1 to {MOST_VALUES} different values of type {kind}");
    let toml::Value::Array(items) = written else { return Err(field.invalid(written, accepted)) };
    if items.is_empty() {
        return Err(field.invalid("[]", accepted));
    }
    if items.len() > MOST_VALUES {
        return Err(field.invalid(format!("a list of {} values", items.len()), accepted));
    }
    let mut values = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let value = Value::read(kind, item, &field.item(index))?;
        if let Some(bounds) = bounds.filter(|bounds| !bounds.contains(&value)) {
            return Err(field.item(index).invalid(
                value,
                format!("within the column's bounds, {} to {}", bounds.lower, bounds.upper),
            ));
        }
        values.push(value);
    }
    values.sort_by(Value::order);
    match values.windows(2).find(|pair| pair[0].order(&pair[1]) == Ordering::Equal) {
        Some(pair) => Err(field.invalid(format!("a list with {} twice", pair[0]), accepted)),
        None => Ok(values),
    }
}

fn read_unit_bounds(
    kind: ColumnType,
    written: &toml::Value,
    field: &FieldPath,
) -> Result<Bounds, PolicyError> {
    if !kind.is_number() {
        return Err(field.invalid(
            written,
            format!("only numbers are summed, and this column is of type {kind}"),
        ));
    }
    let bounds = Bounds::read(kind, written, field)?;
    // A unit that has no row in a group adds 0 to its sum, so 0 must be possible.
    match bounds.numbers() {
        Some((lower, upper)) if lower <= 0.0 && 0.0 <= upper => Ok(bounds),
        _ => {
            Err(field
                .invalid(written, "an interval that contains 0, the sum of a unit without rows"))
        }
    }
}

/// The longest name of a column, in bytes.
const LONGEST_NAME: usize = 256;

/// Any name that a file can have and that SQL can quote.
fn check_name(name: &str, field: &FieldPath) -> Result<(), PolicyError> {
    let fine = !name.is_empty()
        && name.len() <= LONGEST_NAME
        && name.trim() == name
        && !name.chars().any(|character| character.is_control() || character == '"');
    if fine {
        return Ok(());
    }
    Err(field.invalid(
        quoted(name),
        format!(
            "the name of a column has 1 to {LONGEST_NAME} bytes, no space at its ends, no \
             quotation mark and no control character"
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Column, String> {
        let file: ColumnFile = toml::from_str(text).map_err(|error| error.to_string())?;
        Column::read("age", &file, &FieldPath::top("age")).map_err(|error| error.to_string())
    }

    #[test]
    fn a_column_says_what_is_known() {
        let column = read(
            "type = \"integer\"\nbounds = [0, 120]\nvalues = [3, 1, 2]\nunit_bounds = [0, 500]",
        )
        .expect("fine");
        assert_eq!(column.bounds().and_then(Bounds::numbers), Some((0.0, 120.0)));
        assert_eq!(
            column.values(),
            Some(&[Value::Integer(1), Value::Integer(2), Value::Integer(3)][..])
        );
        assert!(column.nullable());
        assert_eq!(
            column.canonical(),
            "column \"age\" integer nullable bounds i0 i120 unit_bounds i0 i500 values i1 i2 i3"
        );
        let days = read("type = \"date\"\nbounds = [1900-01-01, \"2024-12-31\"]\nnullable = false")
            .expect("fine");
        assert!(!days.nullable() && days.values().is_none());
        assert_eq!(days.bounds().and_then(Bounds::numbers), None);
        assert_eq!(read("type = \"boolean\"").expect("fine").values().map(<[Value]>::len), Some(2));
    }

    #[test]
    fn wrong_bounds_are_refused() {
        for (text, expected) in [
            (
                "type = \"integer\"\nbounds = [2, 1]",
                "age.bounds = [2, 1] is not accepted: the first must be less",
            ),
            ("type = \"real\"\nbounds = [1, 1.0]", "the first must be less"),
            ("type = \"real\"\nbounds = [0.0, inf]", "age.bounds[1] = inf"),
            ("type = \"real\"\nbounds = [nan, 1.0]", "age.bounds[0] = nan"),
            ("type = \"real\"\nbounds = [-1e308, 1e308]", "the difference must be a finite number"),
            (
                "type = \"real\"\nbounds = [1.0]",
                "a list of the least and the greatest value, both of type real",
            ),
            ("type = \"real\"\nbounds = 5", "age.bounds = 5"),
            ("type = \"text\"\nbounds = [\"a\", \"b\"]", "a column of type text has no bounds"),
            ("type = \"integer\"\nunit_bounds = [1, 5]", "an interval that contains 0"),
            ("type = \"date\"\nunit_bounds = [1900-01-01, 2000-01-01]", "only numbers are summed"),
            ("type = \"whole\"", "unknown variant `whole`, expected one of `integer`"),
            ("type = \"real\"\nbound = [0, 1]", "unknown field `bound`, expected one of"),
        ] {
            let message = read(text).expect_err(text);
            assert!(message.contains(expected), "{message}");
        }
    }

    #[test]
    fn wrong_values_are_refused() {
        for (text, expected) in [
            (
                "type = \"text\"\nvalues = []",
                "age.values = [] is not accepted: a list of 1 to 100000",
            ),
            ("type = \"text\"\nvalues = [\"a\", \"b\", \"a\"]", "a list with \"a\" twice"),
            ("type = \"real\"\nvalues = [0.0, -0.0]", "a list with 0.0 twice"),
            (
                "type = \"text\"\nvalues = [\"a\", 1]",
                "age.values[1] = 1 is not accepted: a value of type text",
            ),
            (
                "type = \"integer\"\nbounds = [0, 9]\nvalues = [10]",
                "within the column's bounds, 0 to 9",
            ),
            ("type = \"text\"\nvalues = \"a\"", "age.values = \"a\""),
        ] {
            let message = read(text).expect_err(text);
            assert!(message.contains(expected), "{message}");
        }
        let many: Vec<String> = (0..=MOST_VALUES).map(|number| number.to_string()).collect();
        let message = read(&format!("type = \"integer\"\nvalues = [{}]", many.join(",")))
            .expect_err("too many");
        assert!(message.contains("a list of 100001 values"), "{message}");
    }

    #[test]
    fn names_are_those_that_sql_can_quote() {
        let file: ColumnFile = toml::from_str("type = \"text\"").expect("a column");
        for name in ["pick up ($)", "Größe", "a.b"] {
            assert!(Column::read(name, &file, &FieldPath::top("columns")).is_ok(), "{name}");
        }
        for name in ["", " age", "age\t", "a\nb", "say \"x\"", &"x".repeat(LONGEST_NAME + 1)] {
            assert!(Column::read(name, &file, &FieldPath::top("columns")).is_err(), "{name:?}");
        }
    }
}
