//! What one privacy unit can do to the counts.

use reticent_mechanisms::Neighbours;
use reticent_numerics::{OutOfRange, require};

/// How many rows one privacy unit has at most, and between which data sets the guarantee holds.
///
/// A person who counts in at most `max_groups` cells, once in each, has `max_groups` rows. All of
/// them may lie in the same cell of a marginal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contribution {
    rows: u32,
    neighbours: Neighbours,
}

impl Contribution {
    /// One row a unit; neighbours add or remove one unit.
    pub const ONE_ROW: Contribution = Contribution { rows: 1, neighbours: Neighbours::AddRemove };

    /// At most `rows` rows a unit.
    ///
    /// # Errors
    /// If there are none, or more than a million.
    pub fn new(rows: u32, neighbours: Neighbours) -> Result<Self, OutOfRange> {
        let accepted = "an integer from 1 to 1000000";
        require((1..=1_000_000).contains(&rows), "rows", f64::from(rows), accepted)?;
        Ok(Contribution { rows, neighbours })
    }

    /// The most rows of one unit.
    pub fn rows(self) -> u32 {
        self.rows
    }

    /// Which data sets are neighbours. Under [`Neighbours::Replace`] the rows of one unit are
    /// exchanged for others, also for fewer.
    pub fn neighbours(self) -> Neighbours {
        self.neighbours
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_without_rows_is_refused() {
        assert!(Contribution::new(0, Neighbours::AddRemove).is_err());
        assert!(Contribution::new(1_000_001, Neighbours::Replace).is_err());
        assert_eq!(Contribution::new(1, Neighbours::AddRemove), Ok(Contribution::ONE_ROW));
    }
}
