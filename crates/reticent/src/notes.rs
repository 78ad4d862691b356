//! Notes beside the data of which ledgers protect it, so that a second budget over the same sources
//! is noticed.
//!
//! A file `.reticent-ledgers` in the folder of a source has one line for each ledger, in JSON: its
//! random name, where it was, and the sources of that folder that it protects. Sources pass over
//! files of such names. It is a notice among people who mean well: whoever can write the folder can
//! delete it, and where it cannot be written there is none. No privacy claim rests on it.
//!
//! | source | its folder |
//! |---|---|
//! | a file | the one that it is in |
//! | a folder | that one |
//! | a pattern | the one before the first name with `*`, `?` or `[` |
//!
//! Lines are added under a lock, and none is changed. The last line of an id says where that ledger
//! is.

use crate::Error;
use reticent_ledger::{Digest, Ledger, Protected, Source};
use reticent_policy::NOTES;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The largest file that is read, in bytes.
const LARGEST: u64 = 1 << 20;
/// How long to wait while another process makes a ledger.
const PATIENCE: Duration = Duration::from_secs(10);

/// A line: a ledger, and what it protects in this folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Note {
    ledger: Digest,
    path: PathBuf,
    sources: Vec<Source>,
}

/// A ledger that protects some of the same data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Other {
    /// Where it was when it was noted.
    pub(crate) path: PathBuf,
    /// The file that says so.
    pub(crate) noted_in: PathBuf,
    /// What of ours it protects.
    pub(crate) source: Source,
}

impl Other {
    /// Whether something is still there.
    pub(crate) fn is_there(&self) -> bool {
        self.path.symlink_metadata().is_ok()
    }
}

/// The folders of the sources, each with its sources.
fn homes(protects: &Protected) -> BTreeMap<PathBuf, Vec<Source>> {
    let mut homes: BTreeMap<PathBuf, Vec<Source>> = BTreeMap::new();
    for source in protects.tables().iter().flat_map(|table| &table.sources) {
        let path = Path::new(&source.path);
        let is_folder = source.pattern.is_some() || path.is_dir();
        let home = if is_folder { path } else { path.parent().unwrap_or(path) };
        let sources = homes.entry(home.to_owned()).or_default();
        if !sources.contains(source) {
            sources.push(source.clone());
        }
    }
    homes
}

/// Other ledgers that protect some of these sources: noted in the folders of the sources, in those
/// above them, and for folders and patterns in those below. `own` is not another.
pub(crate) fn others(protects: &Protected, own: Option<Digest>) -> Result<Vec<Other>, Error> {
    let homes = homes(protects);
    let mut folders: BTreeSet<PathBuf> = BTreeSet::new();
    for (home, sources) in &homes {
        folders.extend(home.ancestors().map(Path::to_owned));
        if sources.iter().any(|source| source.pattern.is_some() || Path::new(&source.path) == home)
        {
            walk(home, &mut folders, &mut BTreeSet::new());
        }
    }
    let ours: Vec<&Source> = homes.values().flatten().collect();
    let mut found: BTreeMap<String, Other> = BTreeMap::new();
    for folder in folders {
        for note in read(&folder)?.into_iter().filter(|note| Some(note.ledger) != own) {
            let shared =
                ours.iter().find(|ours| note.sources.iter().any(|theirs| overlap(ours, theirs)));
            if let Some(&source) = shared {
                let other =
                    Other { path: note.path, noted_in: folder.join(NOTES), source: source.clone() };
                found.insert(note.ledger.to_string(), other);
            }
        }
    }
    Ok(found.into_values().collect())
}

/// What the notes say to a ledger that is opened.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It is noted in the folders of all sources.
    Noted,
    /// It is not noted everywhere, and nothing speaks against it.
    ToBeNoted,
    /// Another is noted, and it is not.
    Usurped(Other),
    /// It is a copy of this one, which is still there.
    CopyOf(PathBuf),
}

