//! What a ledger protects: the private tables of its policy, and where their rows come from.

use crate::LedgerError;
use reticent_numerics::OutOfRange;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Where rows come from: a file or a folder by its full name, or what a pattern matches below a
/// folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// The file or folder: absolute, with links resolved.
    pub path: String,
    /// The pattern, relative to the folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        self.pattern.as_ref().map_or(Ok(()), |pattern| write!(f, "/{pattern}"))
    }
}

/// A private table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProtectedTable {
    /// Its name in SQL.
    pub name: String,
    /// Where its rows come from; at least one.
    pub sources: Vec<Source>,
    /// The column that says to whom a row belongs; none if each row is protected by itself.
    pub unit: Option<String>,
}

impl fmt::Display for ProtectedTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whom = self
            .unit
            .as_ref()
            .map_or_else(|| "each row".to_owned(), |unit| format!("each {unit:?}"));
        write!(f, "{} ({whom} of {})", self.name, shortened(&self.sources))
    }
}

/// The private tables of a policy: at least one, in the order of their names.
///
/// The ledger compares it with what it has recorded, so that another policy's ledger is not taken
/// for this one's. Nothing of a privacy claim rests on it: whatever tables a ledger is used for,
/// all that is asked under it counts against one budget.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<ProtectedTable>", into = "Vec<ProtectedTable>")]
pub struct Protected(Vec<ProtectedTable>);

impl Protected {
    /// The tables, brought into order.
    ///
    /// # Errors
    /// If there are none, two have one name, or one has no source.
    pub fn new(mut tables: Vec<ProtectedTable>) -> Result<Self, LedgerError> {
        let refused =
            |value: String, accepted| Err(OutOfRange { name: "tables", value, accepted }.into());
        tables.sort();
        for table in &mut tables {
            table.sources.sort();
            table.sources.dedup();
            if table.sources.is_empty() {
                return refused(table.name.clone(), "tables that have a source");
            }
        }
        if tables.is_empty() {
            return refused(
                "empty".into(),
                "a list of at least one private table: what is public needs no budget",
            );
        }
        if let Some(twins) = tables.windows(2).find(|pair| pair[0].name == pair[1].name) {
            return refused(twins[0].name.clone(), "tables of different names");
        }
        Ok(Protected(tables))
    }

    /// The tables, in the order of their names.
    pub fn tables(&self) -> &[ProtectedTable] {
        &self.0
    }

    /// In what this ledger's record differs from a policy, in words.
    pub fn differences(&self, policy: &Protected) -> Vec<String> {
        let named = |tables: &[ProtectedTable], name: &str| {
            tables.iter().find(|table| table.name == name).cloned()
        };
        let mut found = Vec::new();
        for here in &self.0 {
            let name = &here.name;
            let Some(there) = named(&policy.0, name) else {
                found.push(format!(
                    "the ledger protects {here}, and the policy has no private table of that name"
                ));
                continue;
            };
            if here.sources != there.sources {
                let (here, there) = (shortened(&here.sources), shortened(&there.sources));
                found.push(format!(
                    "the ledger protects {name} from {here}, and in the policy it is from {there}"
                ));
            }
            if here.unit != there.unit {
                let words = |unit: &Option<String>| {
                    unit.as_ref().map_or_else(
                        || "each row".to_owned(),
                        |unit| format!("all rows of one {unit:?}"),
                    )
                };
                let (here, there) = (words(&here.unit), words(&there.unit));
                found.push(format!("the ledger protects {here} in {name}, and the policy {there}"));
            }
        }
        for there in policy.0.iter().filter(|table| named(&self.0, &table.name).is_none()) {
            found.push(format!(
                "the policy has the private table {there}, which the ledger does not protect"
            ));
        }
        found
    }
}

impl fmt::Display for Protected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tables: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&tables.join(", "))
    }
}

