//! What a policy protects, as its ledger records it.

use reticent_ledger::{LedgerError, Protected, ProtectedTable, Source};
use reticent_numerics::OutOfRange;
use reticent_policy::{Policy, Privacy, TablePolicy};
use std::path::{Path, PathBuf};

/// The characters by which a source is a pattern, unless a file or folder has that very name.
const WILD: [char; 3] = ['*', '?', '['];

/// The private tables of a policy with the full names of their sources: links are resolved,
/// patterns stay patterns. Nothing is opened, and what does not exist yet has the name that it will
/// have.
///
/// # Errors
/// If the policy has no private table, or a path is not UTF-8.
pub fn protected(policy: &Policy) -> Result<Protected, LedgerError> {
    let private = policy.tables().iter().filter(|table| !table.is_public());
    Protected::new(
        private.map(|table| protected_table(table, policy.folder())).collect::<Result<_, _>>()?,
    )
}

fn protected_table(table: &TablePolicy, folder: &Path) -> Result<ProtectedTable, LedgerError> {
    let unit = match table.privacy() {
        Privacy::Unit { column, .. } => Some(column.clone()),
        Privacy::EachRow | Privacy::Public { .. } => None,
    };
    let sources =
        table.source().iter().map(|source| resolved(source, folder)).collect::<Result<_, _>>()?;
    Ok(ProtectedTable { name: table.name().to_owned(), sources, unit })
}

fn resolved(source: &str, folder: &Path) -> Result<Source, LedgerError> {
    let wild = source.find(WILD).filter(|_| !folder.join(source).exists());
    let (plain, pattern) = match wild {
        None => (source, None),
        // The folder in which the first name with such a character is.
        Some(first) => {
            let start = source[..first].rfind('/').map_or(0, |slash| slash + 1);
            (&source[..start], Some(source[start..].to_owned()))
        }
    };
    let path = full(&folder.join(plain))?;
    let path = path.into_os_string().into_string().map_err(|path| OutOfRange {
        name: "source",
        value: path.to_string_lossy().into_owned(),
        accepted: "a path in UTF-8, because the ledger records it as text",
    })?;
    Ok(Source { path, pattern })
}

/// The path with links resolved, as far as it exists.
fn full(path: &Path) -> Result<PathBuf, LedgerError> {
    let here = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let path = std::path::absolute(here)?;
    for ancestor in path.ancestors() {
        if let (Ok(found), Ok(rest)) = (ancestor.canonicalize(), path.strip_prefix(ancestor)) {
            return Ok(if rest.as_os_str().is_empty() { found } else { found.join(rest) });
        }
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{create_dir_all, write};
    use std::os::unix::fs::symlink;

    fn policy(sources: &str, folder: &Path) -> Protected {
        let text = format!(
            "[budget]\nepsilon = 1\n[tables.t]\nsource = {sources}\nunit = 'id'\nmax_groups = \
             1\nmax_rows = 1\ncolumns.id.type = 'text'\n\
             [tables.r]\nsource = 'r.csv'\neach_row = true\ncolumns.x.type = 'text'\n\
             [tables.p]\nsource = 'p.csv'\npublic = true\ncolumns.x.type = 'text'\n"
        );
        protected(&Policy::parse(&text, &folder.join("policy.toml")).expect("a policy"))
            .expect("private tables")
    }

    #[test]
    fn sources_have_full_names_whatever_the_way_to_them() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        create_dir_all(root.join("data/in")).expect("made");
        write(root.join("data/a[1].csv"), "").expect("written");
        symlink(root.join("data"), root.join("link")).expect("a link");
        let source = |path: &str, pattern: Option<&str>| Source {
            path: root.join(path).to_str().expect("UTF-8").trim_end_matches('/').to_owned(),
            pattern: pattern.map(Into::into),
        };
        for (text, expected) in [
            ("'data/in'", source("data/in", None)),
            ("'link/in/../in'", source("data/in", None)),
            ("'link/later/x.csv'", source("data/later/x.csv", None)),
            ("'link/a[1].csv'", source("data/a[1].csv", None)),
            ("'link/b[1].csv'", source("data", Some("b[1].csv"))),
            ("'link/i*/**/x?.csv'", source("data", Some("i*/**/x?.csv"))),
            ("'*.csv'", source("", Some("*.csv"))),
        ] {
            let found = policy(text, &root);
            let tables: Vec<_> = found
                .tables()
                .iter()
                .map(|table| (table.name.as_str(), table.unit.as_deref()))
                .collect();
            assert_eq!(tables, [("r", None), ("t", Some("id"))], "public tables are not protected");
            assert_eq!(found.tables()[1].sources, [expected], "{text}");
        }
        // The same by other ways.
        let one = policy("'data/in'", &root);
        assert_eq!(policy("'link/in'", &root), one);
        assert_eq!(policy("'in'", &root.join("link")).tables()[1], one.tables()[1]);
    }
}