/// Compares the notes in the folders of the sources with a ledger.
pub(crate) fn standing(protects: &Protected, ledger: &Ledger) -> Result<Standing, Error> {
    let mut standing = Standing::Noted;
    for (home, sources) in homes(protects) {
        let notes = read(&home)?;
        let (own, foreign): (Vec<_>, Vec<_>) =
            notes.into_iter().partition(|note| note.ledger == ledger.name());
        if let Some(last) = own.last().filter(|last| last.path != ledger.path()) {
            if is_copy(&last.path, ledger) {
                return Ok(Standing::CopyOf(last.path.clone()));
            }
            // It was moved.
            standing = Standing::ToBeNoted;
        }
        for source in &sources {
            if own.iter().any(|note| note.sources.contains(source)) {
                continue;
            }
            standing = Standing::ToBeNoted;
            let other = foreign
                .iter()
                .find(|note| note.sources.iter().any(|theirs| overlap(source, theirs)));
            if let Some(other) = other {
                let (path, noted_in) = (other.path.clone(), home.join(NOTES));
                return Ok(Standing::Usurped(Other { path, noted_in, source: source.clone() }));
            }
        }
    }
    Ok(standing)
}

/// Whether at another path there is a file of its own that is the same ledger.
fn is_copy(path: &Path, ledger: &Ledger) -> bool {
    let file = |path: &Path| path.metadata().map(|found| (found.dev(), found.ino())).ok();
    file(path).is_some()
        && file(path) != file(ledger.path())
        && Ledger::open_as_stored(path).is_ok_and(|other| other.name() == ledger.name())
}

/// The files of all folders of the sources, locked: of several processes that make a ledger for the
/// same sources one at a time looks and writes.
#[derive(Debug)]
pub(crate) struct Held(Vec<(PathBuf, Vec<Source>, Result<File, String>)>);

/// A folder in which no note could be left, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unnoted {
    /// The folder.
    pub folder: PathBuf,
    /// What the operating system said.
    pub reason: String,
}

/// Opens and locks the files, and makes those that are missing. A folder that cannot be written is
/// no error: see [`Held::add`].
pub(crate) fn hold(protects: &Protected) -> Result<Held, Error> {
    let mut held = Vec::new();
    // In the order of their names, so that no two processes wait for each other.
    for (home, sources) in homes(protects) {
        let path = home.join(NOTES);
        let file = match open(
            &path,
            OpenOptions::new().read(true).append(true).create(true).mode(0o644),
        ) {
            Ok(file) => {
                lock(&file, &path)?;
                Ok(file)
            }
            Err(Unopened::Io(error)) => Err(error.to_string()),
            Err(Unopened::NotAFile) => return Err(not_notes(&path, "is not a regular file")),
        };
        held.push((home, sources, file));
    }
    Ok(Held(held))
}

impl Held {
    /// Adds a note in every folder, durably, and returns those in which that was not possible.
    pub(crate) fn add(&mut self, ledger: Digest, path: &Path) -> Vec<Unnoted> {
        let mut unnoted = Vec::new();
        for (folder, sources, file) in &mut self.0 {
            let note = Note { ledger, path: path.to_owned(), sources: sources.clone() };
            let written = match file {
                Ok(file) => append(file, &note).map_err(|error| error.to_string()),
                Err(reason) => Err(reason.clone()),
            };
            unnoted.extend(written.err().map(|reason| Unnoted { folder: folder.clone(), reason }));
        }
        unnoted
    }
}

/// Adds a line, unless the last of this ledger says the same. What a crash has left of one is cut
/// off before.
fn append(file: &mut File, note: &Note) -> std::io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes)?;
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    if bytes.len() as u64 <= LARGEST && whole < bytes.len() {
        file.set_len(whole as u64)?;
    }
    let last_own = bytes[..whole]
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice::<Note>(line).ok())
        .rfind(|known| known.ledger == note.ledger);
    if last_own.as_ref() == Some(note) {
        return Ok(());
    }
    let mut line = serde_json::to_vec(note)?;
    line.push(b'\n');
    if whole as u64 + line.len() as u64 > LARGEST {
        return Err(std::io::Error::other("the notes would be larger than 1 MiB"));
    }
    file.write_all(&line)?;
    file.sync_all()
}

fn lock(file: &File, path: &Path) -> Result<(), Error> {
    let begin = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if begin.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(TryLockError::WouldBlock) => {
                let problem = format!(
                    "another process keeps {} locked; nothing was changed, try again",
                    path.display()
                );
                return Err(Error::Fault(problem));
            }
            // A file system without locks: what is left is that a ledger is never replaced.
            Err(TryLockError::Error(_)) => return Ok(()),
        }
    }
}

enum Unopened {
    Io(std::io::Error),
    NotAFile,
}

