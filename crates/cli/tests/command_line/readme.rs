//! The commands of the README, run as printed, in a copy of what they need.

use crate::question::Folder;
use std::path::Path;
use std::process::Command;

/// The commands of all blocks marked `sh`, a command that goes on in the next line being one.
fn commands(readme: &str) -> Vec<String> {
    let blocks = readme.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.flat_map(|block| block.replace("\\\n", " ").lines().map(str::to_owned).collect::<Vec<_>>()).collect()
}

#[test]
fn the_readme_says_what_works() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = Folder::new("readme");
    for (from, files) in [("factory", ["policy.toml", "workers.csv"].as_slice()), ("data", &["czech.csv"])] {
        let to = folder.file("examples").join(from);
        std::fs::create_dir_all(&to).unwrap();
        for file in files {
            std::fs::copy(root.join("examples").join(from).join(file), to.join(file)).unwrap();
        }
    }
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let ours: Vec<String> = commands(&readme).into_iter().filter(|line| line.starts_with("cargo run -q -- ")).collect();
    assert!(ours.len() >= 8, "{ours:?}");
    for command in ours {
        let program = format!("'{}' ", env!("CARGO_BIN_EXE_reticent"));
        let line = command.replace("cargo run -q -- ", &program);
        let output = Command::new("sh").args(["-c", &line]).current_dir(folder.file("")).output().unwrap();
        assert!(output.status.success() && !output.stdout.is_empty(), "{command}\n{output:?}");
    }
}
