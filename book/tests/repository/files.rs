//! The files of the repository that people write.

use std::path::{Path, PathBuf};

/// Folders that hold what programs wrote, relative to the root.
const MADE: [&str; 5] = ["target", "reference", "reproduction", "fuzz/corpus", "fuzz/findings"];

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// The text of a file named relative to the root.
pub fn read(path: &Path) -> String {
    std::fs::read_to_string(root().join(path))
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All files whose names end in one of `endings`, relative to the root, in the order of their
/// names.
pub fn with_ending(endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    walk(&root(), Path::new(""), &mut found);
    found.retain(|path| endings.iter().any(|ending| path.to_str().unwrap().ends_with(ending)));
    found.sort();
    assert!(found.len() > 10, "{found:?}");
    found
}

fn walk(root: &Path, folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(root.join(folder)).unwrap() {
        let entry = entry.unwrap();
        let path = folder.join(entry.file_name());
        let hidden = entry.file_name().to_str().is_some_and(|name| name.starts_with(".git"));
        if hidden || MADE.iter().any(|made| path == Path::new(made)) {
            continue;
        }
        if entry.file_type().unwrap().is_dir() {
            walk(root, &path, found);
        } else {
            found.push(path);
        }
    }
}
