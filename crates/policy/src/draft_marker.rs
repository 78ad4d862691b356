//! Fields of a draft that a person must fill in.

/// How a field begins that `reticent init` leaves open.
const MARKER: &str = "FILL IN: ";

/// The TOML string that stands for a value which a person must supply from public knowledge. A
/// policy with such a string in it, anywhere, is refused with a list of all of them.
///
/// ```
/// use reticent_policy::{Policy, fill_in};
///
/// let text = format!("[budget]\nepsilon = {}", fill_in("the total privacy loss, such as 1"));
/// let refusal = Policy::parse(&text, "policy.toml".as_ref()).expect_err("a draft");
/// let refused = "budget.epsilon: FILL IN: the total privacy loss, such as 1";
/// assert!(refusal.to_string().contains(refused));
/// ```
#[must_use]
pub fn fill_in(what: &str) -> String {
    crate::value::quoted(&format!("{MARKER}{what}"))
}

/// Every field whose text is still the draft's, with that text, in the order of their names.
pub(crate) fn open_fields(table: &toml::Table) -> Vec<String> {
    let mut fields = Vec::new();
    for (key, value) in table {
        collect(value, &crate::error::FieldPath::top(key), &mut fields);
    }
    fields.sort();
    fields
}

fn collect(value: &toml::Value, field: &crate::error::FieldPath, fields: &mut Vec<String>) {
    match value {
        toml::Value::String(text) if text.starts_with(MARKER.trim_end()) => {
            fields.push(format!("{field}: {text}"))
        }
        toml::Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect(item, &field.item(index), fields);
            }
        }
        toml::Value::Table(table) => {
            for (key, item) in table {
                collect(item, &field.at(key), fields);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_found_at_every_depth() {
        let text = format!(
            "a = {}\n[t.u]\nb = [1, {}]\nc = \"fill in\"",
            fill_in("one"),
            fill_in("\"two\"")
        );
        let table: toml::Table = text.parse().expect("TOML");
        assert_eq!(open_fields(&table), ["a: FILL IN: one", "t.u.b[1]: FILL IN: \"two\""]);
    }
}
