//! `reticent mechanisms`: what there is to choose from.

use crate::Format;
use crate::failure::Failure;
use crate::output::Output;
use reticent_events::Event;
use reticent_mechanisms::{MechanismKind, MechanismSpec, Notion};
use serde::Serialize;
use std::fmt::Write;

#[derive(Debug, Serialize)]
struct Entry {
    name: &'static str,
    purpose: &'static str,
    guarantees: &'static [Notion],
    methods: &'static [&'static str],
    /// What its calibration takes.
    parameters: &'static [&'static str],
    /// What describes its noise as it is.
    described_by: &'static [&'static str],
}

/// Lists the mechanisms.
pub fn run(format: Format, output: &mut Output) -> Result<(), Failure> {
    let described = |name: &str| Event::PARAMETERS.iter().find(|(known, _)| *known == name);
    let entries: Vec<Entry> = MechanismSpec::PARAMETERS
        .iter()
        .filter_map(|(name, parameters)| {
            // A choice of a number between bounds shares its name with the choice of a candidate.
            let mut kinds = MechanismKind::ALL.iter().rev();
            let kind = kinds.find(|kind| kind.name() == *name)?;
            Some(Entry {
                name,
                purpose: kind.purpose(),
                guarantees: kind.notions(),
                methods: kind.methods(),
                parameters,
                described_by: described(name).map_or(&[], |(_, parameters)| *parameters),
            })
        })
        .collect();
    match format {
        Format::Json => output.json(&entries),
        Format::Table => output.text(&entries.iter().map(text).collect::<String>()),
    }
}

fn text(entry: &Entry) -> String {
    let notions: Vec<_> = entry.guarantees.iter().map(Notion::to_string).collect();
    let words =
        |names: &[&str]| names.iter().map(|name| format!("{name}=")).collect::<Vec<_>>().join(" ");
    let mut text = format!("{}: {}\n", entry.name, entry.purpose);
    for (label, value) in [
        ("guarantee", notions.join(", ")),
        ("methods", entry.methods.join(", ")),
        ("parameters", words(entry.parameters)),
        ("or as it is", words(entry.described_by)),
    ] {
        if !value.is_empty() {
            // Writing to a String does not fail.
            let _ = writeln!(text, "  {label:17}{value}");
        }
    }
    text
}
