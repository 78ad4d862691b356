//! The mechanisms by name. Only this file knows all of them.

use crate::failure::Failure;
use crate::request::Request;
use reticent_mechanisms::Mechanism;
use serde::Serialize;

/// What the command line knows about a mechanism.
#[derive(Debug, Serialize)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// What it is for, in a line.
    pub purpose: &'static str,
    /// The promises it can keep.
    pub notions: &'static [&'static str],
    /// The ways to find its scale, the default first.
    pub methods: &'static [&'static str],
    /// The options from which it is calibrated.
    pub calibrated_by: &'static [&'static str],
    /// The options that describe it when it need not be calibrated.
    pub made_of: &'static [&'static str],
    /// Finds the least scale.
    #[serde(skip)]
    pub calibrate: Maker,
    /// Takes the parameters as they are.
    #[serde(skip)]
    pub describe: Maker,
}

type Maker = fn(&Request) -> Result<Box<dyn Mechanism>, Failure>;

/// The entry of a name.
///
/// # Errors
/// If there is none; the message lists what there is.
pub fn entry_named(name: &str) -> Result<&'static Entry, String> {
    MECHANISMS.iter().find(|entry| entry.name == name).ok_or_else(|| {
        let names: Vec<_> = MECHANISMS.iter().map(|entry| entry.name).collect();
        format!("there is no such mechanism; there are {}", names.join(", "))
    })
}

/// All mechanisms.
pub static MECHANISMS: [Entry; 0] = [];
