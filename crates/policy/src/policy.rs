//! A policy as a whole.

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::budget::PolicyBudget;
use crate::draft_marker::open_fields;
use crate::error::{FieldPath, PolicyError};
use crate::file::PolicyFile;
use crate::table::TablePolicy;
use crate::value::quoted;

/// The largest policy file that is read, in bytes.
const LARGEST_FILE: u64 = 16 << 20;

/// What is private, what is public knowledge, and how much may be spent.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    folder: PathBuf,
    ledger: PathBuf,
    budget: PolicyBudget,
    tables: Vec<TablePolicy>,
}

impl Policy {
    /// Reads a policy file. Nothing else is opened.
    ///
    /// # Errors
    /// If the file cannot be read, is larger than 16 MiB, or says something that is not accepted;
    /// the message names the field, the value and what would be accepted.
    pub fn load(path: &Path) -> Result<Policy, PolicyError> {
        let unreadable = |reason: String| PolicyError::Unreadable { path: path.to_owned(), reason };
        let file = std::fs::File::open(path).map_err(|error| unreadable(error.to_string()))?;
        let mut text = String::new();
        file.take(LARGEST_FILE + 1)
            .read_to_string(&mut text)
            .map_err(|error| unreadable(error.to_string()))?;
        if text.len() as u64 > LARGEST_FILE {
            return Err(unreadable(format!("it is larger than {LARGEST_FILE} bytes")));
        }
        Policy::parse(&text, path)
    }

    /// Reads the text of a policy file that is at `path`; paths in it are relative to the folder of
    /// `path`.
    ///
    /// # Errors
    /// If the text says something that is not accepted.
    pub fn parse(text: &str, path: &Path) -> Result<Policy, PolicyError> {
        let form =
            |error: toml::de::Error| PolicyError::Form(error.to_string().trim_end().to_owned());
        let table: toml::Table = text.parse().map_err(form)?;
        let fields = open_fields(&table);
        if !fields.is_empty() {
            return Err(PolicyError::Unfinished { fields });
        }
        let file: PolicyFile = toml::from_str(text).map_err(form)?;
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let ledger = match &file.ledger {
            None => path.with_extension("ledger"),
            Some(written) if written.is_empty() || written.contains('\0') => {
                return Err(FieldPath::top("ledger").invalid(quoted(written), "the path of a file"));
            }
            Some(written) => folder.join(written),
        };
        let budget = PolicyBudget::read(&file.budget)?;
        let mut tables: Vec<TablePolicy> = Vec::with_capacity(file.tables.len());
        for (name, table) in &file.tables {
            let table = TablePolicy::read(name, table)?;
            check_among(&table, &tables)?;
            tables.push(table);
        }
        if tables.is_empty() {
            return Err(FieldPath::top("tables")
                .missing("a policy describes at least one table, as `[tables.NAME]`"));
        }
        Ok(Policy { folder, ledger, budget, tables })
    }

    /// The folder of the policy file, to which the tables' sources are relative.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file that remembers what was spent.
    #[must_use]
    pub fn ledger(&self) -> &Path {
        &self.ledger
    }

    /// How much may be spent.
    #[must_use]
    pub fn budget(&self) -> &PolicyBudget {
        &self.budget
    }

    /// The tables, in the order of their names; at least one.
    #[must_use]
    pub fn tables(&self) -> &[TablePolicy] {
        &self.tables
    }

    /// The table of this name, whatever its case: no two tables differ by case alone.
    #[must_use]
    pub fn table(&self, name: &str) -> Option<&TablePolicy> {
        self.tables.iter().find(|table| table.name().eq_ignore_ascii_case(name))
    }

    /// What matters to an answer, in a form that never changes: the same text for the same policy,
    /// whatever its comments and the order of its fields.
    ///
    /// The budget and the ledger's path have no part in it: an answer that was paid for stays the
    /// same answer when more is granted later. What a query costs is part of the query.
    #[must_use]
    pub fn fingerprint_text(&self) -> String {
        let mut text = "reticent policy 1\n".to_owned();
        for table in &self.tables {
            text += &table.fingerprint_text();
        }
        text
    }
}

