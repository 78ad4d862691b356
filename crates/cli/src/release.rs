//! From numbers to private numbers: what every command that releases shares.
//!
//! Everything is read and checked, everything is drawn, the guarantee is stated on standard error,
//! and only then is anything written.

use crate::Format;
use crate::failure::Failure;
use crate::input::{CsvTable, location, numbers_from_standard_input};
use crate::output::Output;
use crate::progress::Progress;
use crate::report::power_of_two;
use crate::stated::Stated;
use reticent::{ReleaseFile, ReleaseRecord};
use reticent_mechanisms::Mechanism;
use reticent_noise::randomness::{Provenance, RandomBits, SecureRandom, SeededRandom};
use reticent_numerics::digits::{exact, figure, rounded};
use std::io::{self, Write};
use std::path::PathBuf;

/// Where numbers come from and what they are drawn with.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Source {
    /// Read this CSV file, with a heading, instead of standard input
    #[arg(long, value_name = "FILE.csv", requires = "column")]
    pub input: Option<PathBuf>,
    /// The column of the CSV file to release; all others are passed on as they are
    #[arg(long, value_name = "NAME", requires = "input")]
    pub column: Option<String>,
    /// Draw from this seed, for reproductions: the result is NOT private
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u64),
        allow_hyphen_values = true
    )]
    pub seed: Option<u64>,
}

impl Source {
    /// Reads and checks everything.
    ///
    /// # Errors
    /// If something cannot be read or is not a number.
    pub fn read(&self) -> Result<Data, Failure> {
        match self.input.as_ref().zip(self.column.as_ref()) {
            Some((path, name)) => {
                let (table, numbers) = CsvTable::read(path, name)?;
                Ok(Data { table: Some(table), numbers })
            }
            None => Ok(Data { table: None, numbers: numbers_from_standard_input()? }),
        }
    }

    /// The random bits to draw with.
    ///
    /// # Errors
    /// If the operating system has no entropy.
    pub fn random(&self) -> Result<Box<dyn RandomBits>, Failure> {
        Ok(match self.seed {
            Some(seed) => Box::new(SeededRandom::new(seed)),
            None => Box::new(SecureRandom::new()?),
        })
    }
}

/// What was read.
#[derive(Debug)]
pub struct Data {
    /// The table that the numbers are a column of.
    pub table: Option<CsvTable>,
    /// The numbers.
    pub numbers: Vec<f64>,
}

impl Data {
    /// All numbers with noise, and the spacing of the lattice they lie on. One privacy unit moves
    /// so many coordinates at once.
    ///
    /// # Errors
    /// If the mechanism does not release one of the numbers, or random bits fail.
    pub fn release(
        &self,
        coordinates: u32,
        mechanism: &dyn Mechanism,
        random: &mut dyn RandomBits,
    ) -> Result<(Vec<f64>, f64), Failure> {
        let releasers = mechanism.releasers(self.numbers.len(), coordinates)?;
        // One for each number, or one for all.
        let of_number = |index: usize| &releasers[index.min(releasers.len() - 1)];
        let refused = |(index, number): (usize, &f64)| !of_number(index).accepts(*number);
        if let Some(index) = self.numbers.iter().enumerate().position(refused) {
            let (at, name) = (location(self.table.as_ref(), index), mechanism.name());
            return Err(Failure::usage(format!(
                "{at} is not a value that the {name} mechanism can release"
            )));
        }
        let mut progress = Progress::new("adding noise", self.numbers.len(), 4096);
        let mut values = Vec::with_capacity(self.numbers.len());
        for (done, number) in self.numbers.iter().enumerate() {
            progress.reach(done);
            values.push(of_number(done).release(*number, random)?);
        }
        Ok((values, of_number(0).spacing()))
    }
}