/// Opens a regular file: neither a link, nor a pipe, which would be waited for.
fn open(path: &Path, options: &mut OpenOptions) -> Result<File, Unopened> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
    match options.custom_flags(flags as i32).open(path) {
        Ok(file) if file.metadata().is_ok_and(|found| found.is_file()) => Ok(file),
        Ok(_) => Err(Unopened::NotAFile),
        Err(_) if path.symlink_metadata().is_ok_and(|found| !found.is_file()) => {
            Err(Unopened::NotAFile)
        }
        Err(error) => Err(Unopened::Io(error)),
    }
}

/// The notes in a folder; none where there is no such file. A last line without its end is what a
/// crash has left.
fn read(folder: &Path) -> Result<Vec<Note>, Error> {
    let path = folder.join(NOTES);
    let file = match open(&path, OpenOptions::new().read(true)) {
        Ok(file) => file,
        Err(Unopened::Io(error))
            if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
        {
            return Ok(Vec::new());
        }
        Err(Unopened::Io(error)) => {
            return Err(not_notes(&path, &format!("could not be read ({})", error.kind())));
        }
        Err(Unopened::NotAFile) => return Err(not_notes(&path, "is not a regular file")),
    };
    let mut bytes = Vec::new();
    let length = file.take(LARGEST + 1).read_to_end(&mut bytes);
    match length {
        Err(error) => {
            return Err(not_notes(&path, &format!("could not be read ({})", error.kind())));
        }
        Ok(length) if length as u64 > LARGEST => {
            return Err(not_notes(&path, "is larger than 1 MiB"));
        }
        Ok(_) => {}
    }
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    let lines = bytes[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    (1..)
        .zip(lines)
        .map(|(number, line)| {
            serde_json::from_slice(line)
                .map_err(|_| not_notes(&path, &format!("cannot be read in line {number}")))
        })
        .collect()
}

fn not_notes(path: &Path, problem: &str) -> Error {
    Error::Fault(format!(
        "{} {problem}. It notes which ledgers protect the data in its folder; only if no other \
         ledger does, move it away",
        path.display()
    ))
}

/// Whether some row may belong to both.
fn overlap(one: &Source, other: &Source) -> bool {
    let (here, there) = (Path::new(&one.path), Path::new(&other.path));
    if one == other {
        return true;
    }
    if !here.starts_with(there) && !there.starts_with(here) {
        return false;
    }
    let holds =
        |outer: &Source, inner: &Path| outer.pattern.is_none() && inner.starts_with(&outer.path);
    let matches = |pattern: &Source, plain: &Source| {
        plain.pattern.is_none() && is_matched(pattern, Path::new(&plain.path))
    };
    holds(one, there)
        || holds(other, here)
        || matches(one, other)
        || matches(other, one)
        || !files(one).is_disjoint(&files(other))
}

/// Whether a path below the folder of a pattern is matched by it, or is in a folder that is.
fn is_matched(source: &Source, path: &Path) -> bool {
    // A pattern that is none matches nothing here, and is refused when the table is opened.
    let pattern = source.pattern.as_ref().and_then(|pattern| glob::Pattern::new(pattern).ok());
    let (Some(pattern), Ok(below)) = (pattern, path.strip_prefix(&source.path)) else {
        return false;
    };
    let options =
        glob::MatchOptions { require_literal_separator: true, ..glob::MatchOptions::new() };
    below
        .ancestors()
        .any(|part| !part.as_os_str().is_empty() && pattern.matches_path_with(part, options))
}

/// The files of a source, by their full names. Linked folders are not entered.
fn files(source: &Source) -> BTreeSet<PathBuf> {
    let path = Path::new(&source.path);
    if path.is_file() {
        return BTreeSet::from([path.to_owned()]);
    }
    let mut found = BTreeSet::new();
    walk(path, &mut BTreeSet::new(), &mut found);
    found.retain(|file| source.pattern.is_none() || is_matched(source, file));
    found
}

/// The folders and files in a folder, as far as they can be read; linked folders are not entered.
fn walk(folder: &Path, folders: &mut BTreeSet<PathBuf>, files: &mut BTreeSet<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            walk(&path, folders, files);
            folders.insert(path);
        } else if path.is_file() {
            files.insert(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_ledger::ProtectedTable;

    fn source(path: &Path, pattern: Option<&str>) -> Source {
        Source { path: path.to_str().expect("UTF-8").to_owned(), pattern: pattern.map(Into::into) }
    }

    /// A folder with the files `a.csv`, `b.csv` and `in/c.csv`.
    fn folder() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        std::fs::create_dir(root.join("in")).expect("made");
        for name in ["a.csv", "b.csv", "in/c.csv"] {
            std::fs::write(root.join(name), "x\n").expect("written");
        }
        (folder, root)
    }

    fn protects(sources: &[Source]) -> Protected {
        Protected::new(vec![ProtectedTable {
            name: "t".into(),
            sources: sources.to_vec(),
            unit: None,
        }])
        .expect("valid")
    }

    #[test]
    fn sources_overlap_where_a_row_may_belong_to_both() {
        let (_folder, root) = folder();
        let plain = |name: &str| source(&root.join(name), None);
        let pattern = |name: &str, text: &str| source(&root.join(name), Some(text));
        let whole = source(&root, None);
        let wild = |text: &str| source(&root, Some(text));
        for (one, other, expected) in [
            (plain("a.csv"), plain("a.csv"), true),
            (plain("a.csv"), plain("b.csv"), false),
            (plain("a.csv"), plain("a.csv.old"), false),
            (whole.clone(), plain("in/c.csv"), true),
            (whole.clone(), plain("in/later.csv"), true),
            (plain("in"), plain("a.csv"), false),
            (wild("*.csv"), plain("a.csv"), true),
            (wild("*.csv"), plain("later.csv"), true),
            (wild("*.csv"), plain("in/c.csv"), false),
            (wild("**/*.csv"), plain("in/c.csv"), true),
            (wild("i*"), plain("in/c.csv"), true),
            (wild("i*"), plain("in"), true),
            (wild("a*"), wild("b*"), false),
            (wild("a*"), wild("*.csv"), true),
            (wild("*/c.csv"), pattern("in", "*.csv"), true),
            (wild("*.csv"), whole, true),
            (wild("[["), plain("a.csv"), false),
        ] {
            assert_eq!(
                (overlap(&one, &other), overlap(&other, &one)),
                (expected, expected),
                "{one} and {other}"
            );
        }
    }

    #[test]
    fn a_note_is_added_once_and_after_the_last_whole_line() {
        let (_folder, root) = folder();
        let (a, c) = (source(&root.join("a.csv"), None), source(&root.join("in/c.csv"), None));
        let both = protects(&[a.clone(), c.clone()]);
        let (first, second) = (Digest::of(&[b"1"]), Digest::of(&[b"2"]));
        let add = |ledger, path: &str| hold(&both).expect("held").add(ledger, Path::new(path));
        assert_eq!(add(first, "/one"), []);
        assert_eq!(add(first, "/one"), []);
        assert_eq!(add(second, "/two"), []);
        assert_eq!(add(first, "/one"), [], "the last of its own lines counts");
        assert_eq!(add(first, "/moved"), []);
        let found = read(&root).expect("notes");
        let lines: Vec<_> =
            found.iter().map(|note| (note.ledger, note.path.to_str(), &note.sources)).collect();
        let sources = vec![a.clone()];
        assert_eq!(
            lines,
            [
                (first, Some("/one"), &sources),
                (second, Some("/two"), &sources),
                (first, Some("/moved"), &sources)
            ]
        );
        assert_eq!(read(&root.join("in")).expect("notes").len(), 3);
        // Each ledger once, where it was last, and not oneself.
        let seen: Vec<_> = others(&both, Some(second))
            .expect("notes")
            .into_iter()
            .map(|other| other.path)
            .collect();
        assert_eq!(seen, [Path::new("/moved")]);
        assert_eq!(others(&protects(&[c]), None).expect("notes").len(), 2);
        assert_eq!(
            others(&protects(&[source(&root.join("b.csv"), None)]), None).expect("notes"),
            []
        );
        // A torn line.
        let path = root.join(NOTES);
        let mut torn = std::fs::read(&path).expect("notes");
        let whole = torn.len();
        torn.extend_from_slice(b"{\"ledger");
        std::fs::write(&path, &torn).expect("written");
        assert_eq!(read(&root).expect("notes").len(), 3);
        add(second, "/later");
        let text = std::fs::read_to_string(&path).expect("notes");
        assert!(
            read(&root).expect("notes").len() == 4 && text[whole..].starts_with("{\"ledger\":\""),
            "{text}"
        );
    }

    #[test]
    fn who_holds_the_notes_is_waited_for() {
        let (_folder, root) = folder();
        let sources = protects(&[source(&root.join("a.csv"), None)]);
        let held = hold(&sources).expect("held");
        let second = std::thread::spawn(move || hold(&sources).map(|_| Instant::now()));
        std::thread::sleep(Duration::from_millis(200));
        let released = Instant::now();
        drop(held);
        assert!(second.join().expect("ends").expect("held") >= released);
    }
}
