//! What a Markdown file links to, and what can be linked to in it.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use std::collections::BTreeSet;

/// The links and images, the headings as anchors, and the code spans of one file.
#[derive(Debug, Default)]
pub struct Page {
    pub links: Vec<String>,
    pub images: Vec<String>,
    pub anchors: BTreeSet<String>,
    pub code: Vec<String>,
}

pub fn page(text: &str) -> Page {
    let mut page = Page::default();
    let mut heading: Option<String> = None;
    let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES;
    for event in Parser::new_ext(text, options) {
        match event {
            Event::Start(Tag::Link { dest_url, .. }) => page.links.push(dest_url.into_string()),
            Event::Start(Tag::Image { dest_url, .. }) => page.images.push(dest_url.into_string()),
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                let anchor = anchor(&heading.take().unwrap());
                let same = |n: usize| format!("{anchor}-{n}");
                let unique = std::iter::once(anchor.clone()).chain((1..).map(same));
                page.anchors.extend(
                    unique.take(1 + page.anchors.len()).find(|name| !page.anchors.contains(name)),
                );
            }
            Event::Text(text) => heading.iter_mut().for_each(|heading| heading.push_str(&text)),
            Event::Code(code) => {
                heading.iter_mut().for_each(|heading| heading.push_str(&code));
                page.code.push(code.into_string());
            }
            _ => {}
        }
    }
    page
}

/// The anchor that a heading gets, by GitHub and by mdBook.
fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase().replace(' ', "-");
    kept.chars().filter(|c| c.is_alphanumeric() || *c == '-' || *c == '_').collect()
}