/// What the guarantee is about.
#[derive(Debug)]
pub enum Coverage {
    /// No data were released.
    Nothing,
    /// One of so many candidates was chosen.
    Choice(usize),
    /// So many numbers, with the sensitivity that was said; none where it is in the nature of the
    /// mechanism, as for randomized response.
    Numbers(Option<Stated>, usize),
}

/// A finished release, not yet shown.
#[derive(Debug)]
pub struct Finished<'a> {
    /// What drew it.
    pub mechanism: &'a dyn Mechanism,
    /// What it covers.
    pub coverage: Coverage,
    /// The released numbers.
    pub values: &'a [f64],
    /// The spacing of the lattice that they lie on; none for a choice.
    pub lattice: Option<f64>,
    /// The table that they are a column of.
    pub table: Option<CsvTable>,
    /// Where the random bits came from.
    pub provenance: Provenance,
    /// The range that they were moved into after noise was added.
    pub clamp: Option<(f64, f64)>,
}

impl Finished<'_> {
    /// States the guarantee on standard error, and then writes the numbers.
    ///
    /// # Errors
    /// If standard output cannot be written to.
    pub fn publish(self, format: Format, output: &mut Output) -> Result<(), Failure> {
        // Standard error that cannot be written to must not keep the answer back: the guarantee
        // holds unread.
        let _ = io::stderr().write_all(self.statement().as_bytes());
        match (format, self.table) {
            (Format::Json, _) => {
                let random = self.provenance.to_string();
                let release = ReleaseRecord::new(self.mechanism, self.lattice, random, self.clamp);
                output.json(&ReleaseFile { release, values: self.values.to_vec() })
            }
            (Format::Table, Some(table)) if self.lattice.is_some() => output
                .write(|stream| table.write(self.values.iter().map(|value| exact(*value)), stream)),
            (Format::Table, _) => output.write(|stream| {
                self.values.iter().try_for_each(|value| writeln!(stream, "{}", exact(*value)))
            }),
        }
    }

    /// What is said on standard error about a release.
    fn statement(&self) -> String {
        let mut lines = Vec::new();
        if self.provenance == Provenance::Seeded {
            lines.push(
                "NOT PRIVATE: the noise comes from --seed, and whoever knows or guesses the seed \
                 can remove it."
                    .into(),
            );
        }
        let error = self.mechanism.errors().and_then(|errors| figure(errors.mean_absolute));
        let error = error
            .map_or(String::new(), |error| format!(", mean absolute error {}", rounded(error)));
        let name = self.mechanism.name();
        lines.push(format!("Noise: {name}, scale {}{error}.", exact(self.mechanism.scale())));
        if !matches!(self.coverage, Coverage::Nothing) {
            let kept = self.mechanism.released_guarantee();
            lines.push(format!("Guarantee: {kept}."));
            if kept.notion != self.mechanism.guarantee().notion {
                lines.push(
                    "(The probabilistic guarantee does not survive that answers are rounded; \
                    the approximate one, which it implies, does.)"
                        .into(),
                );
            }
        }
        lines.push(match &self.coverage {
            Coverage::Nothing => "No data were read: this is noise alone, and costs \
                nothing."
                .into(),
            Coverage::Choice(candidates) => format!(
                "It covers the choice of one of {candidates} candidates, which is named by its \
                 index, counting from 1; another choice costs as much again."
            ),
            Coverage::Numbers(Some(sensitivity), numbers) => sensitivity.coverage(*numbers),
            Coverage::Numbers(None, _) => "It covers each answer; a person who gives several pays \
                for each."
                .into(),
        });
        if let Some(spacing) = self.lattice {
            lines.push(format!(
                "Answers are rounded to a public lattice of spacing {}.",
                power_of_two(spacing)
            ));
            let columns = self.table.as_ref().map_or(0, CsvTable::other_columns);
            if columns > 0 {
                lines.push(format!(
                    "NOT PROTECTED: the other columns ({columns}) are passed on as they are."
                ));
            }
        }
        lines.join("\n") + "\n"
    }
}
