//! ARCHITECTURE.md says what `cargo metadata` says: the crates, the arrows, the dependencies.

use crate::files::{read, root};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

type Names = BTreeSet<String>;

/// What one member of the workspace depends on.
#[derive(Default)]
struct Member {
    /// Members of the workspace that it is built from.
    arrows: Names,
    /// External crates that it is built from, and those that only its tests need.
    external: Names,
    for_tests: Names,
}

/// `reticent-noise` is the crate `noise`; `reticent` is itself.
fn short(package: &str) -> String {
    package.strip_prefix("reticent-").unwrap_or(package).to_owned()
}

/// The members of the workspace as cargo sees them.
fn members() -> BTreeMap<String, Member> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let mut members = BTreeMap::new();
    for package in metadata["packages"].as_array().unwrap() {
        let mut member = Member::default();
        for dependency in package["dependencies"].as_array().unwrap() {
            let name = text(&dependency["name"]);
            let for_tests = dependency["kind"] == "dev";
            if dependency["path"].is_null() {
                let names = if for_tests { &mut member.for_tests } else { &mut member.external };
                names.insert(name);
            } else if !for_tests {
                member.arrows.insert(short(&name));
            }
        }
        member.for_tests = &member.for_tests - &member.external;
        members.insert(short(&text(&package["name"])), member);
    }
    members
}

/// The comma-separated names of a list.
fn names(list: &str) -> Names {
    list.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}

fn join(names: &Names) -> String {
    names.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// The lines of the block after the heading "Arrows": `crate -> what it is built from`.
fn drawn(text: &str) -> BTreeMap<String, Names> {
    let block = text.split("## Arrows\n").nth(1).and_then(|rest| rest.split("```").nth(1));
    let lines = block.unwrap().lines().filter_map(|line| line.split_once("->"));
    lines.map(|(from, to)| (from.trim().to_owned(), names(to))).collect()
}

#[test]
fn the_arrows_are_the_dependencies() {
    let drawn = drawn(&read(Path::new("ARCHITECTURE.md")));
    let members = members();
    let mut faults = Vec::new();
    for (name, member) in &members {
        if drawn.get(name) != Some(&member.arrows) {
            faults.push(format!("{name} -> {}", join(&member.arrows)));
        }
    }
    for name in drawn.keys().filter(|name| !members.contains_key(*name)) {
        faults.push(format!("{name} does not exist"));
    }
    assert!(faults.is_empty(), "ARCHITECTURE.md, \"Arrows\", should say:\n{}", faults.join("\n"));
}

#[test]
fn every_crate_has_a_section() {
    let text = read(Path::new("ARCHITECTURE.md"));
    let sections: Vec<&str> = text.lines().filter(|line| line.starts_with("### ")).collect();
    let has = |name: &str| {
        let endings = [format!("`{name}`"), format!("/{name}`")];
        sections.iter().any(|line| endings.iter().any(|ending| line.contains(ending)))
    };
    let missing: Vec<String> = members().into_keys().filter(|name| !has(name)).collect();
    assert!(missing.is_empty(), "without a section in ARCHITECTURE.md: {missing:?}");
}

/// The tables of a section name files of its crate.
#[test]
fn every_file_of_a_section_exists() {
    let text = read(Path::new("ARCHITECTURE.md"));
    let mut files = 0;
    for section in text.split("\n### `crates/").skip(1) {
        let folder = root().join("crates").join(section.split('`').next().unwrap()).join("src");
        let section = section.split("\n## ").next().unwrap();
        for row in section.lines().filter(|line| line.starts_with("| `")) {
            for file in row.split('|').nth(1).unwrap().split('`').skip(1).step_by(2) {
                files += 1;
                assert!(folder.join(file).exists(), "{} has no {file}", folder.display());
            }
        }
    }
    assert!(files > 60, "only {files} files");
}

/// Rows of the table after the heading "Dependencies": crates, who is built from them, why. Who
/// needs them for tests alone comes after "tests of".
#[test]
fn every_external_dependency_is_listed_with_its_users() {
    let text = read(Path::new("ARCHITECTURE.md"));
    let table = text.split("## Dependencies\n").nth(1).unwrap();
    let rows = table.lines().skip_while(|line| !line.starts_with("|---"));
    let mut listed: BTreeMap<String, (Names, Names)> = BTreeMap::new();
    for row in rows.skip(1).take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = row.split('|').collect();
        let (users, testers) = cells[2].split_once("tests of").unwrap_or((cells[2], ""));
        let users = names(users.trim().trim_end_matches(';'));
        for name in cells[1].split('`').skip(1).step_by(2) {
            let before = listed.insert(name.to_owned(), (users.clone(), names(testers)));
            assert!(before.is_none(), "{name} is listed twice");
        }
    }

    let mut used: BTreeMap<String, (Names, Names)> = BTreeMap::new();
    for (member, dependencies) in members() {
        for name in dependencies.external {
            used.entry(name).or_default().0.insert(member.clone());
        }
        for name in dependencies.for_tests {
            used.entry(name).or_default().1.insert(member.clone());
        }
    }
    let mut faults = Vec::new();
    for (name, (users, testers)) in &used {
        if listed.get(name) != Some(&(users.clone(), testers.clone())) {
            let tests = match (users.is_empty(), testers.is_empty()) {
                (_, true) => String::new(),
                (true, false) => format!("tests of {}", join(testers)),
                (false, false) => format!("; tests of {}", join(testers)),
            };
            faults.push(format!("| `{name}` | {}{tests} | ... |", join(users)));
        }
    }
    for name in listed.keys().filter(|name| !used.contains_key(*name)) {
        faults.push(format!("{name} is not a dependency"));
    }
    assert!(
        faults.is_empty(),
        "ARCHITECTURE.md, \"Dependencies\", should say:\n{}",
        faults.join("\n")
    );
}
