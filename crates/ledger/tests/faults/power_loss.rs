//! A power failure after every change: what was not synchronised is lost, kept, or partly kept.
//!
//! A session is traced by the shim. Then, for every moment of it, disks are made up that the moment
//! could have left: changes of a file up to its last synchronisation are there; of later ones any
//! selection, the last of them perhaps torn; names appear and disappear in order, and all of them
//! are there once the folder was synchronised.

use crate::{fault, limits, program, protects, released_in, shim};
use reticent_ledger::Ledger;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

#[derive(Clone, Debug)]
enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    Truncate { length: usize },
}

#[derive(Clone, Debug)]
enum Naming {
    Create { name: PathBuf, inode: usize },
    Unlink { name: PathBuf },
}

/// What is on the disk for certain, and what may be.
#[derive(Clone, Debug, Default)]
struct Disk {
    contents: Vec<Vec<u8>>,
    changes: Vec<Vec<Change>>,
    durable_names: HashMap<PathBuf, usize>,
    namings: Vec<Naming>,
    names: HashMap<PathBuf, usize>,
}

fn apply(content: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Truncate { length } => content.resize(*length, 0),
        Change::Write { offset, bytes } => {
            content.resize(content.len().max(offset + bytes.len()), 0);
            content[*offset..offset + bytes.len()].copy_from_slice(bytes);
        }
    }
}

fn rename(names: &mut HashMap<PathBuf, usize>, naming: &Naming) {
    match naming {
        Naming::Create { name, inode } => names.insert(name.clone(), *inode),
        Naming::Unlink { name } => names.remove(name),
    };
}

impl Disk {
    fn with(path: &Path) -> Self {
        let names = HashMap::from([(path.to_path_buf(), 0)]);
        let contents = vec![std::fs::read(path).unwrap()];
        Disk {
            contents,
            changes: vec![Vec::new()],
            durable_names: names.clone(),
            names,
            ..Disk::default()
        }
    }

    fn change(&mut self, name: &Path, change: Change) {
        self.changes[self.names[name]].push(change);
    }

    fn name(&mut self, naming: Naming) {
        rename(&mut self.names, &naming);
        self.namings.push(naming);
    }

    fn synchronise(&mut self, name: &Path) {
        match self.names.get(name) {
            Some(&inode) => {
                for change in std::mem::take(&mut self.changes[inode]) {
                    apply(&mut self.contents[inode], &change);
                }
            }
            // The folder.
            None => {
                for naming in std::mem::take(&mut self.namings) {
                    rename(&mut self.durable_names, &naming);
                }
            }
        }
    }

    /// What a power failure leaves, in a folder. `draw(n)` is a number below `n` that decides.
    fn after_power_loss(&self, folder: &Path, draw: &mut impl FnMut(usize) -> usize) {
        let mut names = self.durable_names.clone();
        for naming in &self.namings[..draw(self.namings.len() + 1)] {
            rename(&mut names, naming);
        }
        for entry in std::fs::read_dir(folder).unwrap() {
            std::fs::remove_file(entry.unwrap().path()).unwrap();
        }
        for (name, inode) in names {
            let mut content = self.contents[inode].clone();
            for change in &self.changes[inode] {
                match (draw(3), change) {
                    (0, _) => {}
                    (1, Change::Write { offset, bytes }) if bytes.len() > 1 => {
                        let torn = bytes[..draw(bytes.len())].to_vec();
                        apply(&mut content, &Change::Write { offset: *offset, bytes: torn });
                    }
                    _ => apply(&mut content, change),
                }
            }
            std::fs::write(folder.join(name.file_name().unwrap()), content).unwrap();
        }
    }
}

/// An operation of a trace: what, where, at which offset, how many bytes, and the bytes.
struct Traced<'a> {
    operation: &'a str,
    path: &'a Path,
    offset: usize,
    length: usize,
    bytes: &'a [u8],
}

fn parse(trace: &[u8]) -> Vec<Traced<'_>> {
    let mut operations = Vec::new();
    let mut rest = trace;
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == b'\n').unwrap();
        let fields: Vec<&str> = std::str::from_utf8(&rest[..end]).unwrap().split('\t').collect();
        let [operation, path, offset, length] = fields[..] else { panic!("{fields:?}") };
        let length: usize = length.parse().unwrap();
        let carried = if matches!(operation, "write" | "say") { length } else { 0 };
        let bytes = &rest[end + 1..end + 1 + carried];
        operations.push(Traced {
            operation,
            path: Path::new(path),
            offset: offset.parse().unwrap(),
            length,
            bytes,
        });
        rest = &rest[end + 1 + carried..];
    }
    operations
}

/// Cuts the power after every operation, in several ways, and collects what is wrong afterwards.
fn problems(disk: &Disk, trace: &[Traced<'_>], synchronisation_works: bool) -> HashSet<String> {
    let folder = tempfile::tempdir().unwrap();
    let (mut disk, mut said, mut problems) = (disk.clone(), String::new(), HashSet::new());
    let mut state = 1u64;
    let mut random = |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for Traced { operation, path, offset, length, bytes } in trace {
        match *operation {
            "write" => disk.change(path, Change::Write { offset: *offset, bytes: bytes.to_vec() }),
            "truncate" => disk.change(path, Change::Truncate { length: *length }),
            "sync" if synchronisation_works => disk.synchronise(path),
            "sync" => {}
            "unlink" => disk.name(Naming::Unlink { name: path.to_path_buf() }),
            "create" => {
                if !disk.names.contains_key(*path) {
                    disk.contents.push(Vec::new());
                    disk.changes.push(Vec::new());
                    disk.name(Naming::Create {
                        name: path.to_path_buf(),
                        inode: disk.contents.len() - 1,
                    });
                }
            }
            "say" => said.push_str(std::str::from_utf8(bytes).unwrap()),
            other => panic!("{other}"),
        }
        let ledger = folder.path().join("ledger");
        let released = released_in(&said);
        disk.after_power_loss(folder.path(), &mut |_| 0);
        problems.extend(fault(&ledger, &released).err());
        disk.after_power_loss(folder.path(), &mut |below| below - 1);
        problems.extend(fault(&ledger, &released).err());
        for _ in 0..6 {
            disk.after_power_loss(folder.path(), &mut random);
            problems.extend(fault(&ledger, &released).err());
        }
    }
    assert_eq!(released_in(&said).len(), 2, "the whole session was traced");
    problems
}

#[test]
fn the_power_fails_after_every_change() {
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().canonicalize().unwrap().join("inside");
    std::fs::create_dir(&inside).unwrap();
    let (path, log) = (inside.join("ledger"), folder.path().join("trace"));
    Ledger::create(&path, limits(), &protects()).unwrap();
    let disk = Disk::with(&path);
    let mut command = program(&path, "session");
    command.env("LD_PRELOAD", shim()).env("FAULT_FOLDER", &inside).env("FAULT_TRACE", &log);
    assert!(command.output().unwrap().status.success());
    let trace = std::fs::read(&log).unwrap();
    let trace = parse(&trace);
    assert!(trace.len() > 40, "{}", trace.len());
    assert_eq!(problems(&disk, &trace, true), HashSet::new());
    // On a disk that only pretends to synchronise, the same disks must show losses, or nothing was
    // shown above.
    assert!(!problems(&disk, &trace, false).is_empty());
}
