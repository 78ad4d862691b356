//! Bytes as the file of a table, and a handful of queries over it.

use std::path::{Path, PathBuf};

use reticent_noise::randomness::SecureRandom;
use reticent_policy::Policy;
use reticent_query::{Options, Prepared, QueryError, SourceError, prepare};
use tokio::runtime::Runtime;

use crate::target::{Outcome, Target, shape};

/// In every file, and in no name of a column: no message may have it.
pub(crate) const CELL: &str = "Alice";

const COLUMNS: &str = "columns.name.type = 'text'\n\
    columns.n = { type = 'integer', bounds = [0, 5] }\n\
    columns.x = { type = 'real', bounds = [-1, 1e6] }\n\
    columns.flag.type = 'boolean'\n\
    columns.day.type = 'date'\n\
    columns.at.type = 'timestamp'\n";

const QUERIES: [&str; 4] = [
    "SELECT COUNT(*) FROM t",
    "SELECT COUNT(day), SUM(n), SUM(x) FROM t WHERE name <> 'Bob' AND at IS NOT NULL",
    "SELECT flag, n, COUNT(*) FROM t WHERE day > DATE '2000-01-01' GROUP BY flag, n",
    "SELECT COUNT(DISTINCT name) FROM t WHERE CHARACTER_LENGTH(name) > 2",
];

/// What runs queries.
pub(crate) struct Engine {
    runtime: Runtime,
    random: SecureRandom,
}

impl Engine {
    pub(crate) fn new() -> Result<Engine, String> {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        Ok(Engine {
            runtime: runtime.map_err(|error| error.to_string())?,
            random: SecureRandom::new().map_err(|error| error.to_string())?,
        })
    }

    pub(crate) fn prepare(&self, policy: &Policy, sql: &str) -> Result<Prepared, QueryError> {
        self.runtime.block_on(prepare(policy, sql, Options::default()))
    }

    /// None, or the error, and whether the tables were open by then.
    pub(crate) fn run(&mut self, policy: &Policy, query: &Prepared) -> Option<(QueryError, bool)> {
        let random = &mut self.random;
        self.runtime.block_on(async {
            let opened = match query.open(policy).await {
                Ok(opened) => opened,
                Err(error) => return Some((error, false)),
            };
            opened.run(random, |_| {}).await.err().map(|error| (error, true))
        })
    }
}

/// What an error may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Allowed {
    /// There is none.
    Nothing,
    /// One about the header, before a row is read.
    Header,
    /// One about the file.
    Damage,
}

struct Table {
    path: PathBuf,
    policy: Policy,
    queries: Vec<Prepared>,
    allowed: Allowed,
}

/// Files of one format, under one or several policies.
pub(crate) struct Files {
    engine: Engine,
    tables: Vec<Table>,
    format: Target,
}

impl Files {
    pub(crate) fn new(format: Target, folder: &Path) -> Result<Files, String> {
        let bare = "header = ['name', 'n', 'x', 'flag', 'day', 'at']\n";
        let kinds: &[(&str, &str, Allowed)] = match format {
            Target::Csv => &[
                ("bare.csv", bare, Allowed::Nothing),
                ("t.csv", "", Allowed::Header),
                ("t.csv.gz", bare, Allowed::Damage),
            ],
            Target::Parquet => &[("t.parquet", "", Allowed::Damage)],
            _ => &[("t.arrow", "", Allowed::Damage)],
        };
        let engine = Engine::new()?;
        let mut tables = Vec::new();
        for (name, options, allowed) in kinds {
            let text = format!(
                "[budget]\nepsilon = 100\ndelta = 1e-4\n[tables.t]\nsource = '{name}'\nunit = \
                 'name'\n\
                 max_groups = 2\nmax_rows = 3\n{options}{COLUMNS}"
            );
            let policy = Policy::parse(&text, &folder.join("policy.toml"))
                .map_err(|error| error.to_string())?;
            let queries = QUERIES.iter().map(|sql| engine.prepare(&policy, sql));
            let queries =
                queries.collect::<Result<_, QueryError>>().map_err(|error| error.to_string())?;
            tables.push(Table { path: folder.join(name), policy, queries, allowed: *allowed });
        }
        Ok(Files { engine, tables, format })
    }

