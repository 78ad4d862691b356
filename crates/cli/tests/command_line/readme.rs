//! The commands of the README and of the book, run as printed, in a copy of what they need; what
//! is printed below them is what they print.

use crate::question::Folder;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A command of a block marked `sh`, and what the block marked `text` after it says it prints.
struct Shown {
    command: String,
    output: Option<String>,
}

/// The commands of a page that run the program, in order. A line that ends in `\` goes on.
fn shown(page: &str) -> Vec<Shown> {
    let mut shown = Vec::new();
    let mut rest = page;
    while let Some((_, after)) = rest.split_once("```sh\n") {
        let (block, after) = after.split_once("```\n").unwrap();
        let commands: Vec<String> = block.replace("\\\n", " ").lines().map(str::to_owned).collect();
        let output = after.trim_start().strip_prefix("```text\n");
        let output = output.map(|text| text.split("```").next().unwrap().to_owned());
        let last = commands.len() - 1;
        for (i, command) in commands.into_iter().enumerate() {
            let output = if i == last { output.clone() } else { None };
            shown.push(Shown { command, output });
        }
        rest = after;
    }
    shown
}

/// Every number as `0`, every run of spaces as one, every rule as `-`: figures with noise differ
/// from run to run, and columns with them in width.
fn without_numbers(text: &str) -> String {
    let mut line = String::new();
    for c in text.trim().chars() {
        let c = if c.is_ascii_digit() { '0' } else { c };
        let number = c == '0' && (line.ends_with('0') || line.ends_with("0."));
        let run = (c == ' ' || c == '-') && line.ends_with(c);
        if number {
            line.truncate(line.trim_end_matches('.').len());
        } else if !run {
            line.push(c);
        }
    }
    line.replace("e-0", "").replace("e0", "")
}

/// Whether `printed` is what `page` shows, where `...` stands for any lines.
fn agrees(page: &str, printed: &str, plain: impl Fn(&str) -> String) -> bool {
    let lines = |text: &str| -> Vec<String> {
        text.lines().map(&plain).filter(|line| !line.is_empty()).collect()
    };
    let (page, printed) = (lines(page), lines(printed));
    let mut from = 0;
    for (i, part) in page.split(|line| line == "...").enumerate() {
        let starts = if i == 0 { from..=from } else { from..=printed.len() };
        let found = starts.into_iter().find(|start| printed[*start..].starts_with(part));
        let Some(start) = found else { return false };
        from = start + part.len();
    }
    from == printed.len() || page.last().is_some_and(|line| line == "...")
}

fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "md") {
            found.push(path);
        }
    }
}

#[test]
fn the_readme_and_the_book_show_what_happens() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut all = vec![root.join("README.md")];
    pages(&root.join("docs"), &mut all);
    let program = Path::new(env!("CARGO_BIN_EXE_reticent")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let mut commands = 0;
    for (number, page) in all.iter().enumerate() {
        let folder = Folder::new(&format!("book-{number}"));
        for file in ["factory/policy.toml", "factory/workers.csv", "data/czech.csv"] {
            let to = folder.file("examples").join(file);
            std::fs::create_dir_all(to.parent().unwrap()).unwrap();
            std::fs::copy(root.join("examples").join(file), to).unwrap();
        }
        for Shown { command, output } in shown(&std::fs::read_to_string(page).unwrap()) {
            let ours = ["cargo run -- ", "reticent "];
            if !ours.iter().any(|start| command.starts_with(start)) {
                continue;
            }
            commands += 1;
            let name = page.display();
            let ran = Command::new("sh")
                .args(["-c", &command.replace("cargo run -- ", "reticent ")])
                .env("PATH", &path)
                .current_dir(folder.file(""))
                .output()
                .unwrap();
            let refused = output.as_ref().is_some_and(|text| text.starts_with("error: "));
            let printed = if refused { &ran.stderr } else { &ran.stdout };
            let printed = String::from_utf8(printed.clone()).unwrap();
            assert_eq!(ran.status.success(), !refused, "{name}: {command}\n{ran:?}");
            assert!(!printed.is_empty(), "{name}: {command}\n{ran:?}");
            let noisy = ["query", "budget", "noise", "denoise"];
            let noisy = noisy.iter().any(|verb| command.contains(&format!(" {verb} ")));
            let plain =
                if noisy { without_numbers } else { |line: &str| line.trim_end().to_owned() };
            let as_shown = output.is_none_or(|output| agrees(&output, &printed, plain));
            assert!(as_shown, "{name}: {command}\nprints\n{printed}");
        }
    }
    assert!(commands >= 20, "only {commands} commands");
}