impl TryFrom<Vec<ProtectedTable>> for Protected {
    type Error = LedgerError;

    fn try_from(tables: Vec<ProtectedTable>) -> Result<Self, LedgerError> {
        Protected::new(tables)
    }
}

impl From<Protected> for Vec<ProtectedTable> {
    fn from(protected: Protected) -> Self {
        protected.0
    }
}

/// Some of the sources: there can be thousands.
fn shortened(sources: &[Source]) -> String {
    let shown: Vec<String> = sources.iter().take(3).map(ToString::to_string).collect();
    match sources.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &str, paths: &[&str], unit: Option<&str>) -> ProtectedTable {
        let sources =
            paths.iter().map(|path| Source { path: (*path).into(), pattern: None }).collect();
        ProtectedTable { name: name.into(), sources, unit: unit.map(Into::into) }
    }

    fn protected(tables: &[ProtectedTable]) -> Protected {
        Protected::new(tables.to_vec()).expect("valid")
    }

    #[test]
    fn the_order_of_tables_and_sources_has_no_part() {
        let (a, b) = (table("a", &["/x", "/y", "/x"], Some("id")), table("b", &["/z"], None));
        let one = protected(&[a, b.clone()]);
        assert_eq!(one, protected(&[b, table("a", &["/y", "/x"], Some("id"))]));
        assert_eq!(one.differences(&one), Vec::<String>::new());
        let text = serde_json::to_string(&one).expect("plain data");
        assert_eq!(
            text,
            r#"[{"name":"a","sources":[{"path":"/x"},{"path":"/y"}],"unit":"id"},{"name":"b","sources":[{"path":"/z"}],"unit":null}]"#
        );
        assert_eq!(serde_json::from_str::<Protected>(&text).expect("round trip"), one);
        assert_eq!(one.to_string(), "a (each \"id\" of /x, /y), b (each row of /z)");
    }

    #[test]
    fn hostile_lists_are_refused() {
        let a = table("a", &["/x"], None);
        for (tables, expected) in [
            (vec![], "at least one private table"),
            (vec![a.clone(), table("a", &["/y"], None)], "different names"),
            (vec![table("a", &[], None)], "have a source"),
        ] {
            let message = Protected::new(tables.clone()).expect_err(expected).to_string();
            assert!(message.contains("`tables`") && message.contains(expected), "{message}");
            let text = serde_json::to_string(&tables).expect("plain data");
            assert!(serde_json::from_str::<Protected>(&text).is_err(), "{text}");
        }
        let more = r#"[{"name":"a","sources":[{"path":"/x","more":1}],"unit":null}]"#;
        assert!(serde_json::from_str::<Protected>(more).is_err());
    }

    #[test]
    fn every_difference_is_said() {
        let here = protected(&[table("a", &["/x"], Some("id")), table("b", &["/y"], None)]);
        let (a, b) = (table("a", &["/x"], Some("id")), table("b", &["/y"], None));
        for (policy, expected) in [
            (vec![a.clone()], "no private table of that name"),
            (
                vec![a.clone(), b.clone(), table("c", &["/z"], None)],
                "which the ledger does not protect",
            ),
            (
                vec![table("a", &["/x", "/w"], Some("id")), b.clone()],
                "from /x, and in the policy it is from /w, /x",
            ),
            (
                vec![table("a", &["/x"], None), b.clone()],
                "all rows of one \"id\" in a, and the policy each row",
            ),
        ] {
            let policy = protected(&policy);
            let differences = here.differences(&policy);
            assert!(differences.len() == 1 && differences[0].contains(expected), "{differences:?}");
            assert_ne!(here, policy);
        }
        let many: Vec<String> = (0..9).map(|path| format!("/{path}")).collect();
        let many = table("a", &many.iter().map(String::as_str).collect::<Vec<_>>(), None);
        assert_eq!(many.to_string(), "a (each row of /0, /1, /2 and 6 more)");
    }
}