    pub(crate) fn read(&mut self, input: &[u8]) -> Outcome {
        let mut seen = Vec::new();
        for table in &self.tables {
            std::fs::write(&table.path, input).map_err(|error| error.to_string())?;
            for (number, query) in table.queries.iter().enumerate() {
                let error = self.engine.run(&table.policy, query);
                let what = match &error {
                    None => "answered".to_owned(),
                    Some((error, read)) => {
                        table.judge(error, *read, input)?;
                        // The folder has another name every time.
                        shape(&error.to_string().replace(&*table.path.to_string_lossy(), "file"))
                    }
                };
                seen.push(format!("{:?} {number}: {what}", table.allowed));
                // What cannot be opened cannot be opened by another query.
                if error.is_some_and(|(_, read)| !read) {
                    break;
                }
            }
        }
        if self.format == Target::Csv {
            let quotes = input.iter().filter(|byte| **byte == b'"').count();
            let lines = input.iter().filter(|byte| **byte == b'\n').count();
            seen.push(format!("{} quotes, {} lines", quotes.min(9), lines.min(9)));
        }
        Ok(seen)
    }
}

impl Table {
    /// Whether an error may be.
    fn judge(&self, error: &QueryError, read: bool, input: &[u8]) -> Result<(), String> {
        let message = error.to_string();
        let allowed = match (self.allowed, error) {
            (Allowed::Header | Allowed::Damage, QueryError::Source(_)) => !read,
            (Allowed::Damage, QueryError::Interrupted) => read,
            _ => false,
        };
        if !allowed {
            return Err(format!("wrong: {message}"));
        }
        // Names of columns are public; of a CSV file only those that the policy declares, because
        // what should be its header may be a row.
        let is_public = self.allowed == Allowed::Damage
            && matches!(
                error,
                QueryError::Source(
                    SourceError::MissingColumn { .. }
                        | SourceError::RepeatedColumn { .. }
                        | SourceError::ColumnType { .. }
                )
            )
            && input.windows(CELL.len()).any(|part| part == CELL.as_bytes());
        if message.contains(CELL) && !is_public { Err(format!("leak: {message}")) } else { Ok(()) }
    }
}

/// Separated by bars.
pub(crate) const CSV_WORDS: &str = "\u{feff}|\"|\"\"|,|\n|\r\n|\r|\0|\t| \
    |name|Alice|NaN|-0.0|inf|-inf|1e400|-1e-400|\
    9223372036854775807|-9223372036854775808|9223372036854775808|3.5|1e18|true|No|2024-02-29|\
    0000-00-00|9999-12-31|\
    +262142-12-31|-262143-01-01T00:00:00Z|2024-01-31T24:00:60.999999999+14:00|1677-09-21|é|\
    \u{fffd}";

pub(crate) fn csv_seeds() -> Vec<Vec<u8>> {
    let rows = "Alice,1,0.5,true,2024-01-31,2024-01-31T12:00:00Z\nBob,2,-3,no,1999-12-31,\n\
        \"Alice, \"\"A\"\"\",,1e9,1,2024-02-29,1970-01-01 00:00:00.5+02:00\n";
    let whole = format!("name,n,x,flag,day,at\n{rows}");
    let mut compressed =
        flate2::bufread::GzEncoder::new(whole.as_bytes(), flate2::Compression::fast());
    let mut gzip = Vec::new();
    let packed = std::io::Read::read_to_end(&mut compressed, &mut gzip).is_ok();
    let mut seeds = vec![whole.clone().into_bytes(), rows.as_bytes().to_vec(), Vec::new()];
    seeds.push(format!("\u{feff}{whole}").into_bytes());
    seeds.push([b"\xff\xfe", whole.as_bytes()].concat());
    seeds.push([b"\x1f\x8b\x08", rows.as_bytes()].concat());
    seeds.extend(packed.then_some(gzip));
    seeds
}
