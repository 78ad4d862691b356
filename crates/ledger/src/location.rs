//! Where a ledger is: one regular file under one name, which appears complete or not at all.

use crate::LedgerError;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A path whose folder is resolved and whose last part is not a link, with the identity of the file
/// that was found there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl Location {
    /// The location of an existing file.
    pub(crate) fn of(path: &Path) -> Result<Self, LedgerError> {
        let path = resolved(path)?;
        let unusable = |problem| LedgerError::Unusable { path: path.clone(), problem };
        let found = match path.symlink_metadata() {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(LedgerError::Missing { path });
            }
            found => found?,
        };
        if found.is_symlink() {
            return Err(unusable(
                "is a symbolic link, which can be turned to another file: give the path of the \
                 file itself",
            ));
        }
        if !found.is_file() {
            return Err(unusable("is not a regular file"));
        }
        // SQLite finds the journal of an interrupted change by the file's name: under a second name
        // it would be missed.
        if found.nlink() != 1 {
            return Err(unusable("has several names (hard links): leave one of them"));
        }
        if found.permissions().readonly() {
            return Err(unusable("may not be written: a ledger is used by those who may write it"));
        }
        if found.len() == 0 {
            return Err(unusable("is empty: a ledger was cut off, or it never was one"));
        }
        Ok(Location { device: found.dev(), inode: found.ino(), path })
    }

    /// An error unless the same file is still there under the same name. A file that was renamed or
    /// replaced is still written to by whoever has it open, and nobody would find what was written.
    pub(crate) fn check(&self) -> Result<(), LedgerError> {
        let now = Location::of(&self.path)?;
        let problem = "was replaced by another file while it was in use";
        if now == *self {
            Ok(())
        } else {
            Err(LedgerError::Unusable { path: self.path.clone(), problem })
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// How long the file is. (Asked by name: to open and close the file would drop the locks that
    /// SQLite holds on it.)
    pub(crate) fn bytes(&self) -> Result<u64, LedgerError> {
        Ok(self.path.symlink_metadata()?.len())
    }

    /// An error if there are the files of a write-ahead log, which no ledger has, and from which
    /// SQLite would read.
    pub(crate) fn check_no_log(&self) -> Result<(), LedgerError> {
        for ending in ["-wal", "-shm"] {
            if beside(&self.path, ending).symlink_metadata().is_ok() {
                let problem =
                    "has a write-ahead log beside it (-wal, -shm), which ledgers never have";
                return Err(LedgerError::Unusable { path: self.path.clone(), problem });
            }
        }
        Ok(())
    }
}

/// A new file that becomes visible under its name when it is complete.
#[derive(Debug)]
pub(crate) struct Unfinished {
    temporary: PathBuf,
    path: PathBuf,
}

impl Unfinished {
    /// An empty file, readable by its owner only, in the folder where the ledger is to be, under a
    /// name that is not the ledger's.
    pub(crate) fn new(path: &Path, unique: &str) -> Result<Self, LedgerError> {
        let path = resolved(path).map_err(|error| match error {
            LedgerError::Missing { path } => LedgerError::Unusable {
                path,
                problem: "is to be in a folder that does not exist: make the folder first",
            },
            other => other,
        })?;
        if path.symlink_metadata().is_ok() {
            return Err(LedgerError::Exists { path });
        }
        let temporary = beside(&path, &format!(".new-{unique}"));
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
        Ok(Unfinished { temporary, path })
    }

    /// Where it is until it is finished.
    pub(crate) fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// Gives the file its name, durably, unless something has that name by now: of two that create
    /// the same ledger one fails.
    pub(crate) fn finish(self) -> Result<(), LedgerError> {
        sync_folder(&self.path)?;
        match renameat_with(CWD, &self.temporary, CWD, &self.path, RenameFlags::NOREPLACE) {
            Err(Errno::EXIST) => Err(LedgerError::Exists { path: self.path.clone() }),
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => Err(LedgerError::Unusable {
                path: self.path.clone(),
                problem: "is on a file system that cannot give a file a name without replacing \
                    another: keep the ledger on a local disk",
            }),
            Err(error) => Err(LedgerError::from(std::io::Error::from(error))),
            Ok(()) => sync_folder(&self.path),
        }
    }
}

impl Drop for Unfinished {
    /// Takes the unfinished file away; after [`Unfinished::finish`] there is none. It held nothing,
    /// so a failure to do so loses nothing.
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.temporary);
        let _ = std::fs::remove_file(beside(&self.temporary, "-journal"));
    }
}

/// The path with its folder resolved. It is absolute, so that it cannot be taken for a URI or the
/// name of a database in memory.
fn resolved(path: &Path) -> Result<PathBuf, LedgerError> {
    let name = path.file_name().ok_or_else(|| LedgerError::Unusable {
        path: path.to_path_buf(),
        problem: "does not end with the name of a file",
    })?;
    let folder =
        path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match folder.canonicalize() {
        Ok(folder) => Ok(folder.join(name)),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err(LedgerError::Missing { path: path.to_path_buf() })
        }
        Err(error) => Err(error.into()),
    }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    PathBuf::from(name)
}

/// Makes names in the folder of a file durable.
fn sync_folder(path: &Path) -> Result<(), LedgerError> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    Ok(File::open(folder)?.sync_all()?)
}
