//! One state for all threads, where a column names the privacy unit.

use super::bounded::{Bounded, Facts};
use super::counters::Prepared;
use super::division::Division;
use super::groups::Groups;
use super::identity::{Identities, Identity};
use super::layout::Tracks;
use super::secret_key::SecretKey;
use crate::EngineError;
use datafusion::arrow::datatypes::Field;
use datafusion::arrow::record_batch::RecordBatch;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

/// The units, divided into parts that are locked by themselves.
///
/// A thread takes each of its batches apart by the parts of its rows and adds to one part after the
/// other; one that is busy it comes back to. So there is one state however many threads there are,
/// no unit is in two parts, and nothing about units is left to merge at the end: only the totals
/// by group are.
#[derive(Debug)]
pub(super) struct Divided {
    division: Division,
    parts: Vec<Mutex<Bounded>>,
    tracks: Arc<Tracks>,
    /// Where the column of the unit is.
    column: usize,
    unit: Identity,
    groups: Groups,
    key: SecretKey,
}

/// What one thread needs for the rows of a batch.
#[derive(Debug)]
pub(super) struct Reader {
    of: Arc<Divided>,
    /// The part that it begins with.
    first: usize,
    values: Prepared,
    part_of: Vec<u16>,
    /// The rows of the batch, by part.
    rows: Vec<u32>,
    /// Where the rows of a part end.
    ends: Vec<usize>,
}

const FAULT: EngineError = EngineError::Fault { part: "the units of a part of the table" };

impl Divided {
    /// For rows that so many threads read, with the unit in this column.
    ///
    /// # Errors
    /// If the column has a type that is not among those of the engine.
    pub(super) fn new(
        tracks: Arc<Tracks>,
        (column, field): (usize, &Field),
        groups: Groups,
        max_groups: u32,
        key: SecretKey,
        threads: usize,
    ) -> Result<Self, EngineError> {
        let unit = Identity::new(std::iter::once(field))?;
        let division = Division::for_threads(threads);
        let part = |_| {
            let groups = groups.another(key)?;
            Ok(Mutex::new(Bounded::new(
                tracks.clone(),
                unit.interner(key, division),
                groups,
                max_groups,
                key,
            )))
        };
        let parts = (0..division.parts()).map(part).collect::<Result<Vec<_>, EngineError>>()?;
        Ok(Self { division, parts, tracks, column, unit, groups, key })
    }

    /// Its parts, when all rows are read.
    pub(super) fn into_parts(self) -> Result<Vec<Bounded>, EngineError> {
        self.parts.into_iter().map(|part| part.into_inner().map_err(|_| FAULT)).collect()
    }
}

impl Reader {
    /// The `number`th thread.
    pub(super) fn new(of: Arc<Divided>, number: usize) -> Self {
        let first = 2 * number % of.parts.len();
        Self {
            of,
            first,
            values: Prepared::default(),
            part_of: Vec::new(),
            rows: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// Adds the rows of a batch.
    pub(super) fn absorb(&mut self, batch: &RecordBatch) -> Result<(), EngineError> {
        let (of, rows) = (self.of.clone(), batch.num_rows());
        // Rows of a batch are numbered by 32 bits here.
        u32::try_from(rows).map_err(|_| FAULT)?;
        let units = of.unit.of(std::slice::from_ref(batch.column(of.column)), rows, &of.key)?;
        let keys = of.groups.identities(batch, &of.key)?;
        self.values.fill(batch, &of.tracks);
        let facts = Facts { units: &units, keys: &keys, values: &self.values };
        if let [all] = of.parts.as_slice() {
            return all.lock().map_err(|_| FAULT)?.absorb(0..rows, facts);
        }
        take_apart(&units, of.division, &mut self.part_of, &mut self.rows, &mut self.ends);
        let rows_of = |part: usize| {
            let start = if part == 0 { 0 } else { self.ends[part - 1] };
            self.rows[start..self.ends[part]].iter().map(|&row| row as usize)
        };
        let count = of.parts.len();
        let mut busy = Vec::new();
        for part in (self.first..count).chain(0..self.first).filter(|&part| rows_of(part).len() > 0)
        {
            match free(&of.parts[part])? {
                Some(mut state) => state.absorb(rows_of(part), facts)?,
                None => busy.push(part),
            }
        }
        for part in busy {
            of.parts[part].lock().map_err(|_| FAULT)?.absorb(rows_of(part), facts)?;
        }
        Ok(())
    }
}

/// The state, unless another thread has it.
fn free(part: &Mutex<Bounded>) -> Result<Option<MutexGuard<'_, Bounded>>, EngineError> {
    match part.try_lock() {
        Ok(state) => Ok(Some(state)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Poisoned(_)) => Err(FAULT),
    }
}

/// Sorts the rows of a batch by the parts of their units, by counting.
fn take_apart(
    units: &Identities,
    division: Division,
    part_of: &mut Vec<u16>,
    rows: &mut Vec<u32>,
    ends: &mut Vec<usize>,
) {
    units.parts(division, part_of);
    ends.clear();
    ends.resize(division.parts(), 0);
    part_of.iter().for_each(|&part| ends[part as usize] += 1);
    let mut start = 0;
    for end in ends.iter_mut() {
        start += std::mem::replace(end, start);
    }
    rows.resize(part_of.len(), 0);
    for (row, &part) in part_of.iter().enumerate() {
        let at = &mut ends[part as usize];
        rows[*at] = row as u32;
        *at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{ArrayRef, Int64Array};
    use datafusion::arrow::datatypes::DataType;
    use reticent_noise::randomness::SeededRandom;

    #[test]
    fn every_row_is_in_the_part_of_its_unit() {
        let key =
            SecretKey::draw(&mut SeededRandom::new(4)).expect("a seeded generator does not fail");
        let field = Field::new("unit", DataType::Int64, true);
        let identity = Identity::new(std::iter::once(&field)).expect("a known type");
        let division = Division::for_threads(3);
        // Small, large and negative words, and NULL.
        let values = |row: i64| {
            (row % 11 != 0).then_some(if row % 2 == 0 { row % 200 } else { (row % 50 - 25) << 30 })
        };
        let column: ArrayRef = Arc::new(Int64Array::from_iter((0..5000).map(values)));
        let units = identity.of(&[column], 5000, &key).expect("identities");
        let (mut part_of, mut rows, mut ends) = (vec![7; 3], vec![7; 3], vec![7; 3]);
        take_apart(&units, division, &mut part_of, &mut rows, &mut ends);
        assert_eq!((ends.len(), ends.last()), (8, Some(&5000)));
        let mut seen = std::collections::BTreeMap::new();
        let mut start = 0;
        for (part, &end) in ends.iter().enumerate() {
            for &row in &rows[start..end] {
                let of_unit = seen.entry(values(i64::from(row))).or_insert((part, 0));
                assert_eq!(of_unit.0, part);
                of_unit.1 += 1;
            }
            assert!(rows[start..end].is_sorted());
            start = end;
        }
        assert_eq!(seen.values().map(|&(_, rows)| rows).sum::<usize>(), 5000);
        // The parts do not depend on what else is in the batch.
        let small: ArrayRef = Arc::new(Int64Array::from_iter_values([100, 198]));
        let small = identity.of(&[small], 2, &key).expect("identities");
        small.parts(division, &mut part_of);
        for (part, word) in part_of.iter().zip([100, 198]) {
            assert_eq!(seen[&Some(word)].0, usize::from(*part));
        }
    }
}
