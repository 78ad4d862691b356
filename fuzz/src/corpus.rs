//! Inputs worth keeping, in `fuzz/corpus`, one file each, named by a hash of what is in it.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use crate::target::Target;

/// The most files of a target, and the most bytes of each.
pub const MOST: usize = 200;
/// See [`MOST`].
pub const LARGEST: usize = 4096;

/// Where this crate is.
#[must_use]
pub fn home() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A name for an input.
#[must_use]
pub fn name(input: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    input.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

fn folder(target: Target) -> PathBuf {
    home().join("corpus").join(target.name())
}

/// The seeds of a target and the files that are kept for it, in an order that does not change.
#[must_use]
pub fn load(target: Target) -> Vec<Vec<u8>> {
    let mut all = target.seeds();
    let paths =
        std::fs::read_dir(folder(target)).into_iter().flatten().flatten().map(|entry| entry.path());
    let paths: BTreeSet<PathBuf> = paths.collect();
    all.extend(paths.iter().filter_map(|path| std::fs::read(path).ok()));
    all
}

/// Keeps an input, if it is small and there is room.
pub fn keep(target: Target, input: &[u8]) {
    let folder = folder(target);
    let count = std::fs::read_dir(&folder).map_or(0, Iterator::count);
    if input.len() <= LARGEST && count < MOST && std::fs::create_dir_all(&folder).is_ok() {
        // A corpus that cannot be written costs the next campaign some time, and nothing else.
        let _ = std::fs::write(folder.join(name(input)), input);
    }
}
