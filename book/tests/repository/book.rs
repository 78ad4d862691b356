//! The book is built, and what it shows is whole.

use crate::files::{root, with_ending};
use mdbook_driver::MDBook;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The values of an attribute in a page of HTML.
fn attributes<'a>(html: &'a str, name: &str) -> Vec<&'a str> {
    let start = format!(" {name}=\"");
    html.split(start.as_str()).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

#[test]
fn the_book_is_built_and_every_link_in_it_leads_somewhere() {
    let out = tempfile::tempdir().unwrap();
    let mut book = MDBook::load(root().join("docs")).unwrap();
    book.config.build.build_dir = out.path().to_owned();
    book.build().unwrap();

    let listed: BTreeSet<PathBuf> =
        book.book.chapters().filter_map(|chapter| chapter.source_path.clone()).collect();
    let mut faults = Vec::new();
    for file in with_ending(&[".md"]).iter().filter_map(|file| file.strip_prefix("docs").ok()) {
        if file != Path::new("SUMMARY.md") && !listed.contains(file) {
            faults.push(format!("docs/{} is not in SUMMARY.md", file.display()));
        }
    }

    for page in &listed {
        let made = out.path().join(page).with_extension("html");
        let html = std::fs::read_to_string(&made).unwrap();
        if html.contains("{{#") {
            faults.push(format!("{}: an include was not found", page.display()));
        }
        let own = made.canonicalize().unwrap();
        for link in attributes(&html, "href").into_iter().chain(attributes(&html, "src")) {
            if link.contains(':') {
                continue;
            }
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() { own.clone() } else { own.with_file_name(path) };
            let target = made.parent().unwrap().join(target);
            if !target.exists() {
                faults.push(format!("{}: {link} does not exist", page.display()));
            } else if !anchor.is_empty() {
                let there = std::fs::read_to_string(&target).unwrap();
                if !attributes(&there, "id").contains(&anchor) {
                    faults.push(format!("{}: {link} names no heading", page.display()));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
