//! What is fuzzed, and what an input did to it.

use std::path::Path;

use reticent_accounting::FilterBudget;
use reticent_events::Event;
use reticent_ledger::{
    Admission, ChargeRequest, Digest, Ledger, LedgerError, Limits, Protected, ProtectedTable,
    Source, verify,
};
use reticent_policy::Policy;

use crate::files::{self, Engine, Files};
use crate::sql::{self, Sql};
use crate::values;

/// What is fuzzed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
#[expect(missing_docs, reason = "the table of the crate says what they are")]
pub enum Target {
    Sql,
    Csv,
    Parquet,
    Arrow,
    Values,
    Policy,
    Ledger,
}

/// All of them.
pub const ALL: [Target; 7] = [
    Target::Sql,
    Target::Csv,
    Target::Parquet,
    Target::Arrow,
    Target::Values,
    Target::Policy,
    Target::Ledger,
];

/// What is new about an outcome if no other had it; or what must never happen.
pub type Outcome = Result<Vec<String>, String>;

/// Something that inputs can be given to.
pub type Subject = Box<dyn FnMut(&[u8]) -> Outcome>;

impl Target {
    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Target::Sql => "sql",
            Target::Csv => "csv",
            Target::Parquet => "parquet",
            Target::Arrow => "arrow",
            Target::Values => "values",
            Target::Policy => "policy",
            Target::Ledger => "ledger",
        }
    }

    /// Whether inputs are texts.
    #[must_use]
    pub fn is_text(self) -> bool {
        matches!(self, Target::Sql | Target::Csv | Target::Policy)
    }

    /// What to begin with.
    #[must_use]
    pub fn seeds(self) -> Vec<Vec<u8>> {
        let texts = |all: &[&str]| all.iter().map(|text| text.as_bytes().to_vec()).collect();
        match self {
            Target::Sql => texts(sql::SEEDS),
            Target::Csv => files::csv_seeds(),
            Target::Parquet => values::parquet_seeds(),
            Target::Arrow => values::arrow_seeds(),
            Target::Values => values::seeds(),
            Target::Policy => texts(&[sql::POLICY, POLICY]),
            Target::Ledger => vec![vec![0; 4], (0..64).collect(), vec![255; 12]],
        }
    }

    /// Words that mean something in an input.
    #[must_use]
    pub fn words(self) -> Vec<&'static str> {
        match self {
            Target::Sql => {
                sql::WORDS.split_whitespace().chain(["''", "'%a_'", "\"\"", "--", "/*"]).collect()
            }
            Target::Csv => files::CSV_WORDS.split('|').collect(),
            Target::Policy => POLICY_WORDS.split_whitespace().collect(),
            Target::Parquet | Target::Arrow | Target::Values | Target::Ledger => {
                vec!["PAR1", "ARROW1", "\u{feff}", "Alice", "n", "\0\0\0\0"]
            }
        }
    }

    /// Makes what inputs are given to, in a folder of its own.
    ///
    /// # Errors
    /// If the folder cannot be written, or the policies and queries of this crate are not accepted.
    pub fn subject(self, folder: &Path) -> Result<Subject, String> {
        let folder = folder.to_owned();
        Ok(match self {
            Target::Sql => {
                let mut sql = Sql::new(&folder)?;
                Box::new(move |input| sql.ask(&String::from_utf8_lossy(input)))
            }
            Target::Csv | Target::Parquet | Target::Arrow => {
                let mut files = Files::new(self, &folder)?;
                Box::new(move |input| files.read(input))
            }
            Target::Values => {
                let mut engine = Engine::new()?;
                Box::new(move |input| values::written_and_read(&mut engine, input, &folder))
            }
            Target::Policy => Box::new(policy),
            Target::Ledger => {
                let whole = whole_ledger(&folder).map_err(|error| error.to_string())?;
                Box::new(move |input| ledger(input, &whole, &folder))
            }
        })
    }
}

/// An error as what is new about it: its words, without what is quoted and without numbers.
pub(crate) fn shape(text: &str) -> String {
    let mut shape = String::new();
    for (number, part) in text.split(['"', '\'', '`']).enumerate() {
        let part = if number % 2 == 1 { "…" } else { part };
        for character in part.chars().take(120) {
            let digit = character.is_ascii_digit();
            if !(digit && shape.ends_with('#')) {
                shape.push(if digit { '#' } else { character });
            }
        }
    }
    shape.truncate(shape.floor_char_boundary(160));
    shape
}

fn policy(input: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(input);
    match Policy::parse(&text, Path::new("policy.toml")) {
        // The first lines of an error of TOML quote the text.
        Err(error) => Ok(vec![shape(error.to_string().lines().next_back().unwrap_or_default())]),
        Ok(policy) => {
            let again = Policy::parse(&text, Path::new("policy.toml"));
            let same =
                again.is_ok_and(|again| again.fingerprint_text() == policy.fingerprint_text());
            let columns = policy.tables().iter().map(|table| table.columns().len()).sum::<usize>();
            if same {
                Ok(vec![format!("{columns} columns")])
            } else {
                Err("wrong: one text, two policies".to_owned())
            }
        }
    }
}

