//! Joined texts that stay short: one row can not make a text of any length out of a chain of sub-queries that each double it.

use datafusion::arrow::array::{Array, AsArray, StringViewBuilder};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use reticent_policy::LONGEST_TEXT;
use std::sync::Arc;

/// What NULL does, and what stands between the pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Joining {
    /// `a || b`: NULL if a piece is.
    Operator,
    /// `CONCAT(a, b, ...)`: pieces that are NULL are passed over.
    Pieces,
    /// `CONCAT_WS(separator, a, b, ...)`: the same with a separator, and NULL if that is.
    WithSeparator,
}

/// Texts one after the other, cut where a text that is read would be.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Joined {
    joining: Joining,
    signature: Signature,
}

pub(crate) fn joined(joining: Joining, pieces: Vec<Expr>) -> Expr {
    let signature = Signature::variadic_any(Volatility::Immutable);
    ScalarUDF::new_from_impl(Joined { joining, signature }).call(pieces)
}

/// The pieces as one text of at most [`LONGEST_TEXT`] bytes, cut at a character.
fn text_of(joining: Joining, pieces: &[Option<&str>]) -> Option<String> {
    let (separator, pieces) = match (joining, pieces) {
        (Joining::WithSeparator, [separator, rest @ ..]) => ((*separator)?, rest),
        (_, all) => ("", all),
    };
    if joining == Joining::Operator && pieces.contains(&None) {
        return None;
    }
    let mut text = String::new();
    for (place, piece) in pieces.iter().flatten().enumerate() {
        for part in [if place > 0 { separator } else { "" }, piece] {
            let room = LONGEST_TEXT - text.len();
            let kept = &part[..part.floor_char_boundary(room)];
            text.push_str(kept);
            if kept.len() < part.len() {
                return Some(text);
            }
        }
    }
    Some(text)
}

impl ScalarUDFImpl for Joined {
    fn name(&self) -> &str {
        match self.joining {
            Joining::Operator => "||",
            Joining::Pieces => "concat",
            Joining::WithSeparator => "concat_ws",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8View)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = arguments.number_rows;
        let pieces = arguments.args.iter().map(|piece| Ok(cast(&piece.to_array(rows)?, &DataType::Utf8View)?));
        let pieces = pieces.collect::<Result<Vec<_>>>()?;
        let pieces: Vec<_> = pieces.iter().map(|piece| piece.as_string_view()).collect();
        let mut texts = StringViewBuilder::with_capacity(rows);
        for row in 0..rows {
            let all: Vec<Option<&str>> =
                pieces.iter().map(|piece| (!piece.is_null(row)).then(|| piece.value(row))).collect();
            texts.append_option(text_of(self.joining, &all));
        }
        Ok(ColumnarValue::Array(Arc::new(texts.finish())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_follows_the_way_of_joining() {
        let pieces = [Some("a"), None, Some("b")];
        assert_eq!(text_of(Joining::Operator, &pieces), None);
        assert_eq!(text_of(Joining::Pieces, &pieces).as_deref(), Some("ab"));
        assert_eq!(text_of(Joining::WithSeparator, &[Some("-"), Some("a"), None, Some("b")]).as_deref(), Some("a-b"));
        assert_eq!(text_of(Joining::WithSeparator, &[None, Some("a")]), None);
        assert_eq!(text_of(Joining::Pieces, &[None]).as_deref(), Some(""));
    }

    #[test]
    fn long_texts_are_cut_at_a_character() {
        let (long, wide) = ("x".repeat(LONGEST_TEXT - 1), "é");
        let cut = text_of(Joining::Operator, &[Some(&long), Some(wide)]).expect("a text");
        assert_eq!(cut, long);
        let doubled = text_of(Joining::Pieces, &[Some(&long), Some(&long), Some("y")]).expect("a text");
        assert_eq!((doubled.len(), doubled.ends_with('x')), (LONGEST_TEXT, true));
    }
}