/// A table's name differs from the others', and its unit is identified as theirs.
fn check_among(table: &TablePolicy, earlier: &[TablePolicy]) -> Result<(), PolicyError> {
    let field = FieldPath::top("tables").at(table.name());
    for other in earlier {
        if other.name().eq_ignore_ascii_case(table.name()) {
            return Err(field.invalid(
                quoted(table.name()),
                format!(
                    "a name that differs by more than case from {}: SQL does not tell them apart",
                    quoted(other.name())
                ),
            ));
        }
        if let (Some(unit), Some(other_unit)) = (table.unit(), other.unit())
            && unit.kind() != other_unit.kind()
        {
            return Err(field.at("columns").at(unit.name()).at("type").invalid(
                unit.kind(),
                format!(
                    "the units of all tables are the same people, and tables.{} identifies them by \
                     the {} {}",
                    other.name(),
                    other_unit.kind(),
                    quoted(other_unit.name())
                ),
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
        ledger = "spent/clinic.ledger"
        [budget]
        epsilon = 1
        [tables.visits]
        source = "visits/*.parquet"
        unit = "patient"
        max_groups = 5
        max_rows = 10
        [tables.visits.columns]
        patient.type = "text"
        ward = { type = "text", values = ["b", "a"] }
        [tables.wards]
        source = "wards.csv"
        public = true
        [tables.wards.columns.ward]
        type = "text"
    "#;

    fn parse(text: &str) -> Result<Policy, String> {
        Policy::parse(text, Path::new("clinic/policy.toml")).map_err(|error| error.to_string())
    }

    #[test]
    fn paths_are_relative_to_the_file() {
        let policy = parse(TEXT).expect("fine");
        assert_eq!(policy.ledger(), Path::new("clinic/spent/clinic.ledger"));
        assert_eq!(policy.folder(), Path::new("clinic"));
        let bare =
            Policy::parse(&TEXT.replace("ledger =", "#"), Path::new("policy.toml")).expect("fine");
        assert_eq!((bare.ledger(), bare.folder()), (Path::new("policy.ledger"), Path::new("")));
        assert!(
            parse(&TEXT.replace("spent/clinic.ledger", ""))
                .expect_err("no path")
                .starts_with("ledger = \"\"")
        );
    }

    #[test]
    fn the_fingerprint_keeps_meaning_and_drops_form() {
        let text = parse(TEXT).expect("fine").fingerprint_text();
        assert_eq!(
            text,
            "reticent policy 1\n\
             table \"visits\"\n\
             source \"visits/*.parquet\"\n\
             unit \"patient\" max_groups 5 max_rows 10\n\
             column \"patient\" text nullable\n\
             column \"ward\" text nullable values t\"a\" t\"b\"\n\
             table \"wards\"\n\
             source \"wards.csv\"\n\
             public unique \n\
             column \"ward\" text nullable\n"
        );
        for same in [
            TEXT.replace("epsilon = 1", "epsilon = 2 # more"),
            TEXT.replace(r#"["b", "a"]"#, r#"["a", "b"]"#),
            TEXT.replace("spent/", ""),
            TEXT.replace("max_rows = 10", "max_rows = 10\n each_row = false"),
        ] {
            assert_eq!(parse(&same).expect("fine").fingerprint_text(), text);
        }
        for other in [
            TEXT.replace("max_rows = 10", "max_rows = 11"),
            TEXT.replace("max_groups = 5", "max_groups = 6"),
            TEXT.replace("visits/*", "visits/2024*"),
            TEXT.replace(r#"["b", "a"]"#, r#"["b a"]"#),
            TEXT.replace("public = true", "each_row = true"),
            TEXT.replace(
                "patient.type = \"text\"",
                "patient = { type = \"text\", nullable = false }",
            ),
        ] {
            assert_ne!(parse(&other).expect("fine").fingerprint_text(), text, "{other}");
        }
    }

    #[test]
    fn names_that_queries_are_rewritten_with_are_reserved() {
        for name in ["__released", "__RELEASED", "__"] {
            let message =
                parse(&TEXT.replace("tables.wards", &format!("tables.{name}"))).expect_err(name);
            assert!(message.contains(name) && message.contains("two underscores"), "{message}");
        }
        assert!(parse(&TEXT.replace("tables.wards", "tables._wards")).is_ok());
    }

    #[test]
    fn tables_are_told_apart_and_share_one_kind_of_unit() {
        let twin = TEXT.replace("tables.wards", "tables.Visits");
        assert!(parse(&twin).expect_err("twins").contains("SQL does not tell them apart"));
        let other = "[tables.stays]\nsource = 's.csv'\nunit = 'p'\nmax_groups = 1\nmax_rows = \
            1\ncolumns.p.type = ";
        assert!(parse(&format!("{TEXT}\n{other}'text'")).is_ok());
        let message =
            parse(&format!("{TEXT}\n{other}'integer'")).expect_err("another kind of unit");
        assert!(
            message.contains("tables.visits.columns.patient.type = text")
                && message.contains("tables.stays"),
            "{message}"
        );
    }

    #[test]
    fn wrong_forms_name_the_line_and_what_is_expected() {
        for (text, expected) in [
            ("[budget", "unclosed table"),
            ("[budget]\nepsilon = 'much'", "expected f64"),
            (
                "[budget]\nepsilon = 1\nalpha = 2",
                "unknown field `alpha`, expected one of `epsilon`, `delta`",
            ),
            ("[budget]\nepsilon = 1\nepsilon = 2", "duplicate key"),
            ("ledger = 'x'", "missing field `budget`"),
            ("[budget]\nepsilon = 1", "tables is missing"),
            ("[budget]\nepsilon = 1\n[tables.t]\neach_row = true", "missing field `source`"),
        ] {
            let message = parse(text).expect_err(text);
            assert!(message.contains(expected), "{message}");
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused() {
        // A linear congruential generator is random enough to vary a text.
        let mut state = 1u64;
        let mut below = |n: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % n
        };
        let mut refused = 0;
        for _ in 0..3000 {
            let mut bytes = TEXT.as_bytes().to_vec();
            for _ in 0..=below(3) {
                let at = below(bytes.len());
                bytes[at] =
                    [b'"', b'=', b'[', b']', b'0', b'.', b'\n', b'e', b'-', b'x', b' '][below(11)];
            }
            if let Ok(text) = String::from_utf8(bytes) {
                refused += usize::from(parse(&text).is_err());
            }
        }
        assert!(refused > 1000, "only {refused} of 3000 were refused");
    }

    #[test]
    fn files_that_cannot_be_read_are_named() {
        let missing =
            Policy::load(Path::new("no/such/policy.toml")).expect_err("missing").to_string();
        assert!(
            missing.starts_with("the policy file no/such/policy.toml could not be read"),
            "{missing}"
        );
    }
}
