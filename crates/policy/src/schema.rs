//! The JSON schema of the policy file, for editors.

use schemars::generate::SchemaSettings;

/// The JSON schema (draft 07, which TOML editors know) of the policy file, ending with a line break. The repository keeps it as
/// `docs/policy.schema.json`.
#[must_use]
pub fn json_schema() -> String {
    let schema = SchemaSettings::draft07().into_generator().into_root_schema_for::<crate::file::PolicyFile>();
    let mut value = schema.to_value();
    // Rust's number formats mean nothing to an editor.
    remove_formats(&mut value);
    value["title"] = "Reticent policy".into();
    format!("{value:#}\n")
}

fn remove_formats(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Object(fields) => {
            // A field of the policy is called `format` too; its description is an object.
            if fields.get("format").is_some_and(serde_json::Value::is_string) {
                fields.remove("format");
            }
            fields.values_mut().for_each(remove_formats);
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(remove_formats),
        _ => {}
    }
}
