//! Every relative link of every Markdown file leads somewhere.

use crate::files::{read, root, with_ending};
use crate::markdown::page;
use std::path::{Path, PathBuf};

/// The path without `.` and `..`, or nothing if it leaves the repository.
fn normal(path: &Path) -> Option<PathBuf> {
    let mut parts = Vec::new();
    for part in path.components() {
        match part.as_os_str().to_str().unwrap() {
            "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name.to_owned()),
        }
    }
    Some(parts.iter().collect())
}

/// What is wrong with a link from `file`, if anything is.
fn fault(file: &Path, link: &str) -> Option<String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let folder = file.parent().unwrap();
    let target = if path.is_empty() { Some(file.to_owned()) } else { normal(&folder.join(path)) };
    let Some(target) = target.filter(|target| root().join(target).exists()) else {
        return Some(format!("{}: {link} does not exist", file.display()));
    };
    // A page of the book is read as HTML, too, where only the book is.
    if file.starts_with("docs") && !target.starts_with("docs") {
        return Some(format!("{}: {link} leaves the book", file.display()));
    }
    let known = |target: &Path| page(&read(target)).anchors.contains(anchor);
    (!anchor.is_empty() && !known(&target))
        .then(|| format!("{}: {link} names no heading", file.display()))
}

#[test]
fn every_relative_link_and_image_leads_somewhere() {
    let mut faults = Vec::new();
    let mut links = 0;
    for file in with_ending(&[".md"]) {
        let page = page(&read(&file));
        links += page.links.len();
        let all = page.links.iter().chain(&page.images);
        faults.extend(all.filter_map(|link| fault(&file, link)));
    }
    assert!(links > 50, "only {links} links");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Prose names code by its path, from the root or from `crates/`: `query/src/answer.rs`.
#[test]
fn every_path_of_code_that_prose_names_exists() {
    let mut faults = Vec::new();
    let mut paths = 0;
    for file in with_ending(&[".md"]).iter().filter(|file| !file.ends_with("CHANGELOG.md")) {
        for code in page(&read(file)).code {
            let plain = |c: char| c.is_ascii_alphanumeric() || "/_-.".contains(c);
            let of_code = ["/src/", "/tests/", "/examples/"].iter().any(|part| code.contains(part))
                || ["crates/", "docs/", "stat-tests/", "research/", "examples/", "fuzz/src"]
                    .iter()
                    .any(|start| code.starts_with(start));
            if !of_code || !code.chars().all(plain) {
                continue;
            }
            paths += 1;
            if !["", "crates"].iter().any(|from| root().join(from).join(&code).exists()) {
                faults.push(format!("{}: `{code}` does not exist", file.display()));
            }
        }
    }
    assert!(paths > 50, "only {paths} paths");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The errata name the tests that keep them.
#[test]
fn every_test_that_the_errata_name_exists() {
    let code: String = with_ending(&[".rs"]).iter().map(|file| read(file)).collect();
    let spans = page(&read(Path::new("docs/errata.md"))).code;
    let named = spans.iter().filter(|span| {
        let words = span.split('_').count();
        words > 4 && span.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    });
    let named: Vec<&String> = named.collect();
    assert!(named.len() > 30, "{named:?}");
    let missing: Vec<_> =
        named.iter().filter(|name| !code.contains(&format!("fn {name}("))).collect();
    assert!(missing.is_empty(), "docs/errata.md names tests that do not exist: {missing:?}");
}
