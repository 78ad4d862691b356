//! The JSON schema of the policy file, for editors.

use schemars::generate::SchemaSettings;
use serde_json::Value;

/// The JSON schema (draft 07, which TOML editors know) of the policy file, ending with a line
/// break. The repository keeps it as `docs/policy.schema.json`.
#[must_use]
pub fn json_schema() -> String {
    let schema = SchemaSettings::draft07()
        .into_generator()
        .into_root_schema_for::<crate::file::PolicyFile>();
    let mut value = schema.to_value();
    as_toml_has_it(&mut value);
    value["title"] = "Reticent policy".into();
    format!("{value:#}\n")
}

/// Takes out what TOML does not have: null, and the widths of Rust's numbers.
fn as_toml_has_it(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            // A field of the policy is called `format` too; its description is an object.
            if fields.get("format").is_some_and(Value::is_string) {
                fields.remove("format");
            }
            if fields.get("default").is_some_and(Value::is_null) {
                fields.remove("default");
            }
            if let Some(Value::Array(types)) = fields.get_mut("type") {
                types.retain(|name| name != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    fields.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(choices)) = fields.get_mut("anyOf") {
                choices.retain(|choice| choice["type"] != "null");
            }
            fields.values_mut().for_each(as_toml_has_it);
        }
        Value::Array(items) => items.iter_mut().for_each(as_toml_has_it),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_needed_is_required_and_nothing_is_null() {
        let text = json_schema();
        assert!(!text.contains("null\""), "{text}");
        let schema: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(schema["required"], serde_json::json!(["budget"]));
        let required = |name: &str| schema["definitions"][name]["required"].clone();
        assert_eq!(required("BudgetFile"), serde_json::json!(["epsilon"]));
        assert_eq!(required("TableFile"), serde_json::json!(["source"]));
        assert_eq!(required("ColumnFile"), serde_json::json!(["type"]));
        assert!(schema["definitions"]["TableFile"]["properties"]["format"].is_object());
    }
}
