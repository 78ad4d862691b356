//! The policy file as it is written, before it is judged. The descriptions go to editors through
//! the JSON schema.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use crate::budget::Accounting;
use crate::table::Format;
use crate::value::ColumnType;

/// What is private, what is public knowledge, and how much may be spent. Everything in this file is
/// public: fill it in from public knowledge, never by looking at the data.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PolicyFile {
    /// The file that remembers what was spent, relative to this file. Default: beside this file,
    /// with the ending `.ledger`.
    #[schemars(with = "Option<String>", length(min = 1))]
    pub(crate) ledger: Option<String>,
    /// How much privacy may be spent on all queries together.
    pub(crate) budget: BudgetFile,
    /// The tables that SQL can name.
    #[serde(default)]
    pub(crate) tables: BTreeMap<String, TableFile>,
}

/// How much privacy may be spent on all queries together.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BudgetFile {
    /// The total privacy loss that is allowed: greater than 0. Common choices are between 0.1
    /// and 10.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub(crate) epsilon: f64,
    /// The total probability with which a loss may exceed epsilon: from 0 to less than 1, far below
    /// one over the number of people. Default: 0, which leaves pure differential privacy.
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
    pub(crate) delta: Option<f64>,
    /// What a query costs unless it says otherwise. Default: a tenth of epsilon, or
    /// min_query_epsilon if that is more.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub(crate) query_epsilon: Option<f64>,
    /// What a query may use of delta unless it says otherwise. Default: a hundredth of delta.
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
    pub(crate) query_delta: Option<f64>,
    /// The least epsilon that a query may ask for: greater than 0, at most query_epsilon. Default:
    /// a ten-thousandth of epsilon, or a hundredth under zero-concentrated accounting, so that some
    /// ten thousand queries fit into the budget and not 10^15.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub(crate) min_query_epsilon: Option<f64>,
    /// How the costs of queries add up. `basic`: epsilons and deltas are added, so that a budget of
    /// 2 pays for eight queries of 0.25. `zero-concentrated` (needs a delta): queries get Gaussian
    /// noise, which is larger for a single number, and many more of them fit. Default: `basic`.
    pub(crate) accounting: Option<Accounting>,
    /// Whether the first query makes the ledger if there is none. Convenient for examples; but a
    /// ledger that was deleted is then made anew, and what was spent is forgotten. Default: false,
    /// and `reticent ledger create` makes it.
    pub(crate) create_ledger: Option<bool>,
}

/// A table: exactly one of `unit`, `each_row` and `public` says what is protected.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TableFile {
    /// A file, a glob pattern or a folder, or a list of them; relative to this file.
    pub(crate) source: Sources,
    /// The format of the files. Default: from their endings.
    pub(crate) format: Option<Format>,
    /// For CSV: the character between fields. Default: a comma, or a tab for files that end in
    /// `.tsv`.
    #[schemars(with = "Option<String>", length(min = 1, max = 1))]
    pub(crate) delimiter: Option<String>,
    /// For CSV without a header line: the names of its columns, in order.
    #[schemars(with = "Option<Vec<String>>", length(min = 1))]
    pub(crate) header: Option<Vec<String>>,
    /// The column that says to whom a row belongs: all rows of one person are protected together.
    pub(crate) unit: Option<String>,
    /// Every row is protected by itself: right only if nobody is in two rows.
    pub(crate) each_row: Option<bool>,
    /// The table is public knowledge: nothing in it is protected.
    pub(crate) public: Option<bool>,
    /// For a public table: columns that together identify a row.
    pub(crate) unique: Option<Vec<String>>,
    /// With `unit`: in how many groups of one answer a person's rows count at most. More groups
    /// mean more noise.
    #[schemars(range(min = 1, max = 4294967295u32))]
    pub(crate) max_groups: Option<i64>,
    /// With `unit`: how many rows of one person count in one group at most. More rows mean more
    /// noise.
    #[schemars(range(min = 1, max = 4294967295u32))]
    pub(crate) max_rows: Option<i64>,
    /// The columns that SQL can name; others stay invisible.
    #[serde(default)]
    pub(crate) columns: BTreeMap<String, ColumnFile>,
}

/// One path or several.
#[derive(Debug, JsonSchema)]
#[schemars(untagged)]
pub(crate) enum Sources {
    /// A file, a glob pattern or a folder.
    One(String),
    /// Several of them: their rows together are the table.
    Several(Vec<String>),
}

impl<'de> Deserialize<'de> for Sources {
    /// By hand, because a derived untagged enum says only that nothing matched.
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Sources, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Sources;
            fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str("a path in quotation marks, or a list of them")
            }
            fn visit_str<E>(self, path: &str) -> Result<Sources, E> {
                Ok(Sources::One(path.to_owned()))
            }
            fn visit_seq<A: serde::de::SeqAccess<'de>>(
                self,
                mut items: A,
            ) -> Result<Sources, A::Error> {
                let mut paths = Vec::new();
                while let Some(path) = items.next_element()? {
                    paths.push(path);
                }
                Ok(Sources::Several(paths))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// What is publicly known of a column.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ColumnFile {
    /// The type of its values. What cannot be read as this type is NULL.
    #[serde(rename = "type")]
    pub(crate) kind: ColumnType,
    /// The least and the greatest value that count: values outside are moved to the nearer bound.
    /// Needed for sums, averages and quantiles. Numbers, dates or moments.
    #[serde(default)]
    #[schemars(schema_with = "pair")]
    pub(crate) bounds: Option<toml::Value>,
    /// The values that are publicly known to be possible. Groups of these values are always shown;
    /// rows with other values are in no group.
    #[serde(default)]
    #[schemars(schema_with = "list")]
    pub(crate) values: Option<toml::Value>,
    /// For sums in a table with `unit`: the least and the greatest sum of one person's values in
    /// one group, instead of `max_rows`. Contains 0.
    #[serde(default)]
    #[schemars(schema_with = "pair")]
    pub(crate) unit_bounds: Option<toml::Value>,
    /// Whether values may be missing. Default: true.
    pub(crate) nullable: Option<bool>,
}

fn scalar() -> serde_json::Value {
    serde_json::json!({ "type": ["number", "string", "boolean"] })
}

fn pair(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": scalar(), "minItems": 2, "maxItems": 2 })
}

fn list(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": scalar(), "minItems": 1, "uniqueItems": true })
}