const POLICY: &str = r#"
ledger = "x.ledger"
[budget]
epsilon = 3
delta = 1e-7
accounting = "zero-concentrated"
[tables.visits]
source = ["a", "b/*.parquet"]
unit = "patient"
max_groups = 4
max_rows = 12
[tables.visits.columns]
patient = { type = "text", nullable = false }
ward = { type = "text", values = ["emergency", "surgery"] }
day = { type = "date", bounds = [2023-01-01, 2024-12-31] }
at = { type = "timestamp", bounds = [2023-01-01T00:00:00Z, 2024-12-31T00:00:00Z] }
cost = { type = "real", bounds = [0, 5e4], unit_bounds = [-1.5, 100000] }
[tables.wards]
source = "wards.csv"
format = "csv"
delimiter = ";"
header = ["ward", "beds"]
public = true
unique = ["ward"]
columns.ward.type = "text"
columns.beds = { type = "integer", bounds = [1, 200] }
"#;

const POLICY_WORDS: &str = "ledger budget epsilon delta query_epsilon query_delta accounting basic \
    tables source \
    format csv parquet arrow delimiter header unit each_row true public unique max_groups max_rows \
    columns type \
    integer real text boolean date timestamp bounds values unit_bounds nullable false [ ] { } = \
    . \"\" '' nan inf \
    -inf 1e400 -0.0 9223372036854775807 -9223372036854775808 0001-01-01 \
    9999-12-31T23:59:59.999999Z \"\\u0000\" \
    \"FILL IN\" [[tables]] [tables.t] [tables.\"\"]";

fn request(query: &str) -> ChargeRequest {
    ChargeRequest {
        fingerprint: Digest::of(&[query.as_bytes()]),
        query: query.to_owned(),
        events: vec![Event::Gaussian { sigma: 2.0, sensitivity: 1.0 }],
        selection_delta: 0.0,
        fresh: false,
        asker: None,
    }
}

/// The bytes of a ledger with two answers, and one that is missing.
fn whole_ledger(folder: &Path) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let path = folder.join("whole.ledger");
    let sources = vec![Source { path: "/t.csv".to_owned(), pattern: None }];
    let protects =
        Protected::new(vec![ProtectedTable { name: "t".to_owned(), sources, unit: None }])?;
    let limits = Limits::new(FilterBudget::ZeroConcentrated { rho: 0.5 }, 0.0)?;
    let ledger = Ledger::create(&path, limits, &protects)?;
    for query in ["SELECT 1", "SELECT 2"] {
        if let Admission::Reserved(reservation) = ledger.reserve(&request(query))? {
            ledger.complete(&reservation, b"answer")?;
        }
    }
    let _never_completed = ledger.reserve(&request("SELECT 3"))?;
    drop(ledger);
    Ok(std::fs::read(&path)?)
}

/// Each four bytes of an input are an edit: where, in two of them, what, and how.
fn ledger(input: &[u8], whole: &[u8], folder: &Path) -> Outcome {
    let mut bytes = whole.to_vec();
    for edit in input.chunks_exact(4) {
        let at = usize::from(edit[0]) * 256 + usize::from(edit[1]);
        // Most of a page is empty; the beginnings and the ends are not.
        let at = at * bytes.len() / 65_536;
        match edit[3] % 8 {
            0 => bytes.truncate(at),
            1 => bytes.extend_from_slice(&whole[whole.len() / 2..]),
            2 => drop(bytes.splice(at..at, [edit[2]])),
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = if edit[3] % 2 == 0 { edit[2] } else { *byte ^ edit[2] };
                }
            }
        }
    }
    let path = folder.join("edited.ledger");
    for rest in ["", "-journal", "-wal", "-shm"] {
        // Most of these do not exist.
        let _ = std::fs::remove_file(folder.join(format!("edited.ledger{rest}")));
    }
    std::fs::write(&path, &bytes).map_err(|error| error.to_string())?;
    let verified = verify(&path, None);
    let told =
        |error: &LedgerError| shape(&error.to_string().replace(&*path.to_string_lossy(), ""));
    let mut seen = vec![format!("verify {:?}", verified.as_ref().err().map(&told))];
    match Ledger::open_as_stored(&path) {
        Err(error) if verified.is_ok() => return Err(format!("wrong: verified, but: {error}")),
        Err(error) => seen.push(format!("open {}", told(&error))),
        Ok(ledger) => {
            seen.push(format!(
                "statement {:?}",
                ledger.statement(Some(1e-6)).err().as_ref().map(told)
            ));
            seen.push(format!("anchor {:?}", ledger.anchor().err().as_ref().map(told)));
            for query in ["SELECT 1", "SELECT 3", "SELECT 4"] {
                seen.push(format!(
                    "check {:?}",
                    ledger.check(&request(query)).err().as_ref().map(told)
                ));
                seen.push(format!(
                    "reserve {:?}",
                    ledger.reserve(&request(query)).err().as_ref().map(told)
                ));
            }
        }
    }
    Ok(seen)
}
