//! `reticent mechanisms`: what there is to choose from.

use crate::Format;
use crate::failure::Failure;
use crate::output::Output;
use crate::registry::MECHANISMS;
use std::fmt::Write;

/// Lists the mechanisms.
pub fn run(format: Format, output: &mut Output) -> Result<(), Failure> {
    match format {
        Format::Json => output.json(&MECHANISMS),
        Format::Table => {
            let mut text = String::new();
            for entry in &MECHANISMS {
                let line = |text: &mut String, name: &str, value: &str| writeln!(text, "  {name:17}{value}");
                let options =
                    |names: &[&str]| names.iter().map(|name| format!("--{name}")).collect::<Vec<_>>().join(" ");
                // Writing to a String does not fail.
                let _ = writeln!(text, "{}: {}", entry.name, entry.purpose);
                let _ = line(&mut text, "promise", &entry.notions.join(", "));
                if entry.methods.len() > 1 {
                    let _ = line(&mut text, "methods", &entry.methods.join(", "));
                }
                let _ = line(&mut text, "calibrated by", &options(entry.calibrated_by));
                let _ = line(&mut text, "or made of", &options(entry.made_of));
            }
            output.text(&text)
        }
    }
}
